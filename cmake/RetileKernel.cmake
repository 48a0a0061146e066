# retile-kernel: the checker and certifier that is proved in Rocq (proofs/rocq), extracted to OCaml. It is built where Coq, mathematical components
# and Zarith are found; no other program needs it.

foreach(program IN ITEMS coqc coq_makefile coqchk ocamlfind)
  find_program(RETILE_${program} ${program})
  mark_as_advanced(RETILE_${program})
endforeach()

# Sets RETILE_KERNEL_REASON: why it cannot be built, or nothing.
function(retile_find_kernel)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  set(reason "")
  if(RETILE_KERNEL STREQUAL "OFF")
    set(reason "turned off")
  elseif(NOT RETILE_coqc OR NOT RETILE_coq_makefile OR NOT RETILE_coqchk)
    set(reason "coq not found")
  elseif(NOT RETILE_ocamlfind)
    set(reason "ocamlfind not found")
  elseif(NOT Python3_Interpreter_FOUND)
    set(reason "Python 3 not found")
  else()
    execute_process(COMMAND ${RETILE_coqc} -where OUTPUT_VARIABLE coq_library OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${RETILE_ocamlfind} query zarith RESULT_VARIABLE no_zarith OUTPUT_VARIABLE zarith OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT EXISTS "${coq_library}/user-contrib/mathcomp/zify" OR NOT EXISTS "${coq_library}/user-contrib/mathcomp/ssreflect")
      set(reason "mathematical components not found")
    elseif(no_zarith OR NOT EXISTS "${zarith}/z.cmi")
      set(reason "zarith not found")
    endif()
  endif()
  if(reason AND RETILE_KERNEL STREQUAL "ON")
    message(FATAL_ERROR "RETILE_KERNEL is ON, but: ${reason}")
  endif()
  set(RETILE_KERNEL_REASON "${reason}" PARENT_SCOPE)
endfunction()

# The program in bin/, beside `retile`, and where it is installed. Its proofs are compiled by tests only.
function(retile_add_kernel)
  if(RETILE_KERNEL_REASON OR NOT PROJECT_IS_TOP_LEVEL OR RETILE_WHEEL OR RETILE_SANITIZE OR RETILE_SANITIZE_THREADS OR RETILE_FUZZ)
    return()
  endif()
  find_package(Python3 QUIET COMPONENTS Interpreter)
  set(folder "${PROJECT_SOURCE_DIR}/proofs/rocq")
  set(work "${PROJECT_BINARY_DIR}/kernel")
  set(program "${PROJECT_BINARY_DIR}/bin/retile-kernel")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/program/*.v" "${folder}/oracle/*" "${folder}/paper/*.v" "${folder}/facts/moves.v")
  add_custom_command(
    OUTPUT "${program}"
    COMMAND ${Python3_EXECUTABLE} "${folder}/kernel.py" checker "${work}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${PROJECT_BINARY_DIR}/bin"
    COMMAND ${CMAKE_COMMAND} -E copy "${work}/retile-kernel" "${program}"
    DEPENDS ${sources} "${folder}/kernel.py"
    COMMENT "Extracting retile-kernel"
    VERBATIM)
  add_custom_target(retile_kernel ALL DEPENDS "${program}")
  install(PROGRAMS "${program}" DESTINATION "${CMAKE_INSTALL_BINDIR}" OPTIONAL)
endfunction()
