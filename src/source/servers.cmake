# SPDX-License-Identifier: MIT
#
# The sources of SQL servers, postgres and mysql, and what they share.
set(sql_sources backoff.c column.c rows.c sql.c sql_call.c)
set(postgres_sources postgres.c postgres_conn.c postgres_run.c ${sql_sources})
set(mysql_sources mysql.c mysql_conn.c mysql_row.c mysql_run.c mysql_url.c ${sql_sources})

pkg_check_modules(LIBPQ IMPORTED_TARGET libpq>=12)
pkg_check_modules(MARIADB IMPORTED_TARGET libmariadb>=3.3)

# rondo_server_source(TYPE SOURCES a.c LINKS packages): a loadable source
# and its test, which starts a server of its own and is skipped without one.
function(rondo_server_source type)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  rondo_source_object(${type} SOURCES ${arg_SOURCES} LINKS ${arg_LINKS})
  rondo_test(${type}_test SOURCES ${type}_test.c ${arg_SOURCES}
    LINKS rondo_source rondo_base ${arg_LINKS})
  if(TARGET ${type}_test)
    add_dependencies(${type}_test rondo-source-${type})
    set_tests_properties(${type}_test PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

if(JANSSON_FOUND)
  rondo_test(backoff_test SOURCES backoff_test.c backoff.c LINKS rondo_source rondo_base)
  rondo_test(sql_test SOURCES sql_test.c sql.c LINKS rondo_source rondo_base)
  rondo_test(rows_test SOURCES rows_test.c rows.c column.c
    LINKS rondo_source rondo_base PkgConfig::JANSSON)
  rondo_test(column_test SOURCES column_test.c column.c
    LINKS rondo_source rondo_base PkgConfig::JANSSON)
endif()

if(LIBPQ_FOUND AND JANSSON_FOUND)
  rondo_server_source(postgres SOURCES ${postgres_sources}
    LINKS PkgConfig::LIBPQ PkgConfig::JANSSON)
else()
  message(STATUS "Source postgres is left out: libpq-dev or libjansson-dev is missing")
endif()

if(MARIADB_FOUND AND JANSSON_FOUND)
  rondo_server_source(mysql SOURCES ${mysql_sources}
    LINKS PkgConfig::MARIADB PkgConfig::JANSSON)
  rondo_test(mysql_url_test SOURCES mysql_url_test.c mysql_url.c LINKS rondo_source rondo_base)
else()
  message(STATUS "Source mysql is left out: libmariadb-dev or libjansson-dev is missing")
endif()
