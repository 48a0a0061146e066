# Runs retile-oracle: exit codes, what stands on which stream, and the promises about its source.
#   cmake -DORACLE=.. -DVERSION=.. -DCOMPILER=.. -DSPEC=.. -DWORK=.. -P oracle_test.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/directory")
set(failures 0)
string(REPLACE "." "\\." version "${VERSION}")
if(version STREQUAL "")
  message(FATAL_ERROR "VERSION is missing")
endif()

macro(complain text)
  message("FAILED ${text}")
  math(EXPR failures "${failures} + 1")
endmacro()

# expect(<name> <exit code> <regex of stdout> <regex of stderr> <arguments..>); stdin is ${WORK}/stdin
function(expect name code stdout stderr)
  execute_process(
    COMMAND "${ORACLE}" ${ARGN}
    INPUT_FILE "${WORK}/stdin"
    OUTPUT_VARIABLE out
    ERROR_VARIABLE err
    RESULT_VARIABLE result)
  if(NOT result STREQUAL "${code}")
    complain("${name}: exit code ${result}, expected ${code}\n${out}${err}")
  endif()
  if(NOT out MATCHES "${stdout}")
    complain("${name}: unexpected standard output\n${out}")
  endif()
  if(NOT err MATCHES "${stderr}")
    complain("${name}: unexpected standard error\n${err}")
  endif()
  set(failures ${failures} PARENT_SCOPE)
endfunction()

set(right "retile.program/1\nmesh x:2\nfrom [2{x}4]\nto [4]\nallgather dim=0 groups=[[0,1]]\n")
string(REPLACE "[0,1]" "[1,0]" wrong "${right}")
string(REPLACE "[0,1]" "[0,2]" broken "${right}")
set(large "retile.program/1\ndevices 2147483648\nfrom [1]\nto [1]\n")
foreach(name right wrong broken large)
  file(WRITE "${WORK}/${name}" "${${name}}")
endforeach()
file(WRITE "${WORK}/all" "${right}${wrong}${large}")
file(WRITE "${WORK}/empty" "")
file(WRITE "${WORK}/stdin" "${right}")

set(verdict_right "^right: true\nwithin_bound: true\nheight: 4\nbound: 4\ncost: 4\nsteps: 1\n$")
set(verdict_wrong
    "^right: false\nwithin_bound: true\nheight: 4\nbound: 4\ncost: 4\nsteps: 1\nfirst_wrong_step: 0\nreason: not_a_box\ndevice: 0\nat: \\[2\\]\nelement: \\[4\\]\nfound: \\[0\\]\n$")
expect(right 0 "${verdict_right}" "^$" check "${WORK}/right")
expect(standard_input 0 "${verdict_right}" "^$" check -)
expect(no_argument 0 "${verdict_right}" "^$" check)
expect(wrong 1 "${verdict_wrong}" "^$" check "${WORK}/wrong")
expect(undecided 3 "^right: undecided\nreason: limit\n# undecided: more than 2\\^28 tags on all devices together\n$" "^$" check "${WORK}/large")
expect(several 3 "steps: 1\n\nright: false\n.*\n\nright: undecided\n" "^$" check "${WORK}/all")
expect(broken 2 "^$" "^error: [^\n]*broken:5:[0-9]+: [^\n]*\n  allgather dim=0 groups=\\[\\[0,2\\]\\]\n                             \\^\n$" check
       "${WORK}/broken")
expect(empty 2 "^$" "no Program" check "${WORK}/empty")
# What is wrong with the command line is pointed at.
set(at_check "\n  retile-oracle check [^\n]+\n                      \\^\n$")
expect(directory 2 "^$" "^error: cannot read [^\n]+/directory${at_check}" check "${WORK}/directory")
expect(missing 2 "^$" "^error: cannot read [^\n]+/missing${at_check}" check "${WORK}/missing")
expect(no_verb 2 "^$" "^error: expected [^\n]+\n  retile-oracle\n                \\^\n$")
expect(unknown_verb 2 "^$" "^error: expected [^\n]+\n  retile-oracle prove\n                \\^\n$" prove)
expect(unknown_option 2 "^$" "^error: check has no option --json${at_check}" check --json)
expect(two_files 2 "^$" "^error: expected one file[^\n]*\n  retile-oracle check - right\n                        \\^\n$" check - right)
expect(help 0 "Exit codes" "^$" --help)
expect(help_of_check 0 "Examples" "^$" check --help)
expect(version 0 "^retile-oracle ${version}\n$" "^$" --version)

# No result that nobody can read: a full disk is exit 4.
if(EXISTS /dev/full)
  execute_process(
    COMMAND "${ORACLE}" check "${WORK}/right"
    OUTPUT_FILE /dev/full
    ERROR_VARIABLE err
    RESULT_VARIABLE result)
  if(NOT result STREQUAL "4")
    complain("full disk: exit code ${result}, expected 4")
  endif()
endif()

# One file, one command, the standard library only.
execute_process(
  COMMAND "${COMPILER}" -std=c++20 -fsyntax-only "${SPEC}/oracle/main.cpp"
  WORKING_DIRECTORY "${WORK}"
  ERROR_VARIABLE err
  RESULT_VARIABLE result)
if(NOT result STREQUAL "0")
  complain("oracle/main.cpp does not compile alone:\n${err}")
endif()

# What `check` executes can be audited: the dispatch in oracle/main.cpp, oracle/check.h and the headers that this includes have less
# than 960 lines of code together (neither blank, nor comment, nor preprocessor, nor namespace, nor a lone bracket), the headers that
# version 2 of Programs is about less than 800 more, those that addends are about less than 300, those that modules are about less than
# 1000, and no header has more than 300 lines.
# The other verbs are not on that path. Files are named by their paths below spec/.
function(count_lines out file)
  file(READ "${SPEC}/${file}" text)
  string(REGEX REPLACE "[][;]" "." text "${text}")
  string(REPLACE "\n" ";" lines "${text}")
  set(count 0)
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^ *(//|#|$)" AND NOT line MATCHES "namespace" AND NOT line MATCHES "^[ {}().]*$")
      math(EXPR count "${count} + 1")
    endif()
  endforeach()
  set(${out} ${count} PARENT_SCOPE)
endfunction()

# The headers that `file` includes, itself first. A path in quotes counts from the folder of the file that it stands in.
function(closure out file)
  set(open ${file})
  set(seen "")
  while(open)
    list(POP_FRONT open file)
    if(file IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${file})
    file(STRINGS "${SPEC}/${file}" includes REGEX "^#include \"")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE "[^\"]*\"([^\"]*)\".*" "\\1" header "${include}")
      cmake_path(GET file PARENT_PATH folder)
      cmake_path(APPEND folder "${header}" OUTPUT_VARIABLE header)
      cmake_path(NORMAL_PATH header)
      list(APPEND open "${header}")
    endforeach()
  endwhile()
  set(${out} ${seen} PARENT_SCOPE)
endfunction()
function(count_files out)
  set(code 0)
  foreach(file IN LISTS ARGN)
    count_lines(count ${file})
    math(EXPR code "${code} + ${count}")
  endforeach()
  set(${out} ${code} PARENT_SCOPE)
endfunction()

closure(seen oracle/check.h)
set(version_2 layout/cuts.h layout/boxes.h layout/views.h layout/tiles.h layout/grids.h program/layout_text.h program/layout_state.h
    program/check_layouts.h)
set(addends layout/addends.h program/addends_text.h program/formal_sums.h program/check_addends.h)
set(others ${seen})
set(modules
    oracle/check_module.h
    programs/tensor.h
    programs/listed_text.h
    programs/polynomial.h
    programs/variables.h
    programs/einsum.h
    programs/enclosure.h
    programs/local_ops.h
    programs/operation_words.h
    programs/spmd.h
    programs/spmd_judge.h
    programs/spmd_text.h)
list(REMOVE_ITEM others ${version_2} ${addends} ${modules})
count_files(code oracle/main.cpp ${others})
message("${code} lines of code in: oracle/main.cpp;${others}")
if(code LESS 300 OR NOT code LESS 960)
  complain("check has ${code} lines, expected less than 960")
endif()
count_files(code ${version_2})
message("${code} lines of code more in: ${version_2}")
if(code LESS 200 OR NOT code LESS 800)
  complain("version 2 has ${code} lines, expected less than 800")
endif()
count_files(code ${addends})
message("${code} lines of code more in: ${addends}")
if(code LESS 100 OR NOT code LESS 300)
  complain("addends have ${code} lines, expected less than 300")
endif()
count_files(code ${modules})
message("${code} lines of code more in: ${modules}")
if(code LESS 300 OR NOT code LESS 1250)
  complain("modules have ${code} lines, expected less than 1250")
endif()
foreach(needed IN ITEMS ${version_2} ${addends} ${modules} program/check.h program/blocks.h program/text.h program/tokens.h paper/fig11_cost.h paper/notation.h)
  if(NOT needed IN_LIST seen)
    complain("${needed} was not counted")
  endif()
endforeach()
foreach(other IN ITEMS program/type_text.h paper/fig08_typing.h oracle/queries.h search/tiles.h)
  if(NOT EXISTS "${SPEC}/${other}")
    complain("${other} does not exist")
  elseif(other IN_LIST seen)
    complain("check includes ${other}, which it does not need")
  endif()
endforeach()

# `certify` replays with the code of `check`, and the proof itself needs little beyond that. How many lines of both it executes,
# certify_lines_test.py measures.
closure(proof oracle/certify.h)
foreach(needed IN ITEMS program/certify.h program/certify_along.h program/certify_sums.h program/certify_text.h program/facts.h program/check.h)
  if(NOT needed IN_LIST proof)
    complain("${needed} was not counted")
  endif()
endforeach()
list(REMOVE_ITEM proof ${seen} program/certify_sums.h program/certify_along.h)
count_files(code ${proof})
message("${code} lines of code more in: ${proof}")
if(code LESS 100 OR NOT code LESS 320)
  complain("certify has ${code} lines beyond check, expected less than 320")
endif()
count_files(code program/certify_along.h)
message("${code} lines of code more in: program/certify_along.h")
if(code LESS 100 OR NOT code LESS 200)
  complain("certify_along.h has ${code} lines, expected less than 200")
endif()
count_files(code program/certify_sums.h)
message("${code} lines of code more in: program/certify_sums.h")
if(code LESS 60 OR NOT code LESS 120)
  complain("certify_sums.h has ${code} lines, expected less than 120")
endif()

file(GLOB_RECURSE headers "${SPEC}/*.h")
list(LENGTH headers length)
if(length LESS 40)
  complain("${length} headers were looked at, expected at least 40")
endif()
foreach(header IN LISTS headers)
  file(READ "${header}" text)
  string(REGEX MATCHALL "\n" newlines "${text}")
  list(LENGTH newlines length)
  if(length GREATER 300)
    complain("${header} has ${length} lines, expected at most 300")
  endif()
endforeach()

if(failures GREATER 0)
  message(FATAL_ERROR "${failures} failures")
endif()
