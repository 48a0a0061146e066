#include "retile/foreign/coarse.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "retile/core/index.h"
#include "retile/core/walk.h"
#include "retile/foreign/numbers.h"
#include "retile/foreign/typing.h"

namespace retile::foreign {
namespace {

/// Of an iota on strips.
constexpr Size most_numbers = Size{1} << 24;

bool has_place(const Shape& extents) {
  return std::find(extents.begin(), extents.end(), 0) == extents.end();
}

/// Says of all operations which stretches are the same.
class Ties {
 public:
  Ties(const Function& function, const Layout& from, const Numbers& numbers, Coarse& out)
      : function_(function),
        from_(from),
        numbers_(numbers),
        moved_(values_of_parameter(function, false)),
        strips_(out.strips),
        dims_(out.dims),
        array_(out.array) {
    for (const Size extent : from.global()) array_.push_back(strips_.add(extent));
    for (const Value& value : function.values) {
      auto& dims = dims_.emplace_back();
      for (const Size extent : value.type.extents) dims.push_back(strips_.add(extent));
    }
  }

  void tie(const Layout& to) {
    for (const Operation& operation : function_.operations) {
      operation_ = &operation;
      tied_.clear();
      const bool takes_empty = std::holds_alternative<Constant>(operation.action) ||
                               std::holds_alternative<Assemble>(operation.action);
      if (!takes_empty) are_not_empty();
      std::visit([this](const auto& action) { this->rule(action); }, operation.action);
      for (const ValueId value : operation.results) {
        if (function_.values[value].claim) cut_at(value, *function_.values[value].claim);
      }
    }
    cut_at(function_.results.front(), to);
    for (const PlaceOf& one : numbers_.changes) strips_.cut(dims_[one.value][one.dim], one.place);
    for (const PlaceOf& one : numbers_.looked_at) each(one.value, one.dim);
  }

 private:
  [[nodiscard]] ValueId operand(std::size_t k = 0) const { return operation_->operands[k]; }
  [[nodiscard]] ValueId result(std::size_t k = 0) const { return operation_->results[k]; }
  [[nodiscard]] const Shape& extents(ValueId value) const {
    return function_.values[value].type.extents;
  }
  void are_not_empty() const {
    for (const auto* values : {&operation_->operands, &operation_->results}) {
      for (const ValueId value : *values) {
        if (!has_place(extents(value))) throw TooFine{};
      }
    }
  }

  /// A stretch of dimension k of one value, and of dimension m of another.
  void tie(ValueId one, std::size_t k, Size at, ValueId other, std::size_t m, Size to,
           Size extent) {
    tie_once(dims_[one][k], at, dims_[other][m], to, extent, moved_[one] && moved_[other]);
  }
  /// Though many boxes may have the same stretch.
  void tie_once(DimId one, Size at, DimId other, Size to, Size extent, bool moved) {
    if (tied_.emplace(one, at, other, to, extent).second) {
      strips_.tie(one, at, other, to, extent, moved);
    }
  }
  void tie_all(ValueId one, std::size_t k, ValueId other, std::size_t m) {
    tie(one, k, 0, other, m, 0, extents(one)[k]);
  }
  /// Two values of the same extents, but for a dimension.
  void alike(ValueId one, ValueId other, std::optional<std::size_t> but = {}) {
    if (one == other) return;
    for (std::size_t k = 0; k < extents(one).size(); ++k) {
      if (k != but) tie_all(one, k, other, k);
    }
  }
  /// A box of one value is a box of the other.
  void box(ValueId one, const Shape& at, ValueId other, const Shape& to, const Shape& box) {
    if (!has_place(box)) return;
    for (std::size_t k = 0; k < box.size(); ++k) tie(one, k, at[k], other, k, to[k], box[k]);
  }
  /// A box that begins at one of these places is all of the other value.
  void boxes(ValueId one, const std::vector<Shape>& starts, ValueId other) {
    const std::set<Shape> different(starts.begin(), starts.end());
    const Shape& all = extents(other);
    for (const Shape& start : different) box(one, start, other, Shape(all.size(), 0), all);
  }
  /// All operands and results are alike.
  void all_alike() {
    members_alike();
    alike(operand(), result());
  }
  void members_alike() {
    for (const auto* values : {&operation_->operands, &operation_->results}) {
      for (const ValueId value : *values) alike(values->front(), value);
    }
  }
  void each(ValueId value, std::size_t k) { strips_.cut_everywhere(dims_[value][k]); }

  void cut_at(ValueId value, const Layout& layout) {
    const Shape& all = extents(value);
    if (all != layout.tile()) return;
    const std::vector<Box> boxes = layout.boxes();
    for (std::size_t k = 0; k < all.size(); ++k) {
      std::set<Size> places;
      for (const Box& box : boxes) {
        if (!box.is_empty()) places.insert(box.extent[k]);
      }
      places.erase(all[k]);
      for (const Size place : places) strips_.cut(dims_[value][k], place);
    }
  }

  void rule(const Parameter&) {
    std::set<std::pair<Shape, Shape>> seen;
    std::vector<Box> boxes = from_.boxes();
    const auto& device = function_.values[result()].device;
    if (device) boxes = {boxes[index(*device)]};
    for (const Box& box : boxes) {
      if (box.is_empty() || !seen.emplace(box.at, box.extent).second) continue;
      for (std::size_t k = 0; k < box.at.size(); ++k) {
        tie_once(array_[k], box.at[k], dims_[result()][k], 0, box.extent[k], true);
      }
    }
  }
  void rule(const Constant& action) {
    if (action.numbers.size() == 1) return;
    for (std::size_t k = 0; k < extents(result()).size(); ++k) each(result(), k);
  }
  void rule(const PerDevice&) {}
  void rule(const Iota& action) {
    // Of numbers that count what looks at them says where.
    if (!numbers_.countings[result()]) each(result(), action.dim);
  }
  void rule(const Same&) { all_alike(); }
  void rule(const Convert&) { all_alike(); }
  void rule(const Calculate&) { all_alike(); }
  void rule(const Compare&) { all_alike(); }
  void rule(const AllReduce&) { all_alike(); }
  void rule(const CollectivePermute& action) {
    if (!is_apart()) return all_alike();
    for (const auto& [source, target] : action.pairs) {
      alike(operand(index(source)), result(index(target)));
    }
  }
  /// Whether operands and results are those of members, each on its own device.
  [[nodiscard]] bool is_apart() const { return operation_->operands.size() > 1; }
  void rule(const Select&) { with_scalars(); }
  void rule(const Clamp&) { with_scalars(); }
  void with_scalars() {
    for (const ValueId value : operation_->operands) {
      if (!extents(value).empty()) alike(value, result());
    }
  }
  void rule(const Transpose& action) {
    for (std::size_t k = 0; k < action.permutation.size(); ++k) {
      tie_all(operand(), action.permutation[k], result(), k);
    }
  }
  void rule(const Broadcast& action) {
    for (std::size_t k = 0; k < action.dims.size(); ++k) {
      if (extents(operand())[k] != 1) tie_all(operand(), k, result(), action.dims[k]);
    }
  }
  void rule(const Reverse& action) {
    alike(operand(), result());
    for (const std::size_t k : action.dims) each(result(), k);
  }
  void rule(const Slice& action) {
    for (std::size_t k = 0; k < extents(result()).size(); ++k) {
      const Size extent = extents(result())[k];
      if (extent == 1 || action.stride[k] == 1) {
        tie(operand(), k, action.start[k], result(), k, 0, extent);
      } else {
        each(operand(), k);
        each(result(), k);
      }
    }
  }
  void rule(const Pad& action) {
    for (std::size_t k = 0; k < extents(result()).size(); ++k) {
      const Size all = extents(operand())[k];
      const Size low = action.low[k];
      if (action.interior[k] != 0 && all > 1) {
        each(operand(), k);
        each(result(), k);
        continue;
      }
      const Size begin = std::max<Size>(-low, 0);
      const Size end = std::min(all, extents(result())[k] - low);
      if (begin >= end) throw TooFine{};
      tie(operand(), k, begin, result(), k, std::max<Size>(low, 0), end - begin);
    }
  }
  void rule(const Concatenate& action) {
    Size begin = 0;
    for (const ValueId value : operation_->operands) {
      alike(value, result(), action.dim);
      const Size extent = extents(value)[action.dim];
      tie(value, action.dim, 0, result(), action.dim, begin, extent);
      begin += extent;
    }
  }
  void rule(const DynamicSlice&) { boxes(operand(), numbers_.starts.at(operation_), result()); }
  void rule(const DynamicUpdateSlice&) {
    alike(operand(), result());
    boxes(result(), numbers_.starts.at(operation_), operand(1));
  }
  /// Parts of `one`, one behind the other along a dimension, are each all of the other value.
  void parts(ValueId one, std::size_t k, ValueId other, std::size_t m, Size extent) {
    for (Size at = 0; at < extents(one)[k]; at += extent) tie(one, k, at, other, m, 0, extent);
  }
  // Members of a group have values of the same coarse extents.
  void rule(const AllGather& action) {
    members_alike();
    alike(result(), operand(), action.dim);
    parts(result(), action.dim, operand(), action.dim, extents(operand())[action.dim]);
  }
  void rule(const ReduceScatter& action) {
    members_alike();
    alike(result(), operand(), action.dim);
    parts(operand(), action.dim, result(), action.dim, extents(result())[action.dim]);
  }
  void rule(const AllToAll& action) {
    if (operation_->operands.size() > 1) return all_alike();
    const auto n = static_cast<Size>(action.groups.front().size());
    const std::size_t split = action.split;
    const std::size_t concat = action.concat;
    for (std::size_t k = 0; k < extents(result()).size(); ++k) {
      if (k != split && k != concat) tie_all(operand(), k, result(), k);
    }
    const Size part = extents(operand())[split] / n;
    parts(operand(), split, result(), split, part);
    if (split == concat) return parts(result(), split, operand(), split, part);
    parts(result(), concat, operand(), concat, extents(operand())[concat]);
  }
  void rule(const TakeBox& action) {
    const std::set<Shape> starts(action.starts.begin(), action.starts.end());
    for (const Shape& start : starts) {
      Shape rest = extents(result());
      for (std::size_t k = 0; k < rest.size(); ++k) {
        rest[k] = std::min(rest[k], extents(operand())[k] - start[k]);
      }
      box(operand(), start, result(), Shape(rest.size(), 0), rest);
    }
  }
  void rule(const PutBox& action) {
    std::vector<Shape> starts;
    for (const auto& start : action.starts) {
      if (start) starts.push_back(*start);
    }
    boxes(result(), starts, operand());
  }
  void rule(const Assemble& action) {
    for (std::size_t member = 0; member < action.pieces.size(); ++member) {
      const ValueId made = operation_->results.size() > 1 ? result(member) : result();
      for (const Assemble::Piece& piece : action.pieces[member]) {
        const ValueId source = operand(is_apart() ? index(piece.source) : 0);
        box(source, piece.from, made, piece.to, piece.extents);
      }
    }
  }
  /// Dimensions of both sides are factors of one, as long as they begin and end together.
  void rule(const Reshape&) {
    std::array<std::size_t, 2> end = {extents(operand()).size(), extents(result()).size()};
    while (end[0] > 0 || end[1] > 0) {
      std::array<Size, 2> sizes = {1, 1};
      std::array<std::size_t, 2> begin = end;
      do {
        const std::size_t side = begin[1] > 0 && (sizes[1] < sizes[0] || begin[0] == 0) ? 1 : 0;
        sizes[side] *= extents(side == 0 ? operand() : result())[--begin[side]];
      } while (sizes[0] != sizes[1]);
      group(begin, end, sizes[0]);
      end = begin;
    }
  }
  void group(const std::array<std::size_t, 2>& begin, const std::array<std::size_t, 2>& end,
             Size size) {
    if (size == 1) return;
    if (end[0] - begin[0] == 1 && end[1] - begin[1] == 1) {
      return tie_all(operand(), begin[0], result(), begin[1]);
    }
    const DimId whole = strips_.add(size);
    for (std::size_t side = 0; side < 2; ++side) {
      const ValueId value = side == 0 ? operand() : result();
      Size weight = 1;
      for (std::size_t k = end[side]; k-- > begin[side];) {
        const Size extent = extents(value)[k];
        if (extent > 1) strips_.factor(dims_[value][k], whole, weight, moved_[value]);
        weight *= extent;
      }
    }
  }

  const Function& function_;
  const Layout& from_;
  const Numbers& numbers_;
  std::vector<bool> moved_;
  Strips& strips_;
  std::vector<std::vector<DimId>>& dims_;
  std::vector<DimId>& array_;
  const Operation* operation_ = nullptr;
  std::set<std::tuple<DimId, Size, DimId, Size, Size>> tied_;  // of this operation
};

/// Writes the function with coarse extents.
class Coarsener {
 public:
  Coarsener(const Function& function, const Numbers& numbers, Coarse& out)
      : function_(function), numbers_(numbers), out_(out) {}

  void write(const Layout& from) {
    out_.function.devices = function_.devices;
    out_.function.ranks = function_.ranks;
    out_.function.parameters = function_.parameters;
    out_.function.results = function_.results;
    out_.function.values = function_.values;
    for (ValueId value = 0; value < function_.values.size(); ++value) {
      out_.function.values[value].type.extents = left(value);
    }
    for (const Operation& operation : function_.operations) {
      operation_ = &operation;
      Operation next = operation;
      std::visit([&](auto& action) { this->rule(action, next); }, next.action);
      out_.function.operations.push_back(std::move(next));
    }
    write_start(from);
  }

 private:
  [[nodiscard]] ValueId operand(std::size_t k = 0) const { return operation_->operands[k]; }
  [[nodiscard]] ValueId result() const { return operation_->results[0]; }
  [[nodiscard]] Shape left(ValueId value) const {
    Shape out;
    for (const DimId dim : out_.dims[value]) out.push_back(out_.strips.count(dim));
    return out;
  }
  [[nodiscard]] Size before(ValueId value, std::size_t k, Size place) const {
    return out_.strips.before(out_.dims[value][k], place);
  }
  [[nodiscard]] Shape before(ValueId value, const Shape& place) const {
    Shape out;
    for (std::size_t k = 0; k < place.size(); ++k) out.push_back(before(value, k, place[k]));
    return out;
  }

  template <typename Other>
  void rule(Other&, Operation&) {}
  /// In every strip the number of its first place.
  void rule(Iota& action, Operation& next) {
    if (!numbers_.countings[result()]) return;  // no strips
    const Shape extents = left(result());
    const std::size_t dim = action.dim;
    if (checked_product(extents).value_or(most_numbers) >= most_numbers) throw TooFine{};
    Constant numbers;
    for_box(extents, [&](const Shape& at) {
      numbers.numbers.push_back(out_.strips.first(out_.dims[result()][dim], at[dim]));
    });
    next.action = std::move(numbers);
  }
  void rule(Slice& action, Operation&) {
    for (std::size_t k = 0; k < action.start.size(); ++k) {
      const Size extent = function_.values[result()].type.extents[k];
      if (extent != 1 && action.stride[k] != 1) continue;  // no strips
      action.start[k] = before(operand(), k, action.start[k]);
      action.limit[k] = action.start[k] + out_.strips.count(out_.dims[result()][k]);
      action.stride[k] = 1;
    }
  }
  void rule(Pad& action, Operation&) {
    const Shape old = left(operand());
    const Shape made = left(result());
    for (std::size_t k = 0; k < action.low.size(); ++k) {
      Size& low = action.low[k];
      if (action.interior[k] != 0 && function_.values[operand()].type.extents[k] > 1) continue;
      low = low < 0 ? -before(operand(), k, -low) : before(result(), k, low);
      action.interior[k] = 0;
      action.high[k] = made[k] - old[k] - low;
    }
  }
  void rule(DynamicSlice& action, Operation& next) {
    action.sizes = left(result());
    put_starts(operand(), 1, next);
  }
  void rule(DynamicUpdateSlice&, Operation& next) { put_starts(result(), 2, next); }
  /// Offsets of every device, in place of those that were evaluated.
  void put_starts(ValueId array, std::size_t first, Operation& next) {
    const std::vector<Shape>& starts = numbers_.starts.at(operation_);
    for (std::size_t k = 0; k < out_.dims[array].size(); ++k) {
      PerDevice numbers;
      for (const Shape& start : starts) numbers.numbers.push_back(before(array, k, start[k]));
      next.operands[first + k] = out_.function.values.size();
      out_.function.values.push_back(
          {.name = "", .type = {.element = "s64", .extents = {}}, .place = operation_->place});
      out_.function.operations.push_back({.action = std::move(numbers),
                                          .name = "",
                                          .place = operation_->place,
                                          .operands = {},
                                          .results = {next.operands[first + k]}});
    }
  }
  void rule(TakeBox& action, Operation&) {
    const Shape& all = function_.values[operand()].type.extents;
    const Shape behind = left(operand());
    for (Shape& start : action.starts) {
      bool is_behind = false;
      for (std::size_t k = 0; k < start.size(); ++k) is_behind = is_behind || start[k] == all[k];
      start = is_behind ? behind : before(operand(), start);
    }
  }
  void rule(PutBox& action, Operation&) {
    for (auto& start : action.starts) {
      if (start) start = before(result(), *start);
    }
  }
  void rule(Assemble& action, Operation&) {
    for (std::size_t member = 0; member < action.pieces.size(); ++member) {
      const ValueId made = operation_->results[operation_->results.size() > 1 ? member : 0];
      std::erase_if(action.pieces[member], [](const auto& one) { return !has_place(one.extents); });
      for (Assemble::Piece& piece : action.pieces[member]) {
        const bool apart = operation_->operands.size() > 1;
        const ValueId source = operand(apart ? index(piece.source) : 0);
        piece.from = before(source, piece.from);
        const Shape begin = before(made, piece.to);
        for (std::size_t k = 0; k < begin.size(); ++k) {
          piece.extents[k] = before(made, k, piece.to[k] + piece.extents[k]) - begin[k];
        }
        piece.to = begin;
      }
    }
  }

  void write_start(const Layout& from) {
    out_.start = start_of(from);
    for (Box& box : out_.start.boxes) {
      if (box.is_empty()) {
        box = {.at = Shape(box.at.size(), 0), .extent = Shape(box.at.size(), 0)};
        continue;
      }
      for (std::size_t k = 0; k < box.at.size(); ++k) {
        const Size begin = out_.strips.before(out_.array[k], box.at[k]);
        const Size end = out_.strips.before(out_.array[k], box.at[k] + box.extent[k]);
        box.at[k] = begin;
        box.extent[k] = end - begin;
      }
    }
    for (std::size_t k = 0; k < out_.array.size(); ++k) {
      out_.start.global[k] = out_.strips.count(out_.array[k]);
    }
  }

  const Function& function_;
  const Numbers& numbers_;
  Coarse& out_;
  const Operation* operation_ = nullptr;
};

/// Whether of every value that elements of the array are in at most one digit follows each of the array's.
bool has_one_of_each(const Function& function, const Coarse& coarse) {
  std::set<std::size_t> along;
  const auto each_digit = [&](const std::vector<DimId>& dims, const auto& look) {
    for (const DimId dim : dims) {
      for (std::size_t k = 0; k < coarse.strips.digits(dim); ++k) {
        const DigitId digit{dim, k};
        if (coarse.strips.is_long(digit) && !look(coarse.strips.kin(digit))) return false;
      }
    }
    return true;
  };
  if (!each_digit(coarse.array, [&](std::size_t kin) { return along.insert(kin).second; })) {
    return false;
  }
  const std::vector<bool> moved = values_of_parameter(function, false);
  for (ValueId value = 0; value < function.values.size(); ++value) {
    std::set<std::size_t> own;
    if (!moved[value]) continue;
    const auto is_new = [&](std::size_t kin) {
      return along.count(kin) == 0 || own.insert(kin).second;
    };
    if (!each_digit(coarse.dims[value], is_new)) return false;
  }
  return true;
}

}  // namespace

std::optional<Coarse> coarsened(const Function& function, const Layout& from, const Layout& to,
                                std::size_t most_work) {
  try {
    Coarse out;
    const Numbers numbers = numbers_of(function, from);
    Ties(function, from, numbers, out).tie(to);
    out.strips.close(most_work);
    if (!has_one_of_each(function, out)) return std::nullopt;
    Coarsener(function, numbers, out).write(from);
    for (const Value& value : out.function.values) {
      if (!checked_product(value.type.extents)) return std::nullopt;
    }
    if (!checked_product(out.start.global)) return std::nullopt;
    return out;
  } catch (const TooFine&) {
    return std::nullopt;
  } catch (const LimitReached&) {
    return std::nullopt;
  }
}

CoarsePlaces::CoarsePlaces(const Coarse& coarse, ValueId value)
    : coarse_(coarse), dims_(coarse.dims[value]) {}

Shape CoarsePlaces::left_of(const Shape& extents) const {
  Shape out;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    out.push_back(coarse_.strips.before(dims_[k], extents[k]));
  }
  return out;
}

namespace {

Shape first_places(const Strips& strips, const std::vector<DimId>& dims, const Shape& left) {
  Shape out;
  for (std::size_t k = 0; k < left.size(); ++k) out.push_back(strips.first(dims[k], left[k]));
  return out;
}

Size places_in(const Strips& strips, const std::vector<DimId>& dims, const Shape& left) {
  Size out = 1;
  for (std::size_t k = 0; k < left.size(); ++k) {
    for (std::size_t digit = 0; digit < strips.digits(dims[k]); ++digit) {
      out *= strips.length({dims[k], digit}, left[k]);
    }
  }
  return out;
}

}  // namespace

Shape CoarsePlaces::first(const Shape& left) const {
  return first_places(coarse_.strips, dims_, left);
}
Size CoarsePlaces::size(const Shape& left) const { return places_in(coarse_.strips, dims_, left); }
Shape CoarsePlaces::element(const Shape& coarse_element, const CoarseStep& step) const {
  Shape out = first_places(coarse_.strips, coarse_.array, coarse_element);
  const auto along = step.digit ? array_digit(*step.digit) : std::nullopt;
  if (!along) return out;
  const auto k = index(std::find(coarse_.array.begin(), coarse_.array.end(), along->dim) -
                       coarse_.array.begin());
  if (coarse_.strips.length(*along, coarse_element[k]) > 1) out[k] += coarse_.strips.weight(*along);
  return out;
}
Size CoarsePlaces::element_size(const Shape& coarse_element) const {
  return places_in(coarse_.strips, coarse_.array, coarse_element);
}

std::optional<DigitId> CoarsePlaces::array_digit(DigitId digit) const {
  for (const DimId dim : coarse_.array) {
    for (std::size_t k = 0; k < coarse_.strips.digits(dim); ++k) {
      const DigitId other{dim, k};
      if (coarse_.strips.is_long(other) && coarse_.strips.kin(other) == coarse_.strips.kin(digit)) {
        return other;
      }
    }
  }
  return std::nullopt;
}

std::optional<CoarseStep> CoarsePlaces::step_aside(const Shape& left,
                                                   const Shape& coarse_element) const {
  const Shape begin = element(coarse_element);
  for (std::size_t k = left.size(); k-- > 0;) {
    for (std::size_t digit = 0; digit < coarse_.strips.digits(dims_[k]); ++digit) {
      const DigitId own{dims_[k], digit};
      if (coarse_.strips.length(own, left[k]) == 1) continue;
      CoarseStep out{.digit = own, .place = Shape(left.size(), 0)};
      out.place[k] = coarse_.strips.weight(own);
      Shape end = begin;
      end[k] += out.place[k];
      if (element(coarse_element, out) != end) return out;
    }
  }
  return std::nullopt;
}

}  // namespace retile::foreign
