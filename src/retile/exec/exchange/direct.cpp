// Old tiles are found by where they lie: per dimension by number among the sorted stretches of all
// tiles, all dimensions together by the list of such numbers, a corner. Devices with one corner are
// replicas. What each has to send is counted corner by corner: a device whose tile is a box has one.
#include "retile/exec/exchange/direct.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "retile/core/index.h"
#include "retile/core/layout_facts.h"
#include "retile/core/tile_stretches.h"
#include "retile/exec/exchange/routes.h"

namespace retile {
namespace {

/// A range of numbers, end excluded.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Old tiles along one dimension.
class Edges {
 public:
  /// \param stretches  of all tiles, in any order; at least one
  explicit Edges(std::vector<Stretch> stretches) : stretches_(std::move(stretches)) {
    std::sort(stretches_.begin(), stretches_.end());
    stretches_.erase(std::unique(stretches_.begin(), stretches_.end()), stretches_.end());
    for (const Stretch& stretch : stretches_) {
      cuts_.push_back(stretch.begin);
      cuts_.push_back(stretch.end);
    }
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    find_holders();
    looks_.push_back(0);
    for (const std::vector<std::size_t>& held : holders_) {
      overlaps_ = overlaps_ || held.size() > 1;
      looks_.push_back(looks_.back() + std::max<Size>(static_cast<Size>(held.size()), 1));
    }
  }

  [[nodiscard]] std::size_t number_of(const Stretch& stretch) const {
    return static_cast<std::size_t>(
        std::lower_bound(stretches_.begin(), stretches_.end(), stretch) - stretches_.begin());
  }

  /// The pieces between cuts that [begin, end) meets; nothing where it sticks out.
  [[nodiscard]] std::optional<Range> pieces(Size begin, Size end) const {
    if (begin < cuts_.front() || end > cuts_.back()) return std::nullopt;
    const auto first = std::upper_bound(cuts_.begin(), cuts_.end(), begin) - 1;
    const auto last = std::lower_bound(first, cuts_.end(), end);
    return Range{static_cast<std::size_t>(first - cuts_.begin()),
                 static_cast<std::size_t>(last - cuts_.begin())};
  }

  [[nodiscard]] Size cut(std::size_t number) const { return cuts_[number]; }
  /// Numbers of the stretches that hold a piece.
  [[nodiscard]] const std::vector<std::size_t>& holders(std::size_t piece) const {
    return holders_[piece];
  }
  /// Holders of these pieces, at least one for each.
  [[nodiscard]] Size looks(const Range& pieces) const {
    return looks_[pieces.end] - looks_[pieces.begin];
  }
  [[nodiscard]] bool overlaps() const { return overlaps_; }

 private:
  void find_holders() {
    holders_.resize(cuts_.size() - 1);
    std::vector<std::size_t> open;  // stretches over the piece
    std::size_t next = 0;
    for (std::size_t piece = 0; piece + 1 < cuts_.size(); ++piece) {
      const Size at = cuts_[piece];
      std::erase_if(open, [&](std::size_t number) { return stretches_[number].end <= at; });
      for (; next < stretches_.size() && stretches_[next].begin == at; ++next) {
        open.push_back(next);
      }
      holders_[piece] = open;
    }
  }

  std::vector<Stretch> stretches_;
  std::vector<Size> cuts_;
  std::vector<std::vector<std::size_t>> holders_;  // per piece, in order
  std::vector<Size> looks_;                        // sums over the pieces before
  bool overlaps_ = false;
};

/// Calls use(numbers) for all combinations of numbers in the ranges, the last one fastest.
template <typename Use>
void for_each(const std::vector<Range>& ranges, const Use& use) {
  std::vector<std::size_t> numbers;
  for (const Range& range : ranges) {
    if (range.begin == range.end) return;
    numbers.push_back(range.begin);
  }
  while (true) {
    use(numbers);
    std::size_t k = ranges.size();
    while (k > 0 && ++numbers[k - 1] == ranges[k - 1].end) {
      numbers[k - 1] = ranges[k - 1].begin;
      --k;
    }
    if (k == 0) return;
  }
}

/// Calls use(numbers) for all combinations of one number of each list, the last one fastest.
template <typename Use>
void for_each(const std::vector<const std::vector<std::size_t>*>& lists, const Use& use) {
  std::vector<Range> ranges;
  for (const auto* list : lists) ranges.push_back({0, list->size()});
  std::vector<std::size_t> numbers(lists.size());
  for_each(ranges, [&](const std::vector<std::size_t>& places) {
    for (std::size_t k = 0; k < lists.size(); ++k) numbers[k] = (*lists[k])[places[k]];
    use(numbers);
  });
}

/// Transfers that touch along dimension k, between the same two devices and with the same shift,
/// become one.
bool joined_along(std::size_t k, std::vector<Transfer>& transfers) {
  const auto key = [k](const Transfer& transfer) {
    Shape numbers = {transfer.target, transfer.source};
    for (std::size_t i = 0; i < transfer.shape.size(); ++i) {
      numbers.push_back(transfer.target_start[i] - transfer.source_start[i]);
      numbers.push_back(i == k ? 0 : transfer.target_start[i]);
      numbers.push_back(i == k ? 0 : transfer.shape[i]);
    }
    return numbers;
  };
  std::stable_sort(transfers.begin(), transfers.end(),
                   [&key, k](const Transfer& a, const Transfer& b) {
                     const Shape left = key(a);
                     const Shape right = key(b);
                     return left != right ? left < right : a.target_start[k] < b.target_start[k];
                   });
  // Within the list, so that it needs no more memory than before.
  std::size_t kept = 0;
  for (std::size_t n = 1; n < transfers.size(); ++n) {
    Transfer& last = transfers[kept];
    if (key(last) == key(transfers[n]) &&
        last.target_start[k] + last.shape[k] == transfers[n].target_start[k]) {
      last.shape[k] += transfers[n].shape[k];
    } else if (++kept < n) {
      transfers[kept] = std::move(transfers[n]);
    }
  }
  const bool some = kept + 1 < transfers.size();
  if (some) transfers.resize(kept + 1);
  return some;
}

/// The tiles of both ends.
struct Tiles {
  TileStretches before;
  TileStretches after;
};

/// Who holds an array, or an addend, at the start, and who needs it; each ascending.
struct Parties {
  std::vector<Size> holders;
  std::vector<Size> targets;
};

/// Which node a device is in; where no nodes are known, all are in one.
struct Nodes {
  const DeviceNumbers* numbers;
  Size devices = 1;
  [[nodiscard]] Size of(Size device) const {
    return devices == 1 ? 0 : numbers->of(device) / devices;
  }
};

tl::unexpected<Diagnostic> too_many(Size limit) {
  return refuse({.code = Code::limit_reached,
                 .message = fmt::format("the direct exchange needs more than {} transfers", limit),
                 .notes = {"the steps of a plan have no such limit"}});
}

class Maker {
 public:
  /// The tiles outlive it.
  Maker(std::size_t rank, const Tiles& tiles, const Nodes& nodes, Parties parties)
      : rank_(rank),
        old_(tiles.before),
        new_(tiles.after),
        nodes_(nodes),
        holders_(std::move(parties.holders)),
        targets_(std::move(parties.targets)) {
    std::erase_if(holders_, [this](Size d) { return old_.is_empty(d); });
    std::erase_if(targets_, [this](Size d) { return new_.is_empty(d); });
    if (holders_.empty()) return;
    for (std::size_t k = 0; k < rank_; ++k) {
      std::vector<Stretch> stretches;
      stretches.reserve(holders_.size());
      for (const Size d : holders_) {
        old_.each(d, k, [&](const Stretch& one, Size) { stretches.push_back(one); });
      }
      edges_.emplace_back(std::move(stretches));
    }
    find_corners();
  }

  Result<std::vector<Transfer>> make(Size limit) {
    Size count = 0;
    Size pieces_in_all = 0;
    if (holders_.empty() && !targets_.empty()) return not_held(targets_.front());
    for (const Size d : targets_) {
      Size looks = 1;
      Size pieces_here = 1;  // of which there are no more than looks
      for (std::size_t k = 0; k < rank_; ++k) {
        Size looks_along = 0;
        Size pieces_along = 0;
        bool held = true;
        new_.each(d, k, [&](const Stretch& one, Size) {
          const auto pieces = edges_[k].pieces(one.begin, one.end);
          held = held && pieces.has_value();
          if (!held) return;
          looks_along += edges_[k].looks(*pieces);
          pieces_along += static_cast<Size>(pieces->end - pieces->begin);
        });
        if (!held) return not_held(d);
        looks = checked_mul(looks, looks_along).value_or(max_size);
        pieces_here = checked_mul(pieces_here, pieces_along).value_or(max_size);
      }
      count = checked_add(count, looks).value_or(max_size);
      if (count > limit) {
        return too_many(limit);
      }
      pieces_in_all += pieces_here;
    }
    transfers_.reserve(index(pieces_in_all));
    for (const Size d : targets_) cut_tile(d);
    if (const auto missing = choose_sources()) return not_held(*missing);
    join();
    return std::move(transfers_);
  }

 private:
  static constexpr Size nobody = -1;
  static constexpr Size max_size = std::numeric_limits<Size>::max();

  /// What a device has sent so far. The least comes first, of equals the lowest device.
  struct Load {
    Size sent = 0;
    Size device = 0;
    friend auto operator<=>(const Load&, const Load&) = default;
  };

  /// The devices of one corner: a heap for every node, and what comes first of each.
  struct Holders {
    std::map<Size, std::vector<Load>> nodes;
    std::set<std::pair<Load, Size>> first;  // and the node

    void find_first() {
      for (const auto& [node, heap] : nodes) first.emplace(heap.front(), node);
    }
    /// That of a node, or of all.
    [[nodiscard]] const Load* least(std::optional<Size> node) const {
      if (!node) return &first.begin()->first;
      const auto found = nodes.find(*node);
      return found == nodes.end() ? nullptr : &found->second.front();
    }
    /// Has the device that least() names send more.
    Size send(std::optional<Size> node, Size elements) {
      const Size at = node ? *node : first.begin()->second;
      std::vector<Load>& heap = nodes.at(at);
      first.erase({heap.front(), at});
      std::pop_heap(heap.begin(), heap.end(), std::greater<>());
      const Size device = heap.back().device;
      heap.back().sent = checked_add(heap.back().sent, elements).value_or(max_size);
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
      first.emplace(heap.front(), at);
      return device;
    }
  };

  /// The corners that occur, and each one's devices.
  void find_corners() {
    for (const Size d : holders_) {
      std::vector<std::vector<std::size_t>> numbers(rank_);
      std::vector<const std::vector<std::size_t>*> lists;
      for (std::size_t k = 0; k < rank_; ++k) {
        old_.each(d, k, [&](const Stretch& one, Size) {
          numbers[k].push_back(edges_[k].number_of(one));
        });
        lists.push_back(&numbers[k]);
      }
      // In ascending order of devices, so this is a heap.
      for_each(lists, [&](const std::vector<std::size_t>& corner) {
        holders_at_[corner].nodes[nodes_.of(d)].push_back({.sent = 0, .device = d});
      });
    }
    for (auto& [corner, holders] : holders_at_) holders.find_first();
  }

  /// What of a new tile lies between two cuts of the old ones, along one dimension.
  struct Cut {
    Size place = 0;  // in the new tile
    Stretch part;    // of the array
    std::optional<Size> own =
        std::nullopt;  // where it begins in the device's old tile, if it is there
  };
  [[nodiscard]] std::vector<Cut> cuts_of(Size device, std::size_t k, bool holds) const {
    std::vector<Cut> out;
    new_.each(device, k, [&](const Stretch& tile, Size place) {
      const Range pieces = *edges_[k].pieces(tile.begin, tile.end);
      for (std::size_t n = pieces.begin; n < pieces.end; ++n) {
        const Size begin = std::max(edges_[k].cut(n), tile.begin);
        const Size end = std::min(edges_[k].cut(n + 1), tile.end);
        out.push_back({.place = place + begin - tile.begin, .part = {begin, end}});
      }
    });
    if (!holds) return out;
    auto cut = out.begin();
    old_.each(device, k, [&](const Stretch& tile, Size place) {
      while (cut != out.end() && cut->part.begin < tile.begin) ++cut;
      for (; cut != out.end() && cut->part.end <= tile.end; ++cut) {
        cut->own = place + cut->part.begin - tile.begin;
      }
    });
    return out;
  }

  /// The transfers to one device; those that are not its own have no source yet, and their
  /// source_start is in the array.
  void cut_tile(Size device) {
    const bool holds = std::binary_search(holders_.begin(), holders_.end(), device);
    std::vector<Range> ranges;
    std::vector<std::vector<Cut>> cuts;
    for (std::size_t k = 0; k < rank_; ++k) {
      cuts.push_back(cuts_of(device, k, holds));
      ranges.push_back({0, cuts.back().size()});
    }
    for_each(ranges, [&](const std::vector<std::size_t>& numbers) {
      Transfer transfer{.target = device,
                        .source = holds ? device : nobody,
                        .target_start = Shape(rank_),
                        .source_start = Shape(rank_),
                        .shape = Shape(rank_)};
      for (std::size_t k = 0; k < rank_; ++k) {
        const Cut& cut = cuts[k][numbers[k]];
        transfer.target_start[k] = cut.place;
        transfer.source_start[k] = cut.part.begin;
        transfer.shape[k] = cut.part.extent();
        if (!cut.own) transfer.source = nobody;
      }
      if (transfer.source == device) {
        for (std::size_t k = 0; k < rank_; ++k) {
          transfer.source_start[k] = *cuts[k][numbers[k]].own;
        }
      }
      transfers_.push_back(std::move(transfer));
    });
  }

  void start_in_source(Transfer& transfer) const {
    for (std::size_t k = 0; k < rank_; ++k) {
      transfer.source_start[k] = old_.place(transfer.source, k, transfer.source_start[k]);
    }
  }

  /// Of the corners, the one with a device that has the least to send, of a node or of all.
  Holders* least_of(const std::vector<const std::vector<std::size_t>*>& corners,
                    std::optional<Size> node) {
    Holders* out = nullptr;
    for_each(corners, [&](const std::vector<std::size_t>& corner) {
      const auto found = holders_at_.find(corner);
      if (found == holders_at_.end()) return;
      const Load* const load = found->second.least(node);
      if (load != nullptr && (out == nullptr || *load < *out->least(node))) out = &found->second;
    });
    return out;
  }

  /// The largest boxes first: small ones even out what large ones left. Returns a device that needs
  /// what nobody has, if there is one.
  std::optional<Size> choose_sources() {
    std::vector<std::pair<Size, std::size_t>> order;  // size, number
    for (std::size_t n = 0; n < transfers_.size(); ++n) {
      if (transfers_[n].source != nobody) continue;
      order.emplace_back(checked_product(transfers_[n].shape).value_or(max_size), n);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<const std::vector<std::size_t>*> lists(rank_);
    for (const auto& [size, number] : order) {
      Transfer& transfer = transfers_[number];
      for (std::size_t k = 0; k < rank_; ++k) {
        const Size begin = transfer.source_start[k];
        const auto piece = edges_[k].pieces(begin, begin + transfer.shape[k]);
        lists[k] = &edges_[k].holders(piece->begin);
      }
      std::optional<Size> node = nodes_.of(transfer.target);
      Holders* chosen = least_of(lists, node);
      if (chosen == nullptr) chosen = least_of(lists, node = std::nullopt);
      if (chosen == nullptr) return transfer.target;
      transfer.source = chosen->send(node, size);
      start_in_source(transfer);
    }
    return std::nullopt;
  }

  /// Where old tiles overlap there are cuts that not every old tile needs.
  void join() {
    const bool overlap = std::any_of(edges_.begin(), edges_.end(),
                                     [](const Edges& edges) { return edges.overlaps(); });
    if (!overlap) return;
    for (bool again = true; again;) {
      again = false;
      for (std::size_t k = 0; k < rank_; ++k) again = joined_along(k, transfers_) || again;
    }
    std::sort(transfers_.begin(), transfers_.end(), [](const Transfer& a, const Transfer& b) {
      return std::tie(a.target, a.target_start) < std::tie(b.target, b.target_start);
    });
  }

  static tl::unexpected<Diagnostic> not_held(Size device) {
    return refuse({.code = Code::inapplicable,
                   .message = fmt::format(
                       "device {} needs an element that no device holds at the start", device),
                   .notes = {"the tiles of from must hold all that the tiles of to hold"}});
  }

  std::size_t rank_;
  const TileStretches& old_;
  const TileStretches& new_;
  Nodes nodes_;
  std::vector<Size> holders_;                               // devices whose old tiles are not empty
  std::vector<Size> targets_;                               // devices whose new tiles are not empty
  std::vector<Edges> edges_;                                // per dimension
  std::map<std::vector<std::size_t>, Holders> holders_at_;  // per corner
  std::vector<Transfer> transfers_;
};

std::vector<Size> all_devices(const Layout& layout) {
  std::vector<Size> out(index(layout.devices()));
  std::iota(out.begin(), out.end(), Size{0});
  return out;
}

/// Which addends of the start are added up by each class of the end: devices that must hold the same, an addend
/// of a tile.
class Shares {
 public:
  /// The tiles of the Program outlive it.
  Shares(const Program& program, const Tiles& tiles)
      : from_(program.from),
        to_(program.to),
        tiles_(tiles),
        each_(program.from.addend_count() / program.to.addend_count()) {
    const std::vector<std::size_t> tiles_of = tile_by_device(to_);
    std::vector<std::map<Size, std::vector<Size>>> devices;  // by tile and addend of the end
    for (Size d = 0; d < to_.devices(); ++d) {
      if (tiles_of[index(d)] == devices.size()) devices.emplace_back();
      devices[tiles_of[index(d)]][to_.addend(d)].push_back(d);
    }
    for (const auto& classes : devices) share(classes);
  }

  /// Per addend of the start.
  [[nodiscard]] std::vector<Parties> parties() const {
    std::vector<Parties> out(index(from_.addend_count()));
    for (Size d = 0; d < from_.devices(); ++d) out[index(from_.addend(d))].holders.push_back(d);
    for (std::size_t k = 0; k < out.size(); ++k) {
      const auto at = targets_.find(static_cast<Size>(k));
      if (at == targets_.end()) continue;
      out[k].targets = at->second;
      std::sort(out[k].targets.begin(), out[k].targets.end());
    }
    return out;
  }

 private:
  /// Shares the addends out among the classes of one tile. First a class takes those that most of its
  /// devices have themselves, of equals the lowest numbers; a stack keeps its numbers.
  void share(const std::map<Size, std::vector<Size>>& classes) {
    std::vector<Size> room(classes.size(), each_);
    std::vector<bool> taken(index(from_.addend_count()), false);
    const auto give = [&](Size name, Size addend) {
      if (room[index(name)] == 0 || taken[index(addend)]) return;
      --room[index(name)];
      taken[index(addend)] = true;
      const std::vector<Size>& devices = classes.at(name);
      std::vector<Size>& targets = targets_[addend];
      targets.insert(targets.end(), devices.begin(), devices.end());
    };
    const bool stays = from_.addends()->addition == Addition::stack;
    for (const auto& [own, name, addend] : wishes(classes)) {
      if (!stays || name == addend) give(name, addend);
    }
    Size name = 0;
    for (Size addend = 0; addend < from_.addend_count(); ++addend) {
      if (taken[index(addend)]) continue;
      if (stays) {
        give(addend, addend);
        continue;
      }
      while (room[index(name)] == 0) ++name;
      give(name, addend);
    }
  }

  /// The addends that devices have of their own new tiles: (minus their number, class, addend).
  [[nodiscard]] std::vector<std::tuple<Size, Size, Size>> wishes(
      const std::map<Size, std::vector<Size>>& classes) const {
    std::map<std::pair<Size, Size>, Size> own;
    for (const auto& [name, devices] : classes) {
      for (const Size d : devices) {
        if (meets(d)) ++own[{name, from_.addend(d)}];
      }
    }
    std::vector<std::tuple<Size, Size, Size>> out;
    for (const auto& [pair, count] : own) out.emplace_back(-count, pair.first, pair.second);
    std::sort(out.begin(), out.end());
    return out;
  }

  /// Whether a device has something of its new tile.
  [[nodiscard]] bool meets(Size device) const {
    for (std::size_t k = 0; k < from_.rank(); ++k) {
      if (common_extent(tiles_.before, tiles_.after, device, k) == 0) return false;
    }
    return true;
  }

  const Layout& from_;
  const Layout& to_;
  const Tiles& tiles_;
  Size each_;                                  // addends that a class adds up
  std::map<Size, std::vector<Size>> targets_;  // per addend of the start
};

/// The transfers of every addend to all who need it: to each target its addends by ascending number,
/// of each its boxes in C order.
Result<std::vector<Transfer>> adding_transfers(const Program& program,
                                               const DirectOptions& options) {
  const Size limit = options.transfer_limit;
  const auto needed =
      checked_mul(program.devices, program.from.addend_count() / program.to.addend_count());
  if (!needed || *needed > limit) return too_many(limit);
  const Tiles tiles{TileStretches(program.from), TileStretches(program.to)};
  std::vector<Transfer> out;
  for (Parties& parties : Shares(program, tiles).parties()) {
    Maker maker(program.from.rank(), tiles, {&program.numbers, options.node_devices},
                std::move(parties));
    auto transfers = maker.make(limit - static_cast<Size>(out.size()));
    if (!transfers) return transfers;
    out.insert(out.end(), std::make_move_iterator(transfers->begin()),
               std::make_move_iterator(transfers->end()));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Transfer& a, const Transfer& b) { return a.target < b.target; });
  return out;
}

/// What Routes says of all devices.
Result<std::vector<Transfer>> routed(const Routes& routes, const Program& program, Size limit) {
  Size count = 0;
  for (Size d = 0; d < program.devices; ++d) {
    const auto more = checked_add(count, routes.boxes(d));
    if (!more || *more > limit) return too_many(limit);
    count = *more;
  }
  std::vector<Transfer> out;
  out.reserve(index(count));
  for (Size d = 0; d < program.devices; ++d) {
    routes.received(d, [&](const Transfer& transfer) { out.push_back(transfer); });
  }
  return out;
}

Result<std::vector<Transfer>> transfers_of(const Program& program, const DirectOptions& options) {
  if (program.from.addends()) return adding_transfers(program, options);
  // Of devices of other numbers no digit of the place counts nodes.
  const bool in_digits = options.node_devices == 1 || !program.numbers.are_listed();
  if (in_digits && Routes::knows(program.from, program.to)) {
    const Routes routes(program.from, program.to, options.node_devices);
    if (routes.keeps_to_nodes()) return routed(routes, program, options.transfer_limit);
  }
  const Tiles tiles{TileStretches(program.from), TileStretches(program.to)};
  const std::vector<Size> all = all_devices(program.from);
  return Maker(program.from.rank(), tiles, {&program.numbers, options.node_devices}, {all, all})
      .make(options.transfer_limit);
}

/// How the exchange adds: not where every class of the end takes one addend.
std::optional<Addition> adds(const Program& program) {
  if (program.from.addend_count() == program.to.addend_count()) return std::nullopt;
  return program.from.addends()->addition;
}

}  // namespace

Size direct_bound_bytes(Size devices, Size transfers, std::size_t rank) {
  // A list of numbers may hold 16 bytes more than it has to. Sorting needs room for as many
  // transfers again; for every device there are base offsets, cuts, holders, heaps and what comes first of them.
  const auto numbers = static_cast<Size>(rank) * Size{sizeof(Size)};
  const Size transfer = 2 * Size{sizeof(Transfer)} + 3 * (numbers + 16);
  const Size device = 24 * numbers + 448;
  return transfers * transfer + devices * device + (Size{4} << 10);
}

Result<Program> direct(const Program& program, const DirectOptions& options) {
  if (program.devices > options.transfer_limit) {
    return refuse({.code = Code::limit_reached,
                   .message = fmt::format("the direct exchange needs more than {} transfers",
                                          options.transfer_limit)});
  }
  if (auto good = check_addends(program.from, program.to); !good) return refuse(good.error());
  auto transfers = transfers_of(program, options);
  if (!transfers) return refuse(std::move(transfers.error()));
  Program out;
  out.devices = program.devices;
  out.mesh = program.mesh;
  out.mesh_to = program.mesh_to;
  out.from = program.from;
  out.to = program.to;
  out.numbers = program.numbers;
  Step step;
  step.op = Exchange{std::move(*transfers), adds(program)};
  step.claims.shapes = program.to.extents();
  if (!step.claims.shapes) step.claims.tile = program.to.tile();
  out.steps.push_back(std::move(step));
  return out;
}

Result<Program> direct(const Problem& problem, const DirectOptions& options) {
  return direct(without_steps(problem), options);
}

}  // namespace retile
