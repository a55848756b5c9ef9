# SPDX-License-Identifier: Apache-2.0
# What is only tested is compiled by clang, where there is one (the Debian root has it): at -O0 it takes half the time of GCC,
# and with a header that is parsed beforehand, of which clang reads what a source uses, a third. Whatever is shipped is
# compiled by the compiler of the project, also where a test links it; so is everything where there is no clang.

set(EMPI_CLANG)
if(NOT EMPI_FUZZ)  # that has it compile everything
  find_program(EMPI_CLANGXX clang++-19)
  if(EMPI_CLANGXX)
    set(EMPI_CLANG ${EMPI_CLANGXX})
    message(STATUS "Tests are compiled by ${EMPI_CLANG}")
  endif()
endif()
# Options that only GCC has are among those of all. Libraries may ask for -pthread, and a parsed header must have it when they
# do. Sums are those of the product to the last bit, which GCC makes without multiplying in the same step.
set(EMPI_CLANG_OPTIONS -Wno-unknown-warning-option -pthread -ffp-contract=off)

# empi_by_clang(TARGET [LINKS]): its sources of C++; with LINKS clang also brings them together, as its sanitizers need it.
function(empi_by_clang target)
  if(NOT EMPI_CLANG)
    return()
  endif()
  set(instead ${CMAKE_SOURCE_DIR}/cmake/testing/instead.sh)
  set(launcher ${instead} ${CMAKE_CXX_COMPILER_LAUNCHER} ${EMPI_CLANG} --)
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${EMPI_CLANG_OPTIONS}>)
  if("LINKS" IN_LIST ARGN)
    set_target_properties(${target} PROPERTIES CXX_LINKER_LAUNCHER "${instead};${EMPI_CLANG};--")
  endif()
endfunction()

# empi_precompiled(TARGET KIND OPTIONS...): what nearly every test includes, and much of what is tested, is parsed once for
# all of a KIND, by clang, where a source is not compiled alone anyway (CMAKE_UNITY_BUILD); and so are compiled its inline
# functions, and the templates that testing/precompiled.hpp uses: a program links what came of it. OPTIONS are what all of a KIND
# are compiled with: what was parsed with others cannot be used. The product's programs and preset apart, by which clang-tidy
# sees what a source forgot to include, have no such header.
function(empi_precompiled target kind)
  if(NOT CMAKE_UNITY_BUILD OR NOT EMPI_CLANG)
    return()
  endif()
  set(parsed ${CMAKE_BINARY_DIR}/precompiled.${kind}.pch)
  set(archive ${CMAKE_BINARY_DIR}/libprecompiled.${kind}.a)
  if(NOT TARGET precompiled.${kind})
    string(TOUPPER "${CMAKE_BUILD_TYPE}" configuration)
    separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${configuration}}")
    set(header ${CMAKE_SOURCE_DIR}/cmake/testing/precompiled.hpp)
    set(script ${CMAKE_SOURCE_DIR}/cmake/testing/precompile.sh)
    add_custom_command(
      OUTPUT ${parsed} ${archive} DEPENDS ${header} ${script} DEPFILE ${parsed}.d
      COMMAND ${script} ${header} ${parsed} ${archive} ${EMPI_CLANG} ${EMPI_CLANG_OPTIONS} ${flags} -std=c++${CMAKE_CXX_STANDARD}
              -DGTEST_HAS_PTHREAD=1 ${ARGN} -fPIC -Xclang -fno-pch-timestamp
      COMMENT "Compiling the headers of what is only tested (${kind})" VERBATIM)
    add_custom_target(precompiled.${kind} DEPENDS ${parsed} ${archive})
  endif()
  add_dependencies(${target} precompiled.${kind})
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-fPIC -include-pch \"${parsed}\" -Xclang -fno-pch-timestamp -Xclang -module-file-deps>")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    # Before all libraries: what those have of the same is compiled otherwise. Shared ones, which are not ours, keep their own:
    # what guards it there a sanitizer would not see.
    target_link_options(${target} PRIVATE LINKER:--whole-archive ${archive} LINKER:--no-whole-archive
                        LINKER:--exclude-libs,libprecompiled.${kind}.a LINKER:--gc-sections)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${archive})
  endif()
endfunction()
