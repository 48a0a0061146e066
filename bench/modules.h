// What programs share that time modules on MPI processes: a module and its routes, and giving up.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "retile/exec/executor/processes.h"
#include "retile/spmd/run/run.h"

namespace module_bench {

/// Ends this process, whose starter then ends the others.
[[noreturn]] inline void give_up(const std::string& message) {
  std::cerr << program_invocation_short_name << ": " << message << '\n';
  std::exit(4);
}

template <typename T>
T value_of(retile::Result<T> result, const std::string& what) {
  if (!result) give_up(what + ": " + render(result.error()));
  return std::move(*result);
}

/// A module for as many devices as there are processes, and how its redistributions are carried out.
struct Source {
  std::string text;
  retile::text::Input input;
  retile::spmd::Module module;
  std::vector<retile::spmd::Route> routes;

  Source(const std::string& path, const retile::Processes& processes) {
    std::ifstream file(path);
    std::ostringstream all;
    all << file.rdbuf();
    if (!file) give_up("cannot read " + path);
    text = all.str();
    input = {text, path, true};
    module = value_of(retile::spmd::read_module(input), path);
    if (module.devices != processes.processes()) give_up("not as many processes as devices");
    routes = value_of(retile::spmd::routes_of(module), path);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() = default;
};

inline void write(const nlohmann::ordered_json& result, const std::string& path) {
  std::ofstream file(path);
  file << result.dump(1) << '\n';
  if (!file.flush()) give_up("cannot write " + path);
}

}  // namespace module_bench
