// What programs on MPI processes share: who they are, what they are asked, how they end, how long something takes
// all of them, and where the results go.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "retile/core/result.h"

namespace bench {

inline int process = 0;
inline int processes = 1;

[[noreturn]] inline void give_up(const std::string& message) {
  std::cerr << program_invocation_short_name << ": process " << process << ": " << message << '\n';
  MPI_Abort(MPI_COMM_WORLD, 4);
  std::abort();
}

/// \param what  comes before the message, if it says anything
template <typename T>
T value_of(retile::Result<T> result, const std::string& what = "") {
  if (!result) give_up((what.empty() ? "" : what + ": ") + render(result.error()));
  return std::move(*result);
}

inline void succeed(const retile::Result<void>& done) {
  if (!done) give_up(render(done.error()));
}

[[nodiscard]] inline std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data(), static_cast<std::size_t>(length));
  return all.substr(0, all.find(','));
}

/// What takes the value of an option.
using Options = std::map<std::string, std::function<void(const std::string&)>>;

/// Begins with MPI, and reads words in pairs, an option and its value. Ends the program where it is asked for help
/// or a value is missing.
inline void begin(int argc, char** argv, const char* usage, const Options& options) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--help" || i + 1 == argc) {
      if (process == 0) std::cout << usage;
      MPI_Finalize();
      std::exit(option == "--help" ? 0 : 2);
    }
    const auto found = options.find(option);
    if (found == options.end()) give_up("unknown option " + option);
    found->second(argv[i + 1]);
  }
}

/// An option's value is kept as it is.
[[nodiscard]] inline std::function<void(const std::string&)> into(std::string& text) {
  return [&text](const std::string& value) { text = value; };
}
/// Or is a number, from 1 on.
template <typename Number>
[[nodiscard]] std::function<void(const std::string&)> into(Number& number) {
  return [&number](const std::string& value) {
    number = std::max(Number{1}, static_cast<Number>(std::stoll(value)));
  };
}

/// The first process writes the results, if anywhere, and all end.
inline void end(const nlohmann::ordered_json& results, const std::string& path) {
  if (process == 0 && !path.empty()) {
    FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) give_up("cannot write " + path);
    std::fputs((results.dump(1) + "\n").c_str(), file);
    std::fclose(file);
  }
  MPI_Finalize();
}

/// Seconds since the machine started. All read the clock of the one node; MPI_Wtime would begin with each
/// process.
[[nodiscard]] inline double seconds_of_node() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds from when the first begins to when the last is through: where there are more processes than
/// processors, they take turns. Collective.
inline double time_of_all(const std::function<void()>& run) {
  MPI_Barrier(MPI_COMM_WORLD);
  double times[2] = {-seconds_of_node(), 0};
  run();
  times[1] = seconds_of_node();
  MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return times[0] + times[1];
}

}  // namespace bench
