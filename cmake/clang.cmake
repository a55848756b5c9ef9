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
# all of a KIND, by clang, where a source is not compiled alone anyway (CMAKE_UNITY_BUILD). OPTIONS are what all of a KIND
# are compiled with: what was parsed with others cannot be used. The product's programs and preset apart, by which clang-tidy
# sees what a source forgot to include, have no such header.
function(empi_precompiled target kind)
  if(NOT CMAKE_UNITY_BUILD OR NOT EMPI_CLANG)
    return()
  endif()
  set(parsed ${CMAKE_BINARY_DIR}/precompiled.${kind}.pch)
  if(NOT TARGET precompiled.${kind})
    # Not of the product: a source says what it needs of that.
    set(headers algorithm chrono deque filesystem fstream functional map memory mutex optional random set
                sstream string thread variant vector nlohmann/json.hpp)
    list(TRANSFORM headers PREPEND "-include;")
    get_target_property(includes GTest::gmock INTERFACE_INCLUDE_DIRECTORIES)
    find_file(EMPI_GMOCK_HEADER gmock/gmock.h HINTS ${includes} REQUIRED)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" configuration)
    separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${configuration}}")
    # It names no folder and no time of here: what the compiler cache has of another checkout is as good.
    add_custom_command(
      OUTPUT ${parsed} DEPFILE ${parsed}.d
      COMMAND ${EMPI_CLANG} ${EMPI_CLANG_OPTIONS} ${flags} -std=c++${CMAKE_CXX_STANDARD} -DGTEST_HAS_PTHREAD=1 ${ARGN} -fPIC -fpch-instantiate-templates
              -Xclang -fno-pch-timestamp -x c++-header ${headers} -MD -MQ ${parsed} -MF ${parsed}.d -c ${EMPI_GMOCK_HEADER} -o ${parsed}
      COMMENT "Parsing the headers of what is only tested (${kind})" VERBATIM)
    add_custom_target(precompiled.${kind} DEPENDS ${parsed})
  endif()
  add_dependencies(${target} precompiled.${kind})
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-fPIC -include-pch \"${parsed}\" -Xclang -fno-pch-timestamp -Xclang -module-file-deps>")
endfunction()
