# Configures the preset `judge` and builds its program (with DRY: only asks for it), which then tells a right program from a wrong one.
file(REMOVE_RECURSE "${WORK}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" --preset judge -B "${WORK}" -DCMAKE_CXX_COMPILER=${COMPILER}
  WORKING_DIRECTORY "${ROOT}"
  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${output}")
endif()
if(DRY)
  set(dry -- -n)
endif()
execute_process(
  COMMAND "${CMAKE_COMMAND}" --build "${WORK}" --target bin/retile ${dry}
  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${output}")
endif()
if(NOT DRY)
  set(module "${ROOT}/examples/foreign/rows_to_columns.hlo")
  execute_process(COMMAND "${WORK}/bin/retile" check --shape 8,8 "${module}" OUTPUT_VARIABLE output RESULT_VARIABLE code)
  if(NOT code EQUAL 0 OR NOT output MATCHES "right")
    message(FATAL_ERROR "a right module: exit code ${code}, ${output}")
  endif()
  file(READ "${module}" text)
  string(REPLACE "[1,4]<=[4]," "{{0,2,1,3}}," text "${text}")
  file(WRITE "${WORK}/wrong.hlo" "${text}")
  execute_process(COMMAND "${WORK}/bin/retile" check --shape 8,8 "${WORK}/wrong.hlo" OUTPUT_VARIABLE output RESULT_VARIABLE code)
  if(NOT code EQUAL 1 OR NOT output MATCHES "wrong at line 8")
    message(FATAL_ERROR "a wrong module: exit code ${code}, ${output}")
  endif()
endif()
file(REMOVE_RECURSE "${WORK}")
