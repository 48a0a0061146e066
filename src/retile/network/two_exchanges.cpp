#include "retile/network/two_exchanges.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "retile/core/division.h"
#include "retile/core/index.h"
#include "retile/core/layout_facts.h"
#include "retile/exec/exchange/direct.h"

namespace retile::network {
namespace {

/// Whether the domains of a level are of successive devices each.
bool are_successive(const Network& network, std::size_t level) {
  const Size size = network.domain_size(level);
  for (std::size_t l = 0; l < level; ++l) {
    for (const Digit& digit : network.levels()[l].digits) {
      if (digit.stride * digit.size > size) return false;
    }
  }
  return true;
}

/// The k-th of so many parts, along the first dimension that is long enough, else the longest; of
/// short ones the last parts are empty.
Box part_of(Box box, Size k, Size parts) {
  auto d = std::find_if(box.extent.begin(), box.extent.end(), [&](Size n) { return n >= parts; });
  if (d == box.extent.end()) d = std::max_element(box.extent.begin(), box.extent.end());
  const Size part = ceil_div(*d, parts);
  const Size begin = std::min(k * part, *d);
  box.at[static_cast<std::size_t>(d - box.extent.begin())] += begin;
  *d = std::min(part, *d - begin);
  return box;
}

/// Who ends with what, by domain and box.
using Sharers = std::map<std::tuple<Size, Shape, Shape>, std::vector<Size>>;

Sharers sharers_of(const Layout& layout, Size domain) {
  Sharers out;
  for (Size d = 0; d < layout.devices(); ++d) {
    Box box = layout.box(d);
    if (!box.is_empty()) {
      out[{d / domain, std::move(box.at), std::move(box.extent)}].push_back(d);
    }
  }
  return out;
}

/// Of those who end with the same box, a part each; nothing where nobody shares.
std::optional<Layout> parts_of(const Layout& to, Size domain) {
  const Sharers all = sharers_of(to, domain);
  const bool is_shared = std::any_of(all.begin(), all.end(),
                                     [](const auto& entry) { return entry.second.size() > 1; });
  if (!is_shared || to.rank() == 0) return std::nullopt;
  const std::size_t rank = to.rank();
  std::vector<Size> at(index(to.devices()) * rank, 0);
  std::vector<Size> extents(at.size(), 0);
  for (const auto& [key, devices] : all) {
    for (std::size_t k = 0; k < devices.size(); ++k) {
      const Box part = part_of({std::get<1>(key), std::get<2>(key)}, static_cast<Size>(k),
                               static_cast<Size>(devices.size()));
      if (part.is_empty()) continue;
      const std::size_t row = index(devices[k]) * rank;
      for (std::size_t d = 0; d < rank; ++d) {
        at[row + d] = part.at[d];
        extents[row + d] = part.extent[d];
      }
    }
  }
  auto out = Layout::listed_boxes(to.devices(), to.global(), std::move(at), std::move(extents));
  if (!out) return std::nullopt;
  return *std::move(out);
}

bool fits(const Layout& before, const Layout& after, std::optional<Size> most) {
  if (!most) return true;
  for (Size d = 0; d < before.devices(); ++d) {
    if (before.tile_size(d) > *most - after.tile_size(d)) return false;
  }
  return true;
}

}  // namespace

std::optional<Program> two_exchanges(const Problem& problem, const Network& network,
                                     std::size_t level, std::optional<Size> most_resident) {
  const Size domain = network.domain_size(level);
  if (domain == 1 || !are_successive(network, level) || no_box_each(problem.from, problem.to) ||
      !check_listed(problem.to.devices(), problem.to.rank())) {
    return std::nullopt;
  }
  const auto parts = parts_of(problem.to, domain);
  if (!parts || !fits(problem.from, *parts, most_resident) ||
      !fits(*parts, problem.to, most_resident)) {
    return std::nullopt;
  }
  Program first = without_steps(problem);
  Program second = first;
  first.to = *parts;
  second.from = *parts;
  auto out = direct(first, {.node_devices = domain});
  auto rest = direct(second, {.node_devices = domain});
  if (!out || !rest) return std::nullopt;
  out->to = problem.to;
  out->steps.push_back(std::move(rest->steps.front()));
  return *std::move(out);
}

}  // namespace retile::network
