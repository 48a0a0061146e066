// Random Programs that add, and spoiled ones.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "retile/program/moves.h"
#include "retile/program/program.h"
#include "support/random_layouts.h"

namespace addend_programs {

using retile::Addition;
using retile::DeviceTable;
using retile::Digit;
using retile::Layout;
using retile::Program;
using retile::Shape;
using retile::Size;
using retile::Step;

/// What a system may do to a step that adds, or gathers, in the place of the step.
enum class Mistake {
  reduce_dropped,       ///< no sum, only what is kept of it
  wrong_axis,           ///< groups along another axis of the same size
  group_with_replicas,  ///< groups along one axis more, whose devices hold the same addends
  reduced_twice,
  gather_of_addends,  ///< tiles of different addends are gathered
  other_addition,     ///< a sum where a maximum is meant, and the like
};

inline constexpr std::array<const char*, 6> mistake_names = {
    "reduce dropped", "wrong axis",        "group with replicas",
    "reduced twice",  "gather of addends", "other addition"};

/// Even layouts as digits of the device number, on their way through steps that are right.
struct Walk {
  Size devices = 1;
  Addition addition = Addition::sum;
  Shape tile;
  std::vector<std::vector<Digit>> dims;  // minor to major
  std::vector<Digit> addends;
  std::vector<Digit> unused;

  [[nodiscard]] Layout layout() const {
    std::vector<retile::Cuts> cuts;
    for (std::size_t i = 0; i < tile.size(); ++i) {
      cuts.push_back(retile::Cuts::even(tile[i], retile::product_of(dims[i])));
    }
    const Layout boxes = Layout::numbered(devices, std::move(cuts), dims).value();
    return addends.empty() ? boxes : boxes.with_addends(addition, addends).value();
  }
};

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  bool iotas = false;  ///< whether the tables of right steps are iotas all

  /// A right Program of exchanges between layouts whose tiles need not be alike. Every tile is put
  /// together from random boxes, those of each addend cut in another way.
  Program exchanges() {
    static const std::vector<Size> counts{2, 3, 4, 6, 8, 9, 12};
    const Size devices = counts[below(counts.size())];
    const Shape global = support::random_global(random_, 3, 6);
    const auto addition = static_cast<Addition>(below(4));
    Program out;
    out.devices = devices;
    out.from = any_layout(devices, global, addition);
    const Layout* at = &out.from;
    Layout between;
    if (addition != Addition::stack && below(2) == 0) {
      between = any_layout(devices, global, addition);
      out.steps.push_back(exchange(*at, between, addition, {}));
      at = &between;
    }
    out.to = any_layout(devices, global, addition);
    out.steps.push_back(exchange(*at, out.to, addition, {.by_tile = true}));
    return out;
  }

  /// A Program of right steps, now and then with claims; or of any steps between any layouts.
  Program program() {
    static const std::vector<Size> counts{2, 3, 4, 6, 8, 12};
    return below(4) == 0 ? wild(counts[below(6)]) : walk(counts[below(6)]);
  }

  /// A right Program, and the same with a mistake in one of its steps.
  struct Misled {
    Program right;
    Program wrong;
  };
  Misled misled(Mistake mistake) {
    while (true) {
      if (auto out = misled_walk(mistake)) return *std::move(out);
    }
  }

  /// The Program with something left out, doubled, in another place or added in another way.
  Program mutant(const Program& program) {
    Program out = program;
    if (out.steps.empty()) return out;
    const std::size_t k = below(out.steps.size());
    const auto at = out.steps.begin() + static_cast<std::ptrdiff_t>(k);
    switch (below(5)) {
      case 0:
        out.steps.erase(at);
        break;
      case 1:
        out.steps.insert(at, Step(*at));
        break;
      case 2:
        std::swap(*at, out.steps[below(out.steps.size())]);
        break;
      case 3:
        set_groups(*at, groups(out.devices, random_() % 2 == 0));
        break;
      default:
        set_addition(*at, static_cast<Addition>(below(3)));
    }
    return out;
  }

  /// The text with one number changed.
  std::string spoiled(const std::string& text) {
    std::vector<std::size_t> numbers;  // where they begin
    for (std::size_t at = text.find('\n') + 1; at < text.size(); ++at) {
      if (is_digit(text[at]) && !is_digit(text[at - 1])) numbers.push_back(at);
    }
    if (numbers.empty()) return text;
    const std::size_t begin = numbers[below(numbers.size())];
    std::size_t end = begin;
    while (end < text.size() && is_digit(text[end])) ++end;
    const Size change = std::vector<Size>{-1, 1, 2}[below(3)];
    const Size number = std::max<Size>(0, std::stoll(text.substr(begin, end - begin)) + change);
    return text.substr(0, begin) + std::to_string(number) + text.substr(end);
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  std::size_t below(std::size_t end) { return random_() % end; }

  // ---- Right steps

  Program walk(Size devices) {
    Walk at = start(devices);
    Program out;
    out.devices = devices;
    out.from = at.layout();
    for (std::size_t k = 1 + below(5); k > 0; --k) {
      auto step = next(at);
      if (!step) continue;
      if (below(4) == 0) step->claims.tile = at.tile;
      if (below(4) == 0) step->claims.map = at.layout();
      out.steps.push_back(*std::move(step));
    }
    std::shuffle(at.addends.begin(), at.addends.end(), random_);
    out.to = at.layout();
    return out;
  }

  Walk start(Size devices) {
    Walk out;
    out.devices = devices;
    out.addition = static_cast<Addition>(std::min<std::size_t>(3, below(8)) % 4);
    if (below(3) != 0) out.addition = Addition::sum;
    const std::size_t rank = 1 + below(2);
    out.dims.resize(rank);
    Size stride = 1;
    for (Size left = devices; left > 1;) {
      Size factor = 2;
      while (left % factor != 0) ++factor;
      const Digit digit{.stride = stride, .size = factor};
      const std::size_t place = below(rank + 3);
      (place < rank ? out.dims[place] : place == rank ? out.unused : out.addends).push_back(digit);
      stride *= factor;
      left /= factor;
    }
    for (std::size_t i = 0; i < rank; ++i) {
      std::shuffle(out.dims[i].begin(), out.dims[i].end(), random_);
      out.tile.push_back(std::vector<Size>{1, 2, 3, 4, 6}[below(5)]);
    }
    return out;
  }

  /// All devices, in rows along a digit: an iota or a list.
  DeviceTable along(Size devices, const Digit& digit) {
    if (iotas || below(2) == 0) {
      retile::IotaChain chain(devices);
      chain.append({{devices / digit.stride / digit.size, digit.size, digit.stride}, {0, 2, 1}});
      return DeviceTable::iota(std::move(chain), digit.size);
    }
    std::vector<std::vector<Size>> rows;
    for (Size d = 0; d < devices; ++d) {
      if (d / digit.stride % digit.size != 0) continue;
      auto& row = rows.emplace_back();
      for (Size k = 0; k < digit.size; ++k) row.push_back(d + k * digit.stride);
    }
    return DeviceTable::rows(std::move(rows));
  }

  /// A digit taken out of a list; the minor one, or any.
  std::optional<Digit> take(std::vector<Digit>& digits, bool minor) {
    if (digits.empty()) return std::nullopt;
    const std::size_t k = minor ? 0 : below(digits.size());
    const Digit out = digits[k];
    taken_ = out;
    digits.erase(digits.begin() + static_cast<std::ptrdiff_t>(k));
    return out;
  }

  /// A step that leads from one layout to another, if the one that is drawn can be taken.
  std::optional<Step> next(Walk& at) {
    const Walk before = at;
    auto op = op_of(at);
    if (!op) {
      at = before;
      return std::nullopt;
    }
    return Step{*std::move(op), {}};
  }

  std::optional<retile::Op> op_of(Walk& at) {
    const std::size_t i = below(at.tile.size());
    const std::size_t j = below(at.tile.size());
    const Addition add = at.addition;
    const bool adds = add != Addition::stack;
    const auto push = [&](std::size_t dim, const Digit& digit) {
      if (at.tile[dim] % digit.size != 0) return false;
      at.tile[dim] /= digit.size;
      at.dims[dim].insert(at.dims[dim].begin(), digit);
      return true;
    };
    switch (below(8)) {
      case 0: {
        const auto digit = take(at.unused, false);
        if (!digit || !push(i, *digit)) return std::nullopt;
        return retile::Dynslice{i, along(at.devices, *digit)};
      }
      case 1: {
        const auto digit = take(at.dims[i], true);
        if (!digit) return std::nullopt;
        at.tile[i] *= digit->size;
        at.unused.push_back(*digit);
        return retile::Allgather{i, along(at.devices, *digit)};
      }
      case 2: {
        const auto digit = take(at.dims[i], true);
        if (!digit || i == j || !push(j, *digit)) return std::nullopt;
        at.tile[i] *= digit->size;
        return retile::Alltoall{j, i, along(at.devices, *digit)};
      }
      case 3:
      case 4: {
        const auto digit = take(at.addends, false);
        if (!digit || !adds || !push(i, *digit)) return std::nullopt;
        return retile::Reducescatter{i, along(at.devices, *digit), {}, add};
      }
      case 5: {
        const auto digit = take(at.addends, false);
        if (!digit || !adds) return std::nullopt;
        at.unused.push_back(*digit);
        return retile::Allreduce{along(at.devices, *digit), add};
      }
      case 6: {
        const auto digit = take(at.unused, false);
        if (!digit || !adds) return std::nullopt;
        at.addends.push_back(*digit);
        return retile::Unreduce{along(at.devices, *digit), add};
      }
      default: {
        const auto digit = take(at.dims[i], true);
        if (!digit || !adds) return std::nullopt;
        at.tile[i] *= digit->size;
        at.addends.push_back(*digit);
        return retile::Embed{i, along(at.devices, *digit), add};
      }
    }
  }

  // ---- Mistakes

  std::optional<Misled> misled_walk(Mistake mistake) {
    static const std::vector<Size> counts{2, 3, 4, 6, 8, 9, 12, 16};
    const Size devices = counts[below(counts.size())];
    Walk at = start(devices);
    Misled out;
    out.right.devices = devices;
    out.right.from = at.layout();
    out.wrong = out.right;
    bool made = false;
    for (std::size_t k = 1 + below(5); k > 0; --k) {
      const Walk before = at;
      auto step = next(at);
      if (!step) continue;
      if (makes_zeros(*step)) {  // to leave zeros out, or to take them twice, is no mistake
        at = before;
        continue;
      }
      auto steps = made ? std::vector<retile::Op>() : misled_step(mistake, before, step->op);
      if (steps.empty() && !(mistake == Mistake::reduce_dropped && !made && is_allreduce(*step))) {
        out.wrong.steps.push_back(*step);
      } else {
        made = true;
        for (retile::Op& op : steps) out.wrong.steps.push_back({std::move(op), {}});
      }
      out.right.steps.push_back(*std::move(step));
    }
    if (!made) return std::nullopt;
    out.right.to = out.wrong.to = at.layout();
    return out;
  }

  static bool makes_zeros(const Step& step) {
    return std::holds_alternative<retile::Unreduce>(step.op) ||
           std::holds_alternative<retile::Embed>(step.op);
  }

  static bool is_allreduce(const Step& step) {
    return std::holds_alternative<retile::Allreduce>(step.op);
  }

  /// What stands in the place of a step; nothing where this mistake cannot be made there, or leaves
  /// the step out.
  std::vector<retile::Op> misled_step(Mistake mistake, const Walk& before, const retile::Op& op) {
    const Digit digit = taken_;
    if (const auto* gather = std::get_if<retile::Allgather>(&op)) {
      const auto other = of_size(before.addends, digit);
      if (mistake != Mistake::gather_of_addends || !other) return {};
      return {retile::Allgather{gather->dim, along(before.devices, *other)}};
    }
    const auto* scatter = std::get_if<retile::Reducescatter>(&op);
    const auto* reduce = std::get_if<retile::Allreduce>(&op);
    if (scatter == nullptr && reduce == nullptr) return {};
    const Addition add = scatter != nullptr ? scatter->add : reduce->add;
    const auto along_groups = [&](DeviceTable groups) -> retile::Op {
      if (scatter != nullptr)
        return retile::Reducescatter{scatter->dim, std::move(groups), {}, add};
      return retile::Allreduce{std::move(groups), add};
    };
    switch (mistake) {
      case Mistake::reduce_dropped:
        if (scatter == nullptr) return {};
        return {retile::Dynslice{scatter->dim, along(before.devices, digit)}};
      case Mistake::wrong_axis: {
        const auto other = of_size(all_but(before, digit), digit);
        if (!other) return {};
        return {along_groups(along(before.devices, *other))};
      }
      case Mistake::group_with_replicas: {
        if (before.unused.empty()) return {};
        const Digit other = before.unused[below(before.unused.size())];
        std::vector<retile::Op> out{
            retile::Allreduce{along_both(before.devices, digit, other), add}};
        if (scatter != nullptr) {
          out.push_back(retile::Dynslice{scatter->dim, along(before.devices, digit)});
        }
        return out;
      }
      case Mistake::reduced_twice:
        return {retile::Allreduce{along(before.devices, digit), add}, op};
      case Mistake::gather_of_addends: {
        // Pieces of different addends side by side, instead of their sum.
        if (reduce == nullptr) return {};
        const std::size_t dim = below(before.tile.size());
        if (before.tile[dim] % digit.size != 0) return {};
        return {retile::Dynslice{dim, along(before.devices, digit)},
                retile::Allgather{dim, along(before.devices, digit)}};
      }
      case Mistake::other_addition: {
        const auto other =
            static_cast<Addition>((static_cast<int>(add) + 1 + static_cast<int>(below(2))) % 3);
        if (scatter != nullptr)
          return {retile::Reducescatter{scatter->dim, scatter->groups, {}, other}};
        return {retile::Allreduce{reduce->groups, other}};
      }
    }
    return {};
  }

  std::optional<Digit> of_size(const std::vector<Digit>& digits, const Digit& wanted) {
    std::vector<Digit> fit;
    for (const Digit& digit : digits) {
      if (digit.size == wanted.size && !(digit == wanted)) fit.push_back(digit);
    }
    if (fit.empty()) return std::nullopt;
    return fit[below(fit.size())];
  }

  static std::vector<Digit> all_but(const Walk& walk, const Digit& digit) {
    std::vector<Digit> out = walk.unused;
    out.insert(out.end(), walk.addends.begin(), walk.addends.end());
    for (const auto& dim : walk.dims) out.insert(out.end(), dim.begin(), dim.end());
    std::erase(out, digit);
    return out;
  }

  /// All devices, in rows along two digits.
  static DeviceTable along_both(Size devices, const Digit& a, const Digit& b) {
    std::vector<std::vector<Size>> rows;
    for (Size d = 0; d < devices; ++d) {
      if (d / a.stride % a.size != 0 || d / b.stride % b.size != 0) continue;
      auto& row = rows.emplace_back();
      for (Size k = 0; k < a.size; ++k) {
        for (Size l = 0; l < b.size; ++l) row.push_back(d + k * a.stride + l * b.stride);
      }
    }
    return DeviceTable::rows(std::move(rows));
  }

  // ---- Right exchanges

  struct Naming {
    bool by_tile = false;  ///< whether addends may be others in every tile
  };

  Step exchange(const Layout& from, const Layout& to, Addition addition, Naming naming) {
    retile::Exchange out;
    if (addition != Addition::stack) out.add = addition;
    std::map<std::pair<Shape, Shape>, std::vector<Size>> addend_of;  // of each of `from`, by tile
    for (Size d = 0; d < to.devices(); ++d) {
      const std::vector<retile::TilePart> parts = to.parts(d);
      if (parts.empty()) continue;
      auto& goes_to = addend_of[naming.by_tile ? std::pair(parts.front().box.at, to.tile(d))
                                               : std::pair<Shape, Shape>()];
      while (std::ssize(goes_to) < from.addend_count()) {
        const Size k = std::ssize(goes_to);
        goes_to.push_back(
            out.add ? static_cast<Size>(below(static_cast<std::size_t>(to.addend_count()))) : k);
      }
      for (Size k = 0; k < from.addend_count(); ++k) {
        if (goes_to[static_cast<std::size_t>(k)] != to.addend(d)) continue;
        for (const retile::TilePart& part : parts)
          fetch(from, k, {d, shift_of(part)}, part.box, out);
      }
    }
    std::shuffle(out.transfers.begin(), out.transfers.end(), random_);
    Step step{std::move(out), {}};
    step.claims.shapes = to.extents();
    if (!step.claims.shapes) step.claims.tile = to.tile();
    return step;
  }

  /// A device, and how far a part of its tile lies away in the array.
  struct Target {
    Size device = 0;
    Shape at;
  };
  static Shape shift_of(const retile::TilePart& part) {
    Shape out = part.box.at;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] -= part.place[i];
    return out;
  }

  /// Brings a box of an addend to a device, in pieces that some other device holds whole.
  void fetch(const Layout& from, Size addend, const Target& target, const retile::Box& box,
             retile::Exchange& out) {
    std::vector<Target> holders;
    for (Size d = 0; d < from.devices(); ++d) {
      if (from.addend(d) != addend) continue;
      for (const retile::TilePart& part : from.parts(d)) {
        if (holds(part.box, box)) holders.push_back({d, shift_of(part)});
      }
    }
    std::vector<std::size_t> longer;  // dimensions that can be cut
    for (std::size_t i = 0; i < box.extent.size(); ++i) {
      if (box.extent[i] > 1) longer.push_back(i);
    }
    if (!longer.empty() && (holders.empty() || below(3) == 0)) {
      const std::size_t i = longer[below(longer.size())];
      retile::Box low = box;
      retile::Box high = box;
      low.extent[i] = 1 + static_cast<Size>(below(static_cast<std::size_t>(box.extent[i] - 1)));
      high.at[i] += low.extent[i];
      high.extent[i] -= low.extent[i];
      fetch(from, addend, target, low, out);
      fetch(from, addend, target, high, out);
      return;
    }
    const Target source = holders.at(below(holders.size()));
    retile::Transfer transfer{target.device, source.device, box.at, box.at, box.extent};
    for (std::size_t i = 0; i < box.at.size(); ++i) {
      transfer.target_start[i] -= target.at[i];
      transfer.source_start[i] -= source.at[i];
    }
    out.transfers.push_back(std::move(transfer));
  }

  static bool holds(const retile::Box& whole, const retile::Box& part) {
    for (std::size_t i = 0; i < whole.at.size(); ++i) {
      if (part.at[i] < whole.at[i] || part.at[i] + part.extent[i] > whole.at[i] + whole.extent[i]) {
        return false;
      }
    }
    return true;
  }

  // ---- Any steps

  /// Groups of devices of one size; `random` ones, or neighbours.
  DeviceTable groups(Size devices, bool random) {
    std::vector<Size> order;
    for (Size d = 0; d < devices; ++d) order.push_back(d);
    if (random) std::shuffle(order.begin(), order.end(), random_);
    std::vector<Size> sizes;
    for (Size n = 1; n <= devices; ++n) {
      if (devices % n == 0) sizes.push_back(n);
    }
    const Size n = sizes[below(sizes.size())];
    std::vector<std::vector<Size>> rows;
    for (std::size_t k = 0; k < order.size(); k += static_cast<std::size_t>(n)) {
      const auto first = order.begin() + static_cast<std::ptrdiff_t>(k);
      rows.emplace_back(first, first + static_cast<std::ptrdiff_t>(n));
    }
    return DeviceTable::rows(std::move(rows));
  }

  static void set_groups(Step& step, DeviceTable groups) {
    std::visit(
        [&](auto& op) {
          if constexpr (requires { op.groups; }) op.groups = std::move(groups);
        },
        step.op);
  }

  static void set_addition(Step& step, Addition addition) {
    std::visit(
        [&](auto& op) {
          if constexpr (requires { op.add; }) op.add = addition;
        },
        step.op);
  }

  Layout any_layout(Size devices, const Shape& global, Addition addition) {
    const Layout out = support::random_layout(random_, devices, global);
    if (out.is_listed()) return out;
    std::vector<Digit> digits = out.unused();
    std::erase_if(digits, [&](const Digit&) { return below(3) == 0; });
    return out.with_addends(addition, std::move(digits)).value();
  }

  Program wild(Size devices) {
    const Shape global = support::random_global(random_, 2, 9);
    const auto addition = static_cast<Addition>(below(3));
    Program out;
    out.devices = devices;
    out.from = any_layout(devices, global, addition);
    out.to = any_layout(devices, global, addition);
    for (std::size_t k = 1 + below(3); k > 0; --k) {
      Step step{any_op(devices, global.size(), addition), {}};
      if (std::holds_alternative<retile::Exchange>(step.op))
        step.claims.tile = Shape(global.size(), 2);
      out.steps.push_back(std::move(step));
    }
    return out;
  }

  std::optional<retile::PieceSize> piece() {
    if (below(2) == 0) return std::nullopt;
    if (below(3) == 0) return retile::PieceSize::balanced();
    return 1 + static_cast<Size>(below(5));
  }

  retile::Op any_op(Size devices, std::size_t rank, Addition addition) {
    const std::size_t dim = below(rank);
    const bool random = below(3) == 0;
    switch (below(8)) {
      case 0:
        return retile::Dynslice{dim, groups(devices, random), piece()};
      case 1:
        return retile::Allgather{dim, groups(devices, random)};
      case 2:
        return retile::Alltoall{dim, below(rank), groups(devices, random), piece()};
      case 3:
        return retile::Reducescatter{dim, groups(devices, random), piece(), addition};
      case 4:
        return retile::Allreduce{groups(devices, random), addition};
      case 5:
        return retile::Unreduce{groups(devices, random), addition};
      case 6:
        return retile::Embed{dim, groups(devices, random), addition};
      default:
        return adding_exchange(devices, rank, addition);
    }
  }

  /// Boxes of tiles that have two elements each way.
  retile::Op adding_exchange(Size devices, std::size_t rank, Addition addition) {
    retile::Exchange out{{}, addition};
    for (std::size_t k = below(6); k > 0; --k) {
      retile::Transfer transfer{static_cast<Size>(below(static_cast<std::size_t>(devices))),
                                static_cast<Size>(below(static_cast<std::size_t>(devices))),
                                {},
                                {},
                                {}};
      for (std::size_t i = 0; i < rank; ++i) {
        const Size extent = 1 + static_cast<Size>(below(2));
        transfer.target_start.push_back(
            static_cast<Size>(below(static_cast<std::size_t>(3 - extent))));
        transfer.source_start.push_back(static_cast<Size>(below(2)));
        transfer.shape.push_back(extent);
      }
      out.transfers.push_back(std::move(transfer));
    }
    return out;
  }

  std::mt19937_64 random_;
  Digit taken_;  // by the last step of a walk
};

}  // namespace addend_programs
