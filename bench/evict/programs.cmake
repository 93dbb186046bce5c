# SPDX-License-Identifier: MIT
# The C program of bench/evict: it looks inside the cache, hence its static layer.

rondo_bench(bench_evict
  SOURCES evict/main.c evict/policies.c evict/s3fifo.c evict/tinylfu.c evict/trace.c zipf.c actors/job.c
  LINKS rondo_cache m)
if(RONDO_TESTS AND RONDO_PYTHON)
  add_test(NAME bench_evict_smoke
    COMMAND ${RONDO_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/evict/run.py --check
      --program $<TARGET_FILE:bench_evict>)
  set_tests_properties(bench_evict_smoke PROPERTIES LABELS bench TIMEOUT 300)
endif()
