#include "retile/many/nodes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "retile/core/layout_facts.h"
#include "retile/exec/exchange/direct.h"
#include "retile/program/tile_shapes.h"

namespace retile::many {
namespace {

/// Devices of a node that need one box, and it.
struct Sharers {
  Box box;
  std::vector<Size> devices;
  /// Along which dimension it is cut into slices, all of one length but for the last ones.
  [[nodiscard]] std::size_t dim() const {
    const auto longest = std::max_element(box.extent.begin(), box.extent.end());
    return static_cast<std::size_t>(longest - box.extent.begin());
  }
  /// That of the n-th device.
  [[nodiscard]] Box slice(Size n) const {
    const Size whole = box.extent[dim()];
    const Size members = static_cast<Size>(devices.size());
    const Size length = whole / members + (whole % members > 0 ? 1 : 0);
    const Size begin = std::min(n * length, whole);
    Box out = box;
    out.at[dim()] += begin;
    out.extent[dim()] = std::min(length, whole - begin);
    return out;
  }
};

/// Of all nodes; who needs nothing is in none.
std::vector<Sharers> sharers_of(const Problem& problem, Size node_devices) {
  std::map<std::tuple<Size, Shape, Shape>, std::size_t> known;
  std::vector<Sharers> out;
  for (Size d = 0; d < problem.to.devices(); ++d) {
    Box box = problem.to.box(d);
    if (box.is_empty()) continue;
    const auto [found, is_new] = known.emplace(
        std::tuple(problem.numbers.of(d) / node_devices, box.at, box.extent), out.size());
    if (is_new) out.push_back({std::move(box), {}});
    out[found->second].devices.push_back(d);
  }
  return out;
}

Result<Layout> slices_of(const Problem& problem, const std::vector<Sharers>& all) {
  const std::size_t rank = problem.to.rank();
  std::vector<Size> at(static_cast<std::size_t>(problem.to.devices()) * rank);
  std::vector<Size> extents(at.size());
  for (const Sharers& sharers : all) {
    for (std::size_t n = 0; n < sharers.devices.size(); ++n) {
      const Box slice = sharers.slice(static_cast<Size>(n));
      if (slice.is_empty()) continue;
      const auto row =
          static_cast<std::ptrdiff_t>(sharers.devices[n]) * static_cast<std::ptrdiff_t>(rank);
      std::copy(slice.at.begin(), slice.at.end(), at.begin() + row);
      std::copy(slice.extent.begin(), slice.extent.end(), extents.begin() + row);
    }
  }
  return Layout::listed_boxes(problem.to.devices(), problem.to.global(), std::move(at),
                              std::move(extents));
}

/// Every slice to all devices that share its box.
Step gathering(const Problem& problem, const std::vector<Sharers>& all) {
  Exchange exchange;
  for (const Sharers& sharers : all) {
    for (const Size target : sharers.devices) {
      for (std::size_t n = 0; n < sharers.devices.size(); ++n) {
        const Box slice = sharers.slice(static_cast<Size>(n));
        if (slice.is_empty()) continue;
        Transfer box{target, sharers.devices[n], slice.at, Shape(slice.at.size(), 0), slice.extent};
        for (std::size_t i = 0; i < slice.at.size(); ++i) box.target_start[i] -= sharers.box.at[i];
        exchange.transfers.push_back(std::move(box));
      }
    }
  }
  Claims claims;
  claims.shapes.emplace();
  for (const Shape& shape : shapes_of(problem.to)) {
    claims.shapes->insert(claims.shapes->end(), shape.begin(), shape.end());
  }
  return {std::move(exchange), std::move(claims)};
}

/// Elements of an array that come from other nodes; nothing where they are not counted.
std::optional<Size> crossing(const std::optional<Traffic>& traffic) {
  if (!traffic) return std::nullopt;
  std::optional<Size> out = 0;
  for (const Size elements : traffic->crossed) out = out ? checked_add(*out, elements) : out;
  return out;
}

}  // namespace

Result<std::optional<Program>> by_nodes(const Problem& problem, Size node_devices) {
  if (problem.to.rank() == 0 || no_box_each(problem.from, problem.to)) {
    return std::optional<Program>();
  }
  const std::vector<Sharers> all = sharers_of(problem, node_devices);
  const bool is_shared = std::any_of(all.begin(), all.end(),
                                     [](const Sharers& one) { return one.devices.size() > 1; });
  if (!is_shared) return std::optional<Program>();
  auto slices = slices_of(problem, all);
  if (!slices) return refuse(std::move(slices.error()));
  auto between = Problem::make(problem.from, *std::move(slices));
  if (!between) return refuse(std::move(between.error()));
  between->numbers = problem.numbers;
  auto first = direct(*between, {.node_devices = node_devices});
  if (!first) return refuse(std::move(first.error()));
  Program out = without_steps(problem);
  out.steps.push_back(std::move(first->steps.front()));
  out.steps.push_back(gathering(problem, all));
  return std::optional(std::move(out));
}

Result<void> route_by_nodes(const Arrays& arrays, Schedule& schedule, Size node_devices) {
  schedule.node_devices = node_devices;
  for (std::size_t k = 0; k < arrays.kinds.size(); ++k) {
    const Problem& problem = arrays.kinds[k].problem;
    Way& way = schedule.ways[k];
    if (!way.is_exchange()) continue;
    way.nearest = node_devices;
    const auto made = by_nodes(problem, node_devices);
    if (!made) return refuse(made.error());
    if (!*made) continue;
    const auto before = traffic_of(way, problem, node_devices);
    if (!before) return refuse(before.error());
    const auto crossed = crossing(*before);
    const auto less = crossing(traffic_of(**made, problem, node_devices));
    if (crossed && less && *less < *crossed) way.node_devices = node_devices;
  }
  return {};
}

}  // namespace retile::many
