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
    text::fail(place, {.code = Code::too_many_devices,
                       .message = fmt::format("at most {} devices, not {}", most_devices, devices_)});
  }
  if (order) order_ = build_order(*order, devices_, devices_);
}

const Mesh& LayoutReader::mesh() const { return axes_->mesh(); }

LocalLayout LayoutReader::read(text::Scanner& scanner) const {
  const TilingDraft draft = read_tiling(scanner, axes_.get(), false);
  Ground ground{.devices = devices_, .version = 2, .positions = devices_};
  const Layout positions = build_tiling(draft, ground);
  ground.order = order_;
  LocalLayout out{build_tiling(draft, ground), {}};
  const std::size_t rank = positions.rank();
  const bool by_position = !draft.is_listed && !draft.root;
  out.extents.resize(static_cast<std::size_t>(devices_) * rank);
  for (Size p = 0; p < devices_; ++p) {
    const Size d = by_position && order_ ? order_->at(p) : p;
    const Shape extents = positions.local_shape(p);
    std::copy(extents.begin(), extents.end(),
              out.extents.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(d) * rank));
  }
  return out;
}

}  // namespace retile::forms
