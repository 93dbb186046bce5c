# SPDX-License-Identifier: MIT
#
# What goes with the program - manuals, completion, units - and `cpack -G DEB`.

if(TARGET rondo)
  install(FILES docs/man/rondo.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES docs/man/rondo.yaml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
  install(FILES contrib/completion/rondo.bash RENAME rondo
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES contrib/systemd/rondo.service contrib/systemd/rondo.socket
    DESTINATION lib/systemd/system)
  install(FILES contrib/systemd/rondo.sysusers RENAME rondo.conf DESTINATION lib/sysusers.d)
  # The package's own configuration: nothing but the package may write to /etc.
  install(FILES contrib/debian/rondo.yaml DESTINATION ../etc/rondo
    COMPONENT package EXCLUDE_FROM_ALL)
endif()
install(FILES docs/man/librondo.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rondo)
set(CPACK_PACKAGE_CONTACT "the Rondo project")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS
  "${PROJECT_BINARY_DIR};rondo;ALL;/;${PROJECT_BINARY_DIR};rondo;package;/")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"A read-through cache that speaks the Redis protocol: what it does not have it loads
from a source, once however many ask. With the C library that it is made of.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  "${PROJECT_SOURCE_DIR}/contrib/debian/postinst"
  "${PROJECT_SOURCE_DIR}/contrib/debian/prerm"
  "${PROJECT_SOURCE_DIR}/contrib/debian/conffiles")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
