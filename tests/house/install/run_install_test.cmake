# Installs a build into a fresh prefix; configures, builds and runs the consumer project against it; runs the installed
# programs on what the consumer prints. Control: the installed retile-oracle rejects the same Program with a step left out.
#
#   cmake -D BUILD=.. -D SOURCE=<consumer> -D WORK=<scratch> -D GENERATOR=.. -D COMPILER=.. -D CONFIG=.. -P run_install_test.cmake
cmake_minimum_required(VERSION 3.25)

# step(<what> <wanted exit code> COMMAND ..): ends the test with the output unless the command ends as wanted.
function(step what wanted)
  execute_process(
    COMMAND ${ARGN}
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors)
  if(NOT result STREQUAL "${wanted}")
    message(FATAL_ERROR "${what}: ended with ${result}, wanted ${wanted}\n${output}\n${errors}")
  endif()
  message(STATUS "${what}: ok")
  set(output "${output}" PARENT_SCOPE)
  set(errors "${errors}" PARENT_SCOPE)
endfunction()

set(prefix "${WORK}/prefix")
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

step("install" 0 "${CMAKE_COMMAND}" --install "${BUILD}" --config "${CONFIG}" --prefix "${prefix}")
set(configure "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build" -G "${GENERATOR}"
     "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=-D_GLIBCXX_ASSERTIONS" "-DCMAKE_BUILD_TYPE=${CONFIG}"
     "-DCMAKE_PREFIX_PATH=${prefix}")
step("ask for a part that is not there" 1 ${configure} "-DWANTED=nonesuch")
if(NOT errors MATCHES "this installation of retile was[ \n]+built without nonesuch")
  message(FATAL_ERROR "who asks for a part that is not there is not told so:\n${errors}")
endif()
file(REMOVE_RECURSE "${WORK}/build")
step("find the library without MPI" 0 ${configure} "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON")
step("ask for MPI where there is none" 1 ${configure} "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON" "-DWANTED=mpi")
file(REMOVE_RECURSE "${WORK}/build")
step("configure the consumer" 0 ${configure})
step("build the consumer" 0 "${CMAKE_COMMAND}" --build "${WORK}/build" --config "${CONFIG}")
step("run the consumer of rooms" 0 "${WORK}/build/rooms_consumer")
step("run the consumer" 0 "${WORK}/build/consumer")
if(NOT output MATCHES "^retile.program/1\n")
  message(FATAL_ERROR "the consumer printed no Program:\n${output}")
endif()
set(right "${output}")
file(WRITE "${WORK}/right.txt" "${right}")
if(EXISTS "${WORK}/build/mpi_consumer")
  step("run the MPI consumer" 0 "${WORK}/build/mpi_consumer")
endif()

# The last line is the last step; without it the Program ends elsewhere.
string(REGEX REPLACE "\n[^\n]+\n$" "\n" wrong "${right}")
file(WRITE "${WORK}/wrong.txt" "${wrong}")
set(checkers retile retile-oracle)
if(EXISTS "${BUILD}/bin/retile-kernel")
  list(APPEND checkers retile-kernel)
endif()
foreach(program IN LISTS checkers)
  step("${program} calls the Program right" 0 "${prefix}/bin/${program}" check "${WORK}/right.txt")
  step("${program} calls it wrong without its last step" 1 "${prefix}/bin/${program}" check "${WORK}/wrong.txt")
endforeach()
step("retile --version" 0 "${prefix}/bin/retile" --version)
# Programs beside it do these.
foreach(verb IN ITEMS prove run)
  if(EXISTS "${BUILD}/libexec/retile/retile-${verb}")
    step("retile ${verb}" 0 "${prefix}/bin/retile" ${verb} --mesh x:2 "[2{x}4,4]" "[4,2{x}4]")
  endif()
endforeach()
file(REMOVE_RECURSE "${WORK}")
