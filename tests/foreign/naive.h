// A second evaluator of foreign functions: cell by cell and device by device, without blocks, lanes or
// sharing. What the first one is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/layout.h"
#include "retile/foreign/evaluator.h"
#include "retile/foreign/module.h"
#include "retile/foreign/typing.h"
#include "retile/operations/arithmetic.h"
#include "retile/operations/element.h"

namespace retile::foreign::naive {

/// A mistake of its own, for controls.
enum class Fault { none, gather_backwards, no_clamp };

/// A number, or what is known of an element.
struct Cell {
  enum class Kind { number, zero, undefined, nothing, terms };
  Kind kind = Kind::number;
  std::int64_t number = 0;
  bool is_real = false;                     ///< the number is the word of one with a point
  Addition addition = Addition::sum;        ///< of several terms
  std::map<std::int64_t, Size> terms = {};  ///< atom -> times
  friend bool operator==(const Cell&, const Cell&) = default;
};

using Array = std::vector<Cell>;

class Evaluator {
 public:
  Evaluator(const Function& function, const Layout& from, Fault fault = Fault::none)
      : f_(function),
        from_(from),
        fault_(fault),
        elements_(values_of_elements(function)),
        arrays_(function.values.size(), std::vector<Array>(n(function.devices))) {
    for (const Operation& operation : f_.operations) {
      for (Size d = 0; d < f_.devices; ++d) {
        std::visit([&](const auto& action) { this->apply(action, operation, d); },
                   operation.action);
      }
    }
  }
  [[nodiscard]] const Array& at(ValueId value, Size device) const {
    return arrays_[value][n(device)];
  }

 private:
  using Index = Shape;
  static std::size_t n(Size number) { return static_cast<std::size_t>(number); }

  static Size flat(const Index& at, const Shape& extents) {
    Size out = 0;
    for (std::size_t k = 0; k < at.size(); ++k) out = out * extents[k] + at[k];
    return out;
  }
  [[nodiscard]] const Shape& extents(ValueId value) const { return f_.values[value].type.extents; }
  [[nodiscard]] ElementKind kind(ValueId value) const {
    return element_kind(f_.values[value].type.element);
  }
  [[nodiscard]] const Cell& read(ValueId value, Size device, const Index& at) const {
    return arrays_[value][n(device)][n(flat(at, extents(value)))];
  }
  [[nodiscard]] std::int64_t scalar(ValueId value, Size device) const {
    return arrays_[value][n(device)][0].number;
  }
  [[nodiscard]] Cell as_element(Cell cell) const {
    if (cell.kind == Cell::Kind::number) {
      const bool zero = cell.is_real ? operations::real_of(cell.number) == 0 : cell.number == 0;
      cell = {.kind = zero ? Cell::Kind::zero : Cell::Kind::undefined};
    }
    return cell;
  }
  /// Fills the result of a device cell by cell.
  void fill(ValueId result, Size device, const std::function<Cell(const Index&)>& cell) {
    const Shape& shape = extents(result);
    Size count = 1;
    for (const Size extent : shape) count *= extent;
    Array& out = arrays_[result][n(device)];
    for (Size k = 0; k < count; ++k) {
      Index at(shape.size());
      Size rest = k;
      for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) at[i] = rest % shape[i];
      Cell one = cell(at);
      if (one.kind == Cell::Kind::number && !elements_[result])
        one.is_real = kind(result).is_real();
      out.push_back(elements_[result] ? as_element(std::move(one)) : std::move(one));
    }
  }
  [[nodiscard]] Cell undefined() const { return {.kind = Cell::Kind::undefined}; }
  static Cell number(std::int64_t number) { return {.kind = Cell::Kind::number, .number = number}; }

  /// How often an addend is there, as values of this type count.
  static Size counted(Size times, const ElementKind& kind) {
    if (kind.form != ElementKind::Form::integer || kind.bits > 62) return times;
    return times % (Size{1} << kind.bits);
  }
  static Cell without_absent(Cell cell) {
    for (auto term = cell.terms.begin(); term != cell.terms.end();) {
      term = term->second == 0 ? cell.terms.erase(term) : std::next(term);
    }
    if (cell.terms.empty()) cell.kind = Cell::Kind::zero;
    return cell;
  }
  [[nodiscard]] Cell add(Addition addition, const ElementKind& kind, const Cell& a,
                         const Cell& b) const {
    using Kind = Cell::Kind;
    if (kind.form == ElementKind::Form::truth && addition == Addition::sum) {
      addition = Addition::max;  // `or`
    }
    const bool no_sign = kind.is_number() && !kind.is_signed;
    const auto neutral = [&](Kind cell) {
      if (cell == Kind::zero)
        return addition == Addition::sum || (addition == Addition::max && no_sign);
      return cell == Kind::nothing && addition != Addition::sum;
    };
    if (neutral(a.kind)) return b;
    if (neutral(b.kind)) return a;
    if (a.kind == Kind::zero && b.kind == Kind::zero) return a;
    if (a.kind != Kind::terms || b.kind != Kind::terms) return undefined();
    for (const Cell* cell : {&a, &b}) {
      const bool is_sum = cell->terms.size() > 1 || cell->terms.begin()->second > 1;
      if (is_sum && cell->addition != addition) return undefined();
    }
    Cell out = a;
    out.addition = addition;
    for (const auto& [atom, times] : b.terms) {
      Size& there = out.terms[atom];
      there = addition == Addition::sum ? counted(there + times, kind) : 1;
    }
    return without_absent(std::move(out));
  }
  [[nodiscard]] Cell calculated(Arithmetic arithmetic, const Cell& a, const Cell& b,
                                ValueId result) const {
    if (!elements_[result]) {
      return number(operations::calculate(arithmetic, a.number, b.number, kind(result)));
    }
    return add(arithmetic == Arithmetic::maximum   ? Addition::max
               : arithmetic == Arithmetic::minimum ? Addition::min
                                                   : Addition::sum,
               kind(result), as_element(a), as_element(b));
  }
  [[nodiscard]] Cell added(Addition addition, const Cell& a, const Cell& b, ValueId result) const {
    return calculated(addition == Addition::max   ? Arithmetic::maximum
                      : addition == Addition::min ? Arithmetic::minimum
                                                  : Arithmetic::add,
                      a, b, result);
  }

  void apply(const Parameter&, const Operation& op, Size d) {
    const Box box = from_.box(d);
    fill(op.results[0], d, [&](const Index& at) {
      Index global = at;
      for (std::size_t k = 0; k < at.size(); ++k) {
        if (at[k] >= box.extent[k]) return undefined();
        global[k] += box.at[k];
      }
      return Cell{
          .kind = Cell::Kind::terms,
          .terms = {{from_.addend(d) * from_.global_size() + flat(global, from_.global()), 1}}};
    });
  }
  void apply(const Constant& action, const Operation& op, Size d) {
    const bool one = action.numbers.size() == 1;
    fill(op.results[0], d, [&](const Index& at) {
      const auto raw = action.numbers[one ? 0 : n(flat(at, extents(op.results[0])))];
      Cell out = number(kind(op.results[0]).is_number() ? wrapped(raw, kind(op.results[0])) : raw);
      out.is_real = kind(op.results[0]).is_real();
      return out;
    });
  }
  void apply(const PerDevice& action, const Operation& op, Size d) {
    fill(op.results[0], d,
         [&](const Index&) { return number(wrapped(action.numbers[n(d)], kind(op.results[0]))); });
  }
  void apply(const Iota& action, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      if (elements_[op.results[0]]) return undefined();
      if (!kind(op.results[0]).is_real())
        return number(wrapped(at[action.dim], kind(op.results[0])));
      return number(operations::word_of(
          operations::rounded(static_cast<double>(at[action.dim]), *kind(op.results[0]).format)));
    });
  }
  void copy(const Operation& op, Size d) {
    arrays_[op.results[0]][n(d)] = arrays_[op.operands[0]][n(d)];
  }
  void apply(const Same&, const Operation& op, Size d) { copy(op, d); }
  void apply(const Reshape&, const Operation& op, Size d) { copy(op, d); }
  void apply(const Convert&, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      Cell cell = read(op.operands[0], d, at);
      if (!elements_[op.results[0]]) {
        cell.number = operations::converted(cell.number, kind(op.operands[0]), kind(op.results[0]));
      } else if (cell.kind == Cell::Kind::terms) {
        for (auto& term : cell.terms) term.second = counted(term.second, kind(op.results[0]));
        cell = without_absent(std::move(cell));
      }
      return cell;
    });
  }
  void apply(const Reverse& action, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      Index old = at;
      for (const std::size_t dim : action.dims) {
        old[dim] = extents(op.operands[0])[dim] - 1 - at[dim];
      }
      return read(op.operands[0], d, old);
    });
  }
  void apply(const Transpose& action, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      Index old(at.size());
      for (std::size_t k = 0; k < at.size(); ++k) old[action.permutation[k]] = at[k];
      return read(op.operands[0], d, old);
    });
  }
  void apply(const Slice& action, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      Index old = at;
      for (std::size_t k = 0; k < at.size(); ++k) {
        old[k] = action.start[k] + at[k] * action.stride[k];
      }
      return read(op.operands[0], d, old);
    });
  }
  void apply(const Pad& action, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      Index old = at;
      for (std::size_t k = 0; k < at.size(); ++k) {
        const Size place = at[k] - action.low[k];
        const Size extent = extents(op.operands[0])[k];
        const Size step = extent > 1 ? action.interior[k] + 1 : 1;
        if (place < 0 || place % step != 0 || place / step >= extent) {
          return read(op.operands[1], d, {});
        }
        old[k] = place / step;
      }
      return read(op.operands[0], d, old);
    });
  }
  void apply(const Concatenate& action, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      Index old = at;
      for (const ValueId operand : op.operands) {
        const Size extent = extents(operand)[action.dim];
        if (old[action.dim] < extent) return read(operand, d, old);
        old[action.dim] -= extent;
      }
      return undefined();
    });
  }
  void apply(const Broadcast& action, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      Index old;
      for (std::size_t k = 0; k < action.dims.size(); ++k) {
        old.push_back(extents(op.operands[0])[k] == 1 ? 0 : at[action.dims[k]]);
      }
      return read(op.operands[0], d, old);
    });
  }
  [[nodiscard]] Index start(const Operation& op, std::size_t first, const Shape& box,
                            Size d) const {
    Index out;
    for (std::size_t k = 0; k < box.size(); ++k) {
      const Size most = extents(op.operands[0])[k] - box[k];
      Size number = scalar(op.operands[first + k], d);
      if (!kind(op.operands[first + k]).is_signed && number < 0) number = most;
      if (fault_ == Fault::no_clamp && number > most) number = 0;
      if (number > most) number = most;
      out.push_back(number < 0 ? 0 : number);
    }
    return out;
  }
  void apply(const DynamicSlice& action, const Operation& op, Size d) {
    const Index begin = start(op, 1, action.sizes, d);
    fill(op.results[0], d, [&](const Index& at) {
      Index old = at;
      for (std::size_t k = 0; k < at.size(); ++k) old[k] += begin[k];
      return read(op.operands[0], d, old);
    });
  }
  void apply(const DynamicUpdateSlice&, const Operation& op, Size d) {
    const Shape& box = extents(op.operands[1]);
    const Index begin = start(op, 2, box, d);
    fill(op.results[0], d, [&](const Index& at) {
      Index in_box = at;
      for (std::size_t k = 0; k < at.size(); ++k) {
        in_box[k] -= begin[k];
        if (in_box[k] < 0 || in_box[k] >= box[k]) return read(op.operands[0], d, at);
      }
      return read(op.operands[1], d, in_box);
    });
  }
  void apply(const Select&, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      const bool scalar = extents(op.operands[0]).empty();
      const bool yes = read(op.operands[0], d, scalar ? Index{} : at).number != 0;
      return read(op.operands[yes ? 1 : 2], d, at);
    });
  }
  void apply(const Compare& action, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      const bool holds =
          operations::compared(action.comparison, action.order, read(op.operands[0], d, at).number,
                               read(op.operands[1], d, at).number, kind(op.operands[0]));
      return number(holds ? 1 : 0);
    });
  }
  void apply(const Clamp&, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      const auto end = [&](std::size_t k) {
        return read(op.operands[k], d, extents(op.operands[k]).empty() ? Index{} : at).number;
      };
      return number(operations::clamped(end(0), end(1), end(2), kind(op.results[0])));
    });
  }
  void apply(const Calculate& action, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      return calculated(action.arithmetic, read(op.operands.front(), d, at),
                        read(op.operands.back(), d, at), op.results[0]);
    });
  }

  /// The group of a device and its place there.
  static std::pair<const std::vector<Size>*, std::size_t> group_of(const Groups& groups, Size d) {
    for (const auto& group : groups) {
      for (std::size_t j = 0; j < group.size(); ++j) {
        if (group[j] == d) return {&group, j};
      }
    }
    return {nullptr, 0};
  }
  void apply(const AllGather& action, const Operation& op, Size d) {
    const auto& group = *group_of(action.groups, d).first;
    const Size extent = extents(op.operands[0])[action.dim];
    fill(op.results[0], d, [&](const Index& at) {
      Index old = at;
      old[action.dim] = extent == 0 ? 0 : at[action.dim] % extent;
      std::size_t j = extent == 0 ? 0 : n(at[action.dim] / extent);
      if (fault_ == Fault::gather_backwards) j = group.size() - 1 - j;
      return read(op.operands[0], group[j], old);
    });
  }
  void apply(const AllToAll& action, const Operation& op, Size d) {
    const auto [group, place] = group_of(action.groups, d);
    if (op.operands.size() > 1) {
      for (std::size_t j = 0; j < op.results.size(); ++j) {
        arrays_[op.results[j]][n(d)] = arrays_[op.operands[place]][n((*group)[j])];
      }
      return;
    }
    Shape part = extents(op.operands[0]);
    part[action.split] /= static_cast<Size>(group->size());
    const Size first = part[action.split] * static_cast<Size>(place);
    const std::vector<Size>& members = *group;
    fill(op.results[0], d, [&, &group = members](const Index& at) {
      Index old = at;
      const Size j = at[action.concat] / part[action.concat];
      old[action.concat] = at[action.concat] % part[action.concat];
      old[action.split] += first;
      return read(op.operands[0], group[n(j)], old);
    });
  }
  void apply(const CollectivePermute& action, const Operation& op, Size d) {
    for (const auto& [source, target] : action.pairs) {
      if (target == d) {
        arrays_[op.results[0]][n(d)] = arrays_[op.operands[0]][n(source)];
        return;
      }
    }
    fill(op.results[0], d, [&](const Index&) { return number(0); });
  }
  [[nodiscard]] Cell sum(Addition addition, const std::vector<Size>& group, ValueId value,
                         const Index& at, ValueId result) const {
    Cell out = read(value, group.front(), at);
    for (std::size_t j = 1; j < group.size(); ++j) {
      out = added(addition, out, read(value, group[j], at), result);
    }
    return out;
  }
  void apply(const AllReduce& action, const Operation& op, Size d) {
    const auto& group = *group_of(action.groups, d).first;
    fill(op.results[0], d, [&](const Index& at) {
      return sum(action.addition, group, op.operands[0], at, op.results[0]);
    });
  }
  void apply(const ReduceScatter& action, const Operation& op, Size d) {
    const auto [group, place] = group_of(action.groups, d);
    const std::vector<Size>& members = *group;
    const Size first = extents(op.results[0])[action.dim] * static_cast<Size>(place);
    fill(op.results[0], d, [&](const Index& at) {
      Index old = at;
      old[action.dim] += first;
      return sum(action.addition, members, op.operands[0], old, op.results[0]);
    });
  }
  void apply(const TakeBox& action, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      Index old = at;
      for (std::size_t k = 0; k < at.size(); ++k) {
        old[k] += action.starts[n(d)][k];
        if (old[k] >= extents(op.operands[0])[k]) {
          return elements_[op.results[0]] ? undefined() : number(0);
        }
      }
      return read(op.operands[0], d, old);
    });
  }
  void apply(const PutBox& action, const Operation& op, Size d) {
    const auto& begin = action.starts[n(d)];
    fill(op.results[0], d, [&](const Index& at) {
      bool inside = begin.has_value();
      Index old = at;
      for (std::size_t k = 0; k < at.size() && inside; ++k) {
        old[k] -= (*begin)[k];
        inside = old[k] >= 0 && old[k] < extents(op.operands[0])[k];
      }
      if (inside) return read(op.operands[0], d, old);
      if (!elements_[op.results[0]] || action.addition == Addition::sum) return number(0);
      return Cell{.kind = Cell::Kind::nothing};
    });
  }

  void apply(const Assemble& action, const Operation& op, Size d) {
    fill(op.results[0], d, [&](const Index& at) {
      for (const Assemble::Piece& piece : action.pieces[n(d)]) {
        bool inside = true;
        Index old = at;
        for (std::size_t k = 0; k < at.size() && inside; ++k) {
          old[k] += piece.from[k] - piece.to[k];
          inside = at[k] >= piece.to[k] && at[k] < piece.to[k] + piece.extents[k];
        }
        if (inside) return read(op.operands[0], piece.source, old);
      }
      return elements_[op.results[0]] ? undefined() : number(0);
    });
  }

  const Function& f_;
  const Layout& from_;
  Fault fault_;
  std::vector<bool> elements_;
  std::vector<std::vector<Array>> arrays_;
};

/// What the first evaluator holds in a place, in this one's words.
inline Cell cell_of(const Cells& cells, std::size_t k, const Sums& sums) {
  using Kind = Cell::Kind;
  if (!cells.are_tags()) {
    return {.kind = Kind::number,
            .number = cells.numbers()[k],
            .is_real = cells.content() == Content::reals};
  }
  const Tag tag = cells.tags()[k];
  if (tag == zero_tag) return {.kind = Kind::zero};
  if (tag == undefined_tag) return {.kind = Kind::undefined};
  if (tag == nothing_tag) return {.kind = Kind::nothing};
  Cell out{.kind = Kind::terms};
  for (const Term& term : sums.terms(tag)) out.terms[term.atom] = term.times;
  return out;
}

/// Where the two differ first; empty where they do not.
inline std::string difference(const Function& function, const Layout& from,
                              Fault fault = Fault::none) {
  const Evaluator want(function, from, fault);
  foreign::Evaluator got(function, from, Size{1} << 26);
  for (const Operation& operation : function.operations) {
    got.apply(operation);
    for (const ValueId value : operation.results) {
      for (Size d = 0; d < function.devices; ++d) {
        const Cells& cells = *got.at(value).blocks[static_cast<std::size_t>(d)];
        const Array& array = want.at(value, d);
        const std::size_t count = cells.are_tags() ? cells.tags().size() : cells.numbers().size();
        if (count != array.size()) return function.values[value].name + ": other sizes";
        for (std::size_t k = 0; k < array.size(); ++k) {
          Cell expected = array[k];
          expected.addition = Addition::sum;  // said by the sums themselves
          if (cell_of(cells, k, got.sums()) != expected) {
            return function.values[value].name + ", device " + std::to_string(d) + ", place " +
                   std::to_string(k);
          }
        }
      }
    }
  }
  return "";
}

}  // namespace retile::foreign::naive
