# Test programs and their ctest entries; docs/dev/tests.md says which of them run when.
#
#   retile_add_tests(<room> [OPTIMISED] [INSTRUMENTED] [UNIT a_test.cpp ..] [PROPERTY b_test.cpp ..] [EXHAUSTIVE ..] [PROOF ..]
#                    [GPU ..] [SLOW ..] DEPS retile::core .. [SOURCES helper.cpp ..] [DEFINITIONS X=1 ..] [TIMEOUT seconds] [ARGS ..])
#       The tests of a room such as core or exec.copy: files of GoogleTest and RapidCheck by their label. A file a_test.cpp is
#       the ctest entry <room>.a, sub/a_test.cpp is <room>.sub.a. Files under SLOW are compiled with RETILE_SLOW_TESTS and become
#       <room>.a.slow; they may stand under another label, too. The files of UNIT and PROPERTY make the program test_<room>,
#       those of another label test_<room>_<label>, in few translation units: each file has a namespace of its own, named after
#       it. OPTIMISED says that those of UNIT and PROPERTY run longer than they compile, as those of EXHAUSTIVE and SLOW do:
#       RETILE_TEST_FLAGS leaves their optimisation as it is. INSTRUMENTED: what is tested are headers, so the sanitizers watch the
#       files of UNIT and PROPERTY, too, and not only the rooms that they call. main() is provided. Tests may include "spec/..",
#       "support/.." and the public headers of DEPS; SOURCES are compiled beside them.
#   retile_add_test(<name> [OWN_MAIN] SOURCES x_test.cpp .. DEPS .. [LABELS unit ..] [TIMEOUT seconds] [ARGS ..])
#       A program of its own, test_<name>, with one entry <name>: for what cannot share a program. OWN_MAIN: it brings a main().
#   retile_add_mpi_tests(<room> FILES a_test.cpp .. DEPS .. [SOURCES ..]) makes the program test_<room> with an MPI main(), and
#   retile_add_mpi_entries(<room> <a> RANKS 1 2 .. [LABELS mpi ..] [TIMEOUT seconds] [ARGS ..])
#       the entries <room>.<a>.ranks_<n>, which run a_test.cpp in it.
#   retile_add_mpi_test(<name> [OWN_MAIN] SOURCES .. DEPS .. RANKS 1 2 4 [LABELS mpi ..] [TIMEOUT seconds] [ARGS ..])
#       A program of its own under mpiexec, with entries <name>.ranks_<n>.
#   retile_add_fuzz_target(<name> SOURCES x_fuzz.cpp .. DEPS retile::core ..)
#       replay_<name>, built everywhere, and with RETILE_FUZZ also fuzz_<name>. ctest entries fuzz.<name> (every saved file of
#       fuzz/corpus/<name> and tests/regress/<name>) and fuzz.control.<name> (the mistake of the negative control is found).
#
# Tests made with add_test(NAME <name> ..): give them retile_set_test_properties(<name> LABELS .. [PROGRAMS target ..] ..), with
# ENVIRONMENT ${RETILE_MPI_ENVIRONMENT} where they start MPI; retile_leave_out_test(<name> <reason>) notes an absent one.
# A test that depends on a room that is not built is left out, and the summary says so.
# A test program in which every test was skipped is reported as skipped (it ends with code 77).
#
# Nothing here is part of `all`: the target retile_tests_<label> builds what the tests of a label run, retile_tests what all but
# the slow ones run.

include(RetileMpiTests)
include(RetileFuzz)

set(RETILE_TESTS_LEFT_OUT "" CACHE INTERNAL "")
set(RETILE_LABELS unit property exhaustive proof kernel mpi gpu cli house python slow all)
# Seconds that an entry may take when its test says nothing.
set(RETILE_TIMEOUT_unit 120)
set(RETILE_TIMEOUT_property 120)
set(RETILE_TIMEOUT_exhaustive 300)
set(RETILE_TIMEOUT_proof 300)
set(RETILE_TIMEOUT_kernel 900)
set(RETILE_TIMEOUT_mpi 120)
set(RETILE_TIMEOUT_gpu 600)
set(RETILE_TIMEOUT_cli 300)
set(RETILE_TIMEOUT_house 300)
set(RETILE_TIMEOUT_python 600)
set(RETILE_TIMEOUT_slow 1800)
set(RETILE_TIMEOUT_all 300)
# Entries that get the label `all`: they run with `scripts/test --all` only. They take long, and what they pass beside the entries
# that always run is more of the same: more processes on the same paths, every element size with every number of processes, recorded calls
# of runs that other tests make and judge, longer walks through the oracle's own statements and texts at its limits, counts of lines,
# and a fuzzer for the mistake that house.foreign.ctest finds.
set(RETILE_WITH_ALL
    "^exec\\.mpi\\..*\\.ranks_(3|6|8|12|64)$"
    "^exec\\.mpi\\.(redistribute|planned)\\.ranks_24$"
    "^exec\\.mpi\\.nodes\\.(TwoNodes|FourNodes|Tcp)$"
    "^cli\\.run_mpi_everysize$"
    "^cli\\.many_run_every$"
    "^cli\\.spmd_run_listings$"
    "^cli\\.docs_long$"
    "^house\\.calls\\.recorded_long$"
    "^house\\.steps$"
    "^spec\\.oracle\\.verbs_long$"
    "^spec\\.paper\\..*_walks$"
    "^spec\\.search\\.tiles$"
    "^spec\\.oracle\\.certify_lines$"
    "^notation\\.paper\\.typing_vs_spec_exhaustive$"
    "^house\\.foreign\\.fuzz$"
    "^house\\.install\\."
    "^house\\.peers\\.jobs$"
    "^python\\.(whole|traces|jax|torch)$")
# Cases of GoogleTest that run with `scripts/test --all` only, as "<entry>|<filter>": they are the entry <entry>.more, and
# <entry> runs the others. Each takes longer than the rest of its list, which has meshes of as many axes, or small sums.
set(RETILE_CASES_WITH_ALL "plan.exhaustive|Small/EveryPair.*/2:Small/EveryPair.*/3"
                          "check.mutants|Mutants.of_the_examples_are_all_found"
                          "whole.smaller|Smaller.mistakes_in_a_block_of_real_size"
                          "spec.program.check|Limits.a_long_chain_of_iotas_over_many_devices_is_undecided_at_once"
                          "check.random|Mutants.of_hundreds_of_planned_programs_are_found"
                          "prove.scale|ProveScale.mutants_on_65536_devices:ProveScale.other_iotas_are_refuted_symbolically"
                          "prove.addends|Addends.with_the_second_solver_beside_the_first"
                          "spec.paper.sec4_normal_form|Lemmas_4_6_and_4_7.replace_every_peak_and_edge"
                          "spec.paper.sec4_weak_normal_form|Lemmas_4_6_and_4_7_weak.replace_every_peak_and_edge"
                          "spec.paper.sec6_lowering|Lemma_6_3.every_weak_step_lowers_from_every_tile_map"
                          "spec.paper.sec7_normal_form|Lemmas_4_6_and_4_7_over_several_axes.replace_every_peak_and_edge"
                          "spec.search.statements|Small/AllPairs.S2_S3_S5_S6/5"
                          "plan.models|Small/EveryPairAndModel.no_sequence_above_the_bound_refutes_a_plan/1:Small/EveryPairAndModel.obeys_every_memory_limit_at_the_least_cost/1"
                          "spec.program.check_addends|AddendLimits.millions_of_terms"
                          "spec.search.types|Small/StrongAndTiles.strong_is_never_cheaper/3"
                          "spec.search.literal|Literal.all_pairs_of_small_meshes"
                          "plan.optimum|Small/EveryPairByBruteForce.is_planned_at_the_optimum/6"
                          "plan.adding_optimum|Small/EveryPair*.*/2x2x2_2x2"
                          "exec.exchange.direct_exhaustive|Direct/SmallMeshes.mutants_are_judged_alike/2x2x2_rank_2"
                          "foreign.list_count|ListCount.what_one_text_lists_is_bounded"
                          "plan.uneven_optimum|UnevenOptimum.elsewhere_they_may"
                          "prove.soundness|Soundness.with_the_second_solver_beside_the_first")
# Files of tests in one translation unit: the headers and the templates of RapidCheck cost more than the tests. More in one would
# leave a processor without work.
set(RETILE_TESTS_TOGETHER 16)

# What every test of the build finds in its environment; a fault must end the test, with a stack.
# Of a block's allocation the report shows five frames: thirty of each take a sixth of the time of tests that allocate much.
set(RETILE_ASAN_OPTIONS
    "strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1:malloc_context_size=5")
set(RETILE_TEST_ENVIRONMENT "")
if(RETILE_SANITIZE)
  list(
    APPEND
    RETILE_TEST_ENVIRONMENT
    "ASAN_OPTIONS=${RETILE_ASAN_OPTIONS}"
    "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1")
endif()

# ---- Entries ---------------------------------------------------------------------------------------------------------

# Sets labels, time limit and environment of a ctest entry; PROGRAMS are the targets that it runs. Scripts run as tests use it.
#   retile_set_test_properties(<entry> LABELS unit [TIMEOUT seconds] [ENVIRONMENT NAME=value ..] [PROGRAMS target ..])
function(retile_set_test_properties entry)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LABELS;ENVIRONMENT;PROGRAMS")
  _retile_check_arguments(retile_set_test_properties arg)
  foreach(pattern IN LISTS RETILE_WITH_ALL)
    if(entry MATCHES "${pattern}")
      list(APPEND arg_LABELS all)
    endif()
  endforeach()
  foreach(label IN LISTS arg_LABELS)
    if(NOT label IN_LIST RETILE_LABELS)
      message(FATAL_ERROR "Test ${entry}: unknown label ${label}; labels are: ${RETILE_LABELS}")
    endif()
    if(NOT arg_TIMEOUT)
      set(arg_TIMEOUT ${RETILE_TIMEOUT_${label}})
    endif()
  endforeach()
  set(built_for ${arg_LABELS})
  foreach(label IN ITEMS slow all) # not built where only others run
    if(label IN_LIST arg_LABELS)
      set(built_for ${label})
    endif()
  endforeach()
  if(arg_PROGRAMS)
    foreach(label IN LISTS built_for)
      add_dependencies(retile_tests_${label} ${arg_PROGRAMS})
    endforeach()
    list(JOIN arg_PROGRAMS " " programs)
    set_property(GLOBAL APPEND_STRING PROPERTY RETILE_TEST_PROGRAMS "${entry} ${programs}\n")
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

# The ctest entry that runs one file of tests: paper/errata_test.cpp of the room spec is spec.paper.errata.
function(_retile_name_entry result room file)
  string(REGEX REPLACE "_test\\.cpp$" "" name "${file}")
  string(REPLACE "/" "." name "${name}")
  set(${result} "${room}.${name}" PARENT_SCOPE)
endfunction()

# The argument with which a test program runs no tests but those of one file (cmake/only_file.h).
function(_retile_only_file result file)
  file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  set(${result} "--only-file=${path}" PARENT_SCOPE)
endfunction()

# ---- Programs --------------------------------------------------------------------------------------------------------

# Sets <result> to sources of the program <target> that include these files of tests, or to the files themselves.
function(_retile_join_files result target)
  set(sources "")
  set(text "")
  set(count 0)
  if(NOT RETILE_JOIN_TESTS)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  list(LENGTH ARGN files)
  # As few units as may be, of about equal size.
  math(EXPR units "(${files} + ${RETILE_TESTS_TOGETHER} - 1) / ${RETILE_TESTS_TOGETHER}")
  foreach(unit RANGE 1 ${units})
    math(EXPR first "(${unit} - 1) * ${files} / ${units}")
    math(EXPR length "${unit} * ${files} / ${units} - ${first}")
    list(SUBLIST ARGN ${first} ${length} joined)
    set(text "// Written by CMake: files of tests in one translation unit.\n")
    foreach(file IN LISTS joined)
      # From the root of the tree, so that every clone compiles the same text.
      file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}_${unit}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "${text}" @ONLY)
    list(APPEND sources "${source}")
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

function(_retile_add_test_executable target main)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;DEPS;DEFINITIONS")
  add_executable(${target} ${arg_SOURCES})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE ${arg_DEFINITIONS})
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
  cmake_parse_arguments(PARSE_ARGV 1 arg "OWN_MAIN" "TIMEOUT" "SOURCES;DEPS;LABELS;ARGS")
  _retile_check_arguments(retile_add_test arg)
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  _retile_rooms_are_built(built ${name} ${arg_DEPS})
  if(NOT built)
    return()
  endif()
  string(REPLACE "." "_" target "test_${name}")
  set(main retile_test_main)
  if(arg_OWN_MAIN)
    set(main "")
  endif()
  _retile_add_test_executable(${target} "${main}" SOURCES ${arg_SOURCES} DEPS ${arg_DEPS})
  add_test(NAME ${name} COMMAND ${target} ${arg_ARGS})
  retile_set_test_properties(${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT} PROGRAMS ${target})
endfunction()

# The program <target> of some files, and an entry for each: arguments are pairs "<file>|<labels, separated by commas>".
function(_retile_add_tests_of_program room target suffix)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "TIMEOUT" "PAIRS;SOURCES;DEPS;DEFINITIONS;ARGS")
  set(files ${arg_PAIRS})
  list(TRANSFORM files REPLACE "\\|.*" "")
  _retile_join_files(joined ${target} ${files})
  _retile_add_test_executable(${target} retile_test_main SOURCES ${joined} ${arg_SOURCES} DEPS ${arg_DEPS} DEFINITIONS
                              ${arg_DEFINITIONS})
  foreach(pair IN LISTS arg_PAIRS)
    string(REGEX MATCH "^(.*)\\|(.*)$" pair "${pair}")
    set(file "${CMAKE_MATCH_1}")
    string(REPLACE "," ";" labels "${CMAKE_MATCH_2}")
    _retile_name_entry(entry ${room} ${file})
    _retile_only_file(only ${file})
    set(others "")
    foreach(part IN LISTS RETILE_CASES_WITH_ALL)
      if(part MATCHES "^(.*)\\|(.*)$" AND CMAKE_MATCH_1 STREQUAL "${entry}${suffix}")
        set(others "--leave-out=${CMAKE_MATCH_2}")
        add_test(NAME ${entry}.more COMMAND ${target} ${only} --gtest_filter=${CMAKE_MATCH_2} ${arg_ARGS})
        retile_set_test_properties(${entry}.more LABELS all ${labels} TIMEOUT ${arg_TIMEOUT} PROGRAMS ${target})
      endif()
    endforeach()
    add_test(NAME ${entry}${suffix} COMMAND ${target} ${only} ${others} ${arg_ARGS})
    retile_set_test_properties(${entry}${suffix} LABELS ${labels} TIMEOUT ${arg_TIMEOUT} PROGRAMS ${target})
  endforeach()
endfunction()

function(retile_add_tests room)
  set(kinds UNIT PROPERTY EXHAUSTIVE PROOF GPU SLOW)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED;INSTRUMENTED" "TIMEOUT" "${kinds};SOURCES;DEPS;DEFINITIONS;ARGS")
  _retile_check_arguments(retile_add_tests arg)
  _retile_rooms_are_built(built ${room} ${arg_DEPS})
  if(NOT built)
    return()
  endif()
  string(REPLACE "." "_" program "test_${room}")
  set(common SOURCES ${arg_SOURCES} DEPS ${arg_DEPS} ARGS ${arg_ARGS} DEFINITIONS ${arg_DEFINITIONS})
  set(pairs_unit ${arg_UNIT})
  list(TRANSFORM pairs_unit APPEND "|unit")
  set(pairs_property ${arg_PROPERTY})
  list(TRANSFORM pairs_property APPEND "|property")
  if(arg_UNIT OR arg_PROPERTY)
    _retile_add_tests_of_program(${room} ${program} "" PAIRS ${pairs_unit} ${pairs_property} ${common} TIMEOUT ${arg_TIMEOUT})
    set_target_properties(${program} PROPERTIES RETILE_OPTIMISED "${arg_OPTIMISED}" RETILE_INSTRUMENTED "${arg_INSTRUMENTED}")
  endif()
  foreach(kind IN ITEMS EXHAUSTIVE PROOF GPU)
    if(arg_${kind})
      string(TOLOWER ${kind} label)
      list(TRANSFORM arg_${kind} APPEND "|${label}")
      _retile_add_tests_of_program(${room} ${program}_${label} "" PAIRS ${arg_${kind}} ${common} TIMEOUT ${arg_TIMEOUT})
      if(kind STREQUAL "EXHAUSTIVE")
        set_target_properties(${program}_${label} PROPERTIES RETILE_OPTIMISED TRUE)
      endif()
    endif()
  endforeach()
  if(arg_SLOW)
    list(TRANSFORM arg_SLOW APPEND "|slow")
    _retile_add_tests_of_program(${room} ${program}_slow ".slow" PAIRS ${arg_SLOW} TIMEOUT 7200 ${common} RETILE_SLOW_TESTS)
    set_target_properties(${program}_slow PROPERTIES RETILE_OPTIMISED TRUE)
  endif()
endfunction()

# The targets that build the tests of a label. Presets name them, so they are there without tests, too, and then build nothing.
function(retile_add_test_targets)
  add_custom_target(retile_tests)
  foreach(label IN LISTS RETILE_LABELS)
    add_custom_target(retile_tests_${label})
    if(NOT label STREQUAL "slow")
      add_dependencies(retile_tests retile_tests_${label})
    endif()
  endforeach()
endfunction()

# Called once by tests/CMakeLists.txt: the targets that every test links, and those that build the tests of a label.
function(retile_prepare_tests)
  retile_add_test_targets()

  # Include directories only; tests/support/CMakeLists.txt may add sources and dependencies.
  add_library(retile_test_support INTERFACE)
  add_library(retile::test_support ALIAS retile_test_support)
  target_include_directories(retile_test_support INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
  set(of_optimised ${RETILE_TEST_FLAGS})
  list(FILTER of_optimised EXCLUDE REGEX "^-O")
  set(is_optimised "$<BOOL:$<TARGET_PROPERTY:RETILE_OPTIMISED>>")
  if(RETILE_SANITIZE)
    target_compile_definitions(retile_test_support INTERFACE RETILE_SANITIZED)
  endif()
  if(RETILE_SANITIZE AND NOT RETILE_INSTRUMENT_TESTS)
    target_compile_definitions(retile_test_support INTERFACE RETILE_FEW_SAMPLES)
    # The sanitizers watch the rooms. Without them a test compiles in half the time, and without optimisation in half of that, which
    # is more than it then runs longer.
    set(is_instrumented "$<BOOL:$<TARGET_PROPERTY:RETILE_INSTRUMENTED>>")
    set(is_optimised "$<AND:${is_optimised},${is_instrumented}>")
    target_compile_options(retile_test_support INTERFACE "$<$<NOT:${is_instrumented}>:-fno-sanitize=all>")
  endif()
  target_compile_options(retile_test_support INTERFACE "$<IF:${is_optimised},${of_optimised},${RETILE_TEST_FLAGS}>")

  add_library(retile_test_main STATIC "${PROJECT_SOURCE_DIR}/cmake/test_main.cpp")
  target_link_libraries(retile_test_main PRIVATE retile::warnings PUBLIC GTest::gmock GTest::gtest)
  target_compile_features(retile_test_main PUBLIC cxx_std_20)
  set_target_properties(retile_test_main PROPERTIES CXX_CLANG_TIDY "")
  if(RETILE_MPI_ENABLED)
    retile_prepare_mpi_tests()
    set(RETILE_MPI_ENVIRONMENT ${RETILE_MPI_ENVIRONMENT} PARENT_SCOPE)
  endif()
endfunction()

# Writes <build>/test_programs.txt, a line for each entry: its name and the targets that it runs. ctest knows no programs that are
# not built yet.
function(retile_write_test_programs)
  get_property(programs GLOBAL PROPERTY RETILE_TEST_PROGRAMS)
  file(WRITE "${PROJECT_BINARY_DIR}/test_programs.txt" "${programs}")
endfunction()

# The obligations in proofs/ need Z3, those in proofs/rocq Coq, and both say nothing about instrumented objects: there they would
# only be built.
function(retile_add_proofs)
  set(reason "")
  if(RETILE_SANITIZE OR RETILE_SANITIZE_THREADS OR RETILE_FUZZ)
    set(reason "instrumented build")
    retile_leave_out_test(kernel "${reason}")
  else()
    add_subdirectory("${PROJECT_SOURCE_DIR}/proofs/rocq" EXCLUDE_FROM_ALL)
    if(NOT RETILE_Z3_ENABLED)
      set(reason "${RETILE_Z3_REASON}")
    elseif(NOT TARGET nlohmann_json::nlohmann_json)
      set(reason "nlohmann_json::nlohmann_json not found")
    endif()
  endif()
  if(reason STREQUAL "")
    add_subdirectory("${PROJECT_SOURCE_DIR}/proofs" EXCLUDE_FROM_ALL)
  else()
    retile_leave_out_test(proofs "${reason}")
  endif()
endfunction()
