#include "retile/program/apply.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "coverage.h"
#include "retile/core/assert.h"

namespace retile {

std::string_view reason_name(Reason reason) {
  static constexpr std::array<std::string_view, 9> names = {
      "groups",    "bijection", "indivisible", "transfers", "tile_claim",
      "map_claim", "not_a_box", "end",         "limit"};
  return names[static_cast<std::size_t>(reason)];
}

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

std::optional<Refusal> check_table(const Step& step, Size devices) {
  if (const auto* dynslice = std::get_if<Dynslice>(&step.op)) {
    if (const auto* groups = std::get_if<DeviceTable>(&dynslice->pieces)) {
      return check_groups(*groups, devices);
    }
    const auto& parts = std::get<PartList>(dynslice->pieces);
    RETILE_ASSERT(parts.parts >= 1 && parts.part.size() == devices,
                  "a part list says for every device which piece it keeps");
    return std::nullopt;
  }
  if (const auto* allgather = std::get_if<Allgather>(&step.op)) {
    return check_groups(allgather->groups, devices);
  }
  if (const auto* alltoall = std::get_if<Alltoall>(&step.op)) {
    return check_groups(alltoall->groups, devices);
  }
  const auto& allpermute = std::get<Allpermute>(step.op);
  if (const auto* pairs = std::get_if<PairList>(&allpermute.source)) {
    return check_pairs(*pairs, devices);
  }
  const Census found = census(std::get<DeviceTable>(allpermute.source), devices);
  if (found.complete) return std::nullopt;
  return Refusal{.reason = Reason::bijection, .device = found.witness};
}

/// Boxes that may be looked at to see whether they cover the tiles: seconds.
constexpr Size most_coverage_work = Size{1} << 27;

bool lies_inside(const Shape& start, const Shape& shape, const Shape& tile) {
  for (std::size_t k = 0; k < tile.size(); ++k) {
    if (start[k] > tile[k] - shape[k]) return false;
  }
  return true;
}

/// Whether every box lies in both tiles, and every element of every new tile in one box.
std::optional<Refusal> check_transfers(const std::vector<Transfer>& transfers, const Shape& before,
                                       const Shape& after, Size devices) {
  const auto fault = [](Size device, const Shape& at) {
    return Refusal{.reason = Reason::transfers, .device = device, .at = at};
  };
  for (const Transfer& transfer : transfers) {
    if (!lies_inside(transfer.target_start, transfer.shape, after)) {
      return fault(transfer.target, transfer.target_start);
    }
    if (!lies_inside(transfer.source_start, transfer.shape, before)) {
      return fault(transfer.source, transfer.source_start);
    }
  }
  const std::vector<std::size_t> order = by_target(transfers);
  Size work_left = most_coverage_work;
  std::size_t next = 0;
  for (Size device = 0; device < devices; ++device) {
    std::vector<detail::Box> boxes;
    for (; next < order.size() && transfers[order[next]].target == device; ++next) {
      const Transfer& transfer = transfers[order[next]];
      boxes.push_back({.start = &transfer.target_start, .shape = &transfer.shape});
    }
    const auto found = detail::first_not_covered_once(after, std::move(boxes), work_left);
    if (!found) return Refusal{.reason = Reason::limit, .device = std::nullopt};
    if (*found) return fault(device, **found);
  }
  return std::nullopt;
}

/// What a step does to the tile's extents.
struct Change {
  std::optional<std::size_t> divided;
  std::optional<std::size_t> multiplied;
  Size factor = 1;
};

Change change_of(const Step& step) {
  if (const auto* dynslice = std::get_if<Dynslice>(&step.op)) {
    return {.divided = dynslice->dim, .multiplied = std::nullopt, .factor = group_size(*dynslice)};
  }
  if (const auto* allgather = std::get_if<Allgather>(&step.op)) {
    return {.divided = std::nullopt,
            .multiplied = allgather->dim,
            .factor = allgather->groups.columns()};
  }
  if (const auto* alltoall = std::get_if<Alltoall>(&step.op)) {
    return {.divided = alltoall->split,
            .multiplied = alltoall->concat,
            .factor = alltoall->groups.columns()};
  }
  return {};
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

bool is_identity(const DeviceTable& source) {
  if (const IotaChain* chain = source.chain()) {
    const IotaChain simplified = chain->simplified();
    if (simplified.stages().empty()) return true;
    if (simplified.stages().size() == 1) return is_identity(simplified.stages().front());
    // Several stages that could not be merged may still undo each other.
    for (Size device = 0; device < simplified.size(); ++device) {
      if (simplified.at(device) != device) return false;
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

bool well_made(const Step& step, std::size_t rank, Size devices) {
  if (const auto* slice = std::get_if<Dynslice>(&step.op)) {
    if (slice->dim >= rank) return false;
    if (const auto* list = std::get_if<PartList>(&slice->pieces)) {
      return list->parts >= 1 && list->part.size() == devices && in_range(list->part, list->parts);
    }
    return in_range(std::get<DeviceTable>(slice->pieces), devices);
  }
  if (const auto* gather = std::get_if<Allgather>(&step.op)) {
    return gather->dim < rank && in_range(gather->groups, devices);
  }
  if (const auto* alltoall = std::get_if<Alltoall>(&step.op)) {
    return alltoall->split < rank && alltoall->concat < rank && in_range(alltoall->groups, devices);
  }
  if (const auto* exchange = std::get_if<Exchange>(&step.op)) {
    const auto is_shape = [rank](const Shape& shape) {
      return shape.size() == rank &&
             std::all_of(shape.begin(), shape.end(), [](Size extent) { return extent >= 1; });
    };
    const auto is_start = [rank](const Shape& start) {
      return start.size() == rank &&
             std::all_of(start.begin(), start.end(), [](Size offset) { return offset >= 0; });
    };
    const auto exists = [devices](Size device) { return device >= 0 && device < devices; };
    return step.claims.tile && is_shape(*step.claims.tile) &&
           std::all_of(exchange->transfers.begin(), exchange->transfers.end(),
                       [&](const Transfer& transfer) {
                         return exists(transfer.target) && exists(transfer.source) &&
                                is_start(transfer.target_start) &&
                                is_start(transfer.source_start) && is_shape(transfer.shape);
                       });
  }
  const auto& permute = std::get<Allpermute>(step.op);
  if (const auto* list = std::get_if<DeviceTable>(&permute.source)) return in_range(*list, devices);
  const auto& pairs = std::get<PairList>(permute.source);
  return std::all_of(pairs.begin(), pairs.end(), [&](const std::array<Size, 2>& pair) {
    return pair[0] >= 0 && pair[0] < devices && pair[1] >= 0 && pair[1] < devices;
  });
}

tl::expected<Shape, Refusal> shape_after(const Step& step, const Shape& tile, Size devices) {
  const Refusal overflow{.reason = Reason::limit, .device = std::nullopt};
  if (const auto* exchange = std::get_if<Exchange>(&step.op)) {
    RETILE_ASSERT(step.claims.tile && step.claims.tile->size() == tile.size(),
                  "an exchange says the shape of the new tiles");
    const Shape& after = *step.claims.tile;
    if (!checked_product(after)) return tl::unexpected(overflow);
    if (auto refusal = check_transfers(exchange->transfers, tile, after, devices)) {
      return tl::unexpected(*std::move(refusal));
    }
    return after;
  }
  if (auto refusal = check_table(step, devices)) return tl::unexpected(*std::move(refusal));
  const Change change = change_of(step);
  Shape out = tile;
  if (change.divided) {
    RETILE_ASSERT(*change.divided < tile.size(), "dimensions of a Program are below its rank");
    Size& extent = out[*change.divided];
    if (extent % change.factor != 0) {
      return tl::unexpected(Refusal{.reason = Reason::indivisible, .device = std::nullopt});
    }
    extent /= change.factor;
  }
  if (change.multiplied) {
    RETILE_ASSERT(*change.multiplied < tile.size(), "dimensions of a Program are below its rank");
    const auto extent = checked_mul(out[*change.multiplied], change.factor);
    if (!extent) return tl::unexpected(overflow);
    out[*change.multiplied] = *extent;
  }
  if (!checked_product(out)) return tl::unexpected(overflow);
  return out;
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

Size group_size(const Dynslice& step) {
  if (const auto* groups = std::get_if<DeviceTable>(&step.pieces)) return groups->columns();
  return std::get<PartList>(step.pieces).parts;
}

Size piece_of(const Dynslice& step, Size device) {
  if (const auto* groups = std::get_if<DeviceTable>(&step.pieces)) {
    return find_position(*groups, device) % groups->columns();
  }
  return std::get<PartList>(step.pieces).part.at(device);
}

std::vector<Size> sources(const Allpermute& step, Size devices) {
  if (const auto* table = std::get_if<DeviceTable>(&step.source)) return table->entries();
  std::vector<Size> out(static_cast<std::size_t>(devices));
  std::iota(out.begin(), out.end(), Size{0});
  for (const auto& [source, target] : std::get<PairList>(step.source)) {
    out[static_cast<std::size_t>(target)] = source;
  }
  return out;
}

bool moves_nothing(const Step& step, Size /*devices*/) {
  if (const auto* allpermute = std::get_if<Allpermute>(&step.op)) {
    if (const auto* table = std::get_if<DeviceTable>(&allpermute->source))
      return is_identity(*table);
    const auto& pairs = std::get<PairList>(allpermute->source);
    return std::all_of(pairs.begin(), pairs.end(),
                       [](const auto& pair) { return pair[0] == pair[1]; });
  }
  if (const auto* exchange = std::get_if<Exchange>(&step.op)) {
    return std::all_of(exchange->transfers.begin(), exchange->transfers.end(),
                       [](const Transfer& transfer) { return transfer.source == transfer.target; });
  }
  return change_of(step).factor == 1;
}

Size step_cost(const Step& step, Size before, Size after, Size devices) {
  if (std::holds_alternative<Dynslice>(step.op) || moves_nothing(step, devices)) return 0;
  const bool grows =
      std::holds_alternative<Allgather>(step.op) || std::holds_alternative<Exchange>(step.op);
  return grows ? after : before;
}

}  // namespace retile
