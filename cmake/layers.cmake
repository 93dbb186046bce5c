# SPDX-License-Identifier: MIT
#
# rondo_layer(NAME SOURCES a.c b.c [LINKS lower layers and packages])
#   One layer: objects (for librondo) and a static library that carries its
#   lower layers along, so that a call upward is a link error.
#
# rondo_test(NAME SOURCES x_test.c LINKS layers [ARGS ...] [LABELS ...])
#   One cmocka program and its ctest entry, both called NAME.

function(rondo_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_library(rondo_${name}_objects OBJECT ${arg_SOURCES})
  target_include_directories(rondo_${name}_objects
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(rondo_${name}_objects PRIVATE rondo_flags ${arg_LINKS})
  add_library(rondo_${name} STATIC $<TARGET_OBJECTS:rondo_${name}_objects>)
  target_include_directories(rondo_${name}
    PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(rondo_${name} PUBLIC ${arg_LINKS} Threads::Threads)
endfunction()

function(rondo_test name)
  if(NOT RONDO_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;ARGS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE rondo_flags ${arg_LINKS} PkgConfig::CMOCKA)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(${name} PROPERTIES RONDO_IS_TEST ON)
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS "${arg_LABELS}")
endfunction()
