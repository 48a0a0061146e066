// A Python module for JAX: shard_map over all devices, and collectives of jax.lax in groups.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "retile/core/cases.h"
#include "retile/core/layout_facts.h"
#include "retile/emit/trace.h"
#include "retile/notation/convert.h"
#include "retile/program/apply.h"

namespace retile::emit {
namespace {

constexpr std::string_view jax_head =
    R"PY(# A plan of retile for JAX. `reshard` takes and gives arrays as FROM and TO say; run as a program, this
# file moves numbers on as many host devices and compares every element.
)PY";

constexpr std::string_view middle = R"PY(
import os
import sys

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES} " + os.environ.get("XLA_FLAGS", "")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map


def at(table):
    """What a table says for this device."""
    return jnp.asarray(np.array(table, np.int32))[lax.axis_index("d")]


)PY";

constexpr std::string_view jax_tail = R"PY(
def sharding(names, sizes, spec, devices=None):
    devices = np.array(jax.devices()[:DEVICES] if devices is None else devices)
    return NamedSharding(Mesh(devices.reshape(sizes), names), P(*spec))


def on_devices(function):
    """`function` of every device's tile, on an array of all tiles."""
    mesh = Mesh(np.array(jax.devices()[:DEVICES]), ("d",))
    arguments = dict(mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    try:
        mapped = shard_map(lambda x: function(x[0])[None], check_vma=False, **arguments)
    except TypeError:
        mapped = shard_map(lambda x: function(x[0])[None], check_rep=False, **arguments)
    return jax.jit(mapped), NamedSharding(mesh, P("d"))


def tiles_of(array):
    """The tiles of an array's devices, in their order."""
    shards = {shard.device: shard.data for shard in array.addressable_shards}
    return [shards[device] for device in jax.devices()[:DEVICES]]


def reshard_tiles(tiles):
    mapped, stacked = on_devices(steps)
    shape = (DEVICES,) + tiles[0].shape
    with_devices = [jax.device_put(tile[None], device) for tile, device in zip(tiles, jax.devices())]
    moved = mapped(jax.make_array_from_single_device_arrays(shape, stacked, with_devices))
    return [tile[0] for tile in tiles_of(moved)]


def reshard(array):
    """An array that FROM says, as TO says; not of addends."""
    tiles = reshard_tiles(tiles_of(array))
    return jax.make_array_from_single_device_arrays(SHAPE, sharding(*TO), tiles)


def addends(add):
    return {"sum": np.add, "max": np.maximum, "min": np.minimum}[add]


def held(end, number, count, whole):
    """What device by device holds of an array, or of its addends: number k is the array k + 1 times."""
    indices = sharding(*end).devices_indices_map(SHAPE)
    return [whole[indices[device]] * (number[d] + 1) for d, device in enumerate(jax.devices()[:DEVICES])]


def check():
    whole = np.arange(np.prod(SHAPE, dtype=int), dtype=np.int32).reshape(SHAPE)
    moved = [np.asarray(tile) for tile in reshard_tiles(held(FROM, FROM_ADDEND, FROM_ADDENDS, whole))]
    total = whole
    for k in range(1, FROM_ADDENDS):
        total = addends(ADD)(total, whole * (k + 1))
    indices = sharding(*TO).devices_indices_map(SHAPE)
    compared = 0
    for d, device in enumerate(jax.devices()[:DEVICES]):
        found = moved[d]
        if TO_ADDENDS > 1:
            others = {}
            for e, other in enumerate(jax.devices()[:DEVICES]):
                if indices[other] == indices[device]:
                    others.setdefault(TO_ADDEND[e], moved[e])
            found = others.pop(0)
            for other in others.values():
                found = addends(ADD)(found, other)
        want = total[indices[device]]
        if found.shape != want.shape or not np.array_equal(found, want):
            print(f"wrong: device {d}")
            return 1
        compared += found.size
    print(f"right: {compared} elements compared on {DEVICES} devices")
    return 0


if __name__ == "__main__":
    sys.exit(check())
)PY";

std::string rows_text(const DeviceTable& table) {
  std::string out;
  for (const auto& row : rows_of(table)) {
    out += fmt::format("{}[{}]", out.empty() ? "" : ", ", fmt::join(row, ", "));
  }
  return "[" + out + "]";
}

/// The function of one device's tile, line by line.
class Steps {
 public:
  explicit Steps(const Program& program) : program_(program) {}

  void step(const Step& step, const Shape& before, const Shape& after) {
    before_ = before;
    after_ = after;
    match(
        step.op, [&](const Dynslice& op) { keep(op.dim, slice_starts(program_, op, after_)); },
        [&](const Allgather& op) {
          line(fmt::format("lax.all_gather(x, \"d\", axis={}, axis_index_groups={}, tiled=True)",
                           op.dim, rows_text(op.groups)));
        },
        [&](const Alltoall& op) {
          line(fmt::format("lax.all_to_all(x, \"d\", {}, {}, axis_index_groups={}, tiled=True)",
                           op.split, op.concat, rows_text(op.groups)));
        },
        [&](const Allpermute& op) { permute(op); },
        [&](const Exchange&) {
          refuse_form("JAX has no exchange", {"--collectives plans without one"});
        },
        [&](const Reducescatter& op) { reduce_scatter(op); },
        [&](const Allreduce& op) { reduce(op.add, op.groups); },
        [&](const Unreduce& op) {
          const auto places = places_in(op.groups, program_.devices);
          line(fmt::format("jnp.where(at([{}]) == 0, x, jnp.zeros_like(x))",
                           fmt::join(places, ", ")));
        },
        [&](const Embed& op) { embed(op); },
        [&](const OverDims auto&) { refuse_over_dims(step, "JAX"); });
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void line(const std::string& right) { text_ += fmt::format("    x = {}\n", right); }

  void keep(std::size_t dim, const std::vector<Size>& starts) {
    line(fmt::format("lax.dynamic_slice_in_dim(x, at([{}]), {}, axis={})", fmt::join(starts, ", "),
                     after_[dim], dim));
  }

  void permute(const Allpermute& op) {
    std::string pairs;
    const std::vector<Size> from = sources_of(op.source, program_.devices);
    for (std::size_t d = 0; d < from.size(); ++d) {
      pairs += fmt::format("{}({}, {})", d == 0 ? "" : ", ", from[d], d);
    }
    line(fmt::format("lax.ppermute(x, \"d\", [{}])", pairs));
  }

  void reduce(Addition addition, const DeviceTable& groups) {
    // psum alone takes groups: of the others every member is gathered first.
    if (addition == Addition::sum) {
      line(fmt::format("lax.psum(x, \"d\", axis_index_groups={})", rows_text(groups)));
      return;
    }
    line(fmt::format("lax.all_gather(x, \"d\", axis=0, axis_index_groups={}).{}(axis=0)",
                     rows_text(groups), name_of(addition)));
  }

  void reduce_scatter(const Reducescatter& op) {
    if (op.add == Addition::sum) {
      line(fmt::format(
          "lax.psum_scatter(x, \"d\", scatter_dimension={}, axis_index_groups={}, tiled=True)",
          op.dim, rows_text(op.groups)));
      return;
    }
    reduce(op.add, op.groups);
    std::vector<Size> starts = places_in(op.groups, program_.devices);
    for (Size& start : starts) start *= after_[op.dim];
    keep(op.dim, starts);
  }

  void embed(const Embed& op) {
    std::vector<Size> starts = places_in(op.groups, program_.devices);
    for (Size& start : starts) start *= before_[op.dim];
    line(fmt::format(
        "lax.dynamic_update_slice_in_dim(jnp.zeros(({},), x.dtype), x, at([{}]), axis={})",
        fmt::join(after_, ", "), fmt::join(starts, ", "), op.dim));
  }

  const Program& program_;
  Shape before_;
  Shape after_;
  std::string text_;
};

/// `(("x", "y"), (2, 4), ("x", None))`: a mesh of whole axes, and what they cut.
std::string jax_sharding(const Layout& layout) {
  if (!layout.is_compact()) refuse_form("JAX has no tiles that no axes of a mesh say");
  std::vector<Digit> all;
  for (const auto& digits : layout.digits()) all.insert(all.end(), digits.begin(), digits.end());
  for (const Digit& digit : addend_digits(layout)) all.push_back(digit);
  const std::vector<Digit> axes = factors_of(layout.devices(), all);
  std::string names;
  std::string sizes;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    names += fmt::format("\"a{}\", ", k);
    sizes += fmt::format("{}, ", axes[k].size);
  }
  std::string spec;
  for (const auto& digits : layout.digits()) {
    std::string entry;
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
      for (std::size_t k = 0; k < axes.size(); ++k) {
        const bool inside =
            digit->stride <= axes[k].stride && axes[k].stride < digit->stride * digit->size;
        if (inside) entry += fmt::format("\"a{}\", ", k);
      }
    }
    spec += entry.empty() ? "None, " : fmt::format("({}), ", entry);
  }
  return fmt::format("(({}), ({}), ({}))", names, sizes, spec);
}

/// `FROM`, and who holds which addend.
std::string jax_end(std::string_view name, const Layout& layout) {
  std::vector<Size> addends;
  for (Size d = 0; d < layout.devices(); ++d) addends.push_back(layout.addend(d));
  return fmt::format("{0} = {1}\n{0}_ADDENDS = {2}\n{0}_ADDEND = [{3}]\n", name,
                     jax_sharding(layout), layout.addend_count(), fmt::join(addends, ", "));
}

}  // namespace

std::string jax(const Program& program) {
  check_listable(program, "JAX");
  const std::vector<Shape> tiles = even_tiles(program, "JAX");
  const Addition addition = addition_of(program).value_or(Addition::sum);
  if (addition == Addition::stack) refuse_form("JAX has no stacks");
  Steps steps(program);
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    steps.step(program.steps[k], tiles[k], tiles[k + 1]);
  }
  std::string out = std::string(jax_head) + ends_text(program, "# ");
  out += fmt::format("DEVICES = {}\nSHAPE = ({}{})\nADD = \"{}\"\n", program.devices,
                     fmt::join(program.from.global(), ", "), program.from.rank() > 0 ? "," : "",
                     name_of(addition));
  out += jax_end("FROM", program.from) + jax_end("TO", program.to);
  out += std::string(middle) + "def steps(x):\n" + steps.text() + "    return x\n\n";
  return out + std::string(jax_tail);
}

}  // namespace retile::emit
