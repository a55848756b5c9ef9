# SPDX-License-Identifier: Apache-2.0
# How a source is compiled: with a cache of what was compiled before, and together with the others of its target.

# The cache asks for what a source includes, which the compiler says while it compiles (CCACHE_DEPEND): the preprocessor is not
# run for it, and could not be where a header was parsed beforehand (cmake/clang.cmake). Where all sources of a target are one,
# what one checkout has compiled serves all, in the same folder of each and by Ninja: what is compiled names no folder, here
# and in the sources made below. The compiler's messages have full names all the same.
find_program(CCACHE ccache)
if(CCACHE)
  set(launcher env CCACHE_DEPEND=1 CCACHE_ABSSTDERR=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${CMAKE_SOURCE_DIR})
  if(CMAKE_UNITY_BUILD)
    list(APPEND launcher CCACHE_NOHASHDIR=1)
    add_compile_options(-fdebug-prefix-map=${CMAKE_BINARY_DIR}=.)
  endif()
  list(APPEND launcher ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# Most of the compiler's time goes into what is included: where CMAKE_UNITY_BUILD is on (preset release), all sources of a
# target share it. Names in anonymous namespaces are then of one room, as those of tests often are not: empi_apart().
function(empi_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

if(CMAKE_UNITY_BUILD)
  # Programs name no folder of who has built them, and a type of one source is not meant for others although it stands in an
  # included file.
  file(RELATIVE_PATH up ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/x)
  string(REGEX REPLACE "x$" "" up ${up})
  add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/= -fmacro-prefix-map=${up}=
                      $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  cmake_language(DEFER CALL empi_unite_folder ${CMAKE_SOURCE_DIR})
endif()

# As CMake does it for that property, but including sources by their names in the checkout, where CMake before 4.0 writes full
# ones. When all targets are known. What is generated stays alone, and what has options of its own.
function(empi_unite_folder folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(unite ${target} UNITY_BUILD)
    if(unite AND type MATCHES "EXECUTABLE|LIBRARY" AND NOT type STREQUAL INTERFACE_LIBRARY)
      empi_unite(${target})
    endif()
  endforeach()
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS below)
    empi_unite_folder(${folder})
  endforeach()
endfunction()

function(empi_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  get_target_property(sources ${target} SOURCES)
  list(REMOVE_DUPLICATES sources)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(binaries ${target} BINARY_DIR)
  set(others)
  set(united)
  foreach(source IN LISTS sources)
    set(full ${source})
    cmake_path(ABSOLUTE_PATH full BASE_DIRECTORY ${folder})
    get_source_file_property(apart ${full} TARGET_DIRECTORY ${target} SKIP_UNITY_BUILD_INCLUSION)
    foreach(own GENERATED COMPILE_OPTIONS COMPILE_DEFINITIONS COMPILE_FLAGS INCLUDE_DIRECTORIES)
      get_source_file_property(value ${full} TARGET_DIRECTORY ${target} ${own})
      if(value)
        set(apart TRUE)
      endif()
    endforeach()
    if(source MATCHES "[.]cpp$" AND NOT apart)
      cmake_path(RELATIVE_PATH full BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
      list(APPEND united "#include \"${full}\"\n")
    else()
      list(APPEND others ${source})
    endif()
  endforeach()
  list(LENGTH united count)
  if(count GREATER 1)
    list(JOIN united "" united)
    file(CONFIGURE OUTPUT ${binaries}/unity/${target}.cpp CONTENT "${united}" @ONLY)
    set_target_properties(${target} PROPERTIES SOURCES "${binaries}/unity/${target}.cpp;${others}")
  endif()
endfunction()
