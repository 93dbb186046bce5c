# SPDX-License-Identifier: MIT
#
# What operators get: the admin port, logs, unit, manuals, package.

if(RONDO_PYTHON AND TARGET rondo)
  foreach(name admin_test serve_log_test systemd_test manual_test)
    rondo_check(${name} ${RONDO_PYTHON} ${here}/${name}.py $<TARGET_FILE:rondo>)
    set_tests_properties(${name} PROPERTIES LABELS program)
  endforeach()
endif()

if(RONDO_PYTHON AND TARGET rondo AND NOT RONDO_SANITIZE AND NOT CMAKE_C_FLAGS MATCHES "--coverage")
  rondo_check(package_test ${RONDO_PYTHON} ${here}/package_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(package_test PROPERTIES LABELS install)
endif()
