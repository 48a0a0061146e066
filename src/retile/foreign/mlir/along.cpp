#include "retile/foreign/mlir/along.h"

#include <algorithm>
#include <map>
#include <utility>

#include "retile/core/digits.h"
#include "retile/core/walk.h"

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
    return joined(list);
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

namespace {

/// Pieces of all devices that are written out at most.
constexpr std::size_t most_pieces = std::size_t{1} << 22;

/// The tile numbers of a position, and behind them its addend.
Shape key_of(const Spread& spread, Size position) {
  Shape out;
  for (const std::vector<Digit>& dim : spread.dims) out.push_back(number_at(position, dim));
  out.push_back(number_at(position, spread.addends));
  return out;
}

}  // namespace

std::optional<Assemble> assembly(const Spread& before, const Spread& after) {
  const Size positions = before.mesh.mesh.device_count();
  std::map<Shape, std::vector<Size>> holders;
  for (Size p = 0; p < positions; ++p) holders[key_of(before, p)].push_back(p);
  const std::size_t rank = before.global.size();
  const Shape old = before.tile();
  const Shape fresh = after.tile();
  std::size_t count = 0;
  Assemble out;
  out.pieces.resize(static_cast<std::size_t>(before.mesh.devices()));
  for (Size p = 0; p < positions; ++p) {
    auto& pieces = out.pieces[static_cast<std::size_t>(device_at(before.mesh, p))];
    const Shape key = key_of(after, p);
    Shape begin(rank, 0);
    Shape end(rank, 0);
    Shape first(rank, 0);
    Shape tiles(rank, 0);
    for (std::size_t k = 0; k < rank; ++k) {
      begin[k] = std::min(key[k] * fresh[k], after.global[k]);
      end[k] = std::min(begin[k] + fresh[k], after.global[k]);
      first[k] = begin[k] / old[k];
      tiles[k] = begin[k] == end[k] ? 0 : (end[k] - 1) / old[k] + 1 - first[k];
    }
    const Shape own = key_of(before, p);
    for_box(tiles, [&](Shape tile) {
      if (++count > most_pieces) return;
      for (std::size_t k = 0; k < rank; ++k) tile[k] += first[k];
      Assemble::Piece piece{.source = 0, .from = {}, .to = {}, .extents = {}};
      for (std::size_t k = 0; k < rank; ++k) {
        const Size low = std::max(begin[k], tile[k] * old[k]);
        const Size high = std::min(end[k], (tile[k] + 1) * old[k]);
        piece.from.push_back(low - tile[k] * old[k]);
        piece.to.push_back(low - begin[k]);
        piece.extents.push_back(high - low);
      }
      Shape held = tile;
      held.push_back(own.back());
      const std::vector<Size>& all = holders.at(held);
      const Size source = held == own ? p : all[static_cast<std::size_t>(p) % all.size()];
      piece.source = device_at(before.mesh, source);
      pieces.push_back(std::move(piece));
    });
    if (count > most_pieces) return std::nullopt;
  }
  return out;
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

}  // namespace retile::foreign::mlir
