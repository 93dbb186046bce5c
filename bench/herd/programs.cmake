# SPDX-License-Identifier: MIT
# The C programs of bench/herd.

rondo_bench(bench_herd_library
  SOURCES herd/library.c herd/record.c actors/job.c LINKS rondo_library_static)
rondo_bench(bench_herd_server
  SOURCES herd/server.c herd/client.c herd/record.c actors/job.c LINKS rondo_base)

if(RONDO_TESTS AND RONDO_PYTHON AND TARGET rondo)
  add_test(NAME bench_herd_smoke
    COMMAND ${RONDO_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/herd/smoke.py
      --programs $<TARGET_FILE_DIR:bench_herd_library> --rondo $<TARGET_FILE:rondo>)
  set_tests_properties(bench_herd_smoke PROPERTIES LABELS bench TIMEOUT 300)
endif()
