# How targets are made here: rooms, programs, tests, the installed package.
#
#   retile_add_room(<room> SOURCES a.cpp .. HEADERS a.h .. [INNER_HEADERS b.h ..] DEPS retile::core ..
#                   [PRIVATE_DEPS nlohmann_json::nlohmann_json ..])
#       in src/retile/<room>/CMakeLists.txt: library retile_<room> with alias retile::<room>. HEADERS are the room's public
#       headers: they are installed. Other rooms may include them and INNER_HEADERS, which are not installed, and no others.
#       A room without SOURCES is header-only.
#       For src/retile/exec/sim write exec/sim or exec_sim: target retile_exec_sim, alias retile::exec_sim.
#   retile_add_program(<name> SOURCES main.cpp .. DEPS ..)
#       executable <name>, built to <build>/bin and installed.
#   retile_add_test(<name> SOURCES x_test.cpp .. DEPS retile::core .. [LABELS unit ..] [TIMEOUT seconds] [ARGS ..])
#       GoogleTest + GoogleMock + RapidCheck executable test_<name> and one ctest entry <name>. main() is provided.
#       Tests may include "spec/..", "support/.." and the public headers of DEPS.
#   retile_add_mpi_test(<name> SOURCES .. DEPS .. RANKS 1 2 4 [LABELS mpi ..] [TIMEOUT seconds] [ARGS ..])
#       the same under mpiexec, one ctest entry <name>.ranks_<n> per number of processes. main() initialises MPI.
#   retile_add_fuzz_target(<name> SOURCES x_fuzz.cpp .. DEPS retile::core ..)
#       replay_<name>, built everywhere, and with RETILE_FUZZ also fuzz_<name>. ctest entries fuzz.<name> (every saved file of
#       fuzz/corpus/<name> and tests/regress/<name>) and fuzz.control.<name> (the mistake of the negative control is found).
#
# Tests made with add_test(NAME <name> ..): give them retile_set_test_properties(<name> LABELS .. [TIMEOUT ..] [ENVIRONMENT ..]),
# with ENVIRONMENT ${RETILE_MPI_ENVIRONMENT} where they start MPI; retile_leave_out_test(<name> <reason>) notes an absent one.
# A test that depends on a room that is not built is left out, and the summary says so.
# A test program in which every test was skipped is reported as skipped (it ends with code 77).

set(RETILE_ROOMS_BUILT "" CACHE INTERNAL "")
set(RETILE_ROOMS_LEFT_OUT "" CACHE INTERNAL "")
set(RETILE_TESTS_LEFT_OUT "" CACHE INTERNAL "")
set(RETILE_LABELS unit property exhaustive proof mpi gpu cli slow)

# ---- Flags -----------------------------------------------------------------------------------------------------------

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
if(NOT RETILE_TEST_TIMEOUT_FACTOR)
  if(RETILE_SANITIZE OR RETILE_SANITIZE_THREADS OR RETILE_FUZZ)
    set(RETILE_TEST_TIMEOUT_FACTOR 4)
  else()
    set(RETILE_TEST_TIMEOUT_FACTOR 1)
  endif()
endif()

# ---- Optional packages -----------------------------------------------------------------------------------------------

# retile_find_optional(<option> <what> PACKAGES .. [COMPONENTS ..]) sets <option>_ENABLED and, where not, <option>_REASON.
# A package without a CMake file is named by PKG_CONFIG <module> and becomes the target PkgConfig::<what>.
macro(retile_find_optional option what)
  cmake_parse_arguments(_optional "" "PKG_CONFIG" "PACKAGES;COMPONENTS" ${ARGN})
  string(TOUPPER "${${option}}" _optional_value)
  set(${option}_ENABLED ON)
  set(${option}_REASON "")
  if(_optional_value STREQUAL "AUTO" OR _optional_value STREQUAL "ON")
    foreach(_optional_package IN LISTS _optional_PACKAGES)
      if(_optional_COMPONENTS)
        find_package(${_optional_package} QUIET COMPONENTS ${_optional_COMPONENTS})
      else()
        find_package(${_optional_package} QUIET)
      endif()
      if(NOT ${_optional_package}_FOUND)
        if(_optional_value STREQUAL "ON")
          message(FATAL_ERROR "${option}=ON, but package ${_optional_package} was not found (scripts/deps installs it).")
        endif()
        set(${option}_ENABLED OFF)
        set(${option}_REASON "package ${_optional_package} not found")
      endif()
    endforeach()
    if(_optional_PKG_CONFIG)
      find_package(PkgConfig QUIET)
      if(PkgConfig_FOUND)
        pkg_check_modules(${what} QUIET IMPORTED_TARGET ${_optional_PKG_CONFIG})
      endif()
      if(NOT TARGET PkgConfig::${what})
        if(_optional_value STREQUAL "ON")
          message(FATAL_ERROR "${option}=ON, but ${_optional_PKG_CONFIG} was not found by pkg-config (scripts/deps installs it).")
        endif()
        set(${option}_ENABLED OFF)
        set(${option}_REASON "${_optional_PKG_CONFIG} not found by pkg-config")
      endif()
    endif()
  elseif(_optional_value)
    message(FATAL_ERROR "${option}=${${option}}: write AUTO, ON or OFF.")
  else()
    set(${option}_ENABLED OFF)
    set(${option}_REASON "${option}=OFF")
  endif()
endmacro()

# Sets RETILE_CUDA_ENABLED, and where not RETILE_CUDA_REASON: the toolkit with its compiler, in a build that is not instrumented.
macro(retile_find_cuda)
  if(RETILE_CUDA STREQUAL "AUTO" AND (RETILE_SANITIZE OR RETILE_SANITIZE_THREADS OR RETILE_FUZZ))
    set(RETILE_CUDA_ENABLED OFF)
    set(RETILE_CUDA_REASON "instrumented build")
  else()
    retile_find_optional(RETILE_CUDA CUDA PACKAGES CUDAToolkit)
  endif()
  set(lacking "")
  if(RETILE_CUDA_ENABLED AND NOT (CUDAToolkit_NVCC_EXECUTABLE AND TARGET CUDA::cudart_static))
    set(lacking "a toolkit without nvcc or static runtime")
  elseif(RETILE_CUDA_ENABLED AND CUDAToolkit_VERSION VERSION_LESS 12)
    set(lacking "CUDA ${CUDAToolkit_VERSION} is older than 12.0, whose compiler is the first that knows C++20")
  endif()
  if(lacking)
    if(RETILE_CUDA STREQUAL "ON")
      message(FATAL_ERROR "RETILE_CUDA=ON, but: ${lacking}.")
    endif()
    set(RETILE_CUDA_ENABLED OFF)
    set(RETILE_CUDA_REASON "${lacking}")
  endif()
  if(RETILE_CUDA_ENABLED AND NOT RETILE_CUDA_ARCHITECTURES)
    # Toolkits drop the oldest generations.
    set(RETILE_CUDA_ARCHITECTURES 70 80 90)
    if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13)
      list(TRANSFORM RETILE_CUDA_ARCHITECTURES REPLACE "^70$" "75")
    endif()
  endif()
endmacro()

# ---- Rooms and programs ----------------------------------------------------------------------------------------------

function(_retile_check_arguments function_name prefix)
  if(${prefix}_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function_name}: unknown arguments: ${${prefix}_UNPARSED_ARGUMENTS}")
  endif()
endfunction()

function(_retile_note_room room reason)
  if(reason STREQUAL "")
    set(RETILE_ROOMS_BUILT ${RETILE_ROOMS_BUILT} "${room}" CACHE INTERNAL "")
  else()
    set(RETILE_ROOMS_LEFT_OUT ${RETILE_ROOMS_LEFT_OUT} "${room} (${reason})" CACHE INTERNAL "")
  endif()
endfunction()

# Adds src/retile/<directory> if it exists and everything that it NEEDS is there; remembers why not.
function(retile_add_room_directory directory)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OPTION" "NEEDS;TARGETS")
  _retile_check_arguments(retile_add_room_directory arg)
  set(reason "")
  if(NOT EXISTS "${PROJECT_SOURCE_DIR}/src/retile/${directory}/CMakeLists.txt")
    set(reason "not in this tree")
  elseif(arg_OPTION AND NOT ${arg_OPTION}_ENABLED)
    set(reason "${${arg_OPTION}_REASON}")
  else()
    foreach(target IN LISTS arg_TARGETS)
      if(NOT TARGET ${target})
        set(reason "${target} not found")
      endif()
    endforeach()
    foreach(room IN LISTS arg_NEEDS)
      if(NOT TARGET retile::${room})
        set(reason "needs ${room}")
      endif()
    endforeach()
  endif()
  if(reason STREQUAL "")
    add_subdirectory("${PROJECT_SOURCE_DIR}/src/retile/${directory}")
  endif()
  _retile_note_room("${directory}" "${reason}")
endfunction()

# The second reading of the paper: headers only, seen by retile-oracle and the tests, never installed or linked by src.
function(retile_add_spec)
  add_library(retile_spec INTERFACE)
  add_library(retile::spec ALIAS retile_spec)
  target_include_directories(retile_spec INTERFACE "${PROJECT_SOURCE_DIR}")
  target_compile_features(retile_spec INTERFACE cxx_std_20)
  if(EXISTS "${PROJECT_SOURCE_DIR}/spec/CMakeLists.txt")
    add_subdirectory("${PROJECT_SOURCE_DIR}/spec")
    _retile_note_room(spec "")
  else()
    _retile_note_room(spec "not in this tree")
  endif()
endfunction()

# What `--target retile_rooms` builds: every room and program, no tests.
add_custom_target(retile_rooms)

function(retile_add_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;INNER_HEADERS;DEPS;PRIVATE_DEPS")
  _retile_check_arguments(retile_add_room arg)
  string(REPLACE "/" "_" name "${room}")
  set(target retile_${name})
  if(arg_SOURCES)
    add_library(${target} ${arg_SOURCES})
    set(public PUBLIC)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:retile::warnings>)
  else()
    add_library(${target} INTERFACE)
    set(public INTERFACE)
  endif()
  add_library(retile::${name} ALIAS ${target})
  target_sources(
    ${target} ${public}
    FILE_SET HEADERS
    BASE_DIRS "${PROJECT_SOURCE_DIR}/src"
    FILES ${arg_HEADERS})
  # A room without public headers is found by its neighbours all the same.
  target_include_directories(${target} ${public} "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>")
  target_compile_features(${target} ${public} cxx_std_20)
  target_link_libraries(${target} ${public} ${arg_DEPS})
  foreach(dependency IN LISTS arg_PRIVATE_DEPS)
    set(header_only FALSE)
    if(TARGET ${dependency} AND NOT dependency MATCHES "^retile::")
      get_target_property(type ${dependency} TYPE)
      get_target_property(links ${dependency} INTERFACE_LINK_LIBRARIES)
      if(type STREQUAL "INTERFACE_LIBRARY" AND NOT links)
        set(header_only TRUE)
      endif()
    endif()
    if(header_only) # nothing to link, so users of the installed library need not find it
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${dependency}>)
    else()
      target_link_libraries(${target} PRIVATE ${dependency})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  if(arg_SOURCES)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    add_dependencies(retile_rooms ${target})
  endif()
  if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(rpath "${CMAKE_INSTALL_LIBDIR}")
  else()
    set(rpath "$ORIGIN")
  endif()
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${rpath}")
  install(
    TARGETS ${target}
    EXPORT retileTargets
    FILE_SET HEADERS)
  set_property(GLOBAL APPEND PROPERTY RETILE_EXPORTED_ROOMS ${name})
endfunction()

function(retile_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  _retile_check_arguments(retile_add_program arg)
  add_executable(${name} ${arg_SOURCES})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} PRIVATE retile::warnings ${arg_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  if(BUILD_SHARED_LIBS AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_BINDIR}")
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/${up}")
  endif()
  add_dependencies(retile_rooms ${name})
  install(TARGETS ${name})
endfunction()

# ---- Tests -----------------------------------------------------------------------------------------------------------

# What every test of the build finds in its environment; a fault must end the test, with a stack.
set(RETILE_ASAN_OPTIONS "strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1")
set(RETILE_TEST_ENVIRONMENT "")
if(RETILE_SANITIZE)
  list(
    APPEND
    RETILE_TEST_ENVIRONMENT
    "ASAN_OPTIONS=${RETILE_ASAN_OPTIONS}"
    "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1")
endif()

# Sets labels, time limit and environment of ctest entries. Scripts run as tests use it as well.
#   retile_set_test_properties(<entry> LABELS unit [TIMEOUT seconds] [ENVIRONMENT NAME=value ..])
function(retile_set_test_properties entry)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LABELS;ENVIRONMENT")
  _retile_check_arguments(retile_set_test_properties arg)
  foreach(label IN LISTS arg_LABELS)
    if(NOT label IN_LIST RETILE_LABELS)
      message(FATAL_ERROR "Test ${entry}: unknown label ${label}; labels are: ${RETILE_LABELS}")
    endif()
  endforeach()
  if(NOT arg_TIMEOUT)
    if("slow" IN_LIST arg_LABELS)
      set(arg_TIMEOUT 1800)
    else()
      set(arg_TIMEOUT 300)
    endif()
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${RETILE_TEST_TIMEOUT_FACTOR}")
  set_tests_properties(
    ${entry}
    PROPERTIES LABELS "${arg_LABELS}"
               TIMEOUT ${timeout}
               SKIP_RETURN_CODE 77
               ENVIRONMENT "${RETILE_TEST_ENVIRONMENT};${arg_ENVIRONMENT}")
endfunction()

# Notes in the summary that a test is not part of this build, and why.
function(retile_leave_out_test name reason)
  set(RETILE_TESTS_LEFT_OUT ${RETILE_TESTS_LEFT_OUT} "${name} (${reason})" CACHE INTERNAL "")
endfunction()

# Sets <result> to whether all rooms that a test links are built; remembers the test if not.
function(_retile_rooms_are_built result name)
  set(${result} TRUE PARENT_SCOPE)
  foreach(dependency IN LISTS ARGN)
    if(dependency MATCHES "^retile::" AND NOT TARGET ${dependency})
      retile_leave_out_test(${name} "needs ${dependency}")
      set(${result} FALSE PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(_retile_add_test_executable target main)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;DEPS")
  add_executable(${target} ${arg_SOURCES})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_link_libraries(
    ${target}
    PRIVATE retile::warnings
            ${arg_DEPS}
            retile::test_support
            ${main}
            GTest::gmock
            GTest::gtest
            rapidcheck
            rapidcheck_gtest)
  # GoogleTest's and RapidCheck's macros are not ours to tidy.
  set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "")
endfunction()

function(retile_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;DEPS;LABELS;ARGS")
  _retile_check_arguments(retile_add_test arg)
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  _retile_rooms_are_built(built ${name} ${arg_DEPS})
  if(NOT built)
    return()
  endif()
  _retile_add_test_executable(test_${name} retile_test_main SOURCES ${arg_SOURCES} DEPS ${arg_DEPS})
  if(RETILE_SANITIZE AND NOT ";${arg_LABELS};" MATCHES ";(unit|property|mpi);")
    # Sanitized runs leave the enumerations out; who wants one builds its target.
    set_target_properties(test_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  add_test(NAME ${name} COMMAND test_${name} ${arg_ARGS})
  retile_set_test_properties(${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
endfunction()

# The environment of tests that start MPI. Open MPI on one machine with fewer cores than processes: permit it (also as root),
# and let idle processes give way. Cross-memory attach is off because containers commonly forbid it.
set(RETILE_MPI_ENVIRONMENT
    GTEST_COLOR=no # mpiexec looks like a terminal to its processes
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_hwloc_base_binding_policy=none
    OMPI_MCA_btl_vader_single_copy_mechanism=none)

function(retile_add_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;DEPS;LABELS;ARGS;RANKS")
  _retile_check_arguments(retile_add_mpi_test arg)
  _retile_rooms_are_built(built ${name} ${arg_DEPS})
  if(NOT built OR NOT RETILE_MPI_ENABLED)
    return()
  endif()
  if(NOT arg_RANKS)
    message(FATAL_ERROR "retile_add_mpi_test(${name}): RANKS is missing")
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS mpi)
  endif()
  _retile_add_test_executable(test_${name} retile_mpi_test_main SOURCES ${arg_SOURCES} DEPS ${arg_DEPS})
  target_link_libraries(test_${name} PRIVATE MPI::MPI_CXX)
  foreach(ranks IN LISTS arg_RANKS)
    set(entry ${name}.ranks_${ranks})
    add_test(
      NAME ${entry}
      COMMAND ${MPIEXEC_EXECUTABLE} ${RETILE_MPIEXEC_FLAGS} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:test_${name}>
              ${arg_ARGS})
    retile_set_test_properties(${entry} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT} ENVIRONMENT ${RETILE_MPI_ENVIRONMENT})
    # ctest -j N starts nothing beside a test that needs N or more processors.
    set_tests_properties(${entry} PROPERTIES PROCESSORS ${ranks})
  endforeach()
endfunction()

function(retile_add_fuzz_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  _retile_check_arguments(retile_add_fuzz_target arg)
  _retile_rooms_are_built(built fuzz.${name} ${arg_DEPS})
  if(NOT built)
    return()
  endif()
  if(NOT TARGET retile_fuzz_targets)
    add_custom_target(retile_fuzz_targets) # what the build preset `fuzz` builds
  endif()
  add_library(fuzz_object_${name} OBJECT ${arg_SOURCES})
  target_link_libraries(fuzz_object_${name} PRIVATE retile::warnings ${arg_DEPS} retile::test_support)
  target_compile_features(fuzz_object_${name} PRIVATE cxx_std_20)
  set(programs replay_${name})
  add_executable(replay_${name} "${PROJECT_SOURCE_DIR}/fuzz/replay_main.cpp")
  if(RETILE_FUZZ)
    add_executable(fuzz_${name} $<TARGET_OBJECTS:fuzz_object_${name}>)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    list(APPEND programs fuzz_${name})
  endif()
  foreach(program IN LISTS programs)
    target_link_libraries(${program} PRIVATE retile::warnings fuzz_object_${name} ${arg_DEPS} retile::test_support)
    target_compile_features(${program} PRIVATE cxx_std_20)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz" CXX_CLANG_TIDY "")
    add_dependencies(retile_fuzz_targets ${program})
  endforeach()
  set_target_properties(fuzz_object_${name} PROPERTIES CXX_CLANG_TIDY "")

  set(saved "${PROJECT_SOURCE_DIR}/fuzz/corpus/${name}")
  set(found "${PROJECT_SOURCE_DIR}/tests/regress/${name}")
  add_test(NAME fuzz.${name} COMMAND replay_${name} "${saved}" "${found}")
  retile_set_test_properties(fuzz.${name} LABELS unit TIMEOUT 120)
  add_test(NAME fuzz.control.${name} COMMAND replay_${name} "${saved}")
  retile_set_test_properties(fuzz.control.${name} LABELS unit TIMEOUT 120 ENVIRONMENT RETILE_FUZZ_CONTROL=1)
  # A crash or a difference of its own is no mistake found.
  set_tests_properties(fuzz.control.${name} PROPERTIES PASS_REGULAR_EXPRESSION "control: MISMATCH in ${name}:")
endfunction()

# Called once by tests/CMakeLists.txt: the targets that every test links.
function(retile_prepare_tests)
  # Include directories only; tests/support/CMakeLists.txt may add sources and dependencies.
  add_library(retile_test_support INTERFACE)
  add_library(retile::test_support ALIAS retile_test_support)
  target_include_directories(retile_test_support INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")

  # Libraries, so that a test with a main() of its own simply does not pull these in.
  add_library(retile_test_main STATIC "${PROJECT_SOURCE_DIR}/cmake/test_main.cpp")
  target_link_libraries(retile_test_main PRIVATE retile::warnings PUBLIC GTest::gmock GTest::gtest)
  target_compile_features(retile_test_main PUBLIC cxx_std_20)
  set_target_properties(retile_test_main PROPERTIES CXX_CLANG_TIDY "")
  if(RETILE_MPI_ENABLED)
    add_library(retile_mpi_test_main STATIC "${PROJECT_SOURCE_DIR}/cmake/mpi_test_main.cpp")
    target_link_libraries(retile_mpi_test_main PRIVATE retile::warnings MPI::MPI_CXX PUBLIC GTest::gmock GTest::gtest)
    target_compile_features(retile_mpi_test_main PUBLIC cxx_std_20)
    set_target_properties(retile_mpi_test_main PROPERTIES CXX_CLANG_TIDY "")

    if(RETILE_SANITIZE) # loaded into mpiexec too, which is not instrumented
      add_library(retile_keep_plugins SHARED "${PROJECT_SOURCE_DIR}/cmake/keep_plugins.cpp")
      target_compile_options(retile_keep_plugins PRIVATE -fno-sanitize=all)
      target_link_options(retile_keep_plugins PRIVATE -fno-sanitize=all)
      set_target_properties(retile_keep_plugins PROPERTIES CXX_CLANG_TIDY "")
      # Open MPI has no frame pointers: only slow unwinding finds whose leak it is.
      set(RETILE_MPI_ENVIRONMENT
          ${RETILE_MPI_ENVIRONMENT}
          "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/openmpi.supp:print_suppressions=0"
          "ASAN_OPTIONS=${RETILE_ASAN_OPTIONS}:fast_unwind_on_malloc=0:verify_asan_link_order=0"
          "LD_PRELOAD=$<TARGET_FILE:retile_keep_plugins>"
          PARENT_SCOPE)
    endif()

    execute_process(
      COMMAND ${MPIEXEC_EXECUTABLE} --version
      OUTPUT_VARIABLE mpiexec_version
      ERROR_QUIET)
    if(mpiexec_version MATCHES "Open MPI|OpenRTE")
      set(RETILE_MPIEXEC_FLAGS --oversubscribe --allow-run-as-root CACHE INTERNAL "")
    else()
      set(RETILE_MPIEXEC_FLAGS "" CACHE INTERNAL "")
    endif()
  endif()
endfunction()

# The obligations in proofs/ need Z3, and say nothing about instrumented objects: there they would only be built.
function(retile_add_proofs)
  set(reason "")
  if(NOT RETILE_Z3_ENABLED)
    set(reason "${RETILE_Z3_REASON}")
  elseif(NOT TARGET nlohmann_json::nlohmann_json)
    set(reason "nlohmann_json::nlohmann_json not found")
  elseif(RETILE_SANITIZE OR RETILE_SANITIZE_THREADS OR RETILE_FUZZ)
    set(reason "instrumented build")
  endif()
  if(reason STREQUAL "")
    add_subdirectory("${PROJECT_SOURCE_DIR}/proofs")
  else()
    retile_leave_out_test(proofs "${reason}")
  endif()
endfunction()

# ---- Installed package -----------------------------------------------------------------------------------------------

function(retile_install_package)
  include(CMakePackageConfigHelpers)
  get_property(rooms GLOBAL PROPERTY RETILE_EXPORTED_ROOMS)
  if(NOT rooms)
    return()
  endif()
  set(directory "${CMAKE_INSTALL_LIBDIR}/cmake/retile")
  set(RETILE_WITH_MPI OFF)
  if("exec_mpi" IN_LIST rooms)
    set(RETILE_WITH_MPI ON)
  endif()
  set(RETILE_WITH_CUDA ${RETILE_CUDA_ENABLED})
  set(RETILE_WITH_Z3 OFF)
  if("prove" IN_LIST rooms)
    set(RETILE_WITH_Z3 ON)
  endif()
  install(
    EXPORT retileTargets
    NAMESPACE retile::
    DESTINATION "${directory}")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/retileConfig.cmake.in"
                                "${PROJECT_BINARY_DIR}/retileConfig.cmake" INSTALL_DESTINATION "${directory}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/retileConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/retileConfig.cmake" "${PROJECT_BINARY_DIR}/retileConfigVersion.cmake"
          DESTINATION "${directory}")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endfunction()

# ---- Summary ---------------------------------------------------------------------------------------------------------

function(retile_print_summary)
  list(JOIN RETILE_ROOMS_BUILT " " built)
  list(JOIN RETILE_ROOMS_LEFT_OUT ", " left_out)
  if(NOT left_out)
    set(left_out "nothing")
  endif()
  if(RETILE_TESTS_ENABLED)
    set(tests "yes")
  else()
    set(tests "no (${RETILE_TESTS_REASON})")
  endif()
  set(instrumented "no")
  if(RETILE_SANITIZE)
    set(instrumented "address, undefined")
  endif()
  if(RETILE_SANITIZE_THREADS)
    set(instrumented "thread")
  endif()
  if(RETILE_FUZZ)
    string(APPEND instrumented " + libFuzzer coverage")
  endif()
  message(STATUS "retile ${PROJECT_VERSION}")
  message(STATUS "  compiler       ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}")
  message(STATUS "  rooms built    ${built}")
  message(STATUS "  rooms left out ${left_out}")
  if(RETILE_CUDA_ENABLED)
    message(STATUS "  kernels        CUDA ${CUDAToolkit_VERSION}, for ${RETILE_CUDA_ARCHITECTURES}")
  else()
    message(STATUS "  kernels        no (${RETILE_CUDA_REASON})")
  endif()
  message(STATUS "  tests          ${tests}")
  if(RETILE_TESTS_LEFT_OUT)
    list(JOIN RETILE_TESTS_LEFT_OUT ", " tests_left_out)
    message(STATUS "  tests left out ${tests_left_out}")
  endif()
  message(STATUS "  instrumented   ${instrumented}")
endfunction()
