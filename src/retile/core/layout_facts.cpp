#include "retile/core/layout_facts.h"

#include <map>
#include <utility>

namespace retile {

Result<Layout> addends_as_dimension(const Layout& layout) {
  return layout.addends() ? layout.stacked(layout.addend_count()) : layout;
}

TileMap addend_numbers(const Layout& layout) {
  return layout.addends() ? layout.addends()->numbers
                          : TileMap::make(layout.devices(), {{}}).value();
}

std::vector<Digit> addend_digits(const Layout& layout) {
  return addend_numbers(layout).digits().front();
}

std::optional<Renaming> renamed_to_digits(const Layout& from, const Layout& to) {
  if (from.is_listed() || to.is_listed()) return std::nullopt;
  for (const Layout* end : {&from, &to}) {
    Renaming out{end->order(), from.renamed(end->order()), to.renamed(end->order())};
    if (out.from.is_compact() && out.to.is_compact()) return out;
  }
  return std::nullopt;
}

std::optional<std::string_view> no_box_each(const Layout& from, const Layout& to) {
  if (addition_of(from, to)) return "one of them is a sum";
  if (!from.in_boxes() || !to.in_boxes()) return "a device has several boxes of one";
  return std::nullopt;
}

std::vector<std::size_t> tile_by_device(const Layout& layout) {
  std::vector<Box> boxes;
  std::vector<Size> numbers;
  if (layout.is_listed()) {
    boxes = layout.boxes();
  } else {
    numbers = layout.numbers().all_numbers();
  }
  const std::size_t rank = layout.rank();
  std::map<std::vector<Size>, std::size_t> seen;
  std::vector<std::size_t> out(static_cast<std::size_t>(layout.devices()));
  for (std::size_t d = 0; d < out.size(); ++d) {
    std::vector<Size> tile;
    if (boxes.empty()) {
      const auto row = numbers.begin() + static_cast<std::ptrdiff_t>(d * rank);
      tile.assign(row, row + static_cast<std::ptrdiff_t>(rank));
    } else {
      tile = std::move(boxes[d].at);
      tile.insert(tile.end(), boxes[d].extent.begin(), boxes[d].extent.end());
    }
    out[d] = seen.try_emplace(std::move(tile), seen.size()).first->second;
  }
  return out;
}

std::optional<Size> tiles_in_each(const Cuts& coarse, const Cuts& fine) {
  if (!coarse.is_even() || !fine.is_even() || fine.count() % coarse.count() != 0) {
    return std::nullopt;
  }
  return fine.count() / coarse.count();
}

}  // namespace retile
