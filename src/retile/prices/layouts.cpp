#include "retile/prices/layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "retile/core/division.h"
#include "retile/core/index.h"
#include "retile/core/primes.h"
#include "retile/notation/axes.h"
#include "retile/notation/convert.h"

namespace retile::prices {
namespace {

/// The digits of a device number, minor to major, each of a prime size.
std::vector<Digit> prime_digits(const std::vector<Size>& sizes) {
  std::vector<Digit> out;
  Size stride = 1;
  for (const Size size : sizes) {
    out.push_back({.stride = stride, .size = size});
    stride *= size;
  }
  return out;
}

/// The layout whose tiles these digits count, dimension by dimension, if it has these boxes.
std::optional<Layout> with_digits(const std::vector<Box>& boxes, const Shape& extents,
                                  std::vector<std::vector<Digit>> digits) {
  std::vector<Cuts> cuts;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    Size count = 1;
    for (const Digit& digit : digits[i]) count *= digit.size;
    cuts.push_back(Cuts::blocks(ceil_div(extents[i], count), count, extents[i]));
  }
  const auto devices = static_cast<Size>(boxes.size());
  auto layout = Layout::numbered(devices, std::move(cuts), std::move(digits));
  if (!layout || layout->boxes() != boxes) return std::nullopt;
  return *std::move(layout);
}

/// Who tries which digits count the tiles of which dimension.
class Fitting {
 public:
  Fitting(const std::vector<Box>& boxes, const Shape& extents) : boxes_(boxes), extents_(extents) {}

  [[nodiscard]] std::optional<Layout> layout() const {
    std::vector<Size> sizes;
    for (const PrimePower& power : factorize(static_cast<Size>(boxes_.size()))) {
      sizes.insert(sizes.end(), index(power.exponent), power.prime);
    }
    do {
      const std::vector<Digit> digits = prime_digits(sizes);
      if (auto out = by_offsets(digits)) return out;
      if (auto out = by_trial(digits)) return out;
    } while (std::next_permutation(sizes.begin(), sizes.end()));
    return std::nullopt;
  }

 private:
  /// Where no box is empty, the offset of a device that differs from device 0 in one digit says which
  /// dimension the digit counts, and in which order.
  [[nodiscard]] std::optional<Layout> by_offsets(const std::vector<Digit>& digits) const {
    if (std::any_of(boxes_.begin(), boxes_.end(), std::mem_fn(&Box::is_empty))) return std::nullopt;
    std::vector<std::vector<std::pair<Size, Digit>>> by_weight(extents_.size());
    for (const Digit& digit : digits) {
      const Box& box = boxes_[index(digit.stride)];
      for (std::size_t i = 0; i < extents_.size(); ++i) {
        const Size weight = box.at[i] - boxes_.front().at[i];
        if (weight != 0) by_weight[i].emplace_back(weight, digit);
      }
    }
    std::vector<std::vector<Digit>> out(extents_.size());
    for (std::size_t i = 0; i < extents_.size(); ++i) {
      const auto is_less = [](const auto& a, const auto& b) { return a.first < b.first; };
      std::sort(by_weight[i].begin(), by_weight[i].end(), is_less);
      for (const auto& [weight, digit] : by_weight[i]) out[i].push_back(digit);
    }
    return with_digits(boxes_, extents_, std::move(out));
  }
  /// Else all ways are tried, in the usual order of devices alone: the minor digits count the minor tiles.
  [[nodiscard]] std::optional<Layout> by_trial(const std::vector<Digit>& digits) const {
    constexpr Size most = 4096;
    if (std::none_of(boxes_.begin(), boxes_.end(), std::mem_fn(&Box::is_empty)))
      return std::nullopt;
    const auto choices = static_cast<Size>(extents_.size()) + 1;  // the last: none
    Size ways = 1;
    for (std::size_t k = 0; k < digits.size() && ways <= most; ++k) ways *= choices;
    if (ways > most) return std::nullopt;
    for (Size way = 0; way < ways; ++way) {
      std::vector<std::vector<Digit>> chosen(extents_.size() + 1);
      Size rest = way;
      for (const Digit& digit : digits) {
        chosen[index(rest % choices)].push_back(digit);
        rest /= choices;
      }
      chosen.pop_back();
      if (auto out = with_digits(boxes_, extents_, std::move(chosen))) return out;
    }
    return std::nullopt;
  }

  const std::vector<Box>& boxes_;
  const Shape& extents_;
};

/// A mesh whose axes are these digits, major to minor, with others where none of them counts.
std::optional<Mesh> mesh_of(std::vector<Digit> digits, Size devices) {
  const auto is_major = [](const Digit& a, const Digit& b) { return a.stride > b.stride; };
  std::sort(digits.begin(), digits.end(), is_major);
  std::vector<Axis> axes;
  const auto add = [&](Size size) {
    if (size > 1) axes.push_back({fmt::format("a{}", axes.size()), size});
  };
  Size above = devices;  // what the digits from here on count, and those beside them
  for (const Digit& digit : digits) {
    const Size end = digit.stride * digit.size;
    if (end > above || above % end != 0) return std::nullopt;
    add(above / end);
    add(digit.size);
    above = digit.stride;
  }
  add(above);
  const auto out = Mesh::make(std::move(axes));
  if (!out) return std::nullopt;
  return *out;
}

/// The parts of axes that cut every dimension, minor to major.
std::optional<std::vector<CutDim>> dims_over(const Layout& layout, const Mesh& mesh) {
  std::vector<CutDim> out;
  for (std::size_t i = 0; i < layout.rank(); ++i) {
    auto parts = notation::parts_over(mesh, layout.digits()[i]);
    if (!parts) return std::nullopt;
    out.push_back({.tile = layout.tile()[i],
                   .cuts = {},
                   .parts = *std::move(parts),
                   .global = layout.global()[i]});
  }
  return out;
}

/// `{devices=[2,1]<=[2]}`
std::optional<std::string> table_text(const Layout& layout) {
  std::vector<Digit> digits;
  for (const auto& some : layout.digits()) digits.insert(digits.end(), some.begin(), some.end());
  if (digits.empty()) return "{replicated}";
  const auto mesh = mesh_of(digits, layout.devices());
  if (!mesh) return std::nullopt;
  auto dims = dims_over(layout, *mesh);
  if (!dims) return std::nullopt;
  Sharding sharding{.notation = Notation::hlo, .mesh = {.mesh = *mesh}, .dims = *std::move(dims)};
  sharding.layout = layout;
  auto text = to_text(sharding, ShardingForm::hlo2);
  if (!text) return std::nullopt;
  return text->substr(0, text->find('}') + 1);
}

/// Of devices that are positions of a mesh: these positions as devices.
std::optional<Layout> by_position(const Layout& layout, const PlacedMesh& mesh) {
  if (!mesh.order) return layout;
  std::vector<Box> boxes;
  for (Size p = 0; p < mesh.mesh.device_count(); ++p)
    boxes.push_back(layout.box(mesh.order->at(p)));
  return Fitting(boxes, layout.global()).layout();
}

}  // namespace

Result<Layout> layout_of(const std::vector<Box>& boxes, const Shape& extents) {
  if (auto out = Fitting(boxes, extents).layout()) return *std::move(out);
  std::vector<Size> at;
  std::vector<Size> sizes;
  for (const Box& box : boxes) {
    at.insert(at.end(), box.at.begin(), box.at.end());
    sizes.insert(sizes.end(), box.extent.begin(), box.extent.end());
  }
  return Layout::listed_boxes(static_cast<Size>(boxes.size()), extents, std::move(at),
                              std::move(sizes));
}

std::string layout_text(const Layout& layout, const std::optional<PlacedMesh>& mesh) {
  constexpr const char* no_text = "boxes that no sharding says";
  const bool fits =
      mesh && mesh->devices() == layout.devices() && mesh->mesh.device_count() == layout.devices();
  if (fits) {
    const auto placed = by_position(layout, *mesh);
    const auto dims =
        placed && placed->is_compact() ? dims_over(*placed, mesh->mesh) : std::nullopt;
    if (dims) {
      std::vector<std::string> texts;
      for (const CutDim& dim : *dims) {
        texts.push_back(fmt::format("{{{}}}", axes_text(mesh->mesh, dim.parts, '\'')));
      }
      return fmt::format("[{}]", fmt::join(texts, ", "));
    }
  }
  if (!layout.is_compact()) return no_text;
  return table_text(layout).value_or(no_text);
}

std::optional<std::string> axes_of(const std::vector<std::vector<Size>>& groups,
                                   const PlacedMesh& mesh) {
  const Size devices = mesh.mesh.device_count();
  std::vector<Size> position(index(std::max(devices, mesh.devices())), 0);
  for (Size p = 0; p < devices; ++p) position[index(mesh.order ? mesh.order->at(p) : p)] = p;
  std::vector<std::string> names;
  std::set<std::string> moving;
  for (const Axis& axis : mesh.mesh.axes()) {
    const Digit digit = *mesh.mesh.digit(axis.name);
    for (const std::vector<Size>& group : groups) {
      std::set<Size> places;
      for (const Size device : group) {
        if (device < 0 || index(device) >= position.size()) return std::nullopt;
        places.insert(position[index(device)] / digit.stride % digit.size);
      }
      if (places.size() > 1 && moving.insert(axis.name).second) names.push_back(axis.name);
    }
  }
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace retile::prices
