// The whole Program as one exchange, which is split in two: what stays on a node goes through the
// memory that its processes share, what leaves it in messages.
//
// A transfer is in one of the parts, so together they write what the exchange writes, and no byte
// of a tile is written by both. The messages are begun, the shared part is done, the messages are
// waited for. No deadlock: the shared part waits for processes of the same node only, which come to
// it without having waited for anything, and which wait for no message in it. So all get to the
// messages, and of those nothing is asked that `direct` does not ask.
#include <algorithm>
#include <memory>
#include <utility>

#include "retile/exec/mpi/mover.h"

namespace retile::mpi {
namespace {

/// Most bytes of chunk_bytes for the slots of the shared part.
constexpr Size most_shared_chunk_bytes = Size{1} << 20;

/// The parts of a problem, which differ in their share of chunk_bytes.
struct Parts {
  explicit Parts(const MoverProblem& problem)
      : within_options(problem.options),
        across_options(problem.options),
        within(with(problem, within_options)),
        across(with(problem, across_options)) {
    if (problem.options.own_buffers) return;  // no slots in shared memory
    const Size chunk = problem.options.chunk_bytes;
    within_options.chunk_bytes = std::max<Size>(std::min(chunk / 2, most_shared_chunk_bytes), 1);
    across_options.chunk_bytes = std::max<Size>(chunk - within_options.chunk_bytes, 1);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  Options within_options;
  Options across_options;
  MoverProblem within;
  MoverProblem across;

 private:
  static MoverProblem with(const MoverProblem& problem, const Options& options) {
    return {.comm = problem.comm,
            .program = problem.program,
            .shapes = problem.shapes,
            .element_bytes = problem.element_bytes,
            .in_bytes = problem.in_bytes,
            .out_bytes = problem.out_bytes,
            .options = options,
            .meter = problem.meter};
  }
};

}  // namespace

Result<Prepared> prepare_mixed(const MoverProblem& problem, const Exchange& exchange,
                               const Nodes& nodes) {
  const auto parts = std::make_shared<const Parts>(problem);
  const auto within = prepare_shared(parts->within, exchange, nodes);
  if (!within) return within;
  const auto stays = [&nodes](const Transfer& transfer) {
    return nodes.together(transfer.source, transfer.target);
  };
  const auto across =
      prepare_direct(parts->across, exchange, {.moves = stays, .make = within->make});
  if (!across) return across;
  const Size tiles = problem.in_bytes + problem.out_bytes;  // which both have counted
  return Prepared{.strategy = Strategy::mixed,
                  .limit_bytes = within->limit_bytes + across->limit_bytes - tiles,
                  .make = [parts, make = across->make] { return make(); }};
}

}  // namespace retile::mpi
