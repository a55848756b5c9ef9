# SPDX-License-Identifier: Apache-2.0
# What is installed, in three components that are also three Debian packages:
#   runtime   elastic-mpi-runtime: libelastic_mpi, elastic-mpi-agent, elastic-mpi-sidecar
#   dev       elastic-mpi-dev: headers, libelastic_mpi_cxx.a and libelastic_mpi_checkpoint.a, the CMake package ElasticMPI, pkg-config files
#   programs  elastic-mpi: empi, elastic-mpi-operator
# cmake --install build/release --prefix P installs all of it; P may be moved afterwards. ./dev package makes the packages.
include(CMakePackageConfigHelpers)

# All that is built of it, for who builds no more (scripts/inside.sh).
set(installed_targets elastic-mpi-agent elastic-mpi-sidecar elastic_mpi elastic_mpi_cxx elastic_mpi_checkpoint)
foreach(program empi elastic-mpi-operator)
  if(TARGET ${program})
    list(APPEND installed_targets ${program})
  endif()
endforeach()
add_custom_target(installed DEPENDS ${installed_targets})

# --- runtime
install(TARGETS elastic-mpi-agent elastic-mpi-sidecar RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(TARGETS elastic_mpi EXPORT ElasticMPI
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# --- dev
install(TARGETS elastic_mpi_cxx EXPORT ElasticMPI ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
# In a set of its own: who does not ask for it needs no HDF5.
install(TARGETS elastic_mpi_checkpoint EXPORT ElasticMPICheckpoint ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
# CMake strips no archives; with their debug information they name folders of the machine that built them.
foreach(archive elastic_mpi_cxx elastic_mpi_checkpoint)
  install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND ${CMAKE_STRIP} --strip-debug \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/lib${archive}.a\"
                  COMMAND_ERROR_IS_FATAL ANY)
endif()" COMPONENT dev)
endforeach()
install(DIRECTORY runtime/sdk/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/ElasticMPI)
install(EXPORT ElasticMPI NAMESPACE ElasticMPI:: FILE ElasticMPITargets.cmake DESTINATION ${package_folder} COMPONENT dev)
install(EXPORT ElasticMPICheckpoint NAMESPACE ElasticMPI:: FILE ElasticMPICheckpointTargets.cmake
        DESTINATION ${package_folder} COMPONENT dev)
configure_package_config_file(cmake/ElasticMPIConfig.cmake.in ElasticMPIConfig.cmake INSTALL_DESTINATION ${package_folder}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(ElasticMPIConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ElasticMPIConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/ElasticMPIConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT dev)
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
foreach(name elastic_mpi elastic_mpi_cxx elastic_mpi_checkpoint)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()

# --- programs
if(TARGET empi AND TARGET elastic-mpi-operator)
  install(TARGETS empi elastic-mpi-operator RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  get_target_property(folder empi BINARY_DIR)
  install(FILES ${folder}/empi.bash RENAME empi
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT programs)
  install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/kubectl-empi ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/kubectl_complete-empi
          DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)  # links
endif()

# --- Debian packages
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME elastic-mpi)
set(CPACK_PACKAGE_VENDOR "Elastic MPI")
set(CPACK_PACKAGE_CONTACT "Elastic MPI maintainers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)         # Debian's Open MPI, PMIx and the rest: what the programs are linked with
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)   # a user's package finds its dependency on ours in the same way
set(CPACK_COMPONENTS_ALL runtime dev programs)
set(same_version "(= ${PROJECT_VERSION})")
set(about "Elastic MPI: MPI jobs that grow and shrink while they run")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME elastic-mpi-runtime)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "${about} (runtime)
 The library that malleable programs are linked with, the agent that starts the
 ranks of a pod, and the sidecar that serves what they measure.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS openmpi-common)  # what MPI says of errors

set(CPACK_DEBIAN_DEV_PACKAGE_NAME elastic-mpi-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DESCRIPTION "${about} (development files)
 Headers, the C++ library, and what CMake and pkg-config know of them.")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "elastic-mpi-runtime ${same_version}, libopenmpi-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "libhdf5-dev, zlib1g-dev")  # of ElasticMPI::checkpoint

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME elastic-mpi)
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION "${about}
 empi runs jobs on this machine and looks after them; elastic-mpi-operator runs
 them on Kubernetes.")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS "elastic-mpi-runtime ${same_version}, iproute2")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS bash-completion)

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} COMPONENT)
  install(FILES LICENSE RENAME copyright COMPONENT ${component}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME})
endforeach()
include(CPack)

# --- tests: a user's own project, built and run against what is installed and nothing else
foreach(case tree packages guide)
  add_test(NAME install.${case} COMMAND python3 ${CMAKE_SOURCE_DIR}/runtime/sdk/testing/install_test.py
           ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${case})
  set_tests_properties(install.${case} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS waits)
endforeach()
empi_needs(install.tree install.packages PROGRAMS ${installed_targets})
set_tests_properties(install.tree install.packages PROPERTIES RESOURCE_LOCK empi_run)
