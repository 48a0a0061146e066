#include "retile/exec/team/shared.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <new>
#include <string>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/division.h"
#include "retile/exec/copy/stores.h"
#include "retile/exec/team/shared_protocol.h"

namespace retile::team {
namespace {

// What is packed there is still in a second-level cache when it is unpacked, and the receiver does not
// wait long for the first of it.
constexpr Size most_slot_bytes = Size{128} << 10;
constexpr Size slot_alignment = 64;
constexpr Size page_bytes = 4096;
Diagnostic bad(Code code, std::string message) {
  return {.code = code, .message = std::move(message)};
}

bool contains(std::span<const std::byte> whole, std::span<const std::byte> part) {
  const std::less_equal<const std::byte*> before;
  return before(whole.data(), part.data()) &&
         before(part.data() + part.size(), whole.data() + whole.size());
}

/// What it holds besides itself.
template <typename T>
Size bytes_beyond(const std::optional<T>& it) {
  return it ? it->held_bytes() - Size{sizeof(T)} : 0;
}

}  // namespace

/// What create() is given, and what it makes of it.
struct SharedExchange::Making {
  Team& team;
  const TileExchange& exchange;
  const SharedOptions& options;

  /// The size of a slot: two for every other member fit into the slots, and it is a power of two, as
  /// rows of tiles often are; 0 where none are wanted.
  [[nodiscard]] Size slot_bytes() const;
  [[nodiscard]] copy::Pass pass_over(std::span<const Transfer> transfers,
                                     const DeviceShapes& in_tiles,
                                     const DeviceShapes& out_tiles) const;
  /// Over all transfers that have `member` at that end.
  [[nodiscard]] copy::Pass pass_of(Size Transfer::*end, int member) const;
  /// Whether member 0 would rather read old tiles than write into new ones.
  [[nodiscard]] bool pulling_is_better() const;
  void make_streams(SharedExchange& made) const;
  void make_passes(SharedExchange& made, bool pulls) const;
};

Size SharedExchange::Making::slot_bytes() const {
  const Size others = team.members() - 1;
  if (options.slots_bytes == 0 || others == 0 || options.copies) return 0;
  const Size each = std::min(options.slots_bytes / (2 * others), most_slot_bytes);
  const auto out = static_cast<Size>(std::bit_floor(static_cast<std::uint64_t>(each)));
  RETILE_ASSERT(out >= slot_alignment, "slots of less than a line");
  return out;
}

copy::Pass SharedExchange::Making::pass_over(std::span<const Transfer> transfers,
                                             const DeviceShapes& in_tiles,
                                             const DeviceShapes& out_tiles) const {
  return {exchange.element_bytes,
          in_tiles,
          out_tiles,
          transfers,
          {.cache_share_bytes = copy::detected_cache_share_bytes(team.members())}};
}

copy::Pass SharedExchange::Making::pass_of(Size Transfer::*end, int member) const {
  std::vector<Transfer> transfers;
  for (const Transfer& transfer : exchange.exchange.transfers) {
    if (transfer.*end == member) transfers.push_back(transfer);
  }
  return pass_over(transfers, exchange.in_tiles, exchange.out_tiles);
}

bool SharedExchange::Making::pulling_is_better() const {
  const copy::Pass push = pass_of(&Transfer::source, 0);
  const copy::Pass pull = pass_of(&Transfer::target, 0);
  // Writers who take turns in a tile that stays in the caches take its lines, and what is fetched
  // ahead of them, from each other. Readers can share them.
  const bool contended = !push.streaming() && push.in_order_bytes() < page_bytes;
  return contended || push.in_order_bytes() < pull.in_order_bytes();
}

void SharedExchange::Making::make_streams(SharedExchange& made) const {
  const copy::DeviceTransfers own =
      copy::transfers_of(team.member(), team.members(), exchange.exchange);
  const Shape& in_tile = exchange.in_tiles.of(team.member());
  const Shape& out_tile = exchange.out_tiles.of(team.member());
  for (std::size_t other = 0; other < made.peers_.size(); ++other) {
    SharedPeer& peer = made.peers_[other];
    if (!own.to[other].empty()) {
      peer.outgoing.emplace(copy::End::source, exchange.element_bytes, in_tile, own.to[other]);
    }
    if (!own.from[other].empty()) {
      peer.incoming.emplace(copy::End::target, exchange.element_bytes, out_tile, own.from[other]);
    }
  }
  Size incoming_bytes = 0;
  for (const SharedPeer& peer : made.peers_) {
    if (peer.incoming) incoming_bytes += peer.incoming->bytes();
  }
  const Size cache_share = copy::detected_cache_share_bytes(team.members());
  for (SharedPeer& peer : made.peers_) {
    if (peer.incoming) peer.incoming->unpack_past_caches_if_it_pays(incoming_bytes, cache_share);
  }
  if (own.kept.empty()) return;
  made.kept_.emplace(pass_over(own.kept, in_tile, out_tile));
  for (const SharedPeer& peer : made.peers_) {
    if (!peer.outgoing) continue;
    made.shares_of_kept_ =
        std::max(made.shares_of_kept_, ceil_div(peer.outgoing->bytes(), made.slot_bytes_));
  }
}

void SharedExchange::Making::make_passes(SharedExchange& made, bool pulls) const {
  if (!options.copies) made.push_.emplace(pass_of(&Transfer::source, team.member()));
  if (options.copies || pulls) made.pull_.emplace(pass_of(&Transfer::target, team.member()));
}

SharedExchange::SharedExchange(const Making& making, Size slot_bytes)
    : team_(&making.team),
      in_bytes_(
          box_bytes(making.exchange.in_tiles.of(team_->member()), making.exchange.element_bytes)),
      copied_bytes_(box_bytes(making.exchange.in_tiles.largest(), making.exchange.element_bytes)),
      out_bytes_(
          box_bytes(making.exchange.out_tiles.of(team_->member()), making.exchange.element_bytes)),
      options_(making.options),
      slot_bytes_(slot_bytes),
      peers_(static_cast<std::size_t>(making.team.members())),
      words_(peers_.size(), 0),
      sources_(peers_.size(), nullptr),
      targets_(peers_.size(), nullptr) {}

Result<SharedExchange> SharedExchange::create(Team& team, const TileExchange& exchange,
                                              const SharedOptions& options) {
  const Making making{team, exchange, options};
  std::optional<SharedExchange> made;
  // Who has no memory says so below; until then all go on together.
  bool well = true;
  const auto attempt = [&well](const auto& function) {
    try {
      if (well) function();
    } catch (const std::bad_alloc&) {
      well = false;
    }
  };
  // Which passes there are must be the same on all members, who may take their caches for different
  // ones, so member 0 decides.
  bool pulls = false;
  attempt([&] {
    made.emplace(SharedExchange(making, making.slot_bytes()));
    pulls = team.member() == 0 && !options.copies && making.pulling_is_better();
  });
  if (auto told = team.tell(pulls ? 1 : 0); !told) return refuse(told.error());
  pulls = team.told(0) != 0;
  attempt([&] {
    if (!options.copies && (made->slot_bytes_ > 0 || team.members() == 1)) {
      making.make_streams(*made);
    }
    making.make_passes(*made, pulls);
  });
  const auto failed = first_failed(team, well);
  if (!failed) return refuse(failed.error());
  if (*failed < 0) return std::move(*made);
  if (!well) return refuse(bad(Code::limit_reached, "out of memory"));  // needs no memory
  return refuse(bad(Code::limit_reached, fmt::format("member {} is out of memory", *failed)));
}

Result<SharedPath> SharedExchange::run(std::span<const std::byte> in, std::span<std::byte> out) {
  Unwatched watch;
  return run(in, out, watch);
}

std::uint64_t SharedExchange::word_of(std::span<const std::byte> in, std::span<const std::byte> out,
                                      std::span<const std::byte> tile) const {
  const auto memory = team().memory(team().member());
  if (static_cast<Size>(in.size()) != in_bytes_ || static_cast<Size>(out.size()) != out_bytes_) {
    return 0;
  }
  std::uint64_t word = fine;
  if (team().members() == 1 || slot_bytes_ > 0) word |= can_stage;
  if (contains(memory, in)) word |= in_is_shared;
  if (contains(memory, out)) word |= out_is_shared;
  if (contains(memory, tile)) {
    word |= static_cast<std::uint64_t>(tile.data() - memory.data()) << offset_shift;
  }
  return word;
}

Result<void> SharedExchange::all_fine() const {
  const auto refuser = std::find_if(words_.begin(), words_.end(),
                                    [](std::uint64_t word) { return (word & fine) == 0; });
  if (refuser == words_.end()) return {};
  try {
    return refuse(bad(Code::bad_argument,
                      fmt::format("member {} was given tiles of other sizes than the exchange has",
                                  refuser - words_.begin())));
  } catch (const std::bad_alloc&) {
    return refuse(bad(Code::bad_argument, "wrong tiles"));  // needs no memory
  }
}

Result<SharedExchange::Way> SharedExchange::decide() const {
  std::uint64_t all = can_stage | out_is_shared | in_is_shared;
  for (const std::uint64_t word : words_) all &= word;
  if (pull_ && (all & in_is_shared) != 0) return Way::pull;
  if ((all & out_is_shared) != 0) return Way::push;
  if ((all & can_stage) != 0) return Way::staged;
  return refuse(bad(Code::bad_argument,
                    "a tile lies outside shared memory, and there are no slots to stage it"));
}

void SharedExchange::rewind() {
  const int self = team().member();
  for (int member = 0; member < team().members(); ++member) {
    SharedPeer& it = peer(member);
    it.sent = it.received = {};
    it.given = it.given_start = team().counter(self, member);
    it.taken_start = team().counter(member, team().members() + self);
    it.given_by_start = team().counter(member, self);
    it.taken = team().counter(self, team().members() + member);
    it.begun = 0;
  }
}

std::byte* SharedExchange::slot(int source, int target, std::uint64_t chunk) const {
  const int members = team().members();
  const Size number =
      2 * Size{(target - source + members) % members - 1} + static_cast<Size>(chunk % 2);
  return place(source, options_.slots_offset + number * slot_bytes_, slot_bytes_);
}

std::byte* SharedExchange::place(int member, Size offset, Size bytes) const {
  const std::span<std::byte> memory = team().memory(member);
  RETILE_ASSERT(offset >= 0 && offset + bytes <= static_cast<Size>(memory.size()),
                "an exchange whose places are not there");
  return memory.data() + offset;
}

Size SharedExchange::held_bytes() const {
  const Size others = team().members() - 1;
  Size streams = static_cast<Size>(peers_.capacity() * sizeof(SharedPeer));
  for (const SharedPeer& peer : peers_) {
    streams += bytes_beyond(peer.outgoing) + bytes_beyond(peer.incoming);
  }
  return static_cast<Size>(sizeof *this + words_.capacity() * sizeof(std::uint64_t) +
                           (sources_.capacity() + targets_.capacity()) * sizeof(std::byte*)) +
         bytes_beyond(push_) + bytes_beyond(pull_) + bytes_beyond(kept_) + streams +
         2 * others * slot_bytes_;
}

Size SharedOptions::bound_bytes(int members, Size transfers, std::size_t rank) const {
  const auto pass_bytes = [rank](Size boxes) {
    return copy::Pass::bound_bytes(boxes, rank) - Size{sizeof(copy::Pass)};
  };
  const auto stream_bytes = copy::BoxStream::object_bytes(rank) - Size{sizeof(copy::BoxStream)};
  const Size each =
      Size{sizeof(SharedPeer)} + Size{sizeof(std::uint64_t)} + Size{2 * sizeof(std::byte*)};
  // Either of push and pull has what is kept, which counts twice.
  Size out = slots_bytes + Size{sizeof(SharedExchange)} + members * each + pass_bytes(transfers);
  if (copies || (slots_bytes == 0 && members > 1)) return out;
  // A transfer is either kept or in a stream.
  const Size others = members - 1;
  return out + 2 * others * stream_bytes +
         std::max(pass_bytes((transfers + 1) / 2), transfers * copy::BoxStream::box_bytes(rank));
}

}  // namespace retile::team
