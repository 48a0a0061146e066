// What a reader of results must know of the machine and of the build.
#pragma once

#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "retile/exec/copy/stores.h"

namespace copy_bench {

inline nlohmann::ordered_json machine() {
  nlohmann::ordered_json out;
  std::ifstream cpu("/proc/cpuinfo");
  for (std::string line; std::getline(cpu, line);) {
    if (line.rfind("model name", 0) == 0) {
      out["processor"] = line.substr(line.find(": ") + 2);
      break;
    }
  }
  out["processors"] = sysconf(_SC_NPROCESSORS_ONLN);
  out["cache_share_bytes"] = retile::copy::detected_cache_share_bytes(1);
  std::ifstream load("/proc/loadavg");
  std::string average;
  load >> average;
  out["load_average_at_start"] = average;
#ifdef __clang__
  out["compiler"] = "clang " __clang_version__;
#else
  out["compiler"] = "gcc " __VERSION__;
#endif
  out["can_stream"] = retile::copy::can_stream();
  return out;
}

}  // namespace copy_bench
