#include "retile/program/grid.h"

#include <algorithm>
#include <utility>

#include "retile/program/apply.h"

namespace retile {
namespace {

bool fits(std::span<const std::size_t> dims, const Shape& counts, std::size_t rank) {
  return dims.size() == counts.size() &&
         std::all_of(dims.begin(), dims.end(), [rank](std::size_t dim) { return dim < rank; });
}

bool are_counts(const Shape& counts) {
  return !counts.empty() &&
         std::all_of(counts.begin(), counts.end(), [](Size count) { return count >= 1; }) &&
         checked_product(counts);
}

}  // namespace

bool has_grid(const OpFacts& facts, std::size_t rank) {
  const Shape& counts = *facts.counts;
  const bool cuts = facts.kind != CollectiveKind::gather;
  return are_counts(counts) && (!cuts || fits(facts.cuts, counts, rank)) &&
         fits(facts.joins, counts, rank);
}

Shape parts_along(std::span<const std::size_t> dims, const Shape& counts, std::size_t rank) {
  Shape out(rank, 1);
  for (std::size_t k = 0; k < dims.size(); ++k) out[dims[k]] *= counts[k];
  return out;
}

Shape part_along(std::span<const std::size_t> dims, const Shape& counts, std::size_t rank,
                 Size place) {
  Shape out(rank, 0);
  Shape weight(rank, 1);  // of the next digit of a dimension, from the fastest on
  for (std::size_t k = dims.size(); k-- > 0; place /= counts[k]) {
    out[dims[k]] += place % counts[k] * weight[dims[k]];
    weight[dims[k]] *= counts[k];
  }
  return out;
}

bool divides(const Shape& parts, const Shape& tile) {
  for (std::size_t k = 0; k < tile.size(); ++k) {
    if (tile[k] % parts[k] != 0) return false;
  }
  return true;
}

std::optional<Shape> tile_over(const OpFacts& facts, const Shape& tile) {
  const Shape cuts = parts_along(facts.cuts, *facts.counts, tile.size());
  const Shape joins = parts_along(facts.joins, *facts.counts, tile.size());
  Shape out = tile;
  for (std::size_t k = 0; k < out.size(); ++k) {
    const auto extent = checked_mul(out[k] / cuts[k], joins[k]);
    if (!extent) return std::nullopt;
    out[k] = *extent;
  }
  if (!checked_product(out)) return std::nullopt;
  return out;
}

namespace {

/// The digits of a step in an order in which steps of one digit each do what it does: along a dimension
/// that is put together the fastest comes first, along one that is cut the slowest. Nothing where there
/// is none, or where a dimension is both.
std::optional<std::vector<std::size_t>> one_by_one(std::span<const std::size_t> cuts,
                                                   std::span<const std::size_t> joins,
                                                   const Shape& counts) {
  std::vector<std::size_t> left;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] > 1) left.push_back(k);
  }
  const auto is_after = [&](std::size_t k, std::size_t other) {
    return (joins[k] == joins[other] && k < other) ||
           (!cuts.empty() && cuts[k] == cuts[other] && k > other);
  };
  for (const std::size_t k : left) {
    for (const std::size_t other : left) {
      if (!cuts.empty() && cuts[k] == joins[other]) return std::nullopt;
    }
  }
  std::vector<std::size_t> out;
  while (!left.empty()) {
    const auto next = std::find_if(left.begin(), left.end(), [&](std::size_t k) {
      return std::none_of(left.begin(), left.end(),
                          [&](std::size_t other) { return other != k && is_after(k, other); });
    });
    if (next == left.end()) return std::nullopt;
    out.push_back(*next);
    left.erase(next);
  }
  return out;
}

/// Groups of those members of a row that differ in digit k alone.
DeviceTable along_digit(const DeviceTable& groups, const Shape& counts, std::size_t k) {
  const Size members = checked_product(counts).value();
  if (const IotaChain* chain = groups.chain()) {
    IotaStage stage;
    stage.shape = counts;
    stage.shape.insert(stage.shape.begin(), groups.size() / members);
    for (std::size_t axis = 0; axis < stage.shape.size(); ++axis) {
      if (axis != k + 1) stage.transpose.push_back(axis);
    }
    stage.transpose.push_back(k + 1);
    IotaChain out = *chain;
    out.append(std::move(stage));
    return DeviceTable::iota(out.simplified(), counts[k]);
  }
  Size weight = 1;
  for (std::size_t faster = k + 1; faster < counts.size(); ++faster) weight *= counts[faster];
  std::vector<std::vector<Size>> lists;
  for (const std::vector<Size>& row : groups.to_rows()) {
    for (Size place = 0; place < members; ++place) {
      if (place / weight % counts[k] != 0) continue;
      lists.emplace_back();
      for (Size digit = 0; digit < counts[k]; ++digit) {
        lists.back().push_back(row[static_cast<std::size_t>(place + digit * weight)]);
      }
    }
  }
  return DeviceTable::rows(std::move(lists));
}

/// Whether all rows have as many members as the grid has places.
bool fills_rows(const DeviceTable& groups, const Shape& counts) {
  const auto members = checked_product(counts);
  if (!members || groups.size() % *members != 0) return false;
  if (groups.chain() != nullptr) return groups.columns() == *members;
  const std::vector<std::vector<Size>> lists = groups.to_rows();
  return std::all_of(lists.begin(), lists.end(), [&](const std::vector<Size>& row) {
    return static_cast<Size>(row.size()) == *members;
  });
}

Op along(const OpFacts& facts, std::size_t k) {
  DeviceTable groups = along_digit(*facts.groups, *facts.counts, k);
  if (facts.cuts.empty()) return Allgather{facts.joins[k], std::move(groups)};
  return Alltoall{facts.cuts[k], facts.joins[k], std::move(groups)};
}

/// The steps in the place of one; nothing where there are none.
std::optional<std::vector<Step>> singles(const OpFacts& facts, const Claims& claims) {
  const auto order = one_by_one(facts.cuts, facts.joins, *facts.counts);
  if (!order || order->empty() || !fills_rows(*facts.groups, *facts.counts)) return std::nullopt;
  std::vector<Step> out;
  for (const std::size_t k : *order) out.push_back({along(facts, k), {}});
  out.back().claims = claims;
  return out;
}

}  // namespace

std::optional<AlongOneDim> along_one_dim(const Program& program) {
  const Traits traits = traits_of(program);
  if (!traits.grid || traits.addition || !traits.alike) return std::nullopt;
  AlongOneDim out{program, 0};
  out.program.steps.clear();
  Shape tile = program.from.tile();
  for (const Step& step : program.steps) {
    const OpFacts facts = facts_of(step.op);
    auto instead = facts.counts == nullptr ? std::optional(std::vector<Step>{step})
                                           : singles(facts, step.claims);
    if (!instead) return std::nullopt;
    Size last = 0;
    for (Step& single : *instead) {
      const auto after = shape_after(single, tile, program.devices);
      const auto size = after ? checked_product(*after) : std::nullopt;
      const auto saved = size ? checked_add(out.saved, last) : std::nullopt;
      if (!saved) return std::nullopt;
      // All but the last are saved: an alltoall's tile is as large after it.
      out.saved = *saved;
      last = *size;
      tile = *after;
      out.program.steps.push_back(std::move(single));
    }
  }
  return out;
}

}  // namespace retile
