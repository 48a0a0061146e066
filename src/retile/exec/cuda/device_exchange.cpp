#include "retile/exec/cuda/device_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "retile/core/assert.h"

namespace retile::cuda {
namespace {

// Boxes begin at multiples of this in a stream, so that their units are as wide as they can be.
constexpr Size stream_alignment = 16;

/// What the addresses of boxes count from; peers' tiles follow, in the order of the members.
enum Memory : std::uint32_t {
  own_input,
  own_output,
  packed_out,  // two, used in turn
  packed_in = packed_out + 2,
  first_peer = packed_in + 2,
};

Size rounded_up(Size value, Size unit) { return (value + unit - 1) / unit * unit; }

/// What a member tells the others about its tile.
struct Reach {
  std::uint64_t identity = 0;  // of its device
  int shared = 0;              // whether there is a handle
  MemoryHandle handle{};
};
static_assert(std::is_trivially_copyable_v<Reach>);

}  // namespace

std::string_view path_name(Path path) {
  switch (path) {
    case Path::automatic:
      return "automatic";
    case Path::peer:
      return "peer";
    case Path::staged:
      return "staged";
  }
  RETILE_ASSERT(false, "a path that does not exist");
  return {};
}

DeviceExchange::DeviceExchange(Device& device, Transport& transport, const TileExchange& problem,
                               const DeviceOptions& options)
    : device_(device), transport_(transport), problem_(&problem), options_(options) {}

Result<std::unique_ptr<DeviceExchange>> DeviceExchange::create(Device& device, Transport& transport,
                                                               const TileExchange& problem,
                                                               const DeviceOptions& options) {
  // Private constructor, so no make_unique.
  std::unique_ptr<DeviceExchange> out(new DeviceExchange(device, transport, problem, options));
  if (auto ready = out->prepare(); !ready) return refuse(ready.error());
  return out;
}

DeviceExchange::~DeviceExchange() {
  static_cast<void>(device_.wait_for_all());
  close_peers();
  // Nobody frees what another still has open. A broken transport has nothing left to wait for.
  static_cast<void>(transport_.barrier());
  for (std::byte* const memory : {input_, output_, descriptions_, device_out_[0], device_out_[1],
                                  device_in_[0], device_in_[1]}) {
    if (memory != nullptr) device_.release(memory);
  }
  for (std::byte* const memory : {host_out_[0], host_out_[1], host_in_[0], host_in_[1]}) {
    if (memory != nullptr) device_.release_pinned(memory);
  }
}

void DeviceExchange::close_peers() {
  const auto self = static_cast<std::size_t>(transport_.member());
  for (std::size_t k = 0; k < peers_.size(); ++k) {
    if (k != self && peers_[k] != nullptr) device_.close(peers_[k]);
  }
  peers_.clear();
}

Region DeviceExchange::region_of(const Transfer& transfer) const {
  return between_tiles(transfer, problem_->in_tiles.largest(), problem_->out_tiles.largest(),
                       problem_->element_bytes);
}

// ---- Building -----------------------------------------------------------------------------------

Result<void> DeviceExchange::prepare() {
  RETILE_ASSERT(options_.chunk_bytes >= 1 && options_.chunk_bytes <= Size{1} << 30,
                "chunks that are no messages");
  options_.chunk_bytes = rounded_up(options_.chunk_bytes, static_cast<Size>(place_alignment));
  if (auto agreed = agree_on_messages(); !agreed) return agreed;
  const Size element = problem_->element_bytes;
  in_bytes_ = box_bytes(problem_->in_tiles.largest(), element);
  out_bytes_ = box_bytes(problem_->out_tiles.largest(), element);
  const auto members = static_cast<std::size_t>(transport_.members());
  const Size self = transport_.member();
  RunCounts runs;
  needed_.assign(members, 0);
  for (const Transfer& transfer : problem_->exchange.transfers) {
    const RunCounts more = runs_of(region_of(transfer));
    runs.source += more.source;
    runs.target += more.target;
    if (transfer.target == self && transfer.source != self) {
      received_bytes_ += box_bytes(transfer.shape, element);
    }
  }
  push_ = runs.source > runs.target;
  for (const Transfer& transfer : problem_->exchange.transfers) {
    const Size actor = push_ ? transfer.source : transfer.target;
    const Size other = push_ ? transfer.target : transfer.source;
    if (actor == self && other != self) needed_[static_cast<std::size_t>(other)] = 1;
  }

  if (options_.path != Path::staged) {
    auto taken = take_peer_path();
    if (taken || options_.path == Path::peer || taken.error().code != Code::cuda_error) {
      return taken;
    }
    reasons_.push_back("peer: not possible: " + taken.error().message);
  } else {
    reasons_.emplace_back("peer: not asked for");
  }
  return take_staged_path();
}

/// Messages go from device to device where all transports take them there.
Result<void> DeviceExchange::agree_on_messages() {
  const char mine = transport_.takes_device_memory() ? 1 : 0;
  std::vector<char> all(static_cast<std::size_t>(transport_.members()));
  auto gathered =
      transport_.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  through_host_ = std::find(all.begin(), all.end(), 0) != all.end();
  return gathered;
}

Result<void> DeviceExchange::within_limit(Size bytes) {
  limit_bytes_ = bytes;
  Result<void> mine;
  if (options_.memory_limit_bytes && bytes > *options_.memory_limit_bytes) {
    mine = refuse({.code = Code::infeasible,
                   .message = fmt::format("{} bytes per process are needed, over the limit of {}",
                                          bytes, *options_.memory_limit_bytes)});
  }
  return agree(transport_, mine);
}

Result<std::byte*> DeviceExchange::allocate(Size bytes) {
  auto memory = device_.allocate(bytes);
  if (memory) held_bytes_ += bytes;
  return memory;
}

/// Bytes of the allocations for the input and the output. The one that peers may open is rounded
/// up.
std::array<Size, 2> DeviceExchange::tile_allocations() const {
  std::array<Size, 2> out{in_bytes_, out_bytes_};
  if (options_.path != Path::staged) {
    Size& shared = out[push_ ? 1 : 0];
    shared = rounded_up(shared, device_.share_unit_bytes());
  }
  return out;
}

Result<void> DeviceExchange::allocate_tiles() {
  const std::array<Size, 2> sizes = tile_allocations();
  for (const auto& [place, bytes] : {std::pair(&input_, sizes[0]), std::pair(&output_, sizes[1])}) {
    if (*place != nullptr) continue;
    auto memory = allocate(bytes);
    if (!memory) return refuse(memory.error());
    *place = *memory;
  }
  return {};
}

Result<void> DeviceExchange::take_peer_path() {
  auto described = agree(transport_, describe_peer_copies());
  if (!described) return described;
  const std::array<Size, 2> tiles = tile_allocations();
  if (auto fits = within_limit(tiles[0] + tiles[1] + description_bytes()); !fits) return fits;
  // A device that fails here fails on the other path as well, so that one is not looked for.
  if (auto tiles_there = agree(transport_, allocate_tiles()); !tiles_there) {
    options_.path = Path::peer;
    return tiles_there;
  }
  if (auto reached = reach_peers(); !reached) {
    close_peers();
    forget_descriptions();
    return reached;
  }
  if (auto sent = agree(transport_, send_descriptions()); !sent) {
    options_.path = Path::peer;
    return sent;
  }
  path_ = Path::peer;
  reasons_.push_back(
      fmt::format("peer: chosen: every process reaches the tiles that it needs; {}",
                  push_ ? "writes into the peers' tiles, since runs are longer there"
                        : "reads from the peers' tiles, since runs are at least as long there"));
  return {};
}

Result<void> DeviceExchange::reach_peers() {
  Reach mine;
  mine.identity = device_.identity();
  Result<void> outcome;
  for (int k = 0; k < transport_.members() && outcome; ++k) {
    if (needed_[static_cast<std::size_t>(k)] == 0 || transport_.on_same_machine(k)) continue;
    outcome = refuse({.code = Code::cuda_error,
                      .message = fmt::format("process {} runs on another machine than process {}",
                                             k, transport_.member())});
  }
  if (auto handle = device_.share(push_ ? output_ : input_)) {
    mine.shared = 1;
    mine.handle = *handle;
  } else if (outcome) {
    outcome = refuse(handle.error());
  }
  std::vector<Reach> all(static_cast<std::size_t>(transport_.members()));
  auto gathered =
      transport_.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  if (!gathered) {
    options_.path = Path::peer;  // there is no other path without a transport either
    return gathered;
  }
  peers_.assign(all.size(), nullptr);
  for (std::size_t k = 0; k < all.size() && outcome; ++k) {
    if (needed_[k] == 0 || all[k].shared == 0) continue;
    auto opened = device_.open(all[k].handle);
    if (!opened) {
      outcome = refuse(opened.error());
      break;
    }
    peers_[k] = *opened;
    if (reinterpret_cast<std::uintptr_t>(*opened) % place_alignment != 0) {
      outcome = refuse({.code = Code::cuda_error,
                        .message = "a peer's tile lies at an address that is not aligned"});
    }
  }
  if (auto agreed = agree(transport_, outcome); !agreed) return agreed;
  const auto own = [&](const Reach& reach) { return reach.identity == mine.identity; };
  const auto sharing = std::count_if(all.begin(), all.end(), own);
  reasons_.push_back(
      fmt::format("device: {}, shared by {} of {} processes", device_.name(), sharing, all.size()));
  return {};
}

Result<void> DeviceExchange::take_staged_path() {
  auto described = agree(transport_, describe_staged_copies());
  if (!described) return described;
  // For sending and for receiving two each, on the device and, where messages need it, on the host.
  const Size places = through_host_ ? 8 : 4;
  const Size chunks = chunks_.empty() ? 0 : places * options_.chunk_bytes;
  const std::array<Size, 2> tiles = tile_allocations();
  const Size all = tiles[0] + tiles[1] + description_bytes() + chunks;
  if (auto fits = within_limit(all); !fits) return fits;
  const auto allocated = [&]() -> Result<void> {
    if (auto there = allocate_tiles(); !there) return there;
    if (auto there = allocate_chunks(); !there) return there;
    return send_descriptions();
  };
  if (auto done = agree(transport_, allocated()); !done) return done;
  path_ = Path::staged;
  reasons_.push_back(fmt::format(
      "staged: chosen: chunks of {} bytes {}", options_.chunk_bytes,
      through_host_ ? "through pinned host memory" : "in messages from device to device"));
  return {};
}

Result<void> DeviceExchange::allocate_chunks() {
  if (chunks_.empty()) return {};
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    for (std::byte** const place : {&device_out_[k], &device_in_[k]}) {
      auto memory = allocate(options_.chunk_bytes);
      if (!memory) return refuse(memory.error());
      *place = *memory;
    }
    for (std::byte** const place : {&host_out_[k], &host_in_[k]}) {
      if (!through_host_) continue;
      auto memory = device_.allocate_pinned(options_.chunk_bytes);
      if (!memory) return refuse(memory.error());
      held_bytes_ += options_.chunk_bytes;
      *place = *memory;
    }
  }
  return {};
}

// ---- Descriptions of boxes ----------------------------------------------------------------------

std::size_t DeviceExchange::note(BatchBuilder&& builder, bool by_target) {
  const BatchBuilder::Built built = std::move(builder).build(by_target);
  ranges_.push_back({.first_box = boxes_.size(),
                     .first_group = groups_.size(),
                     .groups = built.groups.size(),
                     .portions = built.portions});
  boxes_.insert(boxes_.end(), built.boxes.begin(), built.boxes.end());
  groups_.insert(groups_.end(), built.groups.begin(), built.groups.end());
  places_.insert(places_.end(), built.places.begin(), built.places.end());
  return ranges_.size() - 1;
}

void DeviceExchange::forget_descriptions() {
  boxes_.clear();
  groups_.clear();
  places_.clear();
  ranges_.clear();
}

Result<void> DeviceExchange::describe_peer_copies() {
  const Size self = transport_.member();
  const auto peer = [](Size member) { return first_peer + static_cast<std::uint32_t>(member); };
  BatchBuilder builder;
  for (const Transfer& transfer : problem_->exchange.transfers) {
    if ((push_ ? transfer.source : transfer.target) != self) continue;
    const Region region = region_of(transfer);
    const Origin source{transfer.source == self ? std::uint32_t{own_input} : peer(transfer.source)};
    const Origin target{transfer.target == self ? std::uint32_t{own_output}
                                                : peer(transfer.target)};
    auto added = builder.add(region, source, target, 0, bytes_of(region));
    if (!added) return added;
  }
  local_ = note(std::move(builder), !push_);
  return {};
}

Result<std::size_t> DeviceExchange::describe_chunk(const Stream& stream, Size number, bool packs,
                                                   std::uint32_t place) {
  const Size begin = number * options_.chunk_bytes;
  const Size end = std::min(begin + options_.chunk_bytes, stream.bytes);
  const Origin tile{packs ? std::uint32_t{own_input} : std::uint32_t{own_output}};
  const Origin packed{place, -static_cast<std::uint64_t>(begin)};
  BatchBuilder builder;
  for (std::size_t k = 0; k < stream.transfers.size(); ++k) {
    const Transfer& transfer = *stream.transfers[k];
    const Size at = stream.offsets[k];
    const Size from = std::max(begin, at);
    const Size to = std::min(end, at + box_bytes(transfer.shape, problem_->element_bytes));
    if (from >= to) continue;
    const Region region =
        packs ? into_stream(transfer, problem_->in_tiles.largest(), problem_->element_bytes, at)
              : out_of_stream(transfer, problem_->out_tiles.largest(), problem_->element_bytes, at);
    auto added =
        builder.add(region, packs ? tile : packed, packs ? packed : tile, from - at, to - at);
    if (!added) return refuse(added.error());
  }
  return note(std::move(builder), packs);
}

Result<void> DeviceExchange::describe_staged_copies() {
  const int members = transport_.members();
  const int self = transport_.member();
  std::vector<Stream> out(static_cast<std::size_t>(members));
  std::vector<Stream> in(static_cast<std::size_t>(members));
  BatchBuilder local;
  for (const Transfer& transfer : problem_->exchange.transfers) {
    if (transfer.source == self && transfer.target == self) {
      const Region region = region_of(transfer);
      auto added = local.add(region, {own_input}, {own_output}, 0, bytes_of(region));
      if (!added) return added;
      continue;
    }
    const auto append = [&](Stream& stream) {
      stream.transfers.push_back(&transfer);
      stream.offsets.push_back(stream.bytes);
      stream.bytes +=
          rounded_up(box_bytes(transfer.shape, problem_->element_bytes), stream_alignment);
    };
    if (transfer.source == self) append(out[static_cast<std::size_t>(transfer.target)]);
    if (transfer.target == self) append(in[static_cast<std::size_t>(transfer.source)]);
  }
  local_ = note(std::move(local), true);

  const Size chunk_bytes = options_.chunk_bytes;
  for (int round = 1; round < members; ++round) {
    Chunk chunk;
    chunk.target = (self + round) % members;
    chunk.source = (self - round + members) % members;
    const Stream& to = out[static_cast<std::size_t>(chunk.target)];
    const Stream& from = in[static_cast<std::size_t>(chunk.source)];
    for (Size k = 0; k * chunk_bytes < std::max(to.bytes, from.bytes); ++k) {
      const auto turn = static_cast<std::uint32_t>(chunks_.size() % 2);
      chunk.out_bytes = std::clamp<Size>(to.bytes - k * chunk_bytes, 0, chunk_bytes);
      chunk.in_bytes = std::clamp<Size>(from.bytes - k * chunk_bytes, 0, chunk_bytes);
      if (chunk.out_bytes > 0) {
        auto pack = describe_chunk(to, k, true, packed_out + turn);
        if (!pack) return refuse(pack.error());
        chunk.pack = *pack;
      }
      if (chunk.in_bytes > 0) {
        auto unpack = describe_chunk(from, k, false, packed_in + turn);
        if (!unpack) return refuse(unpack.error());
        chunk.unpack = *unpack;
      }
      chunks_.push_back(chunk);
    }
  }
  return {};
}

Size DeviceExchange::description_bytes() const {
  return rounded_up(static_cast<Size>(boxes_.size() * sizeof(Place)),
                    static_cast<Size>(place_alignment)) +
         static_cast<Size>(groups_.size() * sizeof(Group));
}

std::byte* DeviceExchange::address_of(std::uint32_t place) const {
  switch (place) {
    case own_input:
      return input_;
    case own_output:
      return output_;
    case packed_out:
    case packed_out + 1:
      return device_out_[place - packed_out];
    case packed_in:
    case packed_in + 1:
      return device_in_[place - packed_in];
    default:
      return peers_[place - first_peer];
  }
}

Result<void> DeviceExchange::send_descriptions() {
  const auto number = [&](std::uint32_t place) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address_of(place)));
  };
  for (std::size_t k = 0; k < boxes_.size(); ++k) {
    boxes_[k].source += number(places_[k].source);
    boxes_[k].target += number(places_[k].target);
  }
  if (!boxes_.empty()) {
    auto memory = allocate(description_bytes());
    if (!memory) return refuse(memory.error());
    descriptions_ = *memory;
    const auto boxes_bytes = static_cast<Size>(boxes_.size() * sizeof(Place));
    const auto groups_bytes = static_cast<Size>(groups_.size() * sizeof(Group));
    const auto bytes = [](const auto& list) { return std::as_bytes(std::span(list)).data(); };
    auto sent = device_.upload(Lane::out, descriptions_, bytes(boxes_), boxes_bytes);
    if (!sent) return sent;
    std::byte* const group_place = descriptions_ + description_bytes() - groups_bytes;
    sent = device_.upload(Lane::out, group_place, bytes(groups_), groups_bytes);
    if (!sent) return sent;
    if (auto waited = device_.wait(Lane::out); !waited) return waited;
    group_list_ = reinterpret_cast<const Group*>(group_place);
  }
  boxes_ = {};
  groups_ = {};
  places_ = {};
  return {};
}

Batch DeviceExchange::batch(std::size_t range) const {
  const Range& at = ranges_[range];
  Batch out;
  out.boxes = reinterpret_cast<const Place*>(descriptions_) + at.first_box;
  out.groups = group_list_ + at.first_group;
  out.group_count = static_cast<std::uint32_t>(at.groups);
  out.portions = at.portions;
  return out;
}

// ---- Running ------------------------------------------------------------------------------------

Result<void> DeviceExchange::run() {
  auto done = path_ == Path::peer ? run_peer() : run_staged();
  if (!done) transport_.give_up(done.error());
  return done;
}

Result<void> DeviceExchange::run_peer() {
  // All inputs are complete, and nobody looks at the outputs of the last run any more.
  if (auto waited = device_.wait_for_all(); !waited) return waited;
  if (auto met = transport_.barrier(); !met) return met;
  if (auto put = device_.copy(Lane::out, batch(local_)); !put) return put;
  if (auto waited = device_.wait(Lane::out); !waited) return waited;
  return transport_.barrier();
}

Result<void> DeviceExchange::run_staged() {
  if (auto waited = device_.wait_for_all(); !waited) return waited;
  if (auto put = device_.copy(Lane::in_even, batch(local_)); !put) return put;
  // Packs a chunk and fetches it, into the buffers that the chunk before the last has left.
  const auto fetch = [&](std::size_t k) -> Result<void> {
    const Chunk& chunk = chunks_[k];
    if (chunk.out_bytes == 0) return {};
    if (auto put = device_.copy(Lane::out, batch(chunk.pack)); !put) return put;
    if (!through_host_) return {};
    return device_.download(Lane::out, host_out_[k % 2], device_out_[k % 2], chunk.out_bytes);
  };
  if (!chunks_.empty()) {
    if (auto put = fetch(0); !put) return put;
  }
  const std::array<std::byte*, 2>& sent = through_host_ ? host_out_ : device_out_;
  const std::array<std::byte*, 2>& received = through_host_ ? host_in_ : device_in_;
  for (std::size_t k = 0; k < chunks_.size(); ++k) {
    const Chunk& chunk = chunks_[k];
    const std::size_t turn = k % 2;
    const Lane lane = turn == 0 ? Lane::in_even : Lane::in_odd;
    if (auto there = device_.wait(Lane::out); !there) return there;
    if (k + 1 < chunks_.size()) {
      if (auto put = fetch(k + 1); !put) return put;
    }
    // The chunk before the last has left the buffers for what comes in.
    if (auto empty = device_.wait(lane); !empty) return empty;
    const auto size = [](Size bytes) { return static_cast<std::size_t>(bytes); };
    auto moved = transport_.send_receive(chunk.target, {sent[turn], size(chunk.out_bytes)},
                                         chunk.source, {received[turn], size(chunk.in_bytes)});
    if (!moved) return moved;
    if (chunk.in_bytes == 0) continue;
    if (through_host_) {
      auto put = device_.upload(lane, device_in_[turn], host_in_[turn], chunk.in_bytes);
      if (!put) return put;
    }
    if (auto unpacked = device_.copy(lane, batch(chunk.unpack)); !unpacked) return unpacked;
  }
  return device_.wait_for_all();
}

}  // namespace retile::cuda
