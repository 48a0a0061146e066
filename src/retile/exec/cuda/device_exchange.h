// An Exchange between tiles that lie on GPUs: one process per device of the Program, several of
// which may share one GPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/cuda/boxes.h"
#include "retile/exec/cuda/device.h"
#include "retile/exec/cuda/transport.h"
#include "retile/exec/exchange/tile_exchange.h"

namespace retile::cuda {

/// How the bytes go.
enum class Path {
  automatic,  ///< peer where all members can reach each other's tiles, else staged
  peer,       ///< one kernel per member, from its tile into the peers' or from theirs into its own
  staged,     ///< packed on the device, sent through the transport, and unpacked
};

[[nodiscard]] std::string_view path_name(Path path);

/// The same on all members.
struct DeviceOptions {
  Path path = Path::automatic;
  /// A message of the staged path, at most 2^30. Rounded up to a multiple of 256.
  Size chunk_bytes = Size{4} << 20;
  /// Most bytes of the device and of the host, tiles included, that a member may hold.
  std::optional<Size> memory_limit_bytes = {};
};

/// Built once, run many times. Building, running and destroying are collective.
///
/// The tiles belong to the exchange: memory of other processes can only be opened in whole
/// allocations. Nothing is allocated by run().
///
/// The peer path pushes (each member writes into its peers' tiles) where the boxes' runs are longer
/// in the targets, and pulls (each reads from its peers' tiles) where they are longer in the
/// sources, so that whoever touches short runs also touches their neighbours.
///
/// The staged path sends a member's boxes in rounds: in round r to the member r further on, from
/// the one r before. While one chunk is on its way, the next is packed and fetched from the device
/// and the one before is brought to the device and unpacked. Messages lie in pinned host memory, or
/// on the device where every member's transport takes them from there.
///
/// Preconditions: as for SharedExchange, 1 <= chunk_bytes <= 2^30, and tiles that are all alike.
class DeviceExchange {
 public:
  /// \param device,transport  outlive the exchange
  /// \error infeasible (the memory limit; says what is needed); cuda_error (on all members where it
  ///        is one's); limit_reached; the transport's own
  [[nodiscard]] static Result<std::unique_ptr<DeviceExchange>> create(
      Device& device, Transport& transport, const TileExchange& problem,
      const DeviceOptions& options = {});

  DeviceExchange(const DeviceExchange&) = delete;
  DeviceExchange& operator=(const DeviceExchange&) = delete;
  /// Meets the others before it frees what they have opened, unless the transport is broken.
  ~DeviceExchange();

  /// This member's tiles, on its device.
  [[nodiscard]] std::byte* input() const { return input_; }
  [[nodiscard]] std::byte* output() const { return output_; }
  [[nodiscard]] Size in_bytes() const { return in_bytes_; }
  [[nodiscard]] Size out_bytes() const { return out_bytes_; }

  /// Moves all inputs to the outputs. What this process put on its device before is waited for; on
  /// return `output()` is complete and nobody reads `input()` any more.
  /// \error cuda_error and the transport's own; the waits of the others end with an error as well
  [[nodiscard]] Result<void> run();

  /// The path that was chosen; never automatic.
  [[nodiscard]] Path path() const { return path_; }
  /// Why; a line each.
  [[nodiscard]] const std::vector<std::string>& reasons() const { return reasons_; }

  /// Bytes that this member receives from others in a run.
  [[nodiscard]] Size received_bytes() const { return received_bytes_; }
  /// Bytes of the device and of pinned host memory that this member holds: tiles, descriptions of
  /// boxes, chunks. Counted as they are allocated, and never more than limit_bytes(), which was
  /// known before.
  [[nodiscard]] Size held_bytes() const { return held_bytes_; }
  [[nodiscard]] Size limit_bytes() const { return limit_bytes_; }

 private:
  /// A batch before it lies on the device: its parts of the lists of boxes and groups.
  struct Range {
    std::size_t first_box = 0;
    std::size_t first_group = 0;
    std::size_t groups = 0;
    std::uint32_t portions = 0;
  };
  /// A step of the staged path; no bytes: that half of it is left out.
  struct Chunk {
    int target = 0;
    Size out_bytes = 0;
    std::size_t pack = 0;  ///< ranges
    int source = 0;
    Size in_bytes = 0;
    std::size_t unpack = 0;
  };
  /// The boxes between this member and another, one after the other.
  struct Stream {
    std::vector<const Transfer*> transfers;
    std::vector<Size> offsets;
    Size bytes = 0;
  };

  DeviceExchange(Device& device, Transport& transport, const TileExchange& problem,
                 const DeviceOptions& options);
  [[nodiscard]] Region region_of(const Transfer& transfer) const;
  [[nodiscard]] Result<void> prepare();
  [[nodiscard]] Result<void> agree_on_messages();
  [[nodiscard]] std::array<Size, 2> tile_allocations() const;
  [[nodiscard]] Result<void> allocate_tiles();
  [[nodiscard]] Result<std::byte*> allocate(Size bytes);
  [[nodiscard]] Result<void> reach_peers();
  [[nodiscard]] Result<void> take_peer_path();
  [[nodiscard]] Result<void> take_staged_path();
  [[nodiscard]] Result<void> describe_peer_copies();
  [[nodiscard]] Result<void> describe_staged_copies();
  [[nodiscard]] Result<std::size_t> describe_chunk(const Stream& stream, Size number, bool packs,
                                                   std::uint32_t place);
  [[nodiscard]] std::size_t note(BatchBuilder&& builder, bool by_target);
  void forget_descriptions();
  [[nodiscard]] Result<void> within_limit(Size bytes);
  [[nodiscard]] Result<void> allocate_chunks();
  [[nodiscard]] Result<void> send_descriptions();
  [[nodiscard]] Size description_bytes() const;
  [[nodiscard]] std::byte* address_of(std::uint32_t place) const;
  [[nodiscard]] Batch batch(std::size_t range) const;
  [[nodiscard]] Result<void> run_peer();
  [[nodiscard]] Result<void> run_staged();
  void close_peers();

  Device& device_;
  Transport& transport_;
  const TileExchange* problem_;  // outlives prepare(), no more
  DeviceOptions options_;
  Path path_ = Path::automatic;
  std::vector<std::string> reasons_;
  Size in_bytes_ = 0;
  Size out_bytes_ = 0;
  Size received_bytes_ = 0;
  Size held_bytes_ = 0;
  Size limit_bytes_ = 0;
  std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  bool push_ = false;
  std::vector<char> needed_;       ///< which members' tiles this one reaches into
  std::vector<std::byte*> peers_;  ///< their outputs where it pushes, else their inputs

  // Boxes of all batches, here until they lie on the device.
  std::vector<Place> boxes_;
  std::vector<Group> groups_;
  std::vector<BoxPlaces> places_;  ///< of each box
  std::vector<Range> ranges_;
  std::byte* descriptions_ = nullptr;  ///< boxes, then groups, on the device
  const Group* group_list_ = nullptr;  ///< the groups there
  std::size_t local_ = 0;  ///< the batch that needs no transport; on the peer path it is all

  std::vector<Chunk> chunks_;
  bool through_host_ = true;  ///< else messages go from device to device
  std::array<std::byte*, 2> device_out_{}, device_in_{}, host_out_{}, host_in_{};
};

}  // namespace retile::cuda
