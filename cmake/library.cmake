# SPDX-License-Identifier: MIT
#
# librondo, shared and static, from the objects of the layers that belong to
# it, and everything that `cmake --install` puts in place.
#
# A loadable source adds its target to the global property RONDO_PLUGINS:
#   set_property(GLOBAL APPEND PROPERTY RONDO_PLUGINS rondo_source_x)

set(rondo_parts "")
foreach(layer base runtime cache source)
  if(TARGET rondo_${layer}_objects)
    list(APPEND rondo_parts ${layer})
    get_target_property(links rondo_${layer}_objects LINK_LIBRARIES)
    if("rondo_proto" IN_LIST links)
      list(APPEND rondo_parts proto)
    endif()
  endif()
endforeach()
list(REMOVE_DUPLICATES rondo_parts)
list(TRANSFORM rondo_parts REPLACE "(.+)" "$<TARGET_OBJECTS:rondo_\\1_objects>")

function(rondo_library target kind)
  add_library(${target} ${kind} ${rondo_parts})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME rondo LINKER_LANGUAGE C)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

rondo_library(rondo_library_shared SHARED)
set_target_properties(rondo_library_shared PROPERTIES
  EXPORT_NAME rondo VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_link_libraries(rondo_library_shared PRIVATE Threads::Threads $<BUILD_INTERFACE:rondo_flags>)
if(NOT RONDO_SANITIZE)
  # A symbol that nobody defines is an error here, not in our users' programs.
  # (The sanitizers' own symbols come from the program.)
  target_link_options(rondo_library_shared PRIVATE -Wl,-z,defs)
endif()

rondo_library(rondo_library_static STATIC)
set_target_properties(rondo_library_static PROPERTIES EXPORT_NAME static)
target_link_libraries(rondo_library_static INTERFACE Threads::Threads)

# ------------------------------------------------------------------ install ---

include(CMakePackageConfigHelpers)
set(rondo_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)
set(rondo_doc_dir ${CMAKE_INSTALL_DATADIR}/doc/rondo)

install(TARGETS rondo_library_shared rondo_library_static EXPORT rondoTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/rondo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE CHANGELOG.md DESTINATION ${rondo_doc_dir})
if(TARGET rondo)
  install(TARGETS rondo RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
get_property(rondo_plugins GLOBAL PROPERTY RONDO_PLUGINS)
if(rondo_plugins)
  install(TARGETS ${rondo_plugins} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/rondo)
endif()

install(EXPORT rondoTargets NAMESPACE rondo:: DESTINATION ${rondo_package_dir})
configure_package_config_file(cmake/rondoConfig.cmake.in
  ${PROJECT_BINARY_DIR}/rondoConfig.cmake INSTALL_DESTINATION ${rondo_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rondoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rondoConfig.cmake
  ${PROJECT_BINARY_DIR}/rondoConfigVersion.cmake DESTINATION ${rondo_package_dir})

# Relative to the file itself, so that the tree may be installed anywhere.
file(RELATIVE_PATH rondo_pc_to_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/rondo.pc.in ${PROJECT_BINARY_DIR}/rondo.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rondo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
