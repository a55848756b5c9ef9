# SPDX-License-Identifier: Apache-2.0
# What nearly every test includes is parsed once for all of them, where a source is not compiled alone anyway
# (CMAKE_UNITY_BUILD): up to a second and a half of the compiler's time for each object. Programs of the product have no
# such header, for theirs gains nothing; nor has preset apart, by which clang-tidy sees what a source forgot to include.

# empi_precompiled(TEST KIND OPTIONS...): a program of tests begins with these headers. A compiler takes what it has parsed
# with the same options only: each KIND of them has its own, and OPTIONS are what all of it have beside the directories'.
function(empi_precompiled test kind)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  set(owner precompiled.${kind})
  if(NOT TARGET ${owner})
    add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/testing/precompiled.cpp)
    target_precompile_headers(${owner} PRIVATE <gmock/gmock.h> <gtest/gtest.h> <algorithm> <chrono> <filesystem> <fstream> <map>
                              <memory> <optional> <string> <thread> <variant> <vector> <nlohmann/json.hpp>)
    target_link_libraries(${owner} PRIVATE GTest::gtest)  # its definitions
    # As a program's sources, not as a library's.
    set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF EXPORT_COMPILE_COMMANDS OFF)
    target_compile_options(${owner} PRIVATE -fPIE ${ARGN} -fpch-preprocess)
  endif()
  target_precompile_headers(${test} REUSE_FROM ${owner})
  target_compile_options(${test} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # for the compiler cache
endfunction()
