#include "retile/exec/team/shared.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <new>
#include <string>
#include <utility>

#include "retile/core/hash.h"
#include "retile/exec/copy/stores.h"
#include "retile/exec/team/shared_protocol.h"

namespace retile::team {
namespace {

constexpr Size most_slot_bytes = Size{512} << 10;
constexpr Size slot_alignment = 64;
constexpr Size page_bytes = 4096;
constexpr std::string_view wrong_sizes = "tiles of other sizes than the exchange has";

Diagnostic bad(Code code, std::string message) {
  return {.code = code, .message = std::move(message)};
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<const std::byte*> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
         before(b.data(), a.data() + a.size());
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

/// The outcome of all: a member that failed says so with its own error, the others with its code.
Result<void> agree(Team& team, const std::optional<Diagnostic>& mine, std::uint64_t hash) {
  // Even: the code of a failure. Odd: the hash of what this member was asked for.
  const std::uint64_t word = mine ? static_cast<std::uint64_t>(mine->code) << 1 : hash << 1 | 1;
  if (auto told = team.tell(word); !told) return told;
  if (mine) return refuse(*mine);
  for (int member = 0; member < team.members(); ++member) {
    if ((team.told(member) & 1) == 0) {
      return refuse(bad(static_cast<Code>(team.told(member) >> 1),
                        fmt::format("member {} cannot take part in the exchange", member)));
    }
  }
  for (int member = 1; member < team.members(); ++member) {
    if (team.told(member) != team.told(0)) {
      return refuse(bad(Code::disagreement,
                        fmt::format("members 0 and {} were given different exchanges", member)));
    }
  }
  return {};
}

}  // namespace

/// What create() is given, and what it makes of it.
struct SharedExchange::Making {
  Team& team;
  const TileExchange& exchange;
  const SharedOptions& options;

  /// The size of a slot: two for every other member fit into the slots; 0 where none are wanted.
  [[nodiscard]] Result<Size> slot_bytes() const;
  [[nodiscard]] Result<copy::Pass> pass_over(std::span<const Transfer> transfers) const;
  /// Over all transfers that have `member` at that end.
  [[nodiscard]] Result<copy::Pass> pass_of(Size Transfer::*end, int member) const;
  /// Whether member 0 would rather read old tiles than write into new ones.
  [[nodiscard]] Result<bool> pulling_is_better() const;
  [[nodiscard]] Result<void> make_streams(SharedExchange& made) const;
  [[nodiscard]] Result<void> make_passes(SharedExchange& made, bool pulls) const;
  /// What a member was asked for, as a number.
  [[nodiscard]] std::uint64_t hash() const;
};

Result<Size> SharedExchange::Making::slot_bytes() const {
  if (options.slots_offset < 0 || options.slots_bytes < 0 ||
      !checked_add(options.slots_offset, options.slots_bytes)) {
    return refuse(bad(Code::bad_argument, "the place of the slots is out of range"));
  }
  if (options.copies_offset < 0) {
    return refuse(bad(Code::bad_argument, "the place of the copies is out of range"));
  }
  const Size others = team.members() - 1;
  if (options.slots_bytes == 0 || others == 0 || options.copies) return Size{0};
  const Size each = std::min(options.slots_bytes / (2 * others), most_slot_bytes);
  const Size aligned = each / slot_alignment * slot_alignment;
  if (aligned < exchange.element_bytes || aligned < 1) {
    return refuse(bad(Code::bad_argument,
                      fmt::format("{} bytes of slots are too few for {} members and elements of {} "
                                  "bytes",
                                  options.slots_bytes, team.members(), exchange.element_bytes)));
  }
  return aligned;
}

Result<copy::Pass> SharedExchange::Making::pass_over(std::span<const Transfer> transfers) const {
  return copy::Pass::make(exchange.element_bytes, exchange.in_tile, exchange.out_tile, transfers,
                          {.cache_share_bytes = copy::detected_cache_share_bytes(team.members())});
}

Result<copy::Pass> SharedExchange::Making::pass_of(Size Transfer::*end, int member) const {
  std::vector<Transfer> transfers;
  for (const Transfer& transfer : exchange.exchange.transfers) {
    if (transfer.*end == member) transfers.push_back(transfer);
  }
  return pass_over(transfers);
}

Result<bool> SharedExchange::Making::pulling_is_better() const {
  const auto push = pass_of(&Transfer::source, 0);
  if (!push) return tl::unexpected(push.error());
  const auto pull = pass_of(&Transfer::target, 0);
  if (!pull) return tl::unexpected(pull.error());
  // Writers who take turns in a tile that stays in the caches take its lines, and what is fetched
  // ahead of them, from each other. Readers can share them.
  const bool contended = !push->streaming() && push->in_order_bytes() < page_bytes;
  return contended || push->in_order_bytes() < pull->in_order_bytes();
}

Result<void> SharedExchange::Making::make_streams(SharedExchange& made) const {
  const copy::DeviceTransfers own =
      copy::transfers_of(team.member(), team.members(), exchange.exchange);
  for (std::size_t other = 0; other < made.peers_.size(); ++other) {
    SharedPeer& peer = made.peers_[other];
    if (!own.to[other].empty()) {
      peer.outgoing.emplace(copy::End::source, exchange.element_bytes, exchange.in_tile,
                            own.to[other]);
    }
    if (!own.from[other].empty()) {
      peer.incoming.emplace(copy::End::target, exchange.element_bytes, exchange.out_tile,
                            own.from[other]);
    }
  }
  if (own.kept.empty()) return {};
  auto kept = pass_over(own.kept);
  if (!kept) return tl::unexpected(kept.error());
  made.kept_.emplace(std::move(*kept));
  return {};
}

Result<void> SharedExchange::Making::make_passes(SharedExchange& made, bool pulls) const {
  const auto make = [&](Size Transfer::*end, std::optional<copy::Pass>& pass) -> Result<void> {
    auto over = pass_of(end, team.member());
    if (!over) return tl::unexpected(over.error());
    pass.emplace(std::move(*over));
    return {};
  };
  if (!options.copies) {
    if (auto done = make(&Transfer::source, made.push_); !done) return done;
  }
  return options.copies || pulls ? make(&Transfer::target, made.pull_) : Result<void>();
}

std::uint64_t SharedExchange::Making::hash() const {
  std::uint64_t hash = exchange.hash();
  for (const Size number :
       {options.slots_offset, options.slots_bytes, Size{options.copies}, options.copies_offset}) {
    hash = hash_number(hash, static_cast<std::uint64_t>(number));
  }
  return hash;
}

SharedExchange::SharedExchange(const Making& making, Size slot_bytes)
    : team_(&making.team),
      in_bytes_(box_bytes(making.exchange.in_tile, making.exchange.element_bytes)),
      out_bytes_(box_bytes(making.exchange.out_tile, making.exchange.element_bytes)),
      options_(making.options),
      slot_bytes_(slot_bytes),
      peers_(static_cast<std::size_t>(making.team.members())),
      words_(peers_.size(), 0),
      sources_(peers_.size(), nullptr),
      targets_(peers_.size(), nullptr) {}

Result<SharedExchange> SharedExchange::create(Team& team, const TileExchange& exchange,
                                              const SharedOptions& options) {
  const Making making{team, exchange, options};
  std::optional<Diagnostic> mine;
  std::optional<SharedExchange> made;
  // What goes wrong here is told of below; until then all go on together.
  const auto attempt = [&mine](const auto& function) {
    if (mine) return;
    try {
      if (Result<void> done = function(); !done) mine = std::move(done.error());
    } catch (const std::bad_alloc&) {
      mine = bad(Code::limit_reached, "out of memory");
    }
  };
  // Which passes there are must be the same on all members, who may take their caches for different
  // ones, so member 0 decides.
  bool pulls = false;
  attempt([&]() -> Result<void> {
    if (auto wrong = exchange.fault(team.members())) return refuse(std::move(*wrong));
    const auto slot = making.slot_bytes();
    if (!slot) return tl::unexpected(slot.error());
    made.emplace(SharedExchange(making, *slot));
    if (team.member() != 0 || options.copies) return {};
    const auto better = making.pulling_is_better();
    if (!better) return tl::unexpected(better.error());
    pulls = *better;
    return {};
  });
  if (auto told = team.tell(pulls ? 1 : 0); !told) return refuse(told.error());
  pulls = team.told(0) != 0;
  attempt([&]() -> Result<void> {
    if (!options.copies && (made->slot_bytes_ > 0 || team.members() == 1)) {
      if (auto done = making.make_streams(*made); !done) return done;
    }
    return making.make_passes(*made, pulls);
  });
  if (auto all = agree(team, mine, mine ? 0 : making.hash()); !all) {
    return refuse(std::move(all.error()));
  }
  return std::move(*made);
}

Result<SharedPath> SharedExchange::run(std::span<const std::byte> in, std::span<std::byte> out) {
  Unwatched watch;
  return run(in, out, watch);
}

std::optional<std::span<std::byte>> SharedExchange::place(Size offset, Size bytes) const {
  const auto memory = team().memory(team().member());
  const auto size = static_cast<Size>(memory.size());
  if (offset > size || bytes > size - offset) return std::nullopt;
  return memory.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes));
}

std::string_view SharedExchange::objection(std::span<const std::byte> in,
                                           std::span<const std::byte> out) const {
  if (static_cast<Size>(in.size()) != in_bytes_ || static_cast<Size>(out.size()) != out_bytes_) {
    return wrong_sizes;
  }
  if (overlap(in, out)) return "the tiles before and after overlap";
  if (const auto slots = place(options_.slots_offset, options_.slots_bytes)) {
    if (overlap(*slots, in) || overlap(*slots, out)) return "a tile overlaps the slots";
  }
  if (options_.copies) {
    const auto copies = place(options_.copies_offset, copies_bytes(in_bytes_));
    if (!copies) return "there is no room for copies of a tile";
    if (overlap(*copies, in) || overlap(*copies, out)) return "a tile overlaps the copies";
  }
  return {};
}

std::uint64_t SharedExchange::word_of(std::span<const std::byte> in, std::span<const std::byte> out,
                                      std::span<const std::byte> tile) const {
  const auto memory = team().memory(team().member());
  std::uint64_t word = fine;
  const bool slots = slot_bytes_ > 0 && place(options_.slots_offset, options_.slots_bytes);
  if (team().members() == 1 || slots) word |= can_stage;
  if (contains(memory, in)) word |= in_is_shared;
  if (contains(memory, out)) word |= out_is_shared;
  if (contains(memory, tile)) {
    word |= static_cast<std::uint64_t>(tile.data() - memory.data()) << offset_shift;
  }
  return word;
}

Result<void> SharedExchange::all_fine(std::string_view objection, std::span<const std::byte> in,
                                      std::span<const std::byte> out) const {
  const auto refuser = std::find_if(words_.begin(), words_.end(),
                                    [](std::uint64_t word) { return (word & fine) == 0; });
  if (objection.empty() && refuser == words_.end()) return {};
  try {
    if (objection.empty()) {
      return refuse(bad(Code::bad_argument,
                        fmt::format("member {} refused its tiles", refuser - words_.begin())));
    }
    if (objection != wrong_sizes) return refuse(bad(Code::bad_argument, std::string(objection)));
    return refuse(bad(Code::bad_argument,
                      fmt::format("tiles of {} and {} bytes, where the exchange has {} and {}",
                                  in.size(), out.size(), in_bytes_, out_bytes_)));
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
  return team().memory(source).data() + options_.slots_offset + number * slot_bytes_;
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
