# Warnings, instrumentation and the factor of time limits: what every object of a build shares.

add_library(retile_warnings INTERFACE)
add_library(retile::warnings ALIAS retile_warnings)
target_compile_options(
  retile_warnings
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wsign-conversion
            -Wold-style-cast
            -Wnon-virtual-dtor
            -Wcast-align
            -Woverloaded-virtual
            # GCC 12 sees overlapping copies in std::string::insert where there are none.
            $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
            $<$<BOOL:${RETILE_WERROR}>:-Werror>)

# Instrumentation is for every object of the build, so it is set for the directory and not carried by targets.
if(RETILE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "RETILE_FUZZ needs clang: libFuzzer is part of it.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
if(RETILE_SANITIZE)
  set(_retile_sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options(${_retile_sanitizers})
  add_link_options(${_retile_sanitizers})
endif()
if(RETILE_SANITIZE_THREADS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR RETILE_SANITIZE)
    message(FATAL_ERROR "RETILE_SANITIZE_THREADS needs clang, and no other sanitizer beside it.")
  endif()
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()
# GCC looks for garbage less often: a unit that is a whole room compiles a tenth faster, in at most 1.5 GiB.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=200> $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=600000>)
endif()
# Tests are many programs, and mold links them several times as fast. What is installed is linked as the compiler does it.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  find_program(RETILE_MOLD mold DOC "Linker, used when found")
  mark_as_advanced(RETILE_MOLD)
  if(RETILE_MOLD)
    include(CheckLinkerFlag)
    check_linker_flag(CXX -fuse-ld=mold RETILE_LINKS_WITH_MOLD)
    if(RETILE_LINKS_WITH_MOLD)
      add_link_options(-fuse-ld=mold)
    endif()
  endif()
endif()
if(NOT RETILE_TEST_TIMEOUT_FACTOR)
  if(RETILE_SANITIZE OR RETILE_SANITIZE_THREADS OR RETILE_FUZZ)
    set(RETILE_TEST_TIMEOUT_FACTOR 4)
  else()
    set(RETILE_TEST_TIMEOUT_FACTOR 1)
  endif()
endif()
