// The one place where MPI is called. Not a public header: other files of this room talk to MPI
// through it.
//
// What moves tiles hands back a Diagnostic (mpi_error). By everything else the processes agree, and
// where it fails nobody could tell the others: it ends the job (abort). No function here allocates
// when it succeeds, but for split, node, duplicate and text.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/add/adder.h"
#include "retile/exec/executor/processes.h"

namespace retile::mpi {

/// What abort() ends a job with where nobody could tell the others; the exit code that the command
/// line promises.
inline constexpr int environment_failed = 4;

/// Bytes of every process in one buffer: how many, and where they begin.
struct Parts {
  std::vector<int> counts;
  std::vector<int> offsets;
  explicit Parts(std::size_t processes) : counts(processes, 0), offsets(processes, 0) {}
};

/// What MPI adds with: an operation and a type of its own for each adder, so that every element type
/// is added alike everywhere.
class Reduction {
 public:
  /// \error mpi_error
  [[nodiscard]] static Result<Reduction> make(const add::Adder& adder);
  Reduction(Reduction&& other) noexcept;
  Reduction& operator=(Reduction&& other) noexcept;
  ~Reduction();

  [[nodiscard]] MPI_Op op() const { return op_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  Reduction() = default;
  MPI_Op op_ = MPI_OP_NULL;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Bytes of a tile that make a message, for MPI to copy from where they lie, and there.
class TileType {
 public:
  /// Runs of bytes, repeated.
  struct Box {
    Size offset = 0;
    Size run_bytes = 0;
    std::vector<std::array<Size, 2>>
        repeats;  ///< how often, and how many bytes apart; the fastest first
  };
  /// Nothing: of such a message MPI has no type.
  TileType() = default;
  /// Precondition: fewer than 2^31 bytes.
  [[nodiscard]] static TileType make(const std::vector<Box>& boxes);
  TileType(TileType&& other) noexcept;
  TileType& operator=(TileType&& other) noexcept;
  ~TileType();

  explicit operator bool() const { return type_ != MPI_DATATYPE_NULL; }
  [[nodiscard]] MPI_Datatype handle() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// A communicator of our own, freed with the object.
///
/// Counts are bytes; callers keep them below 2^31. Freeing is collective: destroy in the same order
/// everywhere.
class Communicator final : public Processes {
 public:
  /// No communicator; every call but valid() is forbidden.
  Communicator() = default;

  /// Collective.
  /// \error bad_argument (MPI not running, null, an inter-communicator), mpi_error
  [[nodiscard]] static Result<Communicator> duplicate(MPI_Comm comm);

  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  ~Communicator() override;

  [[nodiscard]] bool valid() const { return handle_ != MPI_COMM_NULL; }
  [[nodiscard]] int process() const override { return process_; }
  [[nodiscard]] int processes() const override { return processes_; }
  [[nodiscard]] MPI_Comm handle() const { return handle_; }

  /// Collective: processes with the same `color` form one communicator, in order of `key`.
  [[nodiscard]] Communicator split(int color, int key) const;

  /// Collective: this process with those that can share memory with it, in the same order.
  [[nodiscard]] Communicator node() const;

  /// Every process sends `bytes` bytes to all.
  [[nodiscard]] Result<void> allgather(const std::byte* send, std::byte* receive, Size bytes) const;
  /// Every process sends its bytes to all, as many as the others expect.
  [[nodiscard]] Result<void> allgather(std::span<const std::byte> send, std::byte* receive,
                                       const Parts& received) const;
  /// The same, where the bytes of this process are already in their place.
  [[nodiscard]] Result<void> allgather_in_place(std::byte* receive, const Parts& received) const;
  /// Every process sends `bytes` bytes to each.
  [[nodiscard]] Result<void> alltoall(const std::byte* send, std::byte* receive, Size bytes) const;
  /// Every process sends a part to each.
  [[nodiscard]] Result<void> alltoall(const std::byte* send, const Parts& sent, std::byte* receive,
                                      const Parts& received) const;
  /// Every process gets the sum of what all send.
  [[nodiscard]] Result<void> allreduce(const std::byte* send, std::byte* receive, Size elements,
                                       const Reduction& reduction) const;
  /// Every process gets its part of the sum of what all send: counts[0] elements for the first, and
  /// so on.
  [[nodiscard]] Result<void> reduce_scatter(const std::byte* send, std::byte* receive,
                                            const std::vector<int>& counts,
                                            const Reduction& reduction) const;
  /// Sends to one process and receives from another at the same time.
  [[nodiscard]] Result<void> send_receive(std::span<const std::byte> send, int target,
                                          std::span<std::byte> receive, int source) const;

  [[nodiscard]] Result<void> agree(const Result<void>& mine) const override;
  void barrier() const override;
  [[nodiscard]] std::string broadcast(const std::string& text, int root) const override;
  [[nodiscard]] std::uint64_t broadcast(std::uint64_t number, int root) const override;
  /// The bytes that `root` has, on all processes.
  void broadcast(std::span<std::byte> bytes, int root) const;
  [[nodiscard]] std::vector<bool> gather(bool mine) const override;
  /// What each process has, one behind the other.
  void gather(std::span<const std::byte> mine, std::span<std::byte> all) const;
  void maximum(std::span<std::uint64_t> numbers) const override;
  void sum(std::span<std::uint64_t> numbers) const override;
  [[nodiscard]] double maximum(double number) const override;
  void send(std::span<const std::byte> bytes, int target) const override;
  void receive(std::span<std::byte> bytes, int source) const override;

  /// Ends the whole job with `exit_code`, also processes that wait for a message. Prints `message`
  /// on stderr.
  [[noreturn]] void abort(int exit_code, const std::string& message) const;

 private:
  explicit Communicator(MPI_Comm handle);
  void or_abort(int code, const char* call) const;
  MPI_Comm handle_ = MPI_COMM_NULL;
  int process_ = 0;
  int processes_ = 0;
};

/// Messages that are on their way, each in a place of its own.
///
/// Between two processes messages are received in the order in which they were sent. Destroyed with
/// messages under way it waits for nothing: whoever gives up ends the job (abort).
class Messages {
 public:
  Messages(const Communicator& comm, std::size_t places);
  /// Begins a message in a free place; the bytes are the message's until wait() returns the place.
  /// \param refusing  tells the receiver so, beside the bytes
  [[nodiscard]] Result<void> send(std::size_t place, std::span<const std::byte> bytes, int target,
                                  bool refusing = false);
  [[nodiscard]] Result<void> receive(std::size_t place, std::span<std::byte> bytes, int source);
  /// The same, of bytes of a tile. Precondition: the type is one.
  [[nodiscard]] Result<void> send(std::size_t place, const std::byte* tile, const TileType& type,
                                  int target);
  [[nodiscard]] Result<void> receive(std::size_t place, std::byte* tile, const TileType& type,
                                     int source);
  /// A message that is through, whose place is free.
  struct Through {
    std::size_t place;
    bool refusing;  ///< of one that was received: what its sender told
  };
  /// Waits until some message is through.
  /// Precondition: one is under way.
  [[nodiscard]] Result<Through> wait();

 private:
  const Communicator* comm_;
  std::vector<MPI_Request> requests_;
};

/// The largest of numbers that all processes of a communicator tell, found while they do other things.
class Poll {
 public:
  explicit Poll(const Communicator& comm) : comm_(&comm) {}
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;
  ~Poll() = default;

  /// Collective, but waits for nobody.
  [[nodiscard]] Result<void> begin(std::uint64_t number);
  /// Waits until all have begun. Precondition: begin().
  [[nodiscard]] Result<std::uint64_t> finish();

 private:
  const Communicator* comm_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::uint64_t number_ = 0;
  std::uint64_t largest_ = 0;
};

/// Something of ours that lives with a communicator of a caller's: it is let go when that is freed, or
/// when MPI ends. Nothing where none was kept, or where there is no such communicator.
[[nodiscard]] std::shared_ptr<void> kept_with(MPI_Comm comm);
/// Precondition: nothing is kept with it so far. Ends the job where MPI cannot.
void keep_with(MPI_Comm comm, std::shared_ptr<void> kept);

/// What Communicator::abort does, where there is no communicator: needs no other process, so it can
/// be called whatever the others are doing. `process` is for the message.
[[noreturn]] void abort_job(int process, int exit_code, std::string_view message);

/// Whether the library says that messages may lie in memory of a CUDA device. False where it cannot
/// be asked.
[[nodiscard]] bool takes_cuda_memory();

/// Starts MPI for environment.cpp, where it does not run yet; whether it was started.
[[nodiscard]] Result<bool> start_mpi(int* argc, char*** argv);
void end_mpi();

}  // namespace retile::mpi
