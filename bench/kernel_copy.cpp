// Whether copies by the kernel (process_vm_readv) would pay where tiles are the callers' own: every process takes its
// part of every other's array, in runs that are apart, at once by the kernel; and, as slots do,
// packed into a small buffer and unpacked from there, all in its own memory. mpirun -n P kernel_copy [FILE]
#include <mpi.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "figures.h"
#include "machine.h"

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t array_bytes = std::size_t{256} << 20;  // of all processes
constexpr std::size_t slot_bytes = std::size_t{256} << 10;
constexpr std::size_t most_runs = 1024;  // of one call: IOV_MAX
constexpr int rounds = 9;

int process = 0;
int processes = 1;

[[noreturn]] void give_up(const char* message) {
  std::cerr << "kernel_copy: " << message << '\n';
  MPI_Abort(MPI_COMM_WORLD, 4);
  std::abort();
}

/// Run number `row` for process `target` of the array of a process.
struct Runs {
  std::size_t bytes;
  std::size_t rows;  ///< for each process
  [[nodiscard]] std::size_t old_place(std::size_t row, int target) const {
    return (row * static_cast<std::size_t>(processes) + static_cast<std::size_t>(target)) * bytes;
  }
  [[nodiscard]] std::size_t new_place(std::size_t row, int source) const {
    return (static_cast<std::size_t>(source) * rows + row) * bytes;
  }
};

struct Peer {
  long id;
  std::byte* array;
};

void by_kernel(const Runs& runs, const std::vector<Peer>& peers, std::byte* out) {
  std::vector<iovec> here(most_runs);
  std::vector<iovec> there(most_runs);
  const std::size_t most = std::clamp<std::size_t>(2 * slot_bytes / runs.bytes, 1, most_runs);
  for (int distance = 1; distance < processes; ++distance) {
    const int source = (process + distance) % processes;
    const Peer& peer = peers[static_cast<std::size_t>(source)];
    for (std::size_t row = 0; row < runs.rows;) {
      const std::size_t count = std::min(most, runs.rows - row);
      for (std::size_t k = 0; k < count; ++k) {
        there[k] = {peer.array + runs.old_place(row + k, process), runs.bytes};
        here[k] = {out + runs.new_place(row + k, source), runs.bytes};
      }
      const ssize_t got =
          process_vm_readv(static_cast<pid_t>(peer.id), here.data(), count, there.data(), count, 0);
      if (got != static_cast<ssize_t>(count * runs.bytes)) give_up("process_vm_readv is refused");
      row += count;
    }
  }
}

void by_slots(const Runs& runs, const std::byte* in, std::byte* slot, std::byte* out) {
  const std::size_t most = std::max<std::size_t>(slot_bytes / runs.bytes, 1);
  for (int distance = 1; distance < processes; ++distance) {
    const int other = (process + distance) % processes;
    for (std::size_t row = 0; row < runs.rows;) {
      const std::size_t count = std::min(most, runs.rows - row);
      for (std::size_t k = 0; k < count; ++k) {
        std::memcpy(slot + k * runs.bytes, in + runs.old_place(row + k, other), runs.bytes);
      }
      for (std::size_t k = 0; k < count; ++k) {
        std::memcpy(out + runs.new_place(row + k, other), slot + k * runs.bytes, runs.bytes);
      }
      row += count;
    }
  }
}

double median_seconds(const std::function<void()>& copy) {
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    double taken = -MPI_Wtime();
    copy();
    taken += MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    seconds.push_back(taken);
  }
  return bench::median(std::move(seconds));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const std::size_t bytes = array_bytes / static_cast<std::size_t>(processes);
  std::vector<std::byte> in(bytes, static_cast<std::byte>(process + 1));
  std::vector<std::byte> out(bytes);
  std::vector<std::byte> slot(std::max<std::size_t>(slot_bytes, std::size_t{1} << 20));
  Peer mine{getpid(), in.data()};
  std::vector<Peer> peers(static_cast<std::size_t>(processes));
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, peers.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  Json result{{"schema", "retile.kernel_copy/1"},
              {"processes", processes},
              {"machine", copy_bench::machine()},
              {"runs", Json::array()}};
  for (const std::size_t run : {1U << 8, 1U << 10, 1U << 12, 1U << 14, 1U << 16, 1U << 20}) {
    const Runs runs{run, bytes / static_cast<std::size_t>(processes) / run};
    const double kernel = median_seconds([&] { by_kernel(runs, peers, out.data()); });
    for (int source = 0; source < processes; ++source) {
      if (source == process) continue;
      for (std::size_t row = 0; row < runs.rows; ++row) {
        const auto at = out.begin() + static_cast<std::ptrdiff_t>(runs.new_place(row, source));
        if (*at != static_cast<std::byte>(source + 1)) give_up("wrong bytes");
      }
    }
    const double slots =
        median_seconds([&] { by_slots(runs, in.data(), slot.data(), out.data()); });
    result["runs"].push_back(
        {{"run_bytes", run}, {"kernel_seconds", kernel}, {"slot_seconds", slots}});
    if (process != 0) continue;
    std::printf("%d processes, runs of %7zu bytes: kernel %.1f ms, slots %.1f ms, %.1f times\n",
                processes, run, kernel * 1e3, slots * 1e3, kernel / slots);
  }
  if (process == 0 && argc > 1) std::ofstream(argv[1]) << result.dump(1) << '\n';
  MPI_Finalize();
  return 0;
}
