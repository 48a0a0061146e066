// Memory that several processes of one node can write, made once and reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/team/team.h"

namespace retile::team {

/// How another process of the same node and user finds a segment. Two plain words, to be sent by
/// whatever means there are.
struct SharedHandle {
  std::uint64_t place = 0;     ///< which process, and its file descriptor or name; 0: none
  std::uint64_t identity = 0;  ///< what must be found there
  friend bool operator==(const SharedHandle&, const SharedHandle&) = default;
};

/// Where a segment lives.
enum class SharedKind {
  anonymous,  ///< memfd_create: no file system, so a small /dev/shm does not matter
  named,      ///< shm_open: for processes that cannot open each other's descriptors
};

/// One segment of memory, mapped into this process. All its pages are there when create() returns,
/// so that writing cannot fail later. They are of 2 MiB as far as the kernel makes such pages, in
/// every process that attaches, and take no more memory than small ones. Nothing of an anonymous
/// segment outlives its processes; a named one is unlinked by unlink() or the destructor of its
/// maker.
class SharedMemory {
 public:
  /// \error shared_memory_error with the limit that forbids it; bad_argument: bytes < 1
  [[nodiscard]] static Result<SharedMemory> create(Size bytes,
                                                   SharedKind kind = SharedKind::anonymous);
  /// The segment that a living process made.
  /// \error shared_memory_error
  [[nodiscard]] static Result<SharedMemory> attach(const SharedHandle& handle, Size bytes);

  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const SharedHandle& handle() const { return handle_; }
  /// Takes the name away as soon as nobody has to attach any more. Nothing for anonymous segments.
  void unlink();

 private:
  std::span<std::byte> bytes_;
  SharedHandle handle_;
  int descriptor_ = -1;  ///< kept open by the maker: it is where others attach
  bool named_ = false;   ///< whether there is a name that this object has to take away
};

/// Asks the kernel for pages of 2 MiB where memory of this process has room for whole ones: now, from
/// Linux 6.1 on, else for pages that come later. What lies there stays. Nothing happens where the
/// kernel gives none, as in files.
void advise_huge_pages(std::span<const std::byte> bytes);

/// All members make a segment of `bytes` bytes each and attach those of all others; element k is
/// member k's. Where one member cannot, all release what they have and get shared_memory_error.
/// Named segments are tried where anonymous ones cannot be reached. The error of a member that
/// could says which one could not, and why. `team` needs a control block only; its counters are
/// left alone.
/// \error shared_memory_error, team_broken
[[nodiscard]] Result<std::vector<SharedMemory>> share_memory(Team& team, Size bytes);

/// Where the segments lie, as Team's constructor wants it.
[[nodiscard]] std::vector<std::span<std::byte>> spans_of(const std::vector<SharedMemory>& segments);

}  // namespace retile::team
