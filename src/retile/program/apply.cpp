#include "retile/program/apply.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "coverage.h"
#include "retile/core/assert.h"
#include "retile/core/capped.h"
#include "retile/core/cases.h"
#include "retile/core/collective_cost.h"
#include "retile/program/grid.h"

namespace retile {

namespace {

/// Whether entries are the devices, each once; if not, a device that is repeated or missing, if one
/// can be named.
struct Census {
  bool complete = true;
  std::optional<Size> witness;
};

Census census(const std::vector<Size>& entries, Size devices) {
  const auto count = static_cast<Size>(entries.size());
  // Among the first count + 1 devices one is missing when there are fewer entries than devices: no
  // need to mark the others, of which there may be 2^31.
  const auto marked = static_cast<std::size_t>(std::min(devices, count + 1));
  std::vector<bool> seen(marked, false);
  Census out;
  out.complete = count == devices;
  for (const Size device : entries) {
    if (device < 0 || device >= devices) {
      out.complete = false;
      continue;
    }
    const auto d = static_cast<std::size_t>(device);
    if (d >= marked) continue;
    if (seen[d]) {
      out.complete = false;
      out.witness = device;
      return out;
    }
    seen[d] = true;
  }
  if (out.complete) return out;
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing != seen.end()) out.witness = static_cast<Size>(missing - seen.begin());
  return out;
}

/// An iota lists 0..size-1, each once, in whatever order: its size decides.
Census census(const DeviceTable& table, Size devices) {
  if (table.chain() == nullptr) return census(table.entries(), devices);
  if (table.size() == devices) return {};
  return {.complete = false,
          .witness = table.size() < devices ? std::optional(table.size()) : std::nullopt};
}

std::optional<Refusal> check_groups(const DeviceTable& groups, Size devices) {
  const Census found = census(groups, devices);
  if (found.complete && !groups.ragged()) return std::nullopt;
  return Refusal{.reason = Reason::groups, .device = found.witness};
}

std::optional<Refusal> check_pairs(const PairList& pairs, Size devices) {
  std::vector<Size> sources;
  std::vector<Size> targets;
  for (const auto& [source, target] : pairs) {
    sources.push_back(source);
    targets.push_back(target);
  }
  std::sort(sources.begin(), sources.end());
  std::sort(targets.begin(), targets.end());
  Refusal refusal{.reason = Reason::bijection, .device = std::nullopt};
  const auto exists = [devices](Size device) { return device >= 0 && device < devices; };
  for (const auto* list : {&sources, &targets}) {
    for (const Size device : *list) {
      if (!exists(device)) return refusal;
    }
    const auto twice = std::adjacent_find(list->begin(), list->end());
    if (twice != list->end()) {
      refusal.device = *twice;
      return refusal;
    }
  }
  if (sources == targets) return std::nullopt;
  // Both have one length and no doubles, so they differ at a device that is in one of them only.
  const auto [source, target] = std::mismatch(sources.begin(), sources.end(), targets.begin());
  refusal.device = std::min(*source, *target);
  return refusal;
}

std::optional<Refusal> check_sources(const DeviceTable& sources, Size devices) {
  const Census found = census(sources, devices);
  if (found.complete) return std::nullopt;
  return Refusal{.reason = Reason::bijection, .device = found.witness};
}

std::optional<Refusal> check_parts(const PartList& parts, Size devices) {
  RETILE_ASSERT(parts.parts >= 1 && parts.part.size() == devices,
                "a part list says for every device which piece it keeps");
  return std::nullopt;
}

/// Boxes that may be looked at to see whether they cover the tiles: seconds.
constexpr Size most_coverage_work = Size{1} << 27;

bool lies_inside(const Shape& start, const Shape& shape, const Shape& tile) {
  for (std::size_t k = 0; k < tile.size(); ++k) {
    if (start[k] > tile[k] - shape[k]) return false;
  }
  return true;
}

using After = tl::expected<Shape, Refusal>;

const Refusal overflow{.reason = Reason::limit, .device = std::nullopt};

/// The dimension of a step along one at most.
std::optional<std::size_t> only(std::span<const std::size_t> dims) {
  return dims.empty() ? std::nullopt : std::optional(dims.front());
}

/// The tile with `factor` times less along `divided` and then more along `multiplied`.
After scaled(const Shape& tile, std::optional<std::size_t> divided,
             std::optional<std::size_t> multiplied, Size factor) {
  Shape out = tile;
  if (divided) {
    RETILE_ASSERT(*divided < tile.size(), "dimensions of a Program are below its rank");
    Size& extent = out[*divided];
    if (extent % factor != 0) {
      return tl::unexpected(Refusal{.reason = Reason::indivisible, .device = std::nullopt});
    }
    extent /= factor;
  }
  if (multiplied) {
    RETILE_ASSERT(*multiplied < tile.size(), "dimensions of a Program are below its rank");
    const auto extent = checked_mul(out[*multiplied], factor);
    if (!extent) return tl::unexpected(overflow);
    out[*multiplied] = *extent;
  }
  if (!checked_product(out)) return tl::unexpected(overflow);
  return out;
}

/// The position of `device` among all entries. Precondition: it is one.
Size find_position(const DeviceTable& table, Size device) {
  if (const IotaChain* chain = table.chain()) return chain->inverse().at(device);
  Size position = 0;
  while (position < table.size() && table.at(position) != device) ++position;
  RETILE_ASSERT(position < table.size(), "an applicable table holds every device");
  return position;
}

bool is_identity(const IotaStage& stage) {
  // Extents of 1 may stand anywhere.
  std::size_t last = 0;
  for (const std::size_t old : stage.transpose) {
    if (stage.shape[old] == 1) continue;
    if (old < last) return false;
    last = old;
  }
  return true;
}

bool is_identity(const DeviceTable& source, const Deadline& deadline) {
  if (const IotaChain* chain = source.chain()) {
    const IotaChain simplified = chain->simplified();
    if (simplified.stages().empty()) return true;
    if (simplified.stages().size() == 1) return is_identity(simplified.stages().front());
    // Several stages that could not be merged may still undo each other.
    constexpr Size nanoseconds_per_stage = 64;
    const auto stages = static_cast<Size>(simplified.stages().size());
    Watch watch(deadline);
    for (Size device = 0; device < simplified.size(); ++device) {
      if (simplified.at(device) != device) return false;
      if (!watch.in_time(stages * nanoseconds_per_stage)) return false;
    }
    return true;
  }
  for (Size device = 0; device < source.size(); ++device) {
    if (source.at(device) != device) return false;
  }
  return true;
}

bool in_range(const DeviceTable& table, Size below) {
  if (table.chain() != nullptr) return table.size() <= below;
  const std::vector<Size> entries = table.entries();
  return std::all_of(entries.begin(), entries.end(),
                     [&](Size entry) { return entry >= 0 && entry < below; });
}

}  // namespace

std::optional<Refusal> find_stray_transfer(const std::vector<Transfer>& transfers,
                                           const std::function<const Shape&(Size)>& before,
                                           const std::function<const Shape&(Size)>& after) {
  const auto fault = [](Size device, const Shape& at) {
    return Refusal{.reason = Reason::transfers, .device = device, .at = at};
  };
  for (const Transfer& transfer : transfers) {
    if (!lies_inside(transfer.target_start, transfer.shape, after(transfer.target))) {
      return fault(transfer.target, transfer.target_start);
    }
    if (!lies_inside(transfer.source_start, transfer.shape, before(transfer.source))) {
      return fault(transfer.source, transfer.source_start);
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_transfer_fault(const std::vector<Transfer>& transfers,
                                           const std::function<const Shape&(Size)>& before,
                                           const std::function<const Shape&(Size)>& after,
                                           Size devices, const Deadline& deadline) {
  const auto fault = [](Size device, const Shape& at) {
    return Refusal{.reason = Reason::transfers, .device = device, .at = at};
  };
  if (auto stray = find_stray_transfer(transfers, before, after)) return stray;
  const std::vector<std::size_t> order = by_target(transfers);
  Size work_left = most_coverage_work;
  std::size_t next = 0;
  for (Size device = 0; device < devices; ++device) {
    std::vector<detail::Box> boxes;
    for (; next < order.size() && transfers[order[next]].target == device; ++next) {
      const Transfer& transfer = transfers[order[next]];
      boxes.push_back({.start = &transfer.target_start, .shape = &transfer.shape});
    }
    const Shape& tile = after(device);
    if (std::find(tile.begin(), tile.end(), Size{0}) != tile.end()) continue;
    const auto found = detail::first_not_covered_once(tile, std::move(boxes), work_left, deadline);
    if (!found) return Refusal{.reason = Reason::limit, .device = std::nullopt};
    if (*found) return fault(device, **found);
  }
  return std::nullopt;
}

std::optional<Refusal> find_table_fault(const Op& op, Size devices) {
  const OpFacts facts = facts_of(op);
  if (facts.transfers != nullptr) return std::nullopt;
  if (facts.sources != nullptr) {
    return match(
        *facts.sources,
        [devices](const DeviceTable& sources) { return check_sources(sources, devices); },
        [devices](const PairList& pairs) { return check_pairs(pairs, devices); });
  }
  if (facts.groups == nullptr) return check_parts(std::get<PartList>(*facts.pieces), devices);
  auto fault = check_groups(*facts.groups, devices);
  const bool fits =
      facts.counts == nullptr || checked_product(*facts.counts) == facts.groups->columns();
  if (!fault && !fits) fault = Refusal{.reason = Reason::groups, .device = std::nullopt};
  return fault;
}

bool has_dims(const OpFacts& facts, std::size_t rank) {
  if (facts.counts != nullptr) return has_grid(facts, rank);
  const auto is_there = [rank](std::size_t dim) { return dim < rank; };
  return std::all_of(facts.cuts.begin(), facts.cuts.end(), is_there) &&
         std::all_of(facts.joins.begin(), facts.joins.end(), is_there);
}

bool well_made(const Step& step, std::size_t rank, Size devices) {
  const OpFacts facts = facts_of(step.op);
  if (!has_dims(facts, rank) || facts.add == Addition::stack) return false;
  const auto exists = [devices](Size device) { return device >= 0 && device < devices; };
  const auto are_devices = [devices](const DeviceTable& table) { return in_range(table, devices); };
  if (facts.transfers != nullptr) {
    const auto are = [rank](const Shape& numbers, Size least) {
      return numbers.size() == rank &&
             std::all_of(numbers.begin(), numbers.end(), [least](Size n) { return n >= least; });
    };
    const auto& each = step.claims.shapes;
    const bool shaped =
        each ? each->size() == static_cast<std::size_t>(devices) * rank &&
                   std::all_of(each->begin(), each->end(), [](Size n) { return n >= 0; })
             : step.claims.tile && are(*step.claims.tile, 1);
    return shaped && std::all_of(facts.transfers->begin(), facts.transfers->end(),
                                 [&](const Transfer& transfer) {
                                   return exists(transfer.target) && exists(transfer.source) &&
                                          are(transfer.target_start, 0) &&
                                          are(transfer.source_start, 0) && are(transfer.shape, 1);
                                 });
  }
  if (facts.sources != nullptr) {
    return match(*facts.sources, are_devices, [&](const PairList& pairs) {
      return std::all_of(pairs.begin(), pairs.end(), [&](const std::array<Size, 2>& pair) {
        return exists(pair[0]) && exists(pair[1]);
      });
    });
  }
  if (facts.groups != nullptr) return are_devices(*facts.groups);
  const auto& list = std::get<PartList>(*facts.pieces);
  return list.parts >= 1 && list.part.size() == devices && in_range(list.part, list.parts);
}

tl::expected<Shape, Refusal> shape_after(const Step& step, const Shape& tile, Size devices,
                                         const Deadline& deadline) {
  if (auto fault = find_table_fault(step.op, devices)) return tl::unexpected(*std::move(fault));
  const OpFacts facts = facts_of(step.op);
  if (facts.transfers != nullptr) {
    RETILE_ASSERT(step.claims.tile && step.claims.tile->size() == tile.size(),
                  "an exchange says the shape of the new tiles");
    const Shape& after = *step.claims.tile;
    if (!checked_product(after)) return tl::unexpected(overflow);
    auto fault = find_transfer_fault(
        *facts.transfers, [&](Size) -> const Shape& { return tile; },
        [&](Size) -> const Shape& { return after; }, devices, deadline);
    if (fault) return tl::unexpected(*std::move(fault));
    return after;
  }
  if (facts.counts != nullptr) {
    if (!divides(parts_along(facts.cuts, *facts.counts, tile.size()), tile)) {
      return tl::unexpected(Refusal{.reason = Reason::indivisible, .device = std::nullopt});
    }
    auto after = tile_over(facts, tile);
    if (!after) return tl::unexpected(overflow);
    return *std::move(after);
  }
  RETILE_ASSERT(!facts.add || !facts.piece, "pieces that differ go through moves.h");
  if (facts.cuts.empty() && facts.joins.empty()) return tile;
  return scaled(tile, only(facts.cuts), only(facts.joins), group_size(facts));
}

Membership membership(const DeviceTable& groups, Size device) {
  const Size columns = groups.columns();
  const Size position = find_position(groups, device);
  const Size first = position - position % columns;
  Membership out;
  out.position = static_cast<std::size_t>(position - first);
  out.members.reserve(static_cast<std::size_t>(columns));
  for (Size q = 0; q < columns; ++q) out.members.push_back(groups.at(first + q));
  return out;
}

Size group_size(const KeptPieces& pieces) {
  return match(
      pieces, [](const DeviceTable& groups) { return groups.columns(); },
      [](const PartList& list) { return list.parts; });
}

Size piece_of(const KeptPieces& pieces, Size device) {
  return match(
      pieces,
      [device](const DeviceTable& groups) {
        return find_position(groups, device) % groups.columns();
      },
      [device](const PartList& list) { return list.part.at(device); });
}

std::vector<Size> sources_of(const Sources& sources, Size devices) {
  return match(
      sources, [](const DeviceTable& table) { return table.entries(); },
      [devices](const PairList& pairs) {
        std::vector<Size> out(static_cast<std::size_t>(devices));
        std::iota(out.begin(), out.end(), Size{0});
        for (const auto& [source, target] : pairs) out[static_cast<std::size_t>(target)] = source;
        return out;
      });
}

Size source_of(const Sources& sources, Size device) {
  return match(
      sources, [device](const DeviceTable& table) { return table.at(device); },
      [device](const PairList& pairs) {
        for (const auto& [source, target] : pairs) {
          if (target == device) return source;
        }
        return device;
      });
}

namespace {

/// The most elements that transfers write to one device, each as often as it is written.
std::optional<Size> most_added(const std::vector<Transfer>& transfers) {
  Size most = 0;
  Size here = 0;
  Size device = 0;
  for (const std::size_t t : by_target(transfers)) {
    const Transfer& transfer = transfers[t];
    if (transfer.target != device) here = 0;
    device = transfer.target;
    const auto sum = checked_add(here, checked_product(transfer.shape).value());
    if (!sum) return std::nullopt;
    here = *sum;
    most = std::max(most, here);
  }
  return most;
}

}  // namespace

const DeviceTable* groups_of(const Op& op) { return facts_of(op).groups; }

bool keeps_part(const Op& op) { return facts_of(op).pieces != nullptr; }

bool moves_nothing(const Step& step, const Deadline& deadline) {
  const OpFacts facts = facts_of(step.op);
  if (facts.sources != nullptr) {
    return match(
        *facts.sources,
        [&deadline](const DeviceTable& table) { return is_identity(table, deadline); },
        [](const PairList& pairs) {
          return std::all_of(pairs.begin(), pairs.end(),
                             [](const auto& pair) { return pair[0] == pair[1]; });
        });
  }
  if (facts.transfers != nullptr) {
    return std::all_of(facts.transfers->begin(), facts.transfers->end(),
                       [](const Transfer& transfer) { return transfer.source == transfer.target; });
  }
  return facts.spreads() || group_size(facts) == 1;
}

std::optional<Size> step_cost(const Step& step, Size before, Size after, const Deadline& deadline) {
  const OpFacts facts = facts_of(step.op);
  const bool adds_boxes = facts.transfers != nullptr && facts.add;
  const Capped cost = adds_boxes ? Capped::of(most_added(*facts.transfers))
                                 : collective_cost(facts.kind, Capped{before}, Capped{after});
  if (cost.value == 0 || moves_nothing(step, deadline)) return 0;
  return cost.is_capped ? std::nullopt : std::optional(cost.value);
}

}  // namespace retile
