#include "retile/foreign/mlir/along.h"

#include <algorithm>

namespace retile::foreign::mlir {

Size device_at(const PlacedMesh& mesh, Size position) {
  return mesh.order ? mesh.order->at(position) : position;
}

Size number_at(Size position, const std::vector<Digit>& digits) {
  Size out = 0;
  Size scale = 1;
  for (const Digit& digit : digits) {
    out += position / digit.stride % digit.size * scale;
    scale *= digit.size;
  }
  return out;
}

Groups groups_along(const PlacedMesh& mesh, const std::vector<Digit>& digits) {
  std::vector<Digit> minor_first(digits.rbegin(), digits.rend());
  const Size members = product_of(minor_first);
  Groups out;
  for (Size position = 0; position < mesh.mesh.device_count(); ++position) {
    if (number_at(position, minor_first) != 0) continue;
    std::vector<Size>& group = out.emplace_back();
    for (Size member = 0; member < members; ++member) {
      Size at = position;
      Size rest = member;
      for (const Digit& digit : minor_first) {
        at += rest % digit.size * digit.stride;
        rest /= digit.size;
      }
      group.push_back(device_at(mesh, at));
    }
  }
  return out;
}

Shape Spread::tile() const {
  Shape out;
  for (std::size_t k = 0; k < global.size(); ++k) out.push_back(tile(k));
  return out;
}

Spread spread_of(const Sharding& sharding, const Shape& global) {
  const Mesh& mesh = sharding.mesh.mesh;
  Spread out{.mesh = sharding.mesh, .global = global, .dims = {}, .addition = sharding.addition};
  const auto digits = [&](const std::vector<AxisPart>& parts) {
    std::vector<Digit> list;
    for (const AxisPart& part : parts) {
      const auto digit = digit_of(mesh, part);
      if (digit && digit->size > 1) list.push_back(*digit);
    }
    return merged(list);
  };
  for (const CutDim& dim : sharding.dims) out.dims.push_back(digits(dim.parts));
  out.addends = digits(sharding.addends);
  return out;
}

std::optional<Layout> layout_of(const Spread& spread) {
  std::vector<Cuts> cuts;
  for (std::size_t k = 0; k < spread.global.size(); ++k) {
    cuts.push_back(Cuts::blocks(spread.tile(k), spread.count(k), spread.global[k]));
  }
  auto out = Layout::numbered(spread.mesh.mesh.device_count(), std::move(cuts), spread.dims);
  if (!out) return std::nullopt;
  if (!spread.addends.empty()) {
    out = out->with_addends(spread.addition, spread.addends);
    if (!out) return std::nullopt;
  }
  return out->placed(spread.mesh.order, spread.mesh.devices());
}

bool take_minor(std::vector<Digit>& from, const std::vector<Digit>& digits) {
  std::vector<Digit> rest = from;
  for (Digit digit : digits) {
    while (digit.size > 1) {
      if (rest.empty() || rest.front().stride != digit.stride) return false;
      Digit& first = rest.front();
      const Size take = std::min(first.size, digit.size);
      if (first.size % take != 0 || digit.size % take != 0) return false;
      digit = {digit.stride * take, digit.size / take};
      if (take == first.size) {
        rest.erase(rest.begin());
      } else {
        first = {first.stride * take, first.size / take};
      }
    }
  }
  from = std::move(rest);
  return true;
}

bool take_out(std::vector<Digit>& from, const std::vector<Digit>& digits) {
  std::vector<Digit> rest = from;
  for (Digit digit : digits) {
    while (digit.size > 1) {
      const auto holder = std::find_if(rest.begin(), rest.end(), [&](const Digit& one) {
        return digit.stride >= one.stride && digit.stride < one.stride * one.size;
      });
      if (holder == rest.end() || digit.stride % holder->stride != 0) return false;
      const Size below = digit.stride / holder->stride;
      if (holder->size % below != 0) return false;
      const Size room = holder->size / below;
      const Size take = std::min(room, digit.size);
      if (room % take != 0 || digit.size % take != 0) return false;
      const Digit low{holder->stride, below};
      const Digit high{digit.stride * take, room / take};
      digit = {digit.stride * take, digit.size / take};
      auto at = rest.erase(holder);
      if (high.size > 1) at = rest.insert(at, high);
      if (low.size > 1) rest.insert(at, low);
    }
  }
  from = std::move(rest);
  return true;
}

std::vector<Digit> merged(const std::vector<Digit>& digits) {
  std::vector<Digit> out;
  for (const Digit& digit : digits) {
    if (digit.size == 1) continue;
    if (!out.empty() && out.back().stride * out.back().size == digit.stride) {
      out.back().size *= digit.size;
    } else {
      out.push_back(digit);
    }
  }
  return out;
}

}  // namespace retile::foreign::mlir
