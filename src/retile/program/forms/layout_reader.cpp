#include "layout_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "axis_table.h"
#include "tilings.h"
#include "values.h"

namespace retile::forms {

LayoutReader::LayoutReader(text::Scanner& scanner, Size most_devices) {
  const std::size_t begin = scanner.next();
  const auto axes = paper::read_axes(scanner, true);
  const text::Place place = scanner.since(begin);
  const auto order = read_order(scanner);
  scanner.expect_end();
  axes_ = std::make_shared<const AxisTable>(axes, place);
  devices_ = axes_->mesh().device_count();
  if (devices_ > most_devices) {
    text::fail(place,
               {.code = Code::too_many_devices,
                .message = fmt::format("at most {} devices, not {}", most_devices, devices_)});
  }
  if (order) order_ = build_order(*order, devices_, devices_);
}

const Mesh& LayoutReader::mesh() const { return axes_->mesh(); }

namespace {

/// Fails where a box does not lie in the array, or is larger than `tile`.
void check_bounds(const TilingDraft& draft, const std::vector<Size>& at,
                  const std::vector<Size>& extents) {
  const Shape& tile = draft.tile.value;
  const Shape& global = draft.global.value;
  bool fits = tile.size() == global.size();
  for (std::size_t e = 0; fits && e < extents.size(); ++e) {
    const std::size_t i = e % global.size();
    fits = extents[e] <= tile[i] && at[e] <= global[i] && extents[e] <= global[i] - at[e];
  }
  if (fits) return;
  text::fail(draft.shapes->place,
             {.code = Code::ill_formed_type,
              .message = "a box is larger than tile, or does not lie in the array"});
}

/// A Program lists zeros for an empty box, a larger text the extents that it has in other dimensions.
/// Puts zeros there; what stood there is the result. And there `tile` may be more than the largest box.
std::vector<Size> empty_boxes_to_zeros(TilingDraft& draft, Size devices) {
  if (!draft.is_listed || !draft.shapes) return {};
  const std::size_t rank = draft.global.value.size();
  check_offset_rows(draft.at, rank, devices);
  check_offset_rows(*draft.shapes, rank, devices, "shapes");
  const std::vector<Size> listed = draft.shapes->value.entries;
  check_bounds(draft, draft.at.value.entries, listed);
  Shape largest(rank, 0);
  for (std::size_t row = 0; row + rank <= listed.size() && rank > 0; row += rank) {
    const auto first = static_cast<std::ptrdiff_t>(row);
    const auto last = first + static_cast<std::ptrdiff_t>(rank);
    const bool is_empty =
        std::find(listed.begin() + first, listed.begin() + last, 0) != listed.begin() + last;
    for (std::size_t i = 0; i < rank && !is_empty; ++i) {
      largest[i] = std::max(largest[i], listed[row + i]);
    }
    if (!is_empty) continue;
    for (auto* entries : {&draft.shapes->value.entries, &draft.at.value.entries}) {
      std::fill(entries->begin() + first, entries->begin() + last, 0);
    }
  }
  draft.tile.value = largest;
  return listed;
}

}  // namespace

LocalLayout LayoutReader::read(text::Scanner& scanner) const {
  TilingDraft draft = read_tiling(scanner, axes_.get(), false);
  std::vector<Size> listed = empty_boxes_to_zeros(draft, devices_);
  Ground ground{.devices = devices_, .version = 2, .positions = devices_};
  const Layout positions = build_tiling(draft, ground);
  ground.order = order_;
  LocalLayout out{build_tiling(draft, ground), {}};
  if (!listed.empty()) {
    out.extents = std::move(listed);
    return out;
  }
  const std::size_t rank = positions.rank();
  const bool by_position = !draft.is_listed && !draft.root;
  out.extents.resize(static_cast<std::size_t>(devices_) * rank);
  for (Size p = 0; p < devices_; ++p) {
    const Size d = by_position && order_ ? order_->at(p) : p;
    const Shape extents = positions.local_shape(p);
    std::copy(
        extents.begin(), extents.end(),
        out.extents.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(d) * rank));
  }
  return out;
}

}  // namespace retile::forms
