# Configures as README says, without tests, and asks for what the preset `release` builds, without building it.
file(REMOVE_RECURSE "${WORK}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${ROOT}" -B "${WORK}" -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER} -DRETILE_TESTS=OFF
  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${output}")
endif()
file(READ "${ROOT}/CMakePresets.json" presets)
string(JSON last LENGTH "${presets}" buildPresets)
math(EXPR last "${last} - 1")
set(targets "")
foreach(k RANGE ${last})
  string(JSON name GET "${presets}" buildPresets ${k} name)
  if(name STREQUAL "release")
    string(JSON list GET "${presets}" buildPresets ${k} targets)
    string(REGEX MATCHALL "[a-z_]+" targets "${list}")
  endif()
endforeach()
if(NOT targets)
  message(FATAL_ERROR "the preset release builds nothing")
endif()
# A dry run would end at the files that are looked for anew, and with 0 whatever the targets are.
find_program(NINJA NAMES ninja ninja-build REQUIRED)
execute_process(
  COMMAND "${NINJA}" -C "${WORK}" -t commands ${targets} ${CONTROL}
  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${output}")
endif()
file(REMOVE_RECURSE "${WORK}")
