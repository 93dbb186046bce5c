# SPDX-License-Identifier: MIT
# The flags of every target of ours: an interface library that layers link to.
add_library(rondo_flags INTERFACE)
target_compile_definitions(rondo_flags INTERFACE _GNU_SOURCE)
target_compile_options(rondo_flags INTERFACE
  -fno-common -fno-omit-frame-pointer
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wvla
  -Wwrite-strings -Wcast-qual -Wpointer-arith -Wformat=2 -Wundef -Wswitch-enum
  -Wimplicit-fallthrough -Wdouble-promotion
  # In a test gcc does not know that cmocka's assertions do not come back.
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:RONDO_IS_TEST>>>:-Wnull-dereference>)
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
  target_compile_options(rondo_flags INTERFACE
    -Wthread-safety -Watomic-implicit-seq-cst -Wcomma -Wunreachable-code)
endif()
if(RONDO_WERROR)
  target_compile_options(rondo_flags INTERFACE -Werror)
endif()
if(RONDO_SANITIZE)
  # The pool allocators would hide misuse from the sanitizers.
  target_compile_definitions(rondo_flags INTERFACE RONDO_SANITIZED)
  target_compile_options(rondo_flags INTERFACE -fsanitize=${RONDO_SANITIZE}
    -fno-sanitize-recover=all)
  target_link_options(rondo_flags INTERFACE -fsanitize=${RONDO_SANITIZE})
endif()
