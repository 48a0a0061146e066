// Running a Program on MPI processes: device d is process d of a communicator. Where the Program lists its devices,
// process p is the one of the p-th smallest number.
//
// There are several ways (Strategy in options.h): the Program's steps as MPI collectives, the whole
// of it as one exchange, or the steps in place. All give the same bytes for a Program that `check`
// calls right; an exchange looks at its ends only. All work through bounded buffers, so tiles and arrays of more than 2^31 elements
// work and memory stays within a stated bound. This is one of the headers that show <mpi.h>;
// who does not want to see it includes executor.h and environment.h.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/mpi/options.h"
#include "retile/program/program.h"

namespace retile::mpi {

struct Context;

/// A Program made ready for one communicator, to be run many times: the strategy is chosen, and
/// communicators, shared memory and buffers are made, once.
///
/// Ownership: holds a duplicate of the communicator, so its messages meet no others; `comm` may be
/// freed after make(). The Program is not kept. Destroy it on all processes, in the same order,
/// before MPI_Finalize (after it, nothing is freed). Thread safety: one thread at a time per
/// object; several objects in several threads need MPI_THREAD_MULTIPLE.
class Redistributor {
 public:
  /// Collective over `comm`. Checks the Program on every process and that all were given the same
  /// one (what it does, element size, options), chooses the strategy and makes what it needs. All processes
  /// return the same error, or none does; only a process without memory for the few bytes that this
  /// takes, or on which a collective of MPI fails, ends the whole job (MPI_Abort, code 4) with a
  /// message; without memory it throws where it is alone.
  /// \param comm           an intra-communicator of program.devices processes
  /// \param element_bytes  1, 2, 4, 8 or 16
  /// \error bad_argument (communicator, its size, element size, options), disagreement,
  ///        inapplicable (a step that cannot be applied, or an end whose tiles are not of the shape
  ///        of `to`), bad_program (a hand-made Program with devices or dimensions that do not
  ///        exist), size_overflow, infeasible (no strategy that was allowed stays within the memory
  ///        limit; names the least that one of them needs, and says if the need of one is not
  ///        known), unsupported and shared_memory_error (the
  ///        strategy that was asked for cannot be used here; `automatic` takes another), out of
  ///        memory, and MPI_Comm_dup's own errors, as mpi_error
  [[nodiscard]] static Result<Redistributor> make(MPI_Comm comm, const Program& program,
                                                  Size element_bytes, const Options& options = {});

  Redistributor(Redistributor&&) noexcept;
  Redistributor& operator=(Redistributor&&) noexcept;
  Redistributor(const Redistributor&) = delete;
  Redistributor& operator=(const Redistributor&) = delete;
  ~Redistributor();

  /// Collective. Moves the data: `in` is this process's tile of `from`, `out` its tile of `to`,
  /// both in C order; with options.arrays the arrays in which they lie. `in` is left as it is, the tile in
  /// `out` is also scratch space, and what lies beside it is left as it is. Allocates nothing.
  /// \error bad_argument on all processes when a buffer of any process has another size than
  ///        in_bytes(), out_bytes(), or they overlap; with options.own_buffers, when they are not
  ///        input() and output(). Then `out` holds anything. With WrongBuffers::end_job that, and in any
  ///        case another error, ends the whole
  ///        job (MPI_Abort, code 4) with a message: the other processes already wait inside a collective.
  [[nodiscard]] Result<void> run(std::span<const std::byte> in, std::span<std::byte> out);
  /// The same from input() to output(). Precondition: options.own_buffers.
  [[nodiscard]] Result<void> run();

  /// With options.own_buffers, the tiles of `from` and of `to` to work on; else empty. They belong
  /// to this object. With in_place both begin at the same byte, and run() overwrites the input.
  [[nodiscard]] std::span<std::byte> input() const;
  [[nodiscard]] std::span<std::byte> output() const;

  /// The strategy that was chosen; never automatic.
  [[nodiscard]] Strategy strategy() const;
  /// Why: a line for each strategy that was looked at, the chosen one last. The same on all
  /// processes.
  [[nodiscard]] const std::vector<std::string>& reasons() const;

  /// Size of this process's tile of `from`, 0 if it is empty; with options.arrays.in, of its array.
  [[nodiscard]] Size in_bytes() const;
  [[nodiscard]] Size out_bytes() const;  ///< the same of `to`

  /// Bytes that this process receives from others in one run.
  [[nodiscard]] Size received_bytes() const;
  /// Largest sum so far of buffers given to this object and allocated by it on this process. Not
  /// counted: MPI's internals, and what make() needs for a while (preparing_limit_bytes).
  [[nodiscard]] Size peak_bytes() const;
  /// What peak_bytes() never exceeds on any process. With T = in + out, where tiles differ the largest
  /// of each:
  ///   collectives  T + I + J + max(options.chunk_bytes, 2 * n * element_bytes), I being the
  ///                largest tile between steps (0 when there are fewer than two steps), J the
  ///                largest of those that are larger than `out` (0 when none is; where tiles differ
  ///                it is I), n the largest group
  ///   exchange     T + what its parts need. chunk_bytes is divided where there are both.
  ///                Messages: min(max(chunk_bytes, 2 * element_bytes), 8 MiB) + 24 + 16 r bytes for
  ///                every box of r dimensions that a process sends or receives, 352 + 48 r for one
  ///                that it keeps, some hundred for every other process.
  ///                The part of the node: 352 + 48 r bytes for every box that a process sends or
  ///                receives (without own_buffers 528 + 72 r), twice that for one that it keeps,
  ///                some hundred for every other process + a control block, and two copies of an
  ///                `in` of up to 4 KiB for every process, at most 64 KiB; of a larger one, without
  ///                own_buffers, slots of min(chunk_bytes, 1 MiB), but at least 128 bytes for every
  ///                other process; the last three in whole pages
  ///                Of a Program with addends, where a sum has at most p addends from one tile, and
  ///                P are the processes: on one node with own_buffers the tiles in whole pages and a
  ///                control block; without them slots of min(chunk_bytes, 2 MiB), but at least
  ///                2 (P p + 1) elements, too; elsewhere max(chunk_bytes, 4 P p + 2 P + 2 elements).
  ///                To all of these some hundred bytes for every addend and place of what a process
  ///                adds. Where that is too much, as collectives.
  ///   in_place     the largest tile, in whole pages, + 832 KiB + a control block
  [[nodiscard]] Size peak_limit_bytes() const;
  /// What make() never held more than on any process, own tiles and the caller's included: for an
  /// exchange peak_limit_bytes() and some 2 KiB for every box of one process; where tiles are listed or
  /// have halos at the start also the whole exchange (some 400 bytes for each of its boxes). Also
  /// within options.memory_limit_bytes; an exchange that would not fit is not made.
  [[nodiscard]] Size preparing_limit_bytes() const;

 private:
  struct State;
  struct Making;
  friend Result<void> redistribute(MPI_Comm comm, const Program& program,
                                   std::span<const std::byte> in, std::span<std::byte> out,
                                   Size element_bytes, const LocalArrays& arrays);
  /// make() with what is there of the communicator.
  [[nodiscard]] static Result<Redistributor> made_in(std::shared_ptr<Context> context,
                                                     const Program& program, Size element_bytes,
                                                     const Options& options);
  explicit Redistributor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// make() and run() in one call, for one use. Collective over `comm`; errors as there.
///
/// What does not depend on the Program is kept with `comm` from the first call on, until it is freed or
/// MPI ends: a duplicate of it, and shared memory of a node's processes, up to 1.2 MiB for each.
[[nodiscard]] Result<void> redistribute(MPI_Comm comm, const Program& program,
                                        std::span<const std::byte> in, std::span<std::byte> out,
                                        Size element_bytes, const LocalArrays& arrays = {});

}  // namespace retile::mpi
