# SPDX-License-Identifier: Apache-2.0
# Fuzzers: `foo_fuzz.cpp` beside the decoder that it feeds with whatever libFuzzer finds. Preset `fuzz`, which ./dev fuzz
# builds with clang, has everything instrumented; elsewhere `check-fuzzers` has clang look at their sources and those of the
# libraries that they feed, for it refuses what GCC accepts: CI does that much.
option(EMPI_FUZZ "build fuzzers, with everything instrumented for them (clang)" OFF)

add_custom_target(check-fuzzers
  COMMAND python3 ${CMAKE_SOURCE_DIR}/cmake/clang_reads.py ${CMAKE_BINARY_DIR} $<REMOVE_DUPLICATES:$<TARGET_PROPERTY:check-fuzzers,seen>>
  COMMAND_EXPAND_LISTS VERBATIM)
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
    set_property(TARGET check-fuzzers APPEND PROPERTY seen fuzz_${name} ${arg_LIBS})
    add_dependencies(check-fuzzers ${arg_LIBS})  # for what they generate
  endif()
  target_link_libraries(fuzz_${name} PRIVATE ${arg_LIBS})
endfunction()
