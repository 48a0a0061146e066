// Tile maps. See tile_map.h.
#include "retile/core/tile_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/digits.h"

namespace retile {

namespace {

/// A digit of a dimension, or an unused one (dim == none).
struct Atom {
  Digit digit;
  std::size_t dim;
};
constexpr std::size_t none = static_cast<std::size_t>(-1);

/// All digits and the gaps between them, major to minor; together they are the whole number
/// 0..size-1.
std::vector<Atom> atoms_of(const std::vector<std::vector<Digit>>& digits, Size size) {
  std::vector<Atom> used;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    for (const Digit& digit : digits[i]) used.push_back({digit, i});
  }
  std::sort(used.begin(), used.end(),
            [](const Atom& a, const Atom& b) { return a.digit.stride > b.digit.stride; });
  std::vector<Atom> out;
  Size above = size;  // everything from stride `above` up is listed
  for (const Atom& atom : used) {
    const Size top = atom.digit.stride * atom.digit.size;
    if (above > top) out.push_back({{top, above / top}, none});
    out.push_back(atom);
    above = atom.digit.stride;
  }
  if (above > 1) out.push_back({{1, above}, none});
  return out;
}

}  // namespace

Size product_of(const std::vector<Digit>& digits) {
  Size out = 1;
  for (const Digit& digit : digits) out *= digit.size;
  return out;
}

Result<TileMap> TileMap::make(Size devices, std::vector<std::vector<Digit>> digits) {
  std::vector<Digit> all;
  for (const auto& list : digits) {
    for (const Digit& digit : list) {
      if (digit.stride < 1 || digit.size < 1) {
        return refuse(
            {.code = Code::bad_number,
             .message = fmt::format("a digit's stride and size must be at least 1, not {}:{}",
                                    digit.stride, digit.size)});
      }
      if (digit.size > 1) all.push_back(digit);
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
  for (std::size_t k = 0; k < all.size(); ++k) {
    const auto top = checked_mul(all[k].stride, all[k].size);
    const Size above = k + 1 < all.size() ? all[k + 1].stride : devices;
    if (!top || above % *top != 0) {
      const bool last = k + 1 == all.size();
      return refuse(
          {.code = Code::ill_formed_type,
           .message =
               last ? fmt::format("digit {}:{} reaches past the {} devices or does not divide them",
                                  all[k].stride, all[k].size, devices)
                    : fmt::format("digits {}:{} and {}:{} overlap or do not nest", all[k].stride,
                                  all[k].size, all[k + 1].stride, all[k + 1].size),
           .rule = "WF-TYPE"});
    }
  }
  TileMap out;
  out.devices_ = devices;
  for (auto& list : digits) list = joined(list);
  out.digits_ = std::move(digits);
  out.order_ = IotaChain(devices);
  return out;
}

Size TileMap::count(std::size_t i) const { return product_of(digits_[i]); }

std::vector<Size> TileMap::all_numbers() const {
  const std::size_t count = rank();
  const auto devices = static_cast<std::size_t>(devices_);
  std::vector<Size> over_positions(devices * count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    Size weight = 1;
    for (const Digit& digit : digits_[i]) {
      // The digit is e on the runs [(h*size + e) * stride, + stride): no division in the inner
      // loops.
      Size* entry = over_positions.data() + i;
      const Size periods = devices_ / (digit.stride * digit.size);
      for (Size period = 0; period < periods; ++period) {
        for (Size e = 0; e < digit.size; ++e) {
          const Size add = weight * e;
          for (Size run = 0; run < digit.stride; ++run, entry += count) *entry += add;
        }
      }
      weight *= digit.size;
    }
  }
  if (order_.stages().empty()) return over_positions;
  std::vector<Size> out(over_positions.size());
  const std::vector<Size> device_at = order_.list();
  for (std::size_t v = 0; v < devices; ++v) {
    std::copy_n(
        over_positions.begin() + static_cast<std::ptrdiff_t>(v * count), count,
        out.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(device_at[v]) * count));
  }
  return out;
}

Shape TileMap::numbers(Size device) const {
  RETILE_ASSERT(device >= 0 && device < devices_, "the device exists");
  Shape out(rank(), 0);
  const Size position = is_compact() ? device : order_.inverse().at(device);
  for (std::size_t i = 0; i < rank(); ++i) {
    Size weight = 1;
    for (const Digit& digit : digits_[i]) {
      out[i] += weight * ((position / digit.stride) % digit.size);
      weight *= digit.size;
    }
  }
  return out;
}

bool TileMap::equivalent(const TileMap& other) const {
  if (devices_ != other.devices_ || rank() != other.rank()) return false;
  if (order_ == other.order_ && digits_ == other.digits_) return true;
  // Joined digits of the device number are a normal form: two of them are one function only if they
  // are the same.
  if (is_compact() && other.is_compact()) return false;
  // A few devices tell most maps apart.
  for (Size device = 1; device < devices_; device += device + 1) {
    if (numbers(device) != other.numbers(device)) return false;
  }
  return all_numbers() == other.all_numbers();
}

std::vector<Digit> TileMap::pop(std::size_t i, Size n) {
  RETILE_ASSERT(i < rank() && n >= 1, "the dimension exists");
  RETILE_ASSERT(product_of(digits_[i]) % n == 0, "a popped factor divides the number of tiles");
  const auto cut = [n](const std::vector<Digit>& digits, std::vector<Digit>& popped,
                       std::vector<Digit>& rest) {
    Size left = n;
    for (const Digit& digit : digits) {
      if (left == 1) {
        rest.push_back(digit);
      } else if (left % digit.size == 0) {
        popped.push_back(digit);
        left /= digit.size;
      } else if (digit.size % left == 0) {
        popped.push_back({digit.stride, left});
        rest.push_back({digit.stride * left, digit.size / left});
        left = 1;
      } else {
        return false;
      }
    }
    return true;
  };
  std::vector<Digit> popped;
  std::vector<Digit> rest;
  if (!cut(digits_[i], popped, rest)) {
    // The factor cuts across digits: order the positions so that this dimension's digits are one,
    // minor-most.
    const std::vector<Atom> atoms = atoms_of(digits_, devices_);
    IotaStage stage;
    std::vector<std::vector<Digit>> moved(rank());
    Size stride = devices_;
    for (std::size_t k = 0; k < atoms.size(); ++k) {
      stage.shape.push_back(atoms[k].digit.size);
      if (atoms[k].dim != i) stage.transpose.push_back(k);
    }
    const auto place = [&](std::size_t k) { return stride /= atoms[k].digit.size; };
    std::vector<Size> new_stride(atoms.size());
    for (const std::size_t k : stage.transpose) new_stride[k] = place(k);
    for (auto digit = digits_[i].rbegin(); digit != digits_[i].rend(); ++digit) {
      const auto k = static_cast<std::size_t>(
          std::find_if(atoms.begin(), atoms.end(),
                       [&](const Atom& atom) { return atom.digit == *digit; }) -
          atoms.begin());
      stage.transpose.push_back(k);
      new_stride[k] = place(k);
    }
    for (std::size_t j = 0; j < rank(); ++j) {
      for (const Digit& digit : digits_[j]) {
        const auto k = static_cast<std::size_t>(
            std::find_if(atoms.begin(), atoms.end(),
                         [&](const Atom& atom) { return atom.digit == digit; }) -
            atoms.begin());
        moved[j].push_back({new_stride[k], digit.size});
      }
      moved[j] = joined(moved[j]);
    }
    digits_ = std::move(moved);
    order_.append(std::move(stage));
    order_ = order_.simplified();
    popped.clear();
    rest.clear();
    const bool fits = cut(digits_[i], popped, rest);
    RETILE_ASSERT(fits, "one digit can be cut at any divisor");
  }
  digits_[i] = joined(rest);
  return joined(popped);
}

void TileMap::pull(std::size_t i, const std::vector<Digit>& digits) {
  RETILE_ASSERT(i < rank(), "the dimension exists");
  std::vector<Digit>& list = digits_[i];
  std::vector<Digit> left(digits.rbegin(), digits.rend());
  while (!left.empty()) {
    const Digit part = left.back();
    left.pop_back();
    const auto whole = std::find_if(list.begin(), list.end(), [&part](const Digit& digit) {
      return digit.stride <= part.stride && part.stride < digit.stride * digit.size;
    });
    RETILE_ASSERT(whole != list.end(), "what is pulled is there");
    const Size top = whole->stride * whole->size;
    const Size end = std::min(top, part.stride * part.size);
    RETILE_ASSERT(part.stride % whole->stride == 0 && top % end == 0 && end % part.stride == 0,
                  "what is pulled is a part of digits");
    if (end < part.stride * part.size) left.push_back({end, part.stride * part.size / end});
    const Digit below{whole->stride, part.stride / whole->stride};
    *whole = {end, top / end};
    list.insert(whole, below);
    std::erase_if(list, [](const Digit& digit) { return digit.size == 1; });
  }
  list = joined(list);
}

void TileMap::push(std::size_t i, const std::vector<Digit>& digits) {
  RETILE_ASSERT(i < rank(), "the dimension exists");
  std::vector<Digit> list = digits;
  list.insert(list.end(), digits_[i].begin(), digits_[i].end());
  digits_[i] = joined(list);
}

void TileMap::split(std::size_t i, const std::vector<Size>& counts) {
  RETILE_ASSERT(i < rank() && !counts.empty(), "the dimension becomes some");
  digits_.insert(digits_.begin() + static_cast<std::ptrdiff_t>(i) + 1, counts.size() - 1, {});
  for (std::size_t j = counts.size() - 1; j > 0; --j) push(i + j, pop(i, counts[j]));
  RETILE_ASSERT(count(i) == counts.front(), "all tiles are told apart");
}

std::vector<Digit> TileMap::unused() const {
  std::vector<Digit> out;
  for (const Atom& atom : atoms_of(digits_, devices_)) {
    if (atom.dim == none) out.push_back(atom.digit);
  }
  return out;
}

TileMap TileMap::renamed(const IotaChain& device_at) const {
  RETILE_ASSERT(device_at.size() == devices_, "every device gets a name");
  TileMap out = *this;
  out.order_ =
      device_at == order_ ? IotaChain(devices_) : compose(device_at.inverse(), order_).simplified();
  return out.compacted();
}

TileMap TileMap::compacted() const {
  if (is_compact()) return *this;
  // One stage is a transposition of device digits; used digits that lie within its extents can be
  // said in them.
  const IotaChain order = order_.simplified();
  if (order.stages().size() > 1) return *this;
  TileMap out = *this;
  out.order_ = IotaChain(devices_);
  if (order.stages().empty()) return out;
  // The stage reshapes the device number; its transposed extents, major to minor, make up the
  // position.
  const IotaStage& forward = order.stages().front();
  Shape strides(forward.shape.size(), 1);
  for (std::size_t k = forward.shape.size(); k-- > 1;)
    strides[k - 1] = strides[k] * forward.shape[k];
  struct Piece {
    Size position_stride;
    Digit device;
  };
  std::vector<Piece> pieces;  // minor to major over positions
  Size position_stride = 1;
  for (std::size_t k = forward.shape.size(); k-- > 0;) {
    const std::size_t old = forward.transpose.empty() ? k : forward.transpose[k];
    pieces.push_back({position_stride, {strides[old], forward.shape[old]}});
    position_stride *= forward.shape[old];
  }
  for (auto& list : out.digits_) {
    std::vector<Digit> translated;
    for (const Digit& digit : list) {
      Size stride = digit.stride;
      Size left = digit.size;
      while (left > 1) {
        const auto piece = std::find_if(pieces.rbegin(), pieces.rend(), [stride](const Piece& p) {
          return p.position_stride <= stride;
        });
        RETILE_ASSERT(piece != pieces.rend(), "position 1 belongs to a piece");
        if (stride % piece->position_stride != 0) return *this;
        const Size inside = stride / piece->position_stride;
        if (piece->device.size % inside != 0) return *this;
        const Size room = piece->device.size / inside;
        const Size take = left % room == 0 ? room : left;
        if (room % take != 0) return *this;
        translated.push_back({piece->device.stride * inside, take});
        stride *= take;
        left /= take;
      }
    }
    list = joined(translated);
  }
  return out;
}

}  // namespace retile
