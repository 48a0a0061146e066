// A device made of host memory, for tests: what a kernel would do is done by the same arithmetic,
// and what is put into a lane is done at once or only when somebody waits for it, whichever is
// worse for who forgets to wait.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/exec/cuda/device.h"
#include "retile/exec/team/memory.h"

namespace retile::test {

/// A unit as a kernel copies it.
inline void copy_unit(const cuda::Place& at, std::uint32_t bytes) {
  if (at.source % bytes != 0 || at.target % bytes != 0) {
    std::abort();  // a GPU would end the process as well
  }
  std::memcpy(reinterpret_cast<void*>(at.target), reinterpret_cast<const void*>(at.source), bytes);
}

/// What the threads of a block do, one after the other.
template <std::uint32_t dims>
void copy_flat_portion(const cuda::Group& group, const cuda::Place* boxes,
                       const cuda::Portion& portion) {
  const std::uint32_t threads = std::min(cuda::block_threads, portion.end - portion.begin);
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    cuda::Walk<dims> source(group, group.source_strides, portion.begin + thread);
    cuda::Walk<dims> target(group, group.target_strides, portion.begin + thread);
    for (std::uint32_t unit = portion.begin + thread; unit < portion.end;
         unit += cuda::block_threads) {
      copy_unit({.source = boxes[source.box()].source + source.distance(),
                 .target = boxes[target.box()].target + target.distance()},
                group.unit_bytes);
      source.next();
      target.next();
    }
  }
}

/// The units of a batch, in the order of the portions, by the arithmetic that kernels take for as many
/// dimensions.
inline void copy_on_host(const cuda::Batch& batch) {
  for (std::uint32_t number = 0; number < batch.portions; ++number) {
    const cuda::Portion portion = portion_of(batch, number);
    const cuda::Group& group = batch.groups[portion.group];
    const cuda::Place* const boxes = batch.boxes + group.first_box;
    switch (group.dims) {
      case 2:
        copy_flat_portion<2>(group, boxes, portion);
        break;
      case 3:
        copy_flat_portion<3>(group, boxes, portion);
        break;
      case 4:
        copy_flat_portion<4>(group, boxes, portion);
        break;
      default:
        for (std::uint32_t unit = portion.begin; unit < portion.end; ++unit) {
          const cuda::Spot spot = spot_of(group, unit);
          const cuda::Place& box = boxes[spot.box];
          copy_unit({.source = box.source + spot.distance.source,
                     .target = box.target + spot.distance.target},
                    group.unit_bytes);
        }
    }
  }
}

/// The bytes of an element as a kernel writes them.
inline std::array<std::byte, 16> device_element(const cuda::PatternTile& tile, Size local) {
  const cuda::PatternWords words =
      cuda::pattern_words(cuda::global_index(tile, local), tile.element_bytes);
  std::array<std::byte, 16> out;
  std::memcpy(out.data(), &words.low, 8);
  std::memcpy(out.data() + 8, &words.high, 8);
  return out;
}

/// What a device is to do wrong.
struct DeviceFaults {
  bool refuse_share = false;
  bool refuse_open = false;
  int refuse_allocation = -1;  ///< the number of the allocation, pinned ones counted in
  int refuse_copy = -1;        ///< the number of the copy
  int die_at_copy = -1;
  bool wrong_box = false;  ///< copies wrong units of the first boxes of the first batch
};

/// Makes a group copy the first unit of every run in place of the others, so that no place outside is
/// touched.
inline void mislead(cuda::Group& group) { group.source_strides[0] = 0; }

class HostDevice final : public cuda::Device {
 public:
  explicit HostDevice(bool lazy, DeviceFaults faults = {}) : lazy_(lazy), faults_(faults) {}

  [[nodiscard]] std::string name() const override { return "host memory"; }
  [[nodiscard]] std::uint64_t identity() const override { return 1; }

  [[nodiscard]] Result<std::byte*> allocate(Size bytes) override {
    if (auto refused = refuse_if(allocations_++ == faults_.refuse_allocation); !refused) {
      return refuse(refused.error());
    }
    auto made = team::SharedMemory::create(bytes);
    if (!made) return refuse(made.error());
    return keep(owned_, std::move(*made));
  }
  void release(std::byte* memory) override { owned_.erase(memory); }
  [[nodiscard]] Result<std::byte*> allocate_pinned(Size bytes) override { return allocate(bytes); }
  void release_pinned(std::byte* memory) override { release(memory); }

  [[nodiscard]] Size share_unit_bytes() const override { return 4096; }
  [[nodiscard]] Result<cuda::MemoryHandle> share(std::byte* memory) override {
    if (auto refused = refuse_if(faults_.refuse_share); !refused) return refuse(refused.error());
    const team::SharedMemory& there = owned_.at(memory);
    const Handle handle{there.handle(), there.bytes().size()};
    cuda::MemoryHandle out{};
    std::memcpy(out.data(), &handle, sizeof handle);
    return out;
  }
  [[nodiscard]] Result<std::byte*> open(const cuda::MemoryHandle& handle) override {
    if (auto refused = refuse_if(faults_.refuse_open); !refused) return refuse(refused.error());
    Handle theirs;
    std::memcpy(&theirs, handle.data(), sizeof theirs);
    auto there = team::SharedMemory::attach(theirs.handle, static_cast<Size>(theirs.bytes));
    if (!there) {
      return refuse({.code = Code::cuda_error, .message = there.error().message});
    }
    return keep(opened_, std::move(*there));
  }
  void close(std::byte* memory) override { opened_.erase(memory); }

  [[nodiscard]] Result<void> upload(cuda::Lane lane, std::byte* device, const std::byte* host,
                                    Size bytes) override {
    put(lane, [=] { std::memcpy(device, host, static_cast<std::size_t>(bytes)); });
    return {};
  }
  [[nodiscard]] Result<void> download(cuda::Lane lane, std::byte* host, const std::byte* device,
                                      Size bytes) override {
    put(lane, [=] { std::memcpy(host, device, static_cast<std::size_t>(bytes)); });
    return {};
  }
  [[nodiscard]] Result<void> copy(cuda::Lane lane, const cuda::Batch& batch) override {
    const int number = copies_++;
    if (number == faults_.die_at_copy) std::_Exit(9);
    if (auto refused = refuse_if(number == faults_.refuse_copy); !refused) return refused;
    const bool wrong = faults_.wrong_box && number == 0;
    put(lane, [batch, wrong] {
      if (!wrong || batch.portions == 0) return copy_on_host(batch);
      std::vector<cuda::Group> groups(batch.groups, batch.groups + batch.group_count);
      mislead(groups.front());
      cuda::Batch other = batch;
      other.groups = groups.data();
      copy_on_host(other);
    });
    return {};
  }
  [[nodiscard]] Result<void> clear(cuda::Lane lane, std::byte* memory, Size bytes) override {
    put(lane, [=] { std::memset(memory, 0, static_cast<std::size_t>(bytes)); });
    return {};
  }

  [[nodiscard]] Result<void> wait(cuda::Lane lane) override {
    auto& queue = queues_[static_cast<std::size_t>(lane)];
    for (; !queue.empty(); queue.pop_front()) queue.front()();
    return {};
  }
  [[nodiscard]] Result<void> wait_for_all() override {
    for (std::size_t lane = 0; lane < cuda::lanes; ++lane) {
      if (auto waited = wait(static_cast<cuda::Lane>(lane)); !waited) return waited;
    }
    return {};
  }

  [[nodiscard]] Result<void> fill(const cuda::PatternTile& tile, std::byte* memory) override {
    for (Size i = 0; i < tile.elements; ++i) {
      std::memcpy(memory + i * tile.element_bytes, device_element(tile, i).data(),
                  tile.element_bytes);
    }
    return {};
  }
  [[nodiscard]] Result<std::optional<Size>> find_mismatch(const cuda::PatternTile& tile,
                                                          const std::byte* memory) override {
    for (Size i = 0; i < tile.elements; ++i) {
      if (std::memcmp(memory + i * tile.element_bytes, device_element(tile, i).data(),
                      tile.element_bytes) != 0) {
        return std::optional<Size>(i);
      }
    }
    return std::optional<Size>();
  }

  /// Allocations that nobody has released, and peers' memory that nobody has closed.
  [[nodiscard]] std::size_t left_behind() const { return owned_.size() + opened_.size(); }

 private:
  struct Handle {
    team::SharedHandle handle;
    std::size_t bytes = 0;
  };
  static_assert(sizeof(Handle) <= sizeof(cuda::MemoryHandle));
  using Memories = std::map<std::byte*, team::SharedMemory>;

  static std::byte* keep(Memories& memories, team::SharedMemory memory) {
    std::byte* const at = memory.bytes().data();
    memories.emplace(at, std::move(memory));
    return at;
  }
  static Result<void> refuse_if(bool refused) {
    if (refused) return refuse({.code = Code::cuda_error, .message = "told to fail"});
    return {};
  }
  void put(cuda::Lane lane, std::function<void()> work) {
    if (lazy_) {
      queues_[static_cast<std::size_t>(lane)].push_back(std::move(work));
    } else {
      work();
    }
  }

  bool lazy_;
  DeviceFaults faults_;
  int allocations_ = 0;
  int copies_ = 0;
  Memories owned_;
  Memories opened_;
  std::array<std::deque<std::function<void()>>, cuda::lanes> queues_;
};

}  // namespace retile::test
