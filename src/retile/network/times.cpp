#include "retile/network/times.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "retile/core/digits.h"
#include "retile/program/apply.h"
#include "retile/program/moves.h"
#include "retile/program/tile_shapes.h"

namespace retile::network {
namespace {

tl::unexpected<Diagnostic> too_long() {
  return refuse({.code = Code::size_overflow,
                 .message = "the time of the plan does not fit in 63 bits of picoseconds"});
}

/// Devices that are looked at one by one.
constexpr Size most_counted = Size{1} << 20;

tl::unexpected<Diagnostic> too_many() {
  return refuse({.code = Code::limit_reached,
                 .message = "links are counted of at most 2^20 devices that talk to each other"});
}

/// How many of a row are in the same domain of each level, of the member with the fewest.
Members members_of(const Network& network, const std::vector<Size>& row) {
  Members out;
  for (std::size_t l = 0; l <= network.levels().size(); ++l) {
    std::map<Size, Size> counts;
    for (const Size device : row) ++counts[network.domain_of(device, l)];
    Size least = std::numeric_limits<Size>::max();
    for (const auto& [number, count] : counts) least = std::min(least, count);
    out.push_back(least);
  }
  return out;
}

using Share = Amounts (*)(Wide tile, const Members& members);

/// The busiest group's, level by level.
Result<Amounts> of_groups(const Network& network, const DeviceTable& groups, Size tile,
                          Share share) {
  Amounts out(network.levels().size(), 0);
  const auto note = [&](const std::vector<Size>& row) {
    if (row.size() < 2) return;
    const Amounts here = share(static_cast<Wide>(tile), members_of(network, row));
    for (std::size_t l = 0; l < out.size(); ++l) out[l] = std::max(out[l], here[l]);
  };
  // Rows that differ in other digits than those of a member, all of which lie within one level each, are alike.
  const IotaChain* const chain = groups.chain();
  if (auto digits = chain != nullptr ? chain->digits() : std::nullopt) {
    if (const auto row = take_minor(*digits, groups.columns()); row && network.nests(*row)) {
      return share(static_cast<Wide>(tile), network.members_of(*row));
    }
  }
  if (network.devices() > most_counted) return too_many();
  for (const std::vector<Size>& row : groups.to_rows()) note(row);
  return out;
}

/// The busiest device's of moves that are counted one by one.
class Boxes {
 public:
  explicit Boxes(const Network& network)
      : network_(network),
        received_(static_cast<std::size_t>(network.devices()) * network.levels().size()),
        sent_(received_.size()) {}
  void note(const Transfer& box) {
    if (box.source == box.target) return;
    Wide size = 1;
    for (const Size extent : box.shape) size *= static_cast<Wide>(extent);
    const std::size_t level = network_.level_between(box.source, box.target);
    received_[place(box.target, level)] += size;
    sent_[place(box.source, level)] += size;
  }
  [[nodiscard]] Amounts busiest() const {
    Amounts out(network_.levels().size(), 0);
    for (const auto* side : {&received_, &sent_}) {
      for (std::size_t k = 0; k < side->size(); ++k) {
        Wide& most = out[k % out.size()];
        most = std::max(most, (*side)[k]);
      }
    }
    return out;
  }

 private:
  [[nodiscard]] std::size_t place(Size device, std::size_t level) const {
    return static_cast<std::size_t>(device) * network_.levels().size() + level;
  }
  const Network& network_;
  std::vector<Wide> received_;  // by device and level
  std::vector<Wide> sent_;
};

/// A digit of the device that gets a tile, and the digit of its source that it says.
struct Moved {
  Size size = 1;
  Size target = 1;  ///< strides
  Size source = 1;
};

/// The digits of a permutation, cut until every digit of a target is a digit of a source, and within one level;
/// nothing where cuts do not divide each other.
std::optional<std::vector<Moved>> digits_moved(const Network& network, const DeviceTable& source) {
  const auto digits = source.chain() == nullptr ? std::nullopt : source.chain()->digits();
  if (!digits) return std::nullopt;
  std::vector<Moved> out;
  std::vector<Size> cuts;
  for (const Level& level : network.levels()) {
    for (const Digit& digit : level.digits) cuts.push_back(digit.stride);
  }
  Size reach = 1;
  for (const Digit& digit : *digits) {
    out.push_back({digit.size, reach, digit.stride});
    reach *= digit.size;
  }
  for (std::size_t known = 0; known != cuts.size();) {
    known = cuts.size();
    std::vector<Moved> finer;
    for (Moved digit : out) {
      for (Size part = 1; part < digit.size;) {
        // The next cut within the digit, at either end.
        Size next = digit.size;
        for (const Size cut : cuts) {
          for (const Size stride : {digit.target, digit.source}) {
            if (cut <= stride * part || cut >= stride * digit.size) continue;
            if (cut % (stride * part) != 0 || stride * digit.size % cut != 0) return std::nullopt;
            next = std::min(next, cut / stride);
          }
        }
        finer.push_back({next / part, digit.target * part, digit.source * part});
        part = next;
      }
    }
    out = std::move(finer);
    for (const Moved& digit : out) {
      for (const Size stride : {digit.target, digit.source}) {
        if (std::find(cuts.begin(), cuts.end(), stride) == cuts.end()) cuts.push_back(stride);
      }
    }
  }
  return out;
}

/// Which levels are the outermost in which some device differs from its source.
std::optional<std::vector<bool>> levels_moved(const Network& network, const DeviceTable& source) {
  const auto moved = digits_moved(network, source);
  if (!moved) return std::nullopt;
  const std::size_t levels = network.levels().size();
  std::vector<bool> out(levels, false);
  // Digits by stride that are equal in who differs in no level so far, from the outside in.
  std::map<Size, Size> equal;
  const auto root = [&](Size stride) {
    while (equal.at(stride) != stride) stride = equal.at(stride);
    return stride;
  };
  for (const Moved& digit : *moved) equal[digit.target] = digit.target;
  for (std::size_t l = levels; l-- > 0;) {
    for (const Moved& digit : *moved) {
      if (network.level_of({digit.source, digit.size}) != l) continue;
      out[l] = out[l] || root(digit.target) != root(digit.source);
    }
    for (const Moved& digit : *moved) {
      if (network.level_of({digit.source, digit.size}) == l)
        equal[root(digit.target)] = root(digit.source);
    }
  }
  return out;
}

/// Where the tile of each device comes from, if a table says it; else null.
const DeviceTable* sources_of(const Op& op) {
  return std::get_if<DeviceTable>(facts_of(op).sources);  // null of null
}

/// Of tiles that are all alike and move as they are; nothing for other steps.
std::optional<Amounts> whole_tiles(const Network& network, const Op& op,
                                   const DeviceShapes& tiles) {
  const DeviceTable* const source = sources_of(op);
  if (source == nullptr || !tiles.alike()) return std::nullopt;
  Amounts out(network.levels().size(), 0);
  const auto tile = static_cast<Wide>(checked_product(tiles.largest()).value_or(0));
  if (const auto levels = levels_moved(network, *source)) {
    for (std::size_t l = 0; l < out.size(); ++l) out[l] = (*levels)[l] ? tile : 0;
    return out;
  }
  if (network.devices() > most_counted) return std::nullopt;
  for (Size device = 0; device < network.devices(); ++device) {
    const Size from = source->at(device);
    if (from != device) out[network.level_between(from, device)] = tile;
  }
  return out;
}

Result<Amounts> boxes_of(const Network& network, const Step& step, const TileShapes& tiles) {
  Boxes boxes(network);
  Size count = 0;
  const auto moved = each_move(step, tiles, [&](Transfer&& box) {
    if (++count <= most_transfers) boxes.note(box);
  });
  if (count > most_transfers || !moved) {
    return refuse(Code::limit_reached, "a step moves more boxes than are looked at");
  }
  return boxes.busiest();
}

/// How the tiles of a group become traffic; null where no group moves anything.
Share share_of(const Op& op) {
  const OpFacts facts = facts_of(op);
  if (facts.groups == nullptr) return nullptr;
  switch (facts.kind) {
    case CollectiveKind::gather:
      return Traffic::allgather;
    case CollectiveKind::all_to_all:
      return Traffic::alltoall;
    case CollectiveKind::reduce_scatter:
      return Traffic::reducescatter;
    case CollectiveKind::all_reduce:
      return Traffic::allreduce;
    case CollectiveKind::slice:
    case CollectiveKind::permute:
    case CollectiveKind::broadcast:
      break;
  }
  return nullptr;
}

/// The tiles before each step of a Program that says them, where all are alike and no step has boxes of its own.
/// Tiles of each device would take long on many devices, if steps go along several dimensions.
std::optional<std::vector<DeviceShapes>> claimed_shapes(const Program& program,
                                                        Size element_bytes) {
  const auto fits = [&](const Shape& tile) {
    const auto elements = checked_product(tile);
    return elements && checked_mul(*elements, element_bytes);
  };
  const Traits traits = traits_of(program);
  if (!fits(program.from.tile()) || !traits.alike || traits.addition) return std::nullopt;
  std::vector<DeviceShapes> out{DeviceShapes(program.from.tile())};
  for (const Step& step : program.steps) {
    const bool whole = sources_of(step.op) != nullptr;
    if (!step.claims.tile || !fits(*step.claims.tile) || (groups_of(step.op) == nullptr && !whole))
      return std::nullopt;
    out.emplace_back(*step.claims.tile);
  }
  return out;
}

}  // namespace

Result<std::vector<StepTime>> times_of(const Program& program, const Network& network,
                                       Size element_bytes) {
  auto shapes = claimed_shapes(program, element_bytes);
  if (!shapes) {
    auto found = tile_shapes(program, element_bytes);
    if (!found) return refuse(found.error());
    shapes = *std::move(found);
  }
  std::vector<StepTime> out;
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    const Step& step = program.steps[k];
    const DeviceShapes& tiles = (*shapes)[k];
    Amounts bytes(network.levels().size(), 0);
    if (const Share share = share_of(step.op)) {
      auto counted = of_groups(network, *groups_of(step.op),
                               checked_product(tiles.largest()).value_or(0), share);
      if (!counted) return refuse(std::move(counted.error()));
      bytes = *std::move(counted);
    } else if (groups_of(step.op) == nullptr) {
      if (const auto whole = whole_tiles(network, step.op, tiles)) {
        bytes = *whole;
      } else if (network.devices() > most_counted) {
        return too_many();
      } else {
        const auto counted = boxes_of(network, step, tiles.of_all(program.devices));
        if (!counted) return refuse(counted.error());
        bytes = *counted;
      }
    }
    for (Wide& amount : bytes) amount *= static_cast<Wide>(element_bytes);
    const Wide time = network.time(bytes);
    constexpr Wide most = std::numeric_limits<Size>::max();
    StepTime made{.bytes = {}, .time = static_cast<Size>(std::min(time, most))};
    for (const Wide amount : bytes) made.bytes.push_back(static_cast<Size>(std::min(amount, most)));
    if (time > most) return too_long();
    out.push_back(std::move(made));
  }
  return out;
}

Result<Size> time_of(const std::vector<StepTime>& steps) {
  Size out = 0;
  for (const StepTime& step : steps) {
    const auto sum = checked_add(out, step.time);
    if (!sum) return too_long();
    out = *sum;
  }
  return out;
}

}  // namespace retile::network
