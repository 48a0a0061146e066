#include "retile/exec/team/shared.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <string_view>
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

std::uint64_t hash_size(std::uint64_t hash, Size size) {
  return hash_number(hash, static_cast<std::uint64_t>(size));
}

std::uint64_t hash_shape(std::uint64_t hash, const Shape& shape) {
  hash = hash_number(hash, shape.size());
  for (const Size extent : shape) hash = hash_size(hash, extent);
  return hash;
}

Diagnostic bad(Code code, std::string message) {
  return {.code = code, .message = std::move(message)};
}

std::optional<Size> bytes_of(const Shape& tile, Size element_bytes) {
  const auto elements = checked_product(tile);
  return elements ? checked_mul(*elements, element_bytes) : std::nullopt;
}

bool lies_within(const Shape& start, const Shape& shape, const Shape& tile) {
  for (std::size_t i = 0; i < tile.size(); ++i) {
    if (shape[i] < 1 || shape[i] > tile[i] || start[i] < 0 || start[i] > tile[i] - shape[i]) {
      return false;
    }
  }
  return true;
}

/// The size of a slot: two for every other member fit into the slots; 0 where none are wanted.
Result<Size> slot_bytes_of(const Team& team, const SharedProblem& problem,
                           const SharedOptions& options) {
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
  if (aligned < problem.element_bytes || aligned < 1) {
    return refuse(bad(Code::bad_argument,
                      fmt::format("{} bytes of slots are too few for {} members and elements of {} "
                                  "bytes",
                                  options.slots_bytes, team.members(), problem.element_bytes)));
  }
  return aligned;
}

Result<copy::Pass> pass_over(std::span<const Transfer> transfers, const SharedProblem& problem,
                             int members) {
  return copy::Pass::make(problem.element_bytes, problem.in_tile, problem.out_tile, transfers,
                          {.cache_share_bytes = copy::detected_cache_share_bytes(members)});
}

/// A pass over all transfers that have `member` at that end.
Result<copy::Pass> pass_of(Size Transfer::*end, Size member, const SharedProblem& problem,
                           int members) {
  std::vector<Transfer> transfers;
  for (const Transfer& transfer : problem.exchange.transfers) {
    if (transfer.*end == member) transfers.push_back(transfer);
  }
  return pass_over(transfers, problem, members);
}

/// Whether member 0 would rather read old tiles than write into new ones.
Result<bool> pulling_is_better(const SharedProblem& problem, int members) {
  const auto push = pass_of(&Transfer::source, 0, problem, members);
  if (!push) return tl::unexpected(push.error());
  const auto pull = pass_of(&Transfer::target, 0, problem, members);
  if (!pull) return tl::unexpected(pull.error());
  // Writers who take turns in a tile that stays in the caches take its lines, and what is fetched
  // ahead of them, from each other. Readers can share them.
  const bool contended = !push->streaming() && push->in_order_bytes() < page_bytes;
  return contended || push->in_order_bytes() < pull->in_order_bytes();
}

Result<SharedProtocol::Plan> plan_of(Team& team, const SharedProblem& problem,
                                     const SharedOptions& options, Size slot_bytes, bool pulls) {
  SharedProtocol::Plan plan;
  plan.team = &team;
  plan.in_bytes = *bytes_of(problem.in_tile, problem.element_bytes);
  plan.out_bytes = *bytes_of(problem.out_tile, problem.element_bytes);
  plan.slots_offset = options.slots_offset;
  plan.slots_bytes = options.slots_bytes;
  plan.slot_bytes = slot_bytes;
  plan.copies = options.copies;
  plan.copies_offset = options.copies_offset;

  const int members = team.members();
  const Size self = team.member();
  plan.peers.resize(static_cast<std::size_t>(members));
  if (!plan.copies && (slot_bytes > 0 || members == 1)) {
    const copy::DeviceTransfers own = copy::transfers_of(self, members, problem.exchange);
    for (std::size_t other = 0; other < plan.peers.size(); ++other) {
      SharedPeer& peer = plan.peers[other];
      if (!own.to[other].empty()) {
        peer.outgoing.emplace(copy::End::source, problem.element_bytes, problem.in_tile,
                              own.to[other]);
      }
      if (!own.from[other].empty()) {
        peer.incoming.emplace(copy::End::target, problem.element_bytes, problem.out_tile,
                              own.from[other]);
      }
    }
    if (!own.kept.empty()) {
      auto kept = pass_over(own.kept, problem, members);
      if (!kept) return tl::unexpected(kept.error());
      plan.kept.emplace(std::move(*kept));
    }
  }
  if (!plan.copies) {
    auto push = pass_of(&Transfer::source, self, problem, members);
    if (!push) return tl::unexpected(push.error());
    plan.push.emplace(std::move(*push));
  }
  if (plan.copies || pulls) {
    auto pull = pass_of(&Transfer::target, self, problem, members);
    if (!pull) return tl::unexpected(pull.error());
    plan.pull.emplace(std::move(*pull));
  }
  return plan;
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

}  // namespace

std::uint64_t hash_of(const SharedProblem& problem, const SharedOptions& options) {
  std::uint64_t hash = hash_shape(hash_start, problem.in_tile);
  hash = hash_shape(hash, problem.out_tile);
  for (const Size number : {problem.element_bytes, options.slots_offset, options.slots_bytes,
                            Size{problem.whole}, Size{options.copies}, options.copies_offset,
                            static_cast<Size>(problem.exchange.transfers.size())}) {
    hash = hash_size(hash, number);
  }
  for (const Transfer& transfer : problem.exchange.transfers) {
    hash = hash_size(hash, transfer.target);
    hash = hash_size(hash, transfer.source);
    hash = hash_shape(hash, transfer.target_start);
    hash = hash_shape(hash, transfer.source_start);
    hash = hash_shape(hash, transfer.shape);
  }
  return hash;
}

std::optional<Diagnostic> fault(int members_there, const SharedProblem& problem) {
  const std::size_t rank = problem.in_tile.size();
  const Size members = members_there;
  const Size width = problem.element_bytes;
  if (width < 1 || width > 16 || (width & (width - 1)) != 0) {
    return bad(Code::bad_argument,
               fmt::format("an element has 1, 2, 4, 8 or 16 bytes, not {}", width));
  }
  if (problem.out_tile.size() != rank) {
    return bad(Code::bad_dimension, "the tiles before and after have different ranks");
  }
  for (const Shape* tile : {&problem.in_tile, &problem.out_tile}) {
    if (std::any_of(tile->begin(), tile->end(), [](Size extent) { return extent < 1; })) {
      return bad(Code::bad_argument, "a tile without elements");
    }
    if (!bytes_of(*tile, problem.element_bytes)) {
      return bad(Code::size_overflow, "the bytes of a tile do not fit in 63 bits");
    }
  }
  std::vector<Size> covered(static_cast<std::size_t>(members), 0);
  for (std::size_t k = 0; k < problem.exchange.transfers.size(); ++k) {
    const Transfer& transfer = problem.exchange.transfers[k];
    for (const Size device : {transfer.source, transfer.target}) {
      if (device < 0 || device >= members) {
        return bad(Code::bad_device,
                   fmt::format("transfer {}: device {} of a team of {}", k, device, members));
      }
    }
    if (transfer.shape.size() != rank || transfer.source_start.size() != rank ||
        transfer.target_start.size() != rank) {
      return bad(Code::bad_dimension,
                 fmt::format("transfer {}: a box of another rank than the tiles", k));
    }
    if (!lies_within(transfer.source_start, transfer.shape, problem.in_tile) ||
        !lies_within(transfer.target_start, transfer.shape, problem.out_tile)) {
      return bad(Code::bad_argument, fmt::format("transfer {}: its box leaves the tile", k));
    }
    Size& sum = covered[static_cast<std::size_t>(transfer.target)];
    const auto more = checked_add(sum, *checked_product(transfer.shape));
    if (!more) return bad(Code::size_overflow, "the transfers' sizes do not fit in 63 bits");
    sum = *more;
  }
  const Size size = *checked_product(problem.out_tile);
  for (Size target = 0; target < members; ++target) {
    const Size sum = covered[static_cast<std::size_t>(target)];
    if (problem.whole ? sum != size : sum > size) {
      return bad(Code::bad_argument,
                 fmt::format("device {} gets {} elements for a tile of {}", target, sum, size));
    }
  }
  return std::nullopt;
}

Result<std::unique_ptr<SharedProtocol>> SharedProtocol::create(Team& team,
                                                               const SharedProblem& problem,
                                                               const SharedOptions& options) {
  std::optional<Diagnostic> mine;
  std::unique_ptr<SharedProtocol> made;
  // What goes wrong here is told of below; until then all go on together.
  const auto attempt = [&mine](const auto& function) {
    if (mine) return;
    try {
      mine = function();
    } catch (const std::bad_alloc&) {
      mine = bad(Code::limit_reached, "out of memory");
    }
  };

  // Which passes there are must be the same on all members, who may take their caches for different
  // ones, so member 0 decides.
  Size slot_bytes = 0;
  bool pulls = false;
  attempt([&]() -> std::optional<Diagnostic> {
    if (auto wrong = fault(team.members(), problem); wrong) return wrong;
    const auto slot = slot_bytes_of(team, problem, options);
    if (!slot) return slot.error();
    slot_bytes = *slot;
    if (team.member() != 0 || options.copies) return std::nullopt;
    const auto better = pulling_is_better(problem, team.members());
    if (!better) return better.error();
    pulls = *better;
    return std::nullopt;
  });
  if (auto told = team.tell(pulls ? 1 : 0); !told) return refuse(told.error());
  pulls = team.told(0) != 0;
  attempt([&]() -> std::optional<Diagnostic> {
    auto plan = plan_of(team, problem, options, slot_bytes, pulls);
    if (!plan) return plan.error();
    made = std::make_unique<SharedProtocol>(std::move(*plan));
    return std::nullopt;
  });

  // Even: the code of a failure. Odd: the hash of what this member was asked for.
  const std::uint64_t word =
      mine ? static_cast<std::uint64_t>(mine->code) << 1 : hash_of(problem, options) << 1 | 1;
  if (auto told = team.tell(word); !told) return refuse(told.error());
  if (mine) return refuse(std::move(*mine));
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
  return made;
}

std::string_view SharedProtocol::objection(std::span<const std::byte> in,
                                           std::span<const std::byte> out) const {
  if (static_cast<Size>(in.size()) != plan_.in_bytes ||
      static_cast<Size>(out.size()) != plan_.out_bytes) {
    return wrong_sizes;
  }
  if (overlap(in, out)) return "the tiles before and after overlap";
  const auto memory = team().memory(team().member());
  const auto size = static_cast<Size>(memory.size());
  if (plan_.slots_offset <= size && plan_.slots_bytes <= size - plan_.slots_offset) {
    const auto slots = memory.subspan(static_cast<std::size_t>(plan_.slots_offset),
                                      static_cast<std::size_t>(plan_.slots_bytes));
    if (overlap(slots, in) || overlap(slots, out)) return "a tile overlaps the slots";
  }
  if (plan_.copies) {
    const Size bytes = copies_bytes(plan_.in_bytes);
    if (plan_.copies_offset > size || bytes > size - plan_.copies_offset) {
      return "there is no room for copies of a tile";
    }
    const auto copies = memory.subspan(static_cast<std::size_t>(plan_.copies_offset),
                                       static_cast<std::size_t>(bytes));
    if (overlap(copies, in) || overlap(copies, out)) return "a tile overlaps the copies";
  }
  return {};
}

std::uint64_t SharedProtocol::word_of(std::span<const std::byte> in, std::span<const std::byte> out,
                                      std::span<const std::byte> tile) const {
  const auto memory = team().memory(team().member());
  const auto size = static_cast<Size>(memory.size());
  std::uint64_t word = fine;
  const bool alone = team().members() == 1;
  if (alone || (plan_.slot_bytes > 0 && plan_.slots_offset <= size &&
                plan_.slots_bytes <= size - plan_.slots_offset)) {
    word |= can_stage;
  }
  if (contains(memory, in)) word |= in_is_shared;
  if (contains(memory, out)) word |= out_is_shared;
  if (contains(memory, tile)) {
    word |= static_cast<std::uint64_t>(tile.data() - memory.data()) << offset_shift;
  }
  return word;
}

Result<void> SharedProtocol::hear(std::uint64_t word) {
  if (auto told = team().tell(word); !told) return told;
  for (int member = 0; member < team().members(); ++member) {
    words_[static_cast<std::size_t>(member)] = team().told(member);
  }
  return {};
}

Result<void> SharedProtocol::all_fine(std::string_view objection, std::span<const std::byte> in,
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
                                  in.size(), out.size(), plan_.in_bytes, plan_.out_bytes)));
  } catch (const std::bad_alloc&) {
    return refuse(bad(Code::bad_argument, "wrong tiles"));  // needs no memory
  }
}

Result<SharedProtocol::Way> SharedProtocol::decide() const {
  std::uint64_t all = can_stage | out_is_shared | in_is_shared;
  for (const std::uint64_t word : words_) all &= word;
  if (plan_.pull && (all & in_is_shared) != 0) return Way::pull;
  if ((all & out_is_shared) != 0) return Way::push;
  if ((all & can_stage) != 0) return Way::staged;
  return refuse(bad(Code::bad_argument,
                    "a tile lies outside shared memory, and there are no slots to stage it"));
}

void SharedProtocol::rewind() {
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

std::byte* SharedProtocol::slot(int source, int target, std::uint64_t chunk) const {
  const int members = team().members();
  const Size place =
      2 * Size{(target - source + members) % members - 1} + static_cast<Size>(chunk % 2);
  return team().memory(source).data() + plan_.slots_offset + place * plan_.slot_bytes;
}

Size SharedProtocol::held_bytes() const {
  const Size others = team().members() - 1;
  Size streams = static_cast<Size>(plan_.peers.capacity() * sizeof(SharedPeer));
  for (const SharedPeer& peer : plan_.peers) {
    streams += bytes_beyond(peer.outgoing) + bytes_beyond(peer.incoming);
  }
  return static_cast<Size>(sizeof *this + words_.capacity() * sizeof(std::uint64_t) +
                           (sources_.capacity() + targets_.capacity()) * sizeof(std::byte*)) +
         bytes_beyond(plan_.push) + bytes_beyond(plan_.pull) + bytes_beyond(plan_.kept) + streams +
         2 * others * plan_.slot_bytes;
}

Size shared_bound_bytes(int members, Size transfers, std::size_t rank,
                        const SharedOptions& options) {
  const auto pass_bytes = [rank](Size boxes) {
    return copy::Pass::bound_bytes(boxes, rank) - Size{sizeof(copy::Pass)};
  };
  const auto stream_bytes = copy::BoxStream::object_bytes(rank) - Size{sizeof(copy::BoxStream)};
  const Size each =
      Size{sizeof(SharedPeer)} + Size{sizeof(std::uint64_t)} + Size{2 * sizeof(std::byte*)};
  // Either of push and pull has what is kept, which counts twice.
  Size out =
      options.slots_bytes + Size{sizeof(SharedProtocol)} + members * each + pass_bytes(transfers);
  if (options.copies || (options.slots_bytes == 0 && members > 1)) return out;
  // A transfer is either kept or in a stream.
  const Size others = members - 1;
  return out + 2 * others * stream_bytes +
         std::max(pass_bytes((transfers + 1) / 2), transfers * copy::BoxStream::box_bytes(rank));
}

SharedExchange::SharedExchange(std::unique_ptr<SharedProtocol> protocol)
    : protocol_(std::move(protocol)) {}
SharedExchange::SharedExchange(SharedExchange&&) noexcept = default;
SharedExchange& SharedExchange::operator=(SharedExchange&&) noexcept = default;
SharedExchange::~SharedExchange() = default;

Result<SharedExchange> SharedExchange::create(Team& team, const SharedProblem& problem,
                                              const SharedOptions& options) {
  auto protocol = SharedProtocol::create(team, problem, options);
  if (!protocol) return refuse(protocol.error());
  return SharedExchange(std::move(*protocol));
}

Result<SharedPath> SharedExchange::run(std::span<const std::byte> in, std::span<std::byte> out) {
  Unwatched watch;
  return protocol_->run(in, out, watch);
}

Size SharedExchange::held_bytes() const { return protocol_->held_bytes(); }

}  // namespace retile::team
