# Tests of several processes; RetileTests.cmake says how they are made.

# The environment of tests that start MPI. Open MPI on one machine with fewer cores than processes: permit it (also as root),
# and let idle processes give way. Cross-memory attach is off because containers commonly forbid it. Processes of one machine
# take ob1 in the end; naming it saves each a tenth of its start.
set(RETILE_MPI_ENVIRONMENT
    GTEST_COLOR=no # mpiexec looks like a terminal to its processes
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_hwloc_base_binding_policy=none
    OMPI_MCA_pml=ob1
    OMPI_MCA_btl_vader_single_copy_mechanism=none)

# RETILE_MPI_ENVIRONMENT of tests with a dozen processes on a node. Clang 14's LeakSanitizer sometimes crashes when so many
# end at once, so these do not look for leaks. The others do.
function(retile_many_processes out)
  set(environment ${RETILE_MPI_ENVIRONMENT})
  list(TRANSFORM environment REPLACE "^ASAN_OPTIONS=" "ASAN_OPTIONS=detect_leaks=0:")
  set(${out} ${environment} PARENT_SCOPE)
endfunction()

# Called by retile_prepare_tests(): main() of these programs, and what mpiexec is told.
function(retile_prepare_mpi_tests)
  add_library(retile_mpi_test_main STATIC "${PROJECT_SOURCE_DIR}/cmake/mpi_test_main.cpp")
  target_link_libraries(retile_mpi_test_main PRIVATE retile::warnings MPI::MPI_CXX PUBLIC GTest::gmock GTest::gtest)
  target_compile_features(retile_mpi_test_main PUBLIC cxx_std_20)
  set_target_properties(retile_mpi_test_main PROPERTIES CXX_CLANG_TIDY "")

  if(RETILE_SANITIZE) # loaded into mpiexec too, which is not instrumented
    add_library(retile_keep_plugins SHARED "${PROJECT_SOURCE_DIR}/cmake/keep_plugins.cpp")
    target_compile_options(retile_keep_plugins PRIVATE -fno-sanitize=all)
    target_link_options(retile_keep_plugins PRIVATE -fno-sanitize=all)
    set_target_properties(retile_keep_plugins PROPERTIES CXX_CLANG_TIDY "")
    add_dependencies(retile_tests_mpi retile_keep_plugins)
    add_dependencies(retile_tests_cli retile_keep_plugins)
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
endfunction()

# An entry per number of processes: <entry>.ranks_<n> runs the program <target>.
function(_retile_add_mpi_ranks entry target)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "LABELS;ARGS;RANKS")
  if(NOT arg_RANKS)
    message(FATAL_ERROR "${entry}: RANKS is missing")
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS mpi)
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    set(name ${entry}.ranks_${ranks})
    add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${RETILE_MPIEXEC_FLAGS} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
                                  $<TARGET_FILE:${target}> ${arg_ARGS})
    retile_set_test_properties(
      ${name}
      LABELS ${arg_LABELS}
      TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT ${RETILE_MPI_ENVIRONMENT}
      PROGRAMS ${target})
    # ctest -j N starts nothing beside a test that needs N or more processors.
    set_tests_properties(${name} PROPERTIES PROCESSORS ${ranks})
  endforeach()
endfunction()

function(retile_add_mpi_tests room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES;SOURCES;DEPS;DEFINITIONS")
  _retile_check_arguments(retile_add_mpi_tests arg)
  _retile_rooms_are_built(built ${room} ${arg_DEPS})
  if(NOT built OR NOT RETILE_MPI_ENABLED)
    return()
  endif()
  string(REPLACE "." "_" target "test_${room}")
  _retile_join_files(joined ${target} ${arg_FILES})
  _retile_add_test_executable(${target} retile_mpi_test_main SOURCES ${joined} ${arg_SOURCES} DEPS ${arg_DEPS} MPI::MPI_CXX
                              DEFINITIONS ${arg_DEFINITIONS})
endfunction()

function(retile_add_mpi_entries room unit)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "LABELS;ARGS;RANKS")
  _retile_check_arguments(retile_add_mpi_entries arg)
  string(REPLACE "." "_" target "test_${room}")
  if(NOT TARGET ${target})
    return() # a room is missing, which retile_add_mpi_tests has noted
  endif()
  _retile_only_file(only ${unit}_test.cpp)
  _retile_name_entry(entry ${room} ${unit}_test.cpp)
  _retile_add_mpi_ranks(${entry} ${target} ARGS ${only} ${arg_ARGS} RANKS ${arg_RANKS} LABELS ${arg_LABELS} TIMEOUT
                        ${arg_TIMEOUT})
endfunction()

function(retile_add_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OWN_MAIN" "TIMEOUT" "SOURCES;DEPS;LABELS;ARGS;RANKS")
  _retile_check_arguments(retile_add_mpi_test arg)
  _retile_rooms_are_built(built ${name} ${arg_DEPS})
  if(NOT built OR NOT RETILE_MPI_ENABLED)
    return()
  endif()
  string(REPLACE "." "_" target "test_${name}")
  set(main retile_mpi_test_main)
  if(arg_OWN_MAIN)
    set(main "")
  endif()
  _retile_add_test_executable(${target} "${main}" SOURCES ${arg_SOURCES} DEPS ${arg_DEPS} MPI::MPI_CXX)
  _retile_add_mpi_ranks(${name} ${target} RANKS ${arg_RANKS} LABELS ${arg_LABELS} ARGS ${arg_ARGS} TIMEOUT ${arg_TIMEOUT})
endfunction()
