# SPDX-License-Identifier: Apache-2.0
# The same programs and tests a second time under a sanitizer, beside the ordinary ones in the same build tree:
# bin/tsan/NAME (threads) and bin/asan/NAME (addresses, leaks, undefined behaviour). The sources of a library are
# compiled once more per sanitizer, whoever uses it. They are not part of `all`: target `sanitized` builds them all,
# ./dev test those it runs. ctest -L tsan, -L asan or -L sanitized selects them, -LE sanitized leaves them out.
# A test that has a twin is compiled for nothing else.
# Open MPI, PMIx and the ranks stay as they are; what follows from that for reports is in cmake/sanitizers/.

option(EMPI_SANITIZED_TESTS "test under thread and address sanitizer, too" ON)

# Fences are not seen by it: GCC warns of those in the standard library, too (-Wtsan).
set(EMPI_FLAGS_tsan -fsanitize=thread -Wno-tsan)
set(EMPI_FLAGS_asan -fsanitize=address,undefined -fno-sanitize-recover=undefined)
# No atomic, no lock, no shared_ptr and no static that is made at its first use: what threads could do wrong with these
# is seen in the callers. They are linked as they are.
set(EMPI_PLAIN_tsan operator_decide operator_objects operator_simulate operator_world agent_core)
if(EMPI_FULL_TESTS)
  set(EMPI_PLAIN_tsan)
else()
  # Address finds nearly all that these find, a null pointer ends the program, and what is not aligned is read all the
  # same by the processors that there are.
  list(APPEND EMPI_FLAGS_asan -fno-sanitize=null,object-size,alignment,pointer-overflow)
endif()
set(empi_suppressions ${CMAKE_SOURCE_DIR}/cmake/sanitizers)
# Whom clang's sanitizers ask what an address is: suppressions name functions.
find_program(EMPI_SYMBOLIZER NAMES llvm-symbolizer-19 llvm-symbolizer addr2line)
set(empi_symbolizer)
if(EMPI_SYMBOLIZER)
  set(empi_symbolizer external_symbolizer_path=${EMPI_SYMBOLIZER}:)
endif()
set(EMPI_ENVIRONMENT_tsan
    "TSAN_OPTIONS=${empi_symbolizer}suppressions=${empi_suppressions}/tsan.txt:halt_on_error=1:second_deadlock_stack=1:print_suppressions=0")
# PMIx's store in shared memory wants the middle of the largest hole among the mappings, which it reads while
# AddressSanitizer maps more; the store in private memory has no such wish.
set(EMPI_ENVIRONMENT_asan
    "PMIX_MCA_gds=hash"
    "ASAN_OPTIONS=${empi_symbolizer}detect_stack_use_after_return=1@leaks@"
    "LSAN_OPTIONS=suppressions=${empi_suppressions}/lsan.txt:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1")
# Every stack of what is not freed is looked up from its innermost function, which is the sanitizer's own: quickly where that is
# a library, as GCC has it; else in all line numbers of the program, half a second each time one of its processes ends.
set(EMPI_LINKS_asan)
if(EMPI_CLANG)
  execute_process(COMMAND ${EMPI_CLANG} -print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so
                  OUTPUT_VARIABLE empi_libasan OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(EXISTS "${empi_libasan}")
    cmake_path(GET empi_libasan PARENT_PATH empi_libasan)
    set(EMPI_LINKS_asan -shared-libasan LINKER:-rpath,${empi_libasan})
  endif()
endif()
add_custom_target(sanitized)

# empi_sanitize(TARGET SANITIZER): it is compiled and linked with the sanitizer.
function(empi_sanitize target sanitizer)
  # Without a little optimising GCC's tests take several times as long and find no more; clang's half as long again.
  set(optimise -O1)
  if(EMPI_CLANG AND NOT EMPI_FULL_TESTS)
    set(optimise -O0)
  endif()
  set(options ${EMPI_FLAGS_${sanitizer}} ${optimise} -g1 -fno-omit-frame-pointer)
  # Sanitized code misleads GCC's own warnings (of array bounds and of what is uninitialised in the standard library).
  target_compile_options(${target} PRIVATE ${options} -Wno-error)
  target_link_options(${target} PUBLIC ${EMPI_FLAGS_${sanitizer}} ${EMPI_LINKS_${sanitizer}})
  empi_by_clang(${target} LINKS)
  empi_precompiled(${target} ${sanitizer} ${options})
endfunction()

# empi_sanitized_twin(SANITIZER TARGET OUT): a copy of a library or program of ours and of all of ours that it links.
function(empi_sanitized_twin sanitizer target out)
  set(twin ${target}.${sanitizer})
  set(${out} ${twin} PARENT_SCOPE)
  if(TARGET ${twin})
    return()
  endif()
  get_target_property(type ${target} TYPE)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  get_target_property(definitions ${target} COMPILE_DEFINITIONS)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  get_target_property(includes ${target} INCLUDE_DIRECTORIES)
  get_target_property(offered ${target} INTERFACE_INCLUDE_DIRECTORIES)
  get_target_property(needed ${target} MANUALLY_ADDED_DEPENDENCIES)
  get_target_property(programs ${target} EMPI_RUNS)
  list(TRANSFORM sources PREPEND ${folder}/)
  if(NOT libraries)
    set(libraries)
  endif()
  if(target IN_LIST EMPI_PLAIN_${sanitizer})
    # The archive itself, with the twins of what it links.
    get_target_property(binaries ${target} BINARY_DIR)
    add_library(${twin} STATIC IMPORTED GLOBAL)
    set_target_properties(${twin} PROPERTIES IMPORTED_LOCATION ${binaries}/lib${target}.a)
    add_dependencies(${twin} ${target})
    set(link INTERFACE)
  elseif(type STREQUAL EXECUTABLE)
    set(link PUBLIC)
    add_executable(${twin} EXCLUDE_FROM_ALL ${sources})
    set_target_properties(${twin} PROPERTIES OUTPUT_NAME ${target}
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/${sanitizer})
    add_dependencies(sanitized ${twin})
  else()
    set(link PUBLIC)
    add_library(${twin} STATIC EXCLUDE_FROM_ALL ${sources})
  endif()
  foreach(library IN LISTS libraries)
    if(TARGET ${library})
      get_target_property(imported ${library} IMPORTED)
      get_target_property(kind ${library} TYPE)
      if(NOT imported AND kind STREQUAL STATIC_LIBRARY)
        empi_sanitized_twin(${sanitizer} ${library} library)
      endif()
    else()
      set_property(GLOBAL APPEND PROPERTY EMPI_LINKED_AS_IT_IS "${twin} ${library}")
    endif()
    target_link_libraries(${twin} ${link} ${library})
  endforeach()
  if(offered)
    target_include_directories(${twin} INTERFACE ${offered})
  endif()
  if(link STREQUAL INTERFACE)
    return()
  endif()
  if(includes)
    target_include_directories(${twin} PRIVATE ${includes})
  endif()
  list(FILTER needed EXCLUDE REGEX "^precompiled[.]")  # a twin has its own
  if(needed)
    add_dependencies(${twin} ${needed})
  endif()
  if(definitions)
    target_compile_definitions(${twin} PRIVATE ${definitions})
  endif()
  if(programs)
    foreach(program IN LISTS programs)
      empi_sanitized_twin(${sanitizer} ${program} program_twin)
      add_dependencies(${twin} ${program_twin})
    endforeach()
  endif()
  # clang-tidy and editors know the ordinary targets; once is enough.
  set_target_properties(${twin} PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
  empi_sanitize(${twin} ${sanitizer})
endfunction()

# What was no target when a twin was made, and is a library of ours now, would be linked as it is: whatever that links comes
# before the twins of the same, and the test would run the ordinary code.
function(empi_check_twins)
  get_property(pairs GLOBAL PROPERTY EMPI_LINKED_AS_IT_IS)
  set(wrong)
  foreach(pair IN LISTS pairs)
    string(REPLACE " " ";" pair "${pair}")
    list(POP_FRONT pair twin library)
    if(TARGET "${library}")
      get_target_property(imported ${library} IMPORTED)
      if(NOT imported)
        list(APPEND wrong "${twin} links ${library}")
      endif()
    endif()
  endforeach()
  if(wrong)
    list(JOIN wrong ", " wrong)
    message(FATAL_ERROR "${wrong} without the sanitizer: that add_library() comes too late, after the folder of the test")
  endif()
endfunction()
cmake_language(DEFER CALL empi_check_twins)

# Sets OUT to the environment of a case under this sanitizer; LEAKS is what follows detect_stack_use_after_return.
function(empi_sanitized_environment sanitizer leaks out)
  string(CONFIGURE "${EMPI_ENVIRONMENT_${sanitizer}}" environment @ONLY)
  set(${out} "${environment}" PARENT_SCOPE)
endfunction()

# empi_sanitized_case(SANITIZER NAME [PMIX|NO_LEAKS] [COMPUTES] [QUIET] COMMAND... [ENVIRONMENT...] [PROGRAMS TARGETS...]
# [TIMEOUT SECONDS]): a ctest case SANITIZER.NAME; PMIX when a program of it links that library, NO_LEAKS when ranks are
# killed there, too: PMIx's server then keeps what it had for a request that has lost its rank, or whose other rank is gone.
# COMPUTES: the label, rather than `waits`, and one processor, not two. QUIET: the label, too. PROGRAMS are what it runs.
function(empi_sanitized_case sanitizer name)
  cmake_parse_arguments(arg "PMIX;NO_LEAKS;COMPUTES;QUIET" "TIMEOUT" "COMMAND;ENVIRONMENT;PROGRAMS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  # Complete stacks cost much time; only the suppressions for PMIx need them.
  set(leaks)
  if(arg_NO_LEAKS)
    set(leaks :detect_leaks=0)
  elseif(arg_PMIX)
    set(leaks :fast_unwind_on_malloc=0:malloc_context_size=20)
  endif()
  empi_sanitized_environment(${sanitizer} "${leaks}" environment)
  set(spends waits)
  set(processors 2)
  if(arg_COMPUTES)
    set(spends computes)
    set(processors 1)
  endif()
  if(arg_QUIET AND NOT arg_COMPUTES)
    list(APPEND spends quiet)
  endif()
  add_test(NAME ${sanitizer}.${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${sanitizer}.${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} PROCESSORS ${processors} LABELS "sanitized;${sanitizer};${spends}"
                       ENVIRONMENT "${environment};${arg_ENVIRONMENT}")
  empi_needs(${sanitizer}.${name} PROGRAMS ${arg_PROGRAMS})
endfunction()

# empi_sanitized_test(TEST SANITIZERS... [COMPUTES]): a test that empi_test() has made runs under these instead of as it is:
# each TEST of it as SANITIZER.TEST.SUITE.CASE under the first, the whole program as SANITIZER.TEST under a second; that
# `computes`, or `waits` as most do, at least in some of their cases.
function(empi_sanitized_test test)
  cmake_parse_arguments(arg "COMPUTES" "" "SANITIZERS" ${ARGN})
  if(EMPI_SANITIZED_TESTS)
    set_target_properties(${test} PROPERTIES EMPI_SANITIZERS "${arg_SANITIZERS}" EMPI_COMPUTES ${arg_COMPUTES})
  endif()
endfunction()

function(empi_register_sanitized test)
  set(spends)
  get_target_property(computes ${test} EMPI_COMPUTES)
  if(computes)
    set(spends COMPUTES)
  endif()
  get_target_property(timed ${test} EMPI_TIMED)
  if(timed)
    list(APPEND spends QUIET)
  endif()
  set(without)  # the cases that slow.txt has by their plain name
  if(NOT EMPI_FULL_TESTS)
    set(plain ${EMPI_SLOW_TESTS})
    list(FILTER plain INCLUDE REGEX "^${test}[.]")
    list(TRANSFORM plain REPLACE "^${test}[.]" "")
    list(JOIN plain ":" plain)
    string(REGEX REPLACE "^(.+)$" "--gtest_filter=-\\1" without "${plain}")
  endif()
  foreach(sanitizer IN LISTS ARGN)
    empi_sanitized_twin(${sanitizer} ${test} twin)
    if(sanitizer STREQUAL "${ARGV1}")
      empi_sanitized_environment(${sanitizer} "" environment)
      empi_register_cases(${test} ${twin} ${sanitizer}.${test} "sanitized;${sanitizer}" "${environment}")
    else()
      empi_sanitized_case(${sanitizer} ${test} ${spends} COMMAND $<TARGET_FILE:${twin}> --gtest_brief=1 ${without} PROGRAMS ${twin})
    endif()
  endforeach()
endfunction()
