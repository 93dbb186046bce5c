# SPDX-License-Identifier: MIT
# The C programs of bench/cache.  A peer whose library is not there is not built;
# the driver says so.

rondo_bench(bench_cache_trace SOURCES cache/trace.c zipf.c actors/job.c LINKS rondo_base m)
rondo_bench(bench_cache_fill SOURCES cache/fill.c cache/trial.c actors/job.c LINKS rondo_base)
rondo_bench(bench_cache_rondo
  SOURCES cache/on_rondo.c cache/trial.c actors/job.c LINKS rondo_library_static)

pkg_check_modules(BENCH_LFHT QUIET IMPORTED_TARGET liburcu-cds liburcu-memb)
pkg_check_modules(BENCH_CK QUIET IMPORTED_TARGET ck)
pkg_check_modules(BENCH_GLIB QUIET IMPORTED_TARGET glib-2.0)
foreach(peer lfht ck glib)
  string(TOUPPER BENCH_${peer} library)
  if(${library}_FOUND)
    rondo_bench(bench_cache_${peer} SOURCES cache/on_${peer}.c cache/trial.c actors/job.c
      LINKS rondo_base PkgConfig::${library})
    # Their headers are macros as much as functions.
    target_compile_options(bench_cache_${peer} PRIVATE -Wno-pedantic -Wno-cast-qual
      -Wno-conversion -Wno-sign-conversion -Wno-shadow -Wno-undef)
  endif()
endforeach()

if(RONDO_TESTS AND RONDO_PYTHON AND TARGET rondo)
  add_test(NAME bench_cache_smoke
    COMMAND ${RONDO_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cache/smoke.py
      --programs $<TARGET_FILE_DIR:bench_cache_rondo> --rondo $<TARGET_FILE:rondo>)
  set_tests_properties(bench_cache_smoke PROPERTIES LABELS bench TIMEOUT 300)
endif()
