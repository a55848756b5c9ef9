# SPDX-License-Identifier: Apache-2.0
# Tests and benchmarks. Neither is part of `all`, which is the programs of the product: target `tests` builds the
# programs of the tests, `sanitized` those that run under a sanitizer (cmake/sanitize.cmake), `benchmarks` what
# ./dev bench starts. ./dev test builds what the chosen tests need: each says so in REQUIRED_FILES.
#
# Labels: `fast` takes less than a second, `waits` waits more than it computes, `computes` takes longer and does nothing
# but compute (it may run beside the cases on the cluster, and take its time), `ranks` of these on several ranks of plain MPI, `quiet`
# would take a busy machine for a slow program (it runs when they are over), `long` is what only ./dev test long runs.
# What takes longer is in testing/slow.txt.

# What each narrows in the ordinary build is in docs/HACKING.md; preset `full`, ./dev test full, has all of it.
option(EMPI_FULL_TESTS "build and run every test in every configuration it has" OFF)

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/testing/slow.txt)
file(STRINGS ${CMAKE_SOURCE_DIR}/cmake/testing/slow.txt EMPI_SLOW_TESTS REGEX "^[0-9]")
list(TRANSFORM EMPI_SLOW_TESTS REPLACE "^[0-9]+ " "")

# PROCESSORS of a test that measures: half of the room, which is for four tests a core; of their own lane in ./dev test less than a
# quarter (scripts/inside_tests.sh).
cmake_host_system_information(RESULT empi_cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR EMPI_MEASURES "2 * ${empi_cores}")

add_custom_target(tests)
add_custom_target(benchmarks)
add_custom_target(check-benchmarks)

# Line numbers of a test cost a tenth of compiling it: it has them where sources are compiled alone, for who looks into it, and
# under a sanitizer. What it tests has them.
set(EMPI_TEST_OPTIONS -O0)
if(CMAKE_UNITY_BUILD)
  list(APPEND EMPI_TEST_OPTIONS -g0)
endif()

# empi_test_programs(TARGETS... [AS_SHIPPED]): programs and libraries of tests only. They are compiled at -O0, by clang
# (cmake/clang.cmake); what computes much in a test is in the libraries it links, and those are as everywhere. AS_SHIPPED:
# these, too, where it takes longer to run them than to compile them. (What a header defines is once in a program, and of both
# the linker takes the test's.)
function(empi_test_programs)
  cmake_parse_arguments(arg "AS_SHIPPED" "" "" ${ARGN})
  foreach(name IN LISTS arg_UNPARSED_ARGUMENTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    add_dependencies(tests ${name})
    if(NOT EMPI_FULL_TESTS AND NOT arg_AS_SHIPPED)
      target_compile_options(${name} PRIVATE ${EMPI_TEST_OPTIONS})
      empi_by_clang(${name})
    endif()
  endforeach()
endfunction()

# empi_on_ranks(PROGRAM RANKS... [MAY_REVOKE] [TIMEOUT SECONDS]): a test of plain MPI, without the agent, on each of these
# numbers of ranks: ctest cases PROGRAM.ranksN. MAY_REVOKE: a communicator, for Open MPI with fault tolerance; TIMEOUT is for these.
function(empi_on_ranks program)
  cmake_parse_arguments(arg "MAY_REVOKE" "TIMEOUT" "" ${ARGN})
  set(tolerant)
  if(arg_MAY_REVOKE)
    set(tolerant --with-ft ulfm)
  endif()
  foreach(ranks IN LISTS arg_UNPARSED_ARGUMENTS)
    set(case ${program}.ranks${ranks})
    add_test(NAME ${case}
             COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca btl self,sm ${tolerant} -n ${ranks}
                     $<TARGET_FILE:${program}>)
    set_tests_properties(${case} PROPERTIES PROCESSORS 2)
    if(arg_TIMEOUT)
      set_tests_properties(${case} PROPERTIES TIMEOUT ${arg_TIMEOUT})
    endif()
    if(NOT arg_MAY_REVOKE)
      set_tests_properties(${case} PROPERTIES LABELS "computes;ranks" TIMEOUT 900)  # it has what others leave
    endif()
    if(arg_MAY_REVOKE)  # where ranks may be lost mpiexec does not say that one has crashed
      set_tests_properties(${case} PROPERTIES PASS_REGULAR_EXPRESSION "PASSED  \\]" FAIL_REGULAR_EXPRESSION "FAILED  \\]|Caught signal")
    endif()
    empi_needs(${case} PROGRAMS ${program})
  endforeach()
endfunction()

# empi_benchmarks(TARGETS...): programs of ./dev bench. `check-benchmarks` compiles them as tests are, and links nothing: CI
# does that much.
function(empi_benchmarks)
  foreach(name IN LISTS ARGN)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    add_dependencies(benchmarks ${name})
    cmake_language(EVAL CODE "cmake_language(DEFER CALL empi_check_benchmark [[${name}]])")
  endforeach()
endfunction()

function(empi_check_benchmark name)
  get_target_property(sources ${name} SOURCES)
  get_target_property(libraries ${name} LINK_LIBRARIES)
  get_target_property(definitions ${name} COMPILE_DEFINITIONS)
  add_library(${name}.check OBJECT EXCLUDE_FROM_ALL ${sources})
  target_compile_options(${name}.check PRIVATE ${EMPI_TEST_OPTIONS})
  empi_by_clang(${name}.check)
  empi_precompiled(${name}.check plain ${EMPI_TEST_OPTIONS})
  if(libraries)
    target_link_libraries(${name}.check PRIVATE ${libraries})
  endif()
  if(definitions)
    target_compile_definitions(${name}.check PRIVATE ${definitions})
  endif()
  set_target_properties(${name}.check PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
  add_dependencies(check-benchmarks ${name}.check)
endfunction()

# empi_needs(TESTS... PROGRAMS TARGETS...): what ./dev test builds for these tests.
function(empi_needs)
  cmake_parse_arguments(arg "" "" "PROGRAMS" ${ARGN})
  set(files)
  foreach(program IN LISTS arg_PROGRAMS)
    list(APPEND files $<TARGET_FILE:${program}>)
  endforeach()
  foreach(test IN LISTS arg_UNPARSED_ARGUMENTS)
    set_property(TEST ${test} APPEND PROPERTY REQUIRED_FILES ${files})
  endforeach()
endfunction()

# empi_runs(TEST PROGRAMS...): it runs these, from beside itself (runtime/base/testing/places.hpp): under a sanitizer those that
# have it, too.
function(empi_runs test)
  add_dependencies(${test} ${ARGN})
  set_property(TARGET ${test} APPEND PROPERTY EMPI_RUNS ${ARGN})
endfunction()

# empi_test(NAME SOURCES... [LIBS ...] [WAITS|TIMED] [AS_SHIPPED]): a GoogleTest program; every TEST in its sources becomes a ctest
# case NAME.SUITE.CASE. WAITS: it starts processes and waits for them. TIMED: it has seconds for what a machine that gives it
# little time does not get done. When empi_sanitized_test() follows, the program runs under the sanitizers named there instead.
function(empi_test name)
  cmake_parse_arguments(arg "WAITS;TIMED;AS_SHIPPED" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  set(compiled)
  if(arg_AS_SHIPPED)
    set(compiled AS_SHIPPED)
  endif()
  empi_test_programs(${name} ${compiled})
  if(NOT EMPI_FULL_TESTS AND NOT arg_AS_SHIPPED)
    empi_precompiled(${name} plain ${EMPI_TEST_OPTIONS})
  endif()
  set_target_properties(${name} PROPERTIES EMPI_TEST_SOURCES "${arg_SOURCES}" EMPI_WAITS ${arg_WAITS} EMPI_TIMED ${arg_TIMED})
  # When all is said about it in this folder.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL empi_register_test [[${name}]])")
endfunction()

function(empi_register_test name)
  get_target_property(sanitizers ${name} EMPI_SANITIZERS)
  if(NOT sanitizers OR EMPI_FULL_TESTS)
    empi_register_cases(${name} ${name} ${name} "" "")
  elseif(EMPI_SLOW_TESTS MATCHES "(^|;)${name}[.]")
    empi_register_cases(${name} ${name} ${name} "" "" ONLY_PLAIN)
  endif()
  if(sanitizers)
    empi_register_sanitized(${name} ${sanitizers})
    if(NOT EMPI_FULL_TESTS AND CMAKE_UNITY_BUILD)  # clang-tidy and editors, which ask preset apart, know all sources
      empi_keep_sources(${name} ${name} TRUE)
      foreach(sanitizer IN LISTS sanitizers)
        empi_keep_sources(${name} ${name}.${sanitizer} FALSE)
      endforeach()
    endif()
  endif()
endfunction()

# Of the sources of TEST, PROGRAM is compiled from those that have a case which it runs, and those that have none at all: cases run
# with a sanitizer, or PLAIN without one.
function(empi_keep_sources test program plain)
  get_target_property(sources ${test} EMPI_TEST_SOURCES)
  get_target_property(kept ${program} SOURCES)
  foreach(source IN LISTS sources)
    empi_cases_in(${source} cases)
    set(runs FALSE)
    foreach(case IN LISTS cases)
      string(REGEX REPLACE "^[*]/|/[*]$" "" id "${case}")
      set(is_plain FALSE)
      if(${test}.${id} IN_LIST EMPI_SLOW_TESTS)
        set(is_plain TRUE)
      endif()
      if(is_plain STREQUAL plain)
        set(runs TRUE)
      endif()
    endforeach()
    if(cases AND NOT runs)
      list(REMOVE_ITEM kept ${source} ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    endif()
  endforeach()
  if(kept)  # else nobody builds it
    set_property(TARGET ${program} PROPERTY SOURCES ${kept})
  endif()
endfunction()

# The cases of a source, as GoogleTest's filter has them: SUITE.CASE, and of a TEST_P */SUITE.CASE/*.
function(empi_cases_in source out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  string(REGEX MATCHALL "\nTEST(_[FP])?\\([A-Za-z0-9_]+,[ \n]+[A-Za-z0-9_]+\\)" found "${text}")
  list(TRANSFORM found REPLACE "^\nTEST_P\\(([A-Za-z0-9_]+),[ \n]+([A-Za-z0-9_]+)\\)" "*/\\1.\\2/*")
  list(TRANSFORM found REPLACE "^\nTEST[_F]*\\(([A-Za-z0-9_]+),[ \n]+([A-Za-z0-9_]+)\\)" "\\1.\\2")
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# A ctest case PREFIX.SUITE.CASE for each TEST in the sources of TEST, run by PROGRAM. They are read in the sources, so
# that ctest knows them before anything is built; tests.every_case_is_listed compares with what was built.
# Of a test under a sanitizer, a case that slow.txt has by its plain name runs without one (ONLY_PLAIN: these), since the
# sanitizer takes minutes of computing to see again what the others show it; with EMPI_FULL_TESTS it runs both ways.
function(empi_register_cases test program prefix labels environment)
  cmake_parse_arguments(arg "ONLY_PLAIN" "" "" ${ARGN})
  get_target_property(sources ${test} EMPI_TEST_SOURCES)
  get_target_property(waits ${test} EMPI_WAITS)
  get_target_property(timed ${test} EMPI_TIMED)
  foreach(source IN LISTS sources)
    empi_cases_in(${source} filters)
    foreach(filter IN LISTS filters)
      string(REGEX REPLACE "^[*]/|/[*]$" "" id "${filter}")
      set(is_plain FALSE)
      if(${test}.${id} IN_LIST EMPI_SLOW_TESTS)
        set(is_plain TRUE)
      endif()
      if((arg_ONLY_PLAIN AND NOT is_plain) OR (is_plain AND NOT prefix STREQUAL test AND NOT EMPI_FULL_TESTS))
        continue()
      endif()
      set(case_labels ${labels})
      set(case_environment ${environment})
      set(processors 1)
      set(timeout 300)
      if(waits)
        list(APPEND case_labels waits)
        set(processors 2)
      elseif(timed)
        list(APPEND case_labels waits quiet)
      elseif(${prefix}.${id} IN_LIST EMPI_SLOW_TESTS)
        list(APPEND case_labels computes)
        set(timeout 900)  # as much as others leave it
        if(NOT EMPI_FULL_TESTS)
          # A third of their time. What they do a thousand times the others do once, and look.
          string(REPLACE "stack_use_after_return=1" "stack_use_after_return=0" case_environment "${case_environment}")
        endif()
      else()
        list(APPEND case_labels fast)
      endif()
      add_test(NAME ${prefix}.${id} COMMAND ${program} --gtest_brief=1 --gtest_filter=${filter})
      set_tests_properties(${prefix}.${id} PROPERTIES LABELS "${case_labels}" ENVIRONMENT "${case_environment}"
        REQUIRED_FILES $<TARGET_FILE:${program}> TIMEOUT ${timeout} PROCESSORS ${processors}
        SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]" FAIL_REGULAR_EXPRESSION " 0 tests from 0 test suites ran")
    endforeach()
  endforeach()
endfunction()
