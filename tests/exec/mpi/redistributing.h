// What the tests of Redistributor share: Programs for any number of processes, and limits that one
// of them lives under for a while.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "exec/mpi/processes.h"
#include "exec/programs.h"
#include "retile/core/problem.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/mpi/options.h"
#include "retile/program/program.h"

namespace retile::test {

using Bytes = std::vector<std::byte>;

inline int process() { return process_of(MPI_COMM_WORLD); }
inline int processes() { return processes_of(MPI_COMM_WORLD); }
inline bool is_last() { return process() == processes() - 1; }

/// A Program of one step over the axis d of all processes; D stands for their number.
inline Program with_processes(const std::string& from, const std::string& to,
                              const std::string& step) {
  const std::string d = std::to_string(processes());
  std::string text = "retile.program/1\nmesh d:D\nfrom " + from + "\nto " + to + "\n" + step +
                     " groups=[1,D]<=[D]\n";
  for (std::size_t at = text.find('D'); at != std::string::npos; at = text.find('D', at)) {
    text.replace(at, 1, d);
  }
  return parsed(text);
}

/// From tiles of `rows` rows to tiles of `columns` columns.
inline Program rows_to_columns(Size rows, Size columns) {
  const std::string all_rows = std::to_string(rows * processes());
  const std::string all_columns = std::to_string(columns * processes());
  return with_processes("[" + std::to_string(rows) + "{d}" + all_rows + ", " + all_columns + "]",
                        "[" + all_rows + ", " + std::to_string(columns) + "{d}" + all_columns + "]",
                        "alltoall split=1 concat=0");
}

/// One exchange from tiles of one layout to those of another.
inline Program between(Layout from, Layout to) {
  return direct(Problem::make(std::move(from), std::move(to)).value()).value();
}

/// One exchange, and which processes are on one node.
inline mpi::Options on_one_node(mpi::Options options = {}) {
  options.strategy = mpi::Strategy::exchange;
  options.partition = mpi::Partition::one_node;
  return options;
}
inline mpi::Options by_messages(mpi::Options options = {}) {
  options.strategy = mpi::Strategy::exchange;
  options.partition = mpi::Partition::apart;
  return options;
}
inline mpi::Options over_nodes(mpi::Options options = {}) {
  options.strategy = mpi::Strategy::exchange;
  options.partition = mpi::Partition::nodes;
  return options;
}
/// While it lives, this process may use less of something. Files that grow too long are errors and
/// not signals.
class Limited {
 public:
  Limited(bool limited, __rlimit_resource what, rlim_t most) : what_(what) {
    EXPECT_EQ(getrlimit(what_, &before_), 0);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit less{.rlim_cur = most, .rlim_max = before_.rlim_max};
    EXPECT_EQ(limited ? setrlimit(what_, &less) : 0, 0);
  }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;
  ~Limited() {
    EXPECT_EQ(setrlimit(what_, &before_), 0);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  __rlimit_resource what_;
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

}  // namespace retile::test
