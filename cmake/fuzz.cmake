# SPDX-License-Identifier: Apache-2.0
# Fuzzers: `foo_fuzz.cpp` beside the decoder that it feeds with whatever libFuzzer finds. Preset `fuzz`, which ./dev fuzz
# builds with clang, has everything instrumented. Elsewhere `check-fuzzers` has clang compile their sources, for it refuses
# what GCC accepts: CI does that much, and compiles what they feed by clang for the address sanitizer.
option(EMPI_FUZZ "build fuzzers, with everything instrumented for them (clang)" OFF)

add_custom_target(check-fuzzers)
if(EMPI_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# empi_fuzz(NAME SOURCES... LIBS ...): a fuzzer, bin/fuzz_NAME, from a source that defines LLVMFuzzerTestOneInput and
# empi::fuzz::seeds (runtime/base/testing/fuzz.hpp).
function(empi_fuzz name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  if(EMPI_FUZZ)
    add_executable(fuzz_${name} EXCLUDE_FROM_ALL ${arg_SOURCES} ${CMAKE_SOURCE_DIR}/runtime/base/testing/fuzz.cpp)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_library(fuzz_${name} OBJECT EXCLUDE_FROM_ALL ${arg_SOURCES})
    target_compile_options(fuzz_${name} PRIVATE ${EMPI_TEST_OPTIONS})
    empi_by_clang(fuzz_${name})
    empi_precompiled(fuzz_${name} plain ${EMPI_TEST_OPTIONS})
    add_dependencies(check-fuzzers fuzz_${name})
  endif()
  target_link_libraries(fuzz_${name} PRIVATE ${arg_LIBS})
endfunction()
