# SPDX-License-Identifier: MIT
#
# What operators get: the admin port, logs, unit, manuals, package.

if(RONDO_PYTHON AND TARGET rondo)
  foreach(name admin_test serve_log_test systemd_test)
    rondo_check(${name} ${RONDO_PYTHON} ${here}/${name}.py $<TARGET_FILE:rondo>)
    set_tests_properties(${name} PROPERTIES LABELS program)
  endforeach()
endif()
