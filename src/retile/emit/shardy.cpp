// Shardy's collectives, on global types: every value says its sharding.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "retile/core/cases.h"
#include "retile/core/division.h"
#include "retile/core/layout_facts.h"
#include "retile/emit/trace.h"
#include "retile/notation/axes.h"
#include "retile/notation/convert.h"

namespace retile::emit {
namespace {

/// Shardings over one mesh, in which all layouts of a Program can be said.
class Shardings {
 public:
  Shardings(const Program& program, const std::vector<Traced>& steps) : numbers_(program.numbers) {
    if (program.mesh && !program.mesh->axes().empty()) {
      mesh_ = *program.mesh;
      bool sayable = says(program.from);
      for (const Traced& traced : steps) sayable = sayable && says(traced.after);
      if (sayable) return;
    }
    mesh_ = Mesh::make({{"d", program.devices}}).value();
  }

  /// With the numbers of the devices, where these are those of all.
  [[nodiscard]] std::string mesh() const {
    PlacedMesh out{.mesh = mesh_};
    if (are_in_order()) out.order = DeviceTable::list(numbers_.list());
    return mesh_text(out, ShardingForm::sdy).value();
  }
  /// A comment on other numbers of devices, which a mesh does not take.
  [[nodiscard]] std::string note() const {
    return are_in_order() ? "" : devices_text(numbers_, "// ");
  }

  /// `"x", "y":(1)2`
  [[nodiscard]] std::string axes(const std::vector<Digit>& digits) const {
    const auto parts = notation::parts_over(mesh_, digits);
    if (!parts) refuse_form("no axes are the digits that a step moves");
    return axes_text(mesh_, *parts);
  }

  /// `@mesh, [{"x"}, {}]`
  [[nodiscard]] std::string body(const Layout& layout) const {
    std::string dims;
    for (std::size_t i = 0; i < layout.rank(); ++i) {
      check_blocks(layout, i);
      dims += fmt::format("{}{{{}}}", i == 0 ? "" : ", ", axes(layout.digits()[i]));
    }
    std::string out = fmt::format("@mesh, [{}]", dims);
    if (const auto& addends = layout.addends()) {
      if (addends->addition == Addition::stack) refuse_form("Shardy has no stacks");
      out += fmt::format(", unreduced={}{{{}}}",
                         addends->addition == Addition::sum ? "" : name_of(addends->addition),
                         axes_in_order(addends->numbers.digits().front()));
    }
    return out;
  }

  /// A set of axes, in the order of the mesh.
  [[nodiscard]] std::string axes_in_order(std::vector<Digit> digits) const {
    std::sort(digits.begin(), digits.end(),
              [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
    return axes(digits);
  }

 private:
  [[nodiscard]] bool says(const Layout& layout) const {
    for (const auto& digits : layout.digits()) {
      if (!notation::parts_over(mesh_, digits)) return false;
    }
    return notation::parts_over(mesh_, addend_digits(layout)).has_value();
  }

  static void check_blocks(const Layout& layout, std::size_t dim) {
    const Cuts& cuts = layout.cuts()[dim];
    const Size block = ceil_div(cuts.global(), cuts.count());
    if (!cuts.is_blocks() || cuts.block() != block || !layout.halos().empty()) {
      refuse_form(fmt::format(
          "Shardy cuts into blocks of ceil(n/k), and dimension {} is cut otherwise", dim));
    }
  }

  /// Whether the numbers are 0, 1, .. in some order.
  [[nodiscard]] bool are_in_order() const {
    std::vector<Size> sorted = numbers_.list();
    std::sort(sorted.begin(), sorted.end());
    return numbers_.are_listed() && sorted == from_zero(static_cast<Size>(sorted.size()));
  }

  Mesh mesh_;
  const DeviceNumbers& numbers_;
};

/// `[{}, {"x"}]`: the axes at one dimension of `rank`.
std::string at_dim(const std::string& axes, std::size_t dim, std::size_t rank) {
  std::string out;
  for (std::size_t i = 0; i < rank; ++i) {
    out += fmt::format("{}{{{}}}", i == 0 ? "" : ", ", i == dim ? axes : "");
  }
  return "[" + out + "]";
}

/// `max `; nothing for a sum, which Shardy adds where nothing is said.
std::string kind(Addition addition) {
  return addition == Addition::sum ? "" : fmt::format("{} ", name_of(addition));
}

/// The operation, its axes and its operand, as far as `out_sharding`.
std::string operation(const Traced& traced, const Shardings& shardings, const std::string& value) {
  const std::string axes = shardings.axes(traced.digits);
  const std::size_t rank = traced.before.rank();
  return match(
      traced.step->op,
      [&](const Dynslice& op) {
        return fmt::format("sdy.all_slice {} {}", at_dim(axes, op.dim, rank), value);
      },
      [&](const Allgather& op) {
        return fmt::format("sdy.all_gather {} {}", at_dim(axes, op.dim, rank), value);
      },
      [&](const Alltoall& op) {
        if (op.split == op.concat) refuse_form("Shardy's all_to_all is between two dimensions");
        return fmt::format("sdy.all_to_all [{{{}}}: {}->{}] {}", axes, op.concat, op.split, value);
      },
      [&](const Allpermute&) { return fmt::format("sdy.collective_permute {}", value); },
      [&](const Exchange&) -> std::string { refuse_form("Shardy has no exchange"); },
      [&](const Reducescatter& op) {
        return fmt::format("sdy.reduce_scatter {}{} {}", kind(op.add), at_dim(axes, op.dim, rank),
                           value);
      },
      [&](const Allreduce& op) {
        return fmt::format("sdy.all_reduce {}{{{}}} {}", kind(op.add),
                           shardings.axes_in_order(traced.digits), value);
      },
      [&](const Unreduce& op) {
        return fmt::format("sdy.replicated_to_unreduced {}{{{}}} {}", kind(op.add),
                           shardings.axes_in_order(traced.digits), value);
      },
      [&](const Embed& op) {
        return fmt::format("sdy.sharded_to_unreduced {}{} {}", kind(op.add),
                           at_dim(axes, op.dim, rank), value);
      },
      [&](const OverDims auto&) -> std::string { refuse_over_dims(*traced.step, "Shardy"); });
}

}  // namespace

std::string shardy(const Program& program, std::string_view element) {
  const std::vector<Traced> steps = trace(program, true);
  const Shardings shardings(program, steps);
  const std::string type = tensor(program.from.global(), element);
  const auto end = [&](const Layout& layout) {
    return fmt::format("{} {{sdy.sharding = #sdy.sharding<{}>}}", type, shardings.body(layout));
  };
  std::string out = fmt::format("{}module @retile {{\n  {}\n", shardings.note(), shardings.mesh());
  out +=
      fmt::format("  func.func @main(%arg0: {}) -> ({}) {{\n", end(program.from), end(program.to));
  std::string value = "%arg0";
  for (const Traced& traced : steps) {
    const std::string next = fmt::format("%{}", traced.number - 1);
    out += fmt::format("    {} = {} out_sharding=<{}> : {}\n", next,
                       operation(traced, shardings, value), shardings.body(traced.after), type);
    value = next;
  }
  return out + fmt::format("    return {} : {}\n  }}\n}}\n", value, type);
}

}  // namespace retile::emit
