# Rooms, programs and the second reading of the paper.
#
#   retile_add_room(<room> [COLD] SOURCES a.cpp .. HEADERS a.h .. [INNER_HEADERS b.h ..] DEPS retile::core ..
#                   [PRIVATE_DEPS nlohmann_json::nlohmann_json ..])
#       in src/retile/<room>/CMakeLists.txt: library retile_<room> with alias retile::<room>. HEADERS are the room's public
#       headers: they are installed. Other rooms may include them and INNER_HEADERS, which are not installed, and no others.
#       A room without SOURCES is header-only. COLD says that tests run it for a shorter time than it takes to compile; it gets
#       RETILE_COLD_FLAGS.
#       docs/reference/library.md lists the installed headers, a test compares.
#       For src/retile/exec/sim write exec/sim or exec_sim: target retile_exec_sim, alias retile::exec_sim.
#   retile_add_face(<name> HEADER x.h DEPS retile::core ..)
#       in src/retile/CMakeLists.txt: a header for users, src/retile/x.h, which includes installed headers and nothing else; target
#       retile::<name> links the rooms of DEPS, and is left out where one of them is.
#   retile_add_program(<name> [BESIDE <program>] SOURCES main.cpp .. DEPS ..)
#       executable <name>, built to <build>/bin and installed. BESIDE another one that starts it: built to <build>/libexec/retile,
#       whenever the other one is, and installed as RETILE_FOLDER_BESIDE says.

set(RETILE_ROOMS_BUILT "" CACHE INTERNAL "")
set(RETILE_ROOMS_LEFT_OUT "" CACHE INTERNAL "")

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
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "SOURCES;HEADERS;INNER_HEADERS;DEPS;PRIVATE_DEPS")
  _retile_check_arguments(retile_add_room arg)
  string(REPLACE "/" "_" name "${room}")
  set(target retile_${name})
  if(arg_SOURCES)
    add_library(${target} ${arg_SOURCES})
    set(public PUBLIC)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:retile::warnings>)
    if(arg_COLD)
      target_compile_options(${target} PRIVATE ${RETILE_COLD_FLAGS})
    endif()
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
  _retile_install_library(${target} ${name})
endfunction()

# Headers are the component `headers`, for who wants nothing else: cmake --install <build> --component headers.
function(_retile_install_library target name)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  install(
    TARGETS ${target}
    EXPORT retileTargets
    FILE_SET HEADERS
    COMPONENT headers)
  set_property(GLOBAL APPEND PROPERTY RETILE_EXPORTED_ROOMS ${name})
endfunction()

function(retile_add_face name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER" "DEPS")
  _retile_check_arguments(retile_add_face arg)
  foreach(room IN LISTS arg_DEPS)
    if(NOT TARGET ${room})
      _retile_note_room("${arg_HEADER}" "needs ${room}")
      return()
    endif()
  endforeach()
  set(target retile_${name}_face) # `retile` is the program
  add_library(${target} INTERFACE)
  add_library(retile::${name} ALIAS ${target})
  target_sources(
    ${target} INTERFACE
    FILE_SET HEADERS
    BASE_DIRS "${PROJECT_SOURCE_DIR}/src"
    FILES ${arg_HEADER})
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_link_libraries(${target} INTERFACE ${arg_DEPS})
  _retile_install_library(${target} ${name})
  _retile_note_room("${arg_HEADER}" "")
endfunction()

# From the folder of installed programs that are called by name to that of those beside them.
file(RELATIVE_PATH RETILE_FOLDER_BESIDE "${CMAKE_INSTALL_FULL_BINDIR}/" "${CMAKE_INSTALL_FULL_LIBEXECDIR}/retile")
string(APPEND RETILE_FOLDER_BESIDE "/")

function(retile_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "BESIDE" "SOURCES;DEPS")
  _retile_check_arguments(retile_add_program arg)
  set(installed "${CMAKE_INSTALL_BINDIR}")
  set(output "${PROJECT_BINARY_DIR}/bin")
  if(arg_BESIDE)
    set(installed "${CMAKE_INSTALL_LIBEXECDIR}/retile")
    set(output "${PROJECT_BINARY_DIR}/libexec/retile")
    add_dependencies(${arg_BESIDE} ${name})
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} PRIVATE retile::warnings ${arg_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${output}")
  if(BUILD_SHARED_LIBS AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" AND NOT IS_ABSOLUTE "${installed}")
    file(RELATIVE_PATH up "/${installed}" "/${CMAKE_INSTALL_LIBDIR}")
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/${up}")
  endif()
  add_dependencies(retile_rooms ${name})
  install(TARGETS ${name} DESTINATION "${installed}")
endfunction()

# What the tests of an instrumented build do not link, compiled all the same: its warnings are errors here, too. No code is made of
# it, which would take most of the time.
#   retile_add_compiled(<target> ..): target retile_compiled compiles the sources of these rooms and programs.
function(retile_add_compiled)
  add_custom_target(retile_compiled)
  foreach(target IN LISTS ARGN)
    if(NOT TARGET ${target})
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    get_target_property(directory ${target} SOURCE_DIR)
    get_target_property(definitions ${target} COMPILE_DEFINITIONS)
    get_target_property(links ${target} LINK_LIBRARIES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    list(TRANSFORM sources PREPEND "${directory}/")
    add_library(compiled_${target} OBJECT EXCLUDE_FROM_ALL ${sources})
    target_compile_features(compiled_${target} PRIVATE cxx_std_20)
    target_link_libraries(compiled_${target} PRIVATE ${links})
    target_include_directories(compiled_${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    set_target_properties(compiled_${target} PROPERTIES CXX_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/cmake/only_syntax.sh")
    if(definitions)
      target_compile_definitions(compiled_${target} PRIVATE ${definitions})
    endif()
    add_dependencies(retile_compiled compiled_${target})
  endforeach()
endfunction()
