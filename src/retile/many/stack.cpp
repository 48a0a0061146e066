#include "retile/many/stack.h"

#include <fmt/format.h>

#include <utility>

#include "retile/core/layout_facts.h"

namespace retile::many {
namespace {

Result<Layout> stacked(const Layout& layout, Size count, const std::vector<Size>& at,
                       Size devices) {
  const std::size_t rank = layout.rank() + 1;
  Shape global = layout.global();
  global.insert(global.begin(), count);
  // Who stands at none of these places holds nothing.
  std::vector<Size> begins(static_cast<std::size_t>(devices) * rank);
  std::vector<Size> extents(begins.size());
  for (Size d = 0; d < layout.devices(); ++d) {
    const Box box = layout.box(d);
    if (box.is_empty()) continue;
    const auto row = static_cast<std::size_t>(at[static_cast<std::size_t>(d)]) * rank;
    extents[row] = count;
    for (std::size_t i = 1; i < rank; ++i) {
      begins[row + i] = box.at[i - 1];
      extents[row + i] = box.extent[i - 1];
    }
  }
  return Layout::listed_boxes(devices, std::move(global), std::move(begins), std::move(extents));
}

}  // namespace

Result<Problem> stacked(const Problem& problem, Size count, const std::vector<Size>& at,
                        Size devices) {
  if (const auto why = no_box_each(problem.from, problem.to)) {
    return refuse(Code::unsupported,
                  fmt::format("several arrays are not run at once where {}", *why));
  }
  auto from = stacked(problem.from, count, at, devices);
  if (!from) return refuse(std::move(from.error()));
  auto to = stacked(problem.to, count, at, devices);
  if (!to) return refuse(std::move(to.error()));
  return Problem::make(*std::move(from), *std::move(to));
}

}  // namespace retile::many
