// One process fails where the others cannot know it: the whole job must end, and say why.
//
//   late_failure collective   MPI_Alltoall reports an error on process 1
//   late_failure killed       process 1 is killed there
//   late_failure split        MPI_Comm_split reports an error on process 1
//   late_failure nodes        MPI_Comm_split_type reports one, where processes find out who is near
//   late_failure agreement    MPI_Allreduce reports one, where they would tell each other of one
//   late_failure environment  process 1 gives up while the others wait in a collective
//   late_failure device       the device of process 1 fails while tiles move between devices
//   late_failure memory       process 1 has no memory left while a Program is made ready
//   late_failure buffers      process 1 is given wrong ones, and has said that this ends the job
//   late_failure WAY          process 1 is killed while data goes that way: collectives, inplace, and
//                             of an exchange shared (on one node), staged (the same with tiles that
//                             are not shared), direct (by messages), mixed (over two nodes);
//                             of a sum sums (on one node), sums_staged, sums_by_messages
//
// The failures are put under the library by defining MPI functions here: MPI lets every function be
// replaced that way.
#include <mpi.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "exec/allocations.h"
#include "exec/cuda/host_device.h"
#include "exec/mpi/blocks.h"
#include "exec/programs.h"
#include "retile/exec/cuda/executor.h"
#include "retile/exec/mpi/device_transport.h"
#include "retile/exec/mpi/environment.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/run/run.h"

namespace {

using retile::mpi::Options;
using retile::mpi::Partition;
using retile::mpi::Strategy;

std::string failure;

void give_up_alone() {
  const auto environment = retile::mpi::Environment::start(nullptr, nullptr);
  if (!environment) return;
  if (environment->processes().process() == 1) environment->abort(4, "cannot go on");
  // No collective that an abort which first makes a communicator could be mistaken for.
  MPI_Barrier(MPI_COMM_WORLD);
}

/// A way to move, by its name here.
struct Way {
  const char* name;
  Options options;
  retile::Size block = 0;  ///< processes that are taken for a node; 0: as MPI says
};
const Way ways[] = {
    {"collectives", {.strategy = Strategy::collectives, .own_buffers = true}},
    {"inplace", {.strategy = Strategy::in_place, .own_buffers = true}},
    {"shared",
     {.strategy = Strategy::exchange, .partition = Partition::one_node, .own_buffers = true}},
    {"staged", {.strategy = Strategy::exchange, .partition = Partition::one_node}},
    {"direct",
     {.strategy = Strategy::exchange, .partition = Partition::apart, .own_buffers = true}},
    {"mixed", {.strategy = Strategy::exchange, .own_buffers = true}, 2},
    {"sums",
     {.partition = Partition::one_node,
      .own_buffers = true,
      .element_type = retile::ElementType{}}},
    {"sums_staged", {.partition = Partition::one_node, .element_type = retile::ElementType{}}},
    {"sums_by_messages", {.partition = Partition::apart, .element_type = retile::ElementType{}}},
};

/// Moves data until it is killed.
void move_until_killed(const retile::Program& program, const Way& way) {
  const retile::test::Blocks blocks(way.block);
  auto mover = retile::mpi::Redistributor::make(MPI_COMM_WORLD, program, 4, way.options);
  if (!mover) {
    std::printf("survived: %s\n", retile::render(mover.error()).c_str());
    return;
  }
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  if (process == 1) {
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      std::raise(SIGKILL);
    }).detach();
  }
  std::vector<std::byte> in(static_cast<std::size_t>(mover->in_bytes()));
  std::vector<std::byte> out(static_cast<std::size_t>(mover->out_bytes()));
  for (;;) {
    const auto moved = way.options.own_buffers ? mover->run() : mover->run(in, out);
    if (!moved) std::printf("survived: %s\n", retile::render(moved.error()).c_str());
  }
}

/// As a user would who wants to go on with less.
void make_without_memory(const retile::Program& program) {
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  try {
    if (process == 1) retile::test::fail_after(20);
    const auto made = retile::mpi::Redistributor::make(MPI_COMM_WORLD, program, 4);
    retile::test::fail_after(-1);
    std::printf("survived: %s\n", made ? "made" : retile::render(made.error()).c_str());
  } catch (const std::bad_alloc&) {
    retile::test::fail_after(-1);
    std::printf("survived: an exception\n");
  }
}

void move_with_wrong_buffers(const retile::Program& program) {
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  for (const Strategy strategy : {Strategy::collectives, Strategy::exchange}) {
    auto mover =
        retile::mpi::Redistributor::make(MPI_COMM_WORLD, program, 4,
                                         {.strategy = strategy,
                                          .partition = Partition::apart,
                                          .wrong_buffers = retile::mpi::WrongBuffers::end_job});
    std::vector<std::byte> in(256);
    std::vector<std::byte> out(256);
    const bool last = strategy == Strategy::exchange;
    if (process == 1 && last) in.resize(255);
    const auto moved = mover ? mover->run(in, out) : tl::unexpected(mover.error());
    if (last || !moved)
      std::printf("survived%s\n", moved ? "" : (": " + retile::render(moved.error())).c_str());
  }
}

void move_between_devices(const retile::Program& program) {
  const auto environment = retile::mpi::Environment::start(nullptr, nullptr);
  auto transport = retile::mpi::device_transport(MPI_COMM_WORLD);
  if (!environment || !transport) return;
  const int copy = (*transport)->member() == 1 ? 2 : -1;
  const auto open = [copy](int) -> retile::Result<std::unique_ptr<retile::cuda::Device>> {
    return std::make_unique<retile::test::HostDevice>(
        false, retile::test::DeviceFaults{.refuse_copy = copy});
  };
  const auto executor =
      retile::cuda::make_executor(environment->processes(), std::move(*transport), program, 4,
                                  {.path = retile::cuda::Path::staged}, open);
  if (!executor) return;
  const auto report =
      retile::run::run(**executor, program, retile::run::Source(retile::ElementType{}), {});
  std::printf("survived%s\n", report ? "" : (": " + retile::render(report.error())).c_str());
}

}  // namespace

bool retile::test::split_type_fails() {
  int process = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &process);
  return process == 1 && failure == "nodes";
}

extern "C" int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  int process = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &process);
  if (process == 1 && failure == "split") return MPI_ERR_OTHER;
  return PMPI_Comm_split(comm, color, key, made);
}

extern "C" int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type,
                             MPI_Op operation, MPI_Comm comm) {
  int process = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &process);
  if (process == 1 && failure == "agreement") return MPI_ERR_OTHER;
  return PMPI_Allreduce(send, receive, count, type, operation, comm);
}

extern "C" int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                            int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
  int process = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &process);
  if (process == 1 && failure == "collective") return MPI_ERR_OTHER;
  if (process == 1 && failure == "killed") std::raise(SIGKILL);
  return PMPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  failure = argc > 1 ? argv[1] : "";
  if (failure == "environment") give_up_alone();
  const retile::Program program = retile::test::parsed(R"(retile.program/1
mesh d:4
from [4{d}16, 16]
to [16, 4{d}16]
allpermute pairs=[[0,0]]
alltoall split=1 concat=0 groups=[1,4]<=[4]
)");
  if (failure == "memory") make_without_memory(program);
  if (failure == "buffers") move_with_wrong_buffers(program);
  if (failure == "device") move_between_devices(program);
  const retile::Program sum = retile::test::parsed(R"(retile.program/2
mesh d:4
from sum{d}[1000]
to [1000]
allreduce groups=[1,4]<=[4]
)");
  for (const Way& way : ways) {
    const bool adds = way.options.element_type.has_value();
    if (failure == way.name) move_until_killed(adds ? sum : program, way);
  }
  std::vector<std::byte> in(256);
  std::vector<std::byte> out(256);
  auto mover = retile::mpi::Redistributor::make(MPI_COMM_WORLD, program, 4,
                                                {.strategy = Strategy::collectives});
  const auto done = mover ? mover->run(in, out) : tl::unexpected(mover.error());
  std::printf("survived%s\n", done ? "" : (": " + retile::render(done.error())).c_str());
  MPI_Finalize();
  return 0;
}
