#include "tactics.h"

#include <fmt/format.h>

#include <algorithm>

namespace retile::array {

namespace {

using text::fail;

// An axis on a dimension is one on the variable that indexes it, wherever that stands. A later axis on the
// same variable cuts what the earlier one left, so the order of tactics is that of the axes.

class Propagation {
 public:
  Propagation(const Statements& all, Grid& grid) : all_(all), grid_(grid) {
    for (const Statement& statement : all.statements) {
      grid_.cuts.emplace_back(statement.variables.size());
    }
  }

  void tile(const Tactic& tactic) {
    const auto array = std::find_if(all_.arrays.begin(), all_.arrays.end(),
                                    [&](const Array& a) { return a.name == tactic.array; });
    if (array == all_.arrays.end() || !array->shape ||
        tactic.dim >= static_cast<Size>(array->shape->size())) {
      fail(tactic.place, {Code::bad_argument, "there is no such array, or dimension"});
    }
    Size stride = grid_.devices;
    for (const auto& [name, size] : grid_.axes) {
      stride /= size;
      if (name == tactic.axis) {
        const auto a = static_cast<std::size_t>(array - all_.arrays.begin());
        dimension(
            a, static_cast<std::size_t>(tactic.dim),
            {{{stride, size}}, fmt::format("{}:{} on {} {}", name, size, tactic.array, tactic.dim)},
            tactic.place);
      }
    }
  }

 private:
  void dimension(std::size_t array, std::size_t dim, const Cut& cut, const text::Place& place) {
    for (std::size_t s = 0; s < all_.statements.size(); ++s) {
      const Statement& statement = all_.statements[s];
      const auto look = [&](const Access& access) {
        if (access.array != array || access.subscripts[dim].factors.size() != 1) return;
        variable(s, access.subscripts[dim].factors[0].first, cut, place);
      };
      look(statement.out);
      for (const Access& access : statement.reads) look(access);
    }
  }
  void variable(std::size_t s, std::size_t v, const Cut& cut, const text::Place& place) {
    const Statement& statement = all_.statements[s];
    for (std::size_t other = 0; other < grid_.cuts[s].size(); ++other) {
      const auto& there = grid_.cuts[s][other];
      const Digit& axis = cut.digits.front();
      if (!there ||
          std::find(there->digits.begin(), there->digits.end(), axis) == there->digits.end()) {
        continue;
      }
      if (other == v) return;
      fail(place, {Code::inapplicable,
                   fmt::format("{} wants axis {}, which {} has by {}", name_of(statement, v),
                               grid_.text(cut), name_of(statement, other), there->cause),
                   {fmt::format("the other cause is {}", cut.cause)}});
    }
    auto& here = grid_.cuts[s][v];
    if (here) {
      here->digits.push_back(cut.digits.front());
      here->cause += ", " + cut.cause;
    } else {
      here = cut;
    }
    const auto spread = [&](const Access& access) {
      for (std::size_t i = 0; i < access.subscripts.size(); ++i) {
        const auto& factors = access.subscripts[i].factors;
        if (factors.size() == 1 && factors[0].first == v) dimension(access.array, i, cut, place);
      }
    };
    spread(statement.out);
    for (const Access& access : statement.reads) spread(access);
  }
  [[nodiscard]] std::string name_of(const Statement& statement, std::size_t v) const {
    return fmt::format("variable {} of {}", statement.variables[v].name,
                       all_.arrays[statement.out.array].name);
  }

  const Statements& all_;
  Grid& grid_;
};

}  // namespace

void add_axis(Grid& grid, const std::string& name, Size size, const text::Place& place) {
  grid.axes.emplace_back(name, size);
  const auto devices = checked_mul(grid.devices, size);
  if (!devices || *devices > max_devices) {
    fail(place, {Code::too_many_devices, "more than 2^31 devices"});
  }
  grid.devices = *devices;
}

std::vector<Tactic> axes_of_tactics(const Statements& all) {
  std::vector<Tactic> out;
  for (const Tactic& tactic : all.tactics) {
    if (tactic.array.empty()) continue;
    const auto same = std::find_if(out.begin(), out.end(),
                                   [&](const Tactic& other) { return other.axis == tactic.axis; });
    if (same == out.end()) {
      out.push_back(tactic);
    } else if (same->pieces != tactic.pieces) {
      fail(tactic.place, {Code::axis_size_mismatch, "this axis has another size above"});
    }
  }
  if (!all.tactics.empty() && !all.tactics.back().array.empty()) {
    fail(all.tactics.back().place, {Code::unsupported, "the last tactic must be propagate"});
  }
  return out;
}

void propagate(const Statements& all, Grid& grid) {
  Propagation propagation(all, grid);
  for (const Tactic& tactic : all.tactics) {
    if (!tactic.array.empty()) propagation.tile(tactic);
  }
}

}  // namespace retile::array
