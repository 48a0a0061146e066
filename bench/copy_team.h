// Processes that copy at once between tiles in shared memory, and problems for them.
#pragma once

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/size.h"
#include "retile/exec/copy/pass.h"
#include "retile/exec/team/memory.h"
#include "retile/program/ops.h"

namespace copy_bench {

using retile::Shape;
using retile::Size;
using retile::Transfer;

inline void fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::_Exit(1);
}

/// What all processes see, in the pages that tiles of the library lie in, touched before anything
/// is timed.
class SharedBytes {
 public:
  explicit SharedBytes(Size bytes) {
    auto made = retile::team::SharedMemory::create(bytes);
    if (!made) fail(made.error().message);
    memory_ = std::move(*made);
    std::memset(data(), 1, static_cast<std::size_t>(bytes));
  }
  [[nodiscard]] std::byte* data() const { return memory_.bytes().data(); }

 private:
  retile::team::SharedMemory memory_;
};

/// A redistribution: what every device holds before and after.
struct Problem {
  std::string name;
  Size run_bytes = 0;  ///< of the pieces that stay together
  Size processes = 1;
  Size element_bytes = 4;
  Shape source_tile;
  Shape target_tile;
  std::vector<Transfer> transfers;

  [[nodiscard]] Size source_bytes() const { return bytes(source_tile); }
  [[nodiscard]] Size target_bytes() const { return bytes(target_tile); }

 private:
  [[nodiscard]] Size bytes(const Shape& tile) const {
    Size out = element_bytes;
    for (const Size extent : tile) out *= extent;
    return out;
  }
};

/// The boxes that old and new tiles have in common, given where each device's tiles start.
inline std::vector<Transfer> intersections(const Shape& source_tile, const Shape& target_tile,
                                           const std::vector<Shape>& source_starts,
                                           const std::vector<Shape>& target_starts) {
  std::vector<Transfer> out;
  for (std::size_t t = 0; t < target_starts.size(); ++t) {
    for (std::size_t s = 0; s < source_starts.size(); ++s) {
      Transfer transfer{static_cast<Size>(t), static_cast<Size>(s), {}, {}, {}};
      bool empty = false;
      for (std::size_t i = 0; i < source_tile.size(); ++i) {
        const Size begin = std::max(source_starts[s][i], target_starts[t][i]);
        const Size end =
            std::min(source_starts[s][i] + source_tile[i], target_starts[t][i] + target_tile[i]);
        empty = empty || begin >= end;
        transfer.target_start.push_back(begin - target_starts[t][i]);
        transfer.source_start.push_back(begin - source_starts[s][i]);
        transfer.shape.push_back(end - begin);
      }
      if (!empty) out.push_back(transfer);
    }
  }
  return out;
}

/// An array split over a mesh: dimension i in parts[i] pieces, device by device in the order of
/// `major`, which lists the split dimensions from major to minor.
inline std::vector<Shape> starts(const Shape& tile, const Shape& parts,
                                 const std::vector<std::size_t>& major, Size processes) {
  std::vector<Shape> out;
  for (Size d = 0; d < processes; ++d) {
    Shape start(tile.size(), 0);
    Size rest = d;
    for (std::size_t k = major.size(); k-- > 0;) {
      const std::size_t i = major[k];
      start[i] = rest % parts[i] * tile[i];
      rest /= parts[i];
    }
    out.push_back(start);
  }
  return out;
}

inline Problem split_problem(std::string name, Size run_bytes, Size processes, const Shape& global,
                             const Shape& from, const Shape& to,
                             const std::vector<std::size_t>& from_major,
                             const std::vector<std::size_t>& to_major) {
  Problem out{std::move(name), run_bytes, processes, 4, {}, {}, {}};
  for (std::size_t i = 0; i < global.size(); ++i) {
    out.source_tile.push_back(global[i] / from[i]);
    out.target_tile.push_back(global[i] / to[i]);
  }
  out.transfers = intersections(out.source_tile, out.target_tile,
                                starts(out.source_tile, from, from_major, processes),
                                starts(out.target_tile, to, to_major, processes));
  return out;
}

inline Problem rows_to_columns(Size processes, Size total_bytes, Size run_bytes) {
  const Size columns = run_bytes / 4 * processes;
  const Size rows = std::max(total_bytes / (columns * 4) / processes, Size{1}) * processes;
  return split_problem("rows to columns", run_bytes, processes, {rows, columns}, {processes, 1},
                       {1, processes}, {0}, {1});
}

inline Problem columns_to_rows(Size processes, Size total_bytes, Size run_bytes) {
  const Size columns = run_bytes / 4 * processes;
  const Size rows = std::max(total_bytes / (columns * 4) / processes, Size{1}) * processes;
  return split_problem("columns to rows", run_bytes, processes, {rows, columns}, {1, processes},
                       {processes, 1}, {1}, {0});
}

/// [a, b{x}, c] to [a, b, c{x}].
inline Problem axis_move(Size processes, Size total_bytes, Size run_bytes) {
  const Size c = run_bytes / 4 * processes;
  const Size b = 8 * processes;
  const Size a = std::max(total_bytes / (4 * b * c), Size{1});
  return split_problem("3-D axis move", run_bytes, processes, {a, b, c}, {1, processes, 1},
                       {1, 1, processes}, {1}, {2});
}

/// [r{x}, c{y}] to [r{y}, c{x}] over a mesh of processes / 2 times 2.
inline Problem mesh_swap(Size processes, Size total_bytes) {
  const Size x = processes / 2;
  const Size y = 2;
  const Size columns = 1024 * processes;
  const Size rows = std::max(total_bytes / (columns * 4) / processes, Size{1}) * processes;
  return split_problem("mesh swap", columns / std::max(x, y) * 4, processes, {rows, columns},
                       {x, y}, {y, x}, {0, 1}, {1, 0});
}

/// Every device gets all; the bytes of all new tiles together are `total_bytes`.
inline Problem gather(Size processes, Size total_bytes) {
  const Size elements = total_bytes / 4 / processes / processes;
  return split_problem("gather", elements * 4, processes, {elements * processes}, {processes}, {1},
                       {0}, {});
}

/// What is common to the processes of a team.
struct Board {
  std::atomic<std::int64_t> arrived{0};
  std::array<double, 64> processor_seconds{};
  std::array<double, 64> wall_seconds{};
  std::atomic<int> wrong{0};
};

struct Timing {
  double processor_seconds = 0;  ///< sum over the processes
  double wall_seconds = 0;       ///< from the barrier before to the last process
};

/// One way to move the bytes, as process `me` does it.
struct Contestant {
  std::string name;
  std::function<void(Size me)> run;
  bool moves = true;  ///< false: a reference that leaves something else in the tiles
};

class Team {
 public:
  Team(Size processes, Size total_bytes)
      : processes_(processes),
        in_(total_bytes + slack),
        out_(total_bytes + slack),
        board_bytes_(static_cast<Size>(sizeof(Board))),
        board_(new (board_bytes_.data()) Board) {}

  [[nodiscard]] Size processes() const { return processes_; }
  [[nodiscard]] std::byte* in() const { return in_.data(); }
  [[nodiscard]] std::byte* out() const { return out_.data(); }

  /// The times of each contestant, `rounds` of them, taken in turn.
  [[nodiscard]] std::vector<std::vector<Timing>> run(const Problem& problem,
                                                     const std::vector<Contestant>& contestants,
                                                     int rounds, int repeats) {
    std::vector<std::vector<Timing>> out(contestants.size());
    board_->arrived = 0;
    board_->wrong = 0;
    std::vector<pid_t> children;
    Size me = 0;
    for (Size i = 1; i < processes_; ++i) {
      const pid_t child = fork();
      if (child < 0) fail("no process");
      if (child == 0) {
        me = i;
        break;
      }
      children.push_back(child);
    }
    Size barriers = 0;
    const auto barrier = [&] {
      ++barriers;
      board_->arrived.fetch_add(1);
      for (int spins = 0; board_->arrived.load() < barriers * processes_; ++spins) {
        if (spins > 200) sched_yield();
      }
    };
    fill(problem, me);
    for (const Contestant& contestant : contestants) {
      if (contestant.moves) {
        std::memset(out_.data() + me * problem.target_bytes(), 0,
                    static_cast<std::size_t>(problem.target_bytes()));
      }
      barrier();
      contestant.run(me);
      barrier();
      if (contestant.moves && !right(problem, me)) {
        std::fprintf(stderr, "%s is wrong: %s\n", contestant.name.c_str(), problem.name.c_str());
        board_->wrong = 1;
      }
      barrier();
    }
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t c = 0; c < contestants.size(); ++c) {
        barrier();
        const double processor = processor_now();
        const auto wall = std::chrono::steady_clock::now();
        for (int repeat = 0; repeat < repeats; ++repeat) contestants[c].run(me);
        const auto slot = static_cast<std::size_t>(me);
        board_->processor_seconds[slot] = processor_now() - processor;
        board_->wall_seconds[slot] =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
        barrier();
        Timing timing;
        for (std::size_t i = 0; i < static_cast<std::size_t>(processes_); ++i) {
          timing.processor_seconds += board_->processor_seconds[i] / repeats;
          timing.wall_seconds = std::max(timing.wall_seconds, board_->wall_seconds[i] / repeats);
        }
        out[c].push_back(timing);
      }
    }
    if (me != 0) std::_Exit(0);
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) fail("a process failed");
    }
    if (board_->wrong != 0) fail("nothing is timed that is not right");
    return out;
  }

 private:
  static constexpr Size slack = Size{1} << 16;

  [[nodiscard]] static double processor_now() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  void fill(const Problem& problem, Size me) {
    std::byte* tile = in_.data() + me * problem.source_bytes();
    for (Size at = 0; at + 4 <= problem.source_bytes(); at += 4) {
      const auto position = static_cast<std::uint64_t>(me * problem.source_bytes() + at);
      const auto value = static_cast<std::uint32_t>((position * 0x9E3779B97F4A7C15u) >> 32);
      std::memcpy(tile + at, &value, 4);
    }
  }

  /// Every byte of a device's new tile against the old tiles, innermost rows at a time.
  [[nodiscard]] bool right(const Problem& problem, Size me) const {
    for (const Transfer& transfer : problem.transfers) {
      if (transfer.target != me) continue;
      const std::byte* source = in_.data() + transfer.source * problem.source_bytes();
      const std::byte* target = out_.data() + me * problem.target_bytes();
      Shape index(transfer.shape.size(), 0);
      const auto row_bytes = static_cast<std::size_t>(transfer.shape.back() * 4);
      for (bool more = true; more;) {
        Size from = 0;
        Size to = 0;
        for (std::size_t i = 0; i < index.size(); ++i) {
          from = from * problem.source_tile[i] + transfer.source_start[i] + index[i];
          to = to * problem.target_tile[i] + transfer.target_start[i] + index[i];
        }
        if (std::memcmp(source + from * 4, target + to * 4, row_bytes) != 0) return false;
        more = false;
        for (std::size_t i = index.size() - 1; i-- > 0;) {
          if (++index[i] < transfer.shape[i]) {
            more = true;
            break;
          }
          index[i] = 0;
        }
      }
    }
    return true;
  }

  Size processes_;
  SharedBytes in_;
  SharedBytes out_;
  SharedBytes board_bytes_;
  Board* board_;
};

/// The passes of each process: what it pushes from its tile, or pulls into it.
struct Passes {
  std::vector<retile::copy::Pass> of_process;

  Passes(const Problem& problem, bool push, const retile::copy::Options& options) {
    for (Size me = 0; me < problem.processes; ++me) {
      std::vector<Transfer> mine;
      for (const Transfer& transfer : problem.transfers) {
        if ((push ? transfer.source : transfer.target) == me) mine.push_back(transfer);
      }
      of_process.emplace_back(problem.element_bytes, problem.source_tile, problem.target_tile, mine,
                              options);
    }
  }
};

/// All tiles of a team, by device.
struct Tiles {
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> targets;

  Tiles(const Team& team, const Problem& problem) {
    for (Size i = 0; i < problem.processes; ++i) {
      sources.push_back(team.in() + i * problem.source_bytes());
      targets.push_back(team.out() + i * problem.target_bytes());
    }
  }
};

}  // namespace copy_bench
