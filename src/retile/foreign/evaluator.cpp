#include "retile/foreign/evaluator.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/index.h"
#include "retile/core/walk.h"
#include "retile/foreign/typing.h"
#include "retile/operations/arithmetic.h"
#include "retile/operations/element.h"

namespace retile::foreign {
namespace {

/// What decides what a device gets: which cells it looks at, and numbers.
using Key = std::vector<std::int64_t>;

std::int64_t key_of(const Cells* cells) { return reinterpret_cast<std::intptr_t>(cells); }

/// What the members of a group hold, in their order.
using Held = std::vector<const Block*>;
/// By the cells, which several devices may share.
struct BeforeByCells {
  bool operator()(const Held& a, const Held& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](const Block* one, const Block* other) {
                                          return std::less<>()(one->get(), other->get());
                                        });
  }
};

}  // namespace

/// One operation.
class Stepping {
 public:
  Stepping(Evaluator& evaluator, const Operation& operation)
      : evaluator_(evaluator), function_(evaluator.function_), operation_(operation) {}

  void apply() {
    std::visit([this](const auto& action) { this->rule(action); }, operation_.action);
  }
  [[nodiscard]] std::vector<Shape> all_starts(std::size_t first) const {
    // What is put is the operand before the offsets; what is taken is the result.
    const Shape& box = first > 1 ? operand(first - 1) : result();
    std::vector<Shape> out;
    for (Size device = 0; device < function_.devices; ++device) {
      out.push_back(starts(first, box, device));
    }
    return out;
  }

 private:
  [[nodiscard]] const Shape& operand(std::size_t k) const {
    return function_.values[operation_.operands[k]].type.extents;
  }
  [[nodiscard]] const Shape& result() const { return type().extents; }
  [[nodiscard]] const TileType& type() const {
    return function_.values[operation_.results[0]].type;
  }
  [[nodiscard]] Content content() const {
    return evaluator_.states_[operation_.results[0]].content;
  }
  [[nodiscard]] bool makes_tags() const { return content() == Content::tags; }
  [[nodiscard]] const Block& block(std::size_t k, Size device) const {
    const auto& blocks = evaluator_.states_[operation_.operands[k]].blocks;
    return blocks[blocks.size() == 1 ? 0 : index(device)];
  }
  [[nodiscard]] std::optional<Size> device_of(ValueId value) const {
    return function_.values[value].device;
  }
  [[nodiscard]] std::vector<Block>& out(std::size_t k = 0) {
    const ValueId result = operation_.results[k];
    auto& blocks = evaluator_.states_[result].blocks;
    blocks.resize(device_of(result) ? 1 : index(function_.devices));
    return blocks;
  }
  /// The first device that gets the result.
  [[nodiscard]] Size first() const { return device_of(operation_.results[0]).value_or(0); }
  [[nodiscard]] std::shared_ptr<Cells> fresh(std::int64_t fill, std::size_t k = 0) {
    const Shape& extents = function_.values[operation_.results[k]].type.extents;
    return std::make_shared<Cells>(evaluator_.budget_, content(), count_of(extents), fill);
  }

  // Members of collectives are devices, or operands and results that lie on one device each.

  [[nodiscard]] std::size_t operand_of(Size member) const {
    return device_of(operation_.operands[0]) ? index(member) : 0;
  }
  [[nodiscard]] std::size_t result_of(Size member) const {
    return device_of(operation_.results[0]) ? index(member) : 0;
  }
  [[nodiscard]] const Block& held_by(Size member) const {
    return block(operand_of(member), member);
  }
  [[nodiscard]] Block& made_for(Size member) {
    auto& blocks = out(result_of(member));
    return blocks[blocks.size() == 1 ? 0 : index(member)];
  }
  [[nodiscard]] std::int64_t nought() const { return makes_tags() ? zero_tag : 0; }
  [[nodiscard]] std::int64_t anything() const { return makes_tags() ? undefined_tag : 0; }
  /// 0 as a value of the type: one without zeros has NaN there, and among elements something unknown.
  [[nodiscard]] std::int64_t nought_of_type() const {
    const ElementKind kind = element_kind(type().element);
    if (!kind.is_real() || kind.format->has_zero) return nought();
    return makes_tags() ? undefined_tag : operations::word_of(operations::rounded(0, *kind.format));
  }

  /// For every device what `make` makes, once for all devices that have one key.
  template <typename KeyOf, typename Make>
  void for_all(const KeyOf& key_of_device, const Make& make) {
    auto& blocks = out();
    if (blocks.size() == 1) return static_cast<void>(blocks[0] = make(first()));
    std::map<Key, Block> known;
    std::map<Cells::Numbers, Block> small;
    for (Size device = 0; device < function_.devices; ++device) {
      const auto [place, is_new] = known.try_emplace(key_of_device(device));
      if (is_new) place->second = shared(make(device), small);
      blocks[index(device)] = place->second;
    }
  }
  /// One block of the same few numbers for all who have them.
  static Block shared(Block block, std::map<Cells::Numbers, Block>& small) {
    constexpr std::size_t few = 16;
    if (block->are_tags() || block->numbers().size() > few) return block;
    return small.try_emplace(block->numbers(), block).first->second;
  }
  /// The key of what looks at the device's own operands and nothing else.
  [[nodiscard]] Key operands_of(Size device, std::size_t end) const {
    Key key;
    for (std::size_t k = 0; k < end; ++k) key.push_back(key_of(block(k, device).get()));
    return key;
  }
  template <typename Make>
  void locally(const Make& make) {
    for_all([&](Size device) { return operands_of(device, operation_.operands.size()); }, make);
  }
  void same() {
    auto& blocks = out();
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      blocks[k] = block(0, first() + static_cast<Size>(k));
    }
  }
  void everywhere(const Block& block, std::size_t k = 0) {
    auto& blocks = out(k);
    std::fill(blocks.begin(), blocks.end(), block);
  }

  void rule(const Parameter&) {
    if (evaluator_.start_ != nullptr) return enter(*evaluator_.start_);
    enter(start_of(*evaluator_.from_));
  }
  void enter(const Start& start) {
    for_all(
        [&](Size device) {
          const Box& box = start.boxes[index(device)];
          Key key = box.at;
          key.insert(key.end(), box.extent.begin(), box.extent.end());
          key.push_back(start.addends[index(device)]);
          return key;
        },
        [&](Size device) {
          return entry(start.global, start.boxes[index(device)], start.addends[index(device)]);
        });
  }
  /// The tile of who holds this box.
  Block entry(const Shape& global, const Box& box, Size addend) {
    const auto out = fresh(undefined_tag);
    if (count_of(box.extent) == 0) return out;
    const Shape to = strides_of(result());
    const Shape in_array = strides_of(global);
    Shape rows = box.extent;  // each from its first element on
    Size row = 1;
    for (std::size_t i = rows.size(); i-- > 0;) {
      row *= std::exchange(rows[i], 1);
      // What is whole in the tile and in the array goes on in the next row of both.
      if (box.extent[i] != global[i] || box.extent[i] != result()[i]) break;
    }
    const Size first = addend * count_of(global) + offset_of(box.at, in_array);
    for_box(rows, [&](const Shape& at) {
      const Size offset = offset_of(at, to);
      Tag tag = static_cast<Tag>(first + offset_of(at, in_array));
      for (Size k = 0; k < row; ++k) out->tags()[index(offset + k)] = tag++;
    });
    return out;
  }

  void rule(const Constant& action) {
    const ElementKind kind = element_kind(type().element);
    const Content written = kind.is_real() ? Content::reals : Content::integers;
    const auto cell = [&](std::int64_t word) -> std::int64_t {
      if (makes_tags()) return tag_of(word, written);
      return kind.is_real() ? word : wrapped(word, kind);
    };
    const auto cells = fresh(cell(action.numbers.front()));
    for (std::size_t k = 1; k < action.numbers.size(); ++k) set(*cells, k, cell(action.numbers[k]));
    everywhere(cells);
  }
  void rule(const PerDevice& action) {
    const ElementKind kind = element_kind(type().element);
    for_all([&](Size device) { return Key{action.numbers[index(device)]}; },
            [&](Size device) { return fresh(wrapped(action.numbers[index(device)], kind)); });
  }
  void rule(const Iota& action) {
    const auto cells = fresh(anything());
    const Size stride = strides_of(result())[action.dim];
    const ElementKind kind = element_kind(type().element);
    constexpr ElementKind place = {.form = ElementKind::Form::integer, .bits = 64};
    if (!makes_tags()) {
      for (std::size_t k = 0; k < cells->numbers().size(); ++k) {
        const Size at = static_cast<Size>(k) / stride % result()[action.dim];
        cells->numbers()[k] = operations::converted(at, place, kind);
      }
    }
    everywhere(cells);
  }
  void rule(const Same&) { same(); }
  void rule(const Reshape&) { same(); }
  void rule(const Convert&) {
    const ElementKind from = operand_kind(0);
    const ElementKind to = element_kind(type().element);
    const bool narrows = to.form == ElementKind::Form::integer && to.bits < from.bits;
    if (block(0, 0)->are_tags()) return narrows ? narrowed(to) : same();
    locally([&](Size device) {
      const Cells& old = *block(0, device);
      auto cells = fresh(0);
      for (std::size_t k = 0; k < old.numbers().size(); ++k) {
        const std::int64_t word = old.numbers()[k];
        set(*cells, k,
            makes_tags() ? tag_of(word, old.content()) : operations::converted(word, from, to));
      }
      return cells;
    });
  }
  /// Sums of elements in a type of fewer bits.
  void narrowed(const ElementKind& to) {
    locally([&](Size device) {
      auto cells = fresh(0);
      const Cells::Tags& old = block(0, device)->tags();
      std::transform(old.begin(), old.end(), cells->tags().begin(),
                     [&](Tag tag) { return evaluator_.sums_.within(to, tag); });
      return cells;
    });
  }
  [[nodiscard]] ElementKind operand_kind(std::size_t k) const {
    return element_kind(function_.values[operation_.operands[k]].type.element);
  }

  /// What a device gets whose result is one box of its operand.
  Block box(const Cells& source, const Lane& from) {
    auto cells = fresh(anything());
    copy(source, from, result(), *cells, lane_of(result()));
    return cells;
  }
  void rule(const Transpose& action) {
    const Shape old = strides_of(operand(0));
    Lane from;
    for (const std::size_t dim : action.permutation) from.strides.push_back(old[dim]);
    locally([&](Size device) { return box(*block(0, device), from); });
  }
  void rule(const Slice& action) {
    Lane from = lane_at(action.start, operand(0));
    // A stride beyond the end leaves one element, and may be as large as it likes.
    for (std::size_t k = 0; k < from.strides.size(); ++k) {
      from.strides[k] *= std::min(action.stride[k], operand(0)[k]);
    }
    locally([&](Size device) { return box(*block(0, device), from); });
  }
  void rule(const Reverse& action) {
    Lane from = lane_of(operand(0));
    for (const std::size_t dim : action.dims) {
      from.offset += from.strides[dim] * (operand(0)[dim] - 1);
      from.strides[dim] = -from.strides[dim];
    }
    locally([&](Size device) { return box(*block(0, device), from); });
  }
  void rule(const Broadcast& action) {
    Lane from{.offset = 0, .strides = Shape(result().size(), 0)};
    const Shape old = strides_of(operand(0));
    for (std::size_t k = 0; k < action.dims.size(); ++k) {
      if (operand(0)[k] != 1) from.strides[action.dims[k]] = old[k];
    }
    locally([&](Size device) { return box(*block(0, device), from); });
  }
  void rule(const Pad& action) {
    Shape extents;
    Shape first;
    Shape target;
    Shape steps;
    for (std::size_t k = 0; k < result().size(); ++k) {
      // Element i goes to low + i step; kept are those that do not go below 0 or beyond the end.
      // Between elements that are not there, what is put may be as much as it likes.
      const Size step = operand(0)[k] > 1 ? action.interior[k] + 1 : 1;
      steps.push_back(step);
      const Size begin = action.low[k] >= 0 ? 0 : (-action.low[k] + step - 1) / step;
      const Size space = result()[k] - action.low[k];
      const Size end = std::min(operand(0)[k], space <= 0 ? 0 : (space + step - 1) / step);
      first.push_back(begin);
      extents.push_back(std::max<Size>(end - begin, 0));
      target.push_back(action.low[k] + begin * step);
    }
    const Lane from = lane_at(first, operand(0));
    Lane to = lane_at(target, result());
    for (std::size_t k = 0; k < result().size(); ++k) to.strides[k] *= steps[k];
    locally([&](Size device) {
      auto cells = fresh(cell(*block(1, device), 0));
      copy(*block(0, device), from, extents, *cells, to);
      return cells;
    });
  }
  /// A cell as one of the result.
  [[nodiscard]] std::int64_t cell(const Cells& cells, std::size_t k) const {
    if (cells.are_tags()) return cells.tags()[k];
    return makes_tags() ? tag_of(cells.numbers()[k], cells.content()) : cells.numbers()[k];
  }
  /// Copies all of operand k to a place of the result.
  void put(const Cells& source, const Shape& extents, const Shape& start, Cells& target) const {
    copy(source, lane_of(extents), extents, target, lane_at(start, result()));
  }
  void rule(const Concatenate& action) {
    locally([&](Size device) {
      auto cells = fresh(anything());
      Shape start(result().size(), 0);
      for (std::size_t k = 0; k < operation_.operands.size(); ++k) {
        put(*block(k, device), operand(k), start, *cells);
        start[action.dim] += operand(k)[action.dim];
      }
      return cells;
    });
  }
  /// The offsets of a device from operand `first` on, none below 0, and none so large that a box of
  /// these extents leaves the operand.
  [[nodiscard]] Shape starts(std::size_t first, const Shape& extents, Size device) const {
    Shape out;
    for (std::size_t k = 0; k < extents.size(); ++k) {
      const Size most = operand(0)[k] - extents[k];
      const std::int64_t number = block(first + k, device)->numbers().front();
      const ElementKind kind = operand_kind(first + k);
      const bool huge = !kind.is_signed && number < 0;  // 2^63 and more
      out.push_back(huge ? most : std::clamp<Size>(number, 0, most));
    }
    return out;
  }
  [[nodiscard]] Key with_starts(Size device, std::size_t first, const Shape& extents) const {
    Key key = operands_of(device, first);
    const Shape start = starts(first, extents, device);
    key.insert(key.end(), start.begin(), start.end());
    return key;
  }
  void rule(const DynamicSlice& action) {
    for_all([&](Size device) { return with_starts(device, 1, action.sizes); },
            [&](Size device) {
              return box(*block(0, device), lane_at(starts(1, action.sizes, device), operand(0)));
            });
  }
  void rule(const DynamicUpdateSlice&) {
    const Shape extents = operand(1);
    for_all([&](Size device) { return with_starts(device, 2, extents); },
            [&](Size device) {
              auto cells = fresh(anything());
              put(*block(0, device), operand(0), Shape(extents.size(), 0), *cells);
              put(*block(1, device), extents, starts(2, extents, device), *cells);
              return cells;
            });
  }
  void rule(const Select&) {
    locally([&](Size device) -> Block {
      const Cells& choice = *block(0, device);
      const Cells& yes = *block(1, device);
      const Cells& no = *block(2, device);
      auto cells = fresh(anything());
      const bool scalar = operand(0).empty();
      const Size count = count_of(result());
      for (std::size_t k = 0; k < index(count); ++k) {
        const bool chosen = choice.numbers()[scalar ? 0 : k] != 0;
        set(*cells, k, cell(chosen ? yes : no, k));
      }
      return cells;
    });
  }
  static void set(Cells& cells, std::size_t k, std::int64_t cell) {
    if (cells.are_tags()) {
      cells.tags()[k] = static_cast<Tag>(cell);
    } else {
      cells.numbers()[k] = cell;
    }
  }
  void rule(const Compare& action) {
    const ElementKind kind = operand_kind(0);
    locally([&](Size device) {
      const auto& left = block(0, device)->numbers();
      const auto& right = block(1, device)->numbers();
      auto cells = fresh(0);
      for (std::size_t k = 0; k < left.size(); ++k) {
        const bool holds =
            operations::compared(action.comparison, action.order, left[k], right[k], kind);
        cells->numbers()[k] = holds ? 1 : 0;
      }
      return cells;
    });
  }
  void rule(const Clamp&) {
    const ElementKind kind = operand_kind(1);
    locally([&](Size device) {
      const auto at = [&](std::size_t operand_number, std::size_t k) {
        const auto& numbers = block(operand_number, device)->numbers();
        return numbers[operand(operand_number).empty() ? 0 : k];
      };
      auto cells = fresh(0);
      for (std::size_t k = 0; k < cells->numbers().size(); ++k) {
        cells->numbers()[k] = operations::clamped(at(0, k), at(1, k), at(2, k), kind);
      }
      return cells;
    });
  }
  void rule(const Calculate& action) {
    const ElementKind kind = element_kind(type().element);
    locally([&](Size device) -> Block {
      const Cells& left = *block(0, device);
      const Cells& right = *block(operation_.operands.size() - 1, device);
      auto cells = fresh(0);
      const auto count = index(count_of(result()));
      for (std::size_t k = 0; k < count; ++k) {
        if (!makes_tags()) {
          cells->numbers()[k] =
              operations::calculate(action.arithmetic, left.numbers()[k], right.numbers()[k], kind);
          continue;
        }
        const Addition addition = addition_of(action.arithmetic);
        const auto addend = [&](const Cells& from) {
          return from.are_tags() ? from.tags()[k] : Sums::addend(addition, kind, from.numbers()[k]);
        };
        cells->tags()[k] = evaluator_.sums_.add(addition, kind, addend(left), addend(right));
      }
      return cells;
    });
  }
  [[nodiscard]] static Addition addition_of(Arithmetic arithmetic) {
    return arithmetic == Arithmetic::maximum   ? Addition::max
           : arithmetic == Arithmetic::minimum ? Addition::min
                                               : Addition::sum;
  }
  // Collectives.

  /// What `make` makes of a group for its member j; once for all groups that hold the same. Where all
  /// members get the same, j is 0.
  template <typename Make>
  void in_groups(const Groups& groups, bool all_alike, const Make& make) {
    std::map<Held, std::vector<Block>, BeforeByCells> known;
    for (const auto& group : groups) {
      Held held;
      for (const Size member : group) held.push_back(&held_by(member));
      const auto [place, is_new] = known.try_emplace(std::move(held));
      if (is_new) {
        const std::size_t count = all_alike ? 1 : group.size();
        for (std::size_t j = 0; j < count; ++j) place->second.push_back(make(place->first, j));
      }
      for (std::size_t j = 0; j < group.size(); ++j) {
        made_for(group[j]) = place->second[all_alike ? 0 : j];
      }
    }
  }
  /// A part of each tile, at one place of all, one after the other along a dimension. Lanes are made once: many
  /// members have many small parts.
  Block joined(const Held& held, const Lane& from, const Shape& part, std::size_t dim) {
    auto cells = fresh(anything());
    Lane to = lane_of(result());
    for (const Block* const tile : held) {
      copy(**tile, from, part, *cells, to);
      to.offset += part[dim] * to.strides[dim];
    }
    return cells;
  }
  void rule(const AllGather& action) {
    in_groups(action.groups, true, [&](const Held& held, std::size_t) {
      return joined(held, lane_of(operand(0)), operand(0), action.dim);
    });
  }
  void rule(const AllToAll& action) {
    if (operation_.operands.size() > 1) return exchange_parts(action.groups);
    in_groups(action.groups, false, [&](const Held& held, std::size_t j) {
      const Size n = static_cast<Size>(held.size());
      Shape part = operand(0);
      part[action.split] /= n;
      Lane from = lane_of(operand(0));
      from.offset = part[action.split] * static_cast<Size>(j) * from.strides[action.split];
      return joined(held, from, part, action.concat);
    });
  }
  /// Result j of member i is operand i of member j.
  void exchange_parts(const Groups& groups) {
    for (std::size_t j = 0; j < operation_.results.size(); ++j) {
      auto& blocks = out(j);
      for (const auto& group : groups) {
        for (std::size_t i = 0; i < group.size(); ++i) {
          blocks[index(group[i])] = block(i, group[j]);
        }
      }
    }
  }
  void rule(const CollectivePermute& action) {
    for (std::size_t k = 0; k < operation_.results.size(); ++k) {
      everywhere(fresh(nought_of_type(), k), k);
    }
    for (const auto& [source, target] : action.pairs) made_for(target) = held_by(source);
  }
  /// What the members of a group hold, added.
  template <typename Reduction>
  Block sum_of(const Reduction& action, const Held& held) {
    const ElementKind kind = element_kind(type().element);
    const bool changes = held.size() > 1 || action.divisor != 1;
    if (!changes && (*held.front())->are_tags() == makes_tags()) return *held.front();
    auto cells = std::make_shared<Cells>(evaluator_.budget_, content(), count_of(operand(0)), 0);
    for (std::size_t m = 0; m < held.size(); ++m) {
      const Cells& other = **held[m];
      for (std::size_t k = 0; k < index(count_of(operand(0))); ++k) {
        const std::int64_t next = cell(other, k);
        set(*cells, k, m == 0 ? next : added(action.addition, kind, cell(*cells, k), next));
      }
    }
    if (action.divisor != 1) {
      for (Tag& tag : cells->tags()) tag = evaluator_.sums_.part_of(tag, action.divisor);
    }
    return cells;
  }
  /// Of two cells of the result's type.
  [[nodiscard]] std::int64_t added(Addition addition, const ElementKind& kind, std::int64_t a,
                                   std::int64_t b) {
    if (makes_tags()) {
      return evaluator_.sums_.add(addition, kind, static_cast<Tag>(a), static_cast<Tag>(b));
    }
    const Arithmetic arithmetic = addition == Addition::max   ? Arithmetic::maximum
                                  : addition == Addition::min ? Arithmetic::minimum
                                                              : Arithmetic::add;
    return operations::calculate(arithmetic, a, b, kind);
  }
  void rule(const AllReduce& action) {
    in_groups(action.groups, true,
              [&](const Held& held, std::size_t) { return sum_of(action, held); });
  }
  void rule(const ReduceScatter& action) {
    Block sum;
    in_groups(action.groups, false, [&](const Held& held, std::size_t j) {
      if (j == 0) sum = sum_of(action, held);
      Shape start(result().size(), 0);
      start[action.dim] = result()[action.dim] * static_cast<Size>(j);
      return box(*sum, lane_at(start, operand(0)));
    });
  }
  void rule(const TakeBox& action) {
    for_all(
        [&](Size device) {
          Key key = operands_of(device, 1);
          const Shape& start = action.starts[index(device)];
          key.insert(key.end(), start.begin(), start.end());
          return key;
        },
        [&](Size device) {
          const Shape& start = action.starts[index(device)];
          Shape extents = result();
          for (std::size_t k = 0; k < extents.size(); ++k) {
            extents[k] = std::min(extents[k], operand(0)[k] - start[k]);
          }
          auto cells = fresh(anything());
          copy(*block(0, device), lane_at(start, operand(0)), extents, *cells, lane_of(result()));
          return cells;
        });
  }
  void rule(const PutBox& action) {
    const std::int64_t nothing = action.addition == Addition::sum ? nought()
                                 : makes_tags()                   ? nothing_tag
                                                                  : 0;
    for_all(
        [&](Size device) {
          Key key = operands_of(device, 1);
          const auto& start = action.starts[index(device)];
          if (start) key.insert(key.end(), start->begin(), start->end());
          key.push_back(start ? 1 : 0);
          return key;
        },
        [&](Size device) {
          auto cells = fresh(nothing);
          const auto& start = action.starts[index(device)];
          if (start) put(*block(0, device), operand(0), *start, *cells);
          return cells;
        });
  }

  void rule(const Assemble& action) {
    for (Size member = 0; member < static_cast<Size>(action.pieces.size()); ++member) {
      const std::size_t k = result_of(member);
      const Shape& extents = function_.values[operation_.results[k]].type.extents;
      auto cells = fresh(anything(), k);
      for (const Assemble::Piece& piece : action.pieces[index(member)]) {
        const Shape& from = operand(operand_of(piece.source));
        copy(*held_by(piece.source), lane_at(piece.from, from), piece.extents, *cells,
             lane_at(piece.to, extents));
      }
      made_for(member) = std::move(cells);
    }
  }

  Evaluator& evaluator_;
  const Function& function_;
  const Operation& operation_;
};

Start start_of(const Layout& from) {
  Start out{.global = from.global(), .boxes = from.boxes(), .addends = {}};
  for (Size device = 0; device < from.devices(); ++device) {
    out.addends.push_back(from.addend(device));
  }
  return out;
}

Evaluator::Evaluator(const Function& function, const Layout& from, Size most_bytes)
    : Evaluator(function, &from, nullptr, most_bytes) {}

Evaluator::Evaluator(const Function& function, const Start& start, Size most_bytes)
    : Evaluator(function, nullptr, &start, most_bytes) {}

Evaluator::Evaluator(const Function& function, const Layout* from, const Start* start,
                     Size most_bytes)
    : function_(function),
      from_(from),
      start_(start),
      budget_(most_bytes),
      states_(function.values.size()) {
  const std::vector<bool> elements = values_of_elements(function);
  for (std::size_t k = 0; k < states_.size(); ++k) {
    const bool is_real = element_kind(function.values[k].type.element).is_real();
    states_[k].content = elements[k] ? Content::tags : is_real ? Content::reals : Content::integers;
  }
}

void Evaluator::apply(const Operation& operation) { Stepping(*this, operation).apply(); }

std::vector<Shape> Evaluator::starts(const Operation& operation, std::size_t first) {
  return Stepping(*this, operation).all_starts(first);
}

}  // namespace retile::foreign
