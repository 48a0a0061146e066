// The simulator. Every step is written as the table in docs/program.md says it: cut pieces, put
// them side by side. Shares nothing with the MPI executor but the question whether a step can be
// applied.
#include "retile/exec/sim/sim.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "retile/core/element_type.h"
#include "retile/program/apply.h"

namespace retile::sim {
namespace {

using Tile = std::vector<std::byte>;

/// A tile seen along one dimension: `outer` times `extent` slices of `slice_bytes`.
struct Along {
  std::size_t outer = 1;
  std::size_t extent = 1;
  std::size_t slice_bytes = 1;
};

Along along(const Shape& shape, std::size_t dim, Size element_bytes) {
  Along view;
  view.slice_bytes = static_cast<std::size_t>(element_bytes);
  for (std::size_t i = 0; i < dim; ++i) view.outer *= static_cast<std::size_t>(shape[i]);
  view.extent = static_cast<std::size_t>(shape[dim]);
  for (std::size_t i = dim + 1; i < shape.size(); ++i)
    view.slice_bytes *= static_cast<std::size_t>(shape[i]);
  return view;
}

/// Piece q of the n equal pieces of `tile` along dimension `dim`.
Tile piece(const Tile& tile, const Shape& shape, std::size_t dim, Size element_bytes, std::size_t n,
           std::size_t q) {
  const Along view = along(shape, dim, element_bytes);
  const std::size_t bytes = view.extent / n * view.slice_bytes;
  Tile out(tile.size() / n);
  for (std::size_t o = 0; o < view.outer; ++o) {
    std::memcpy(out.data() + o * bytes, tile.data() + (o * n + q) * bytes, bytes);
  }
  return out;
}

/// Tiles of one shape, concatenated along dimension `dim`, the first one first.
Tile concatenated(const std::vector<const Tile*>& tiles, const Shape& shape, std::size_t dim,
                  Size element_bytes) {
  const Along view = along(shape, dim, element_bytes);
  const std::size_t bytes = view.extent * view.slice_bytes;
  const std::size_t n = tiles.size();
  Tile out(tiles.front()->size() * n);
  for (std::size_t q = 0; q < n; ++q) {
    for (std::size_t o = 0; o < view.outer; ++o) {
      std::memcpy(out.data() + (o * n + q) * bytes, tiles[q]->data() + o * bytes, bytes);
    }
  }
  return out;
}

struct State {
  Tiles tiles;
  Shape shape;
  Shape shape_after;  // of the step that is applied
  Size element_bytes = 1;
  std::vector<Size> received_bytes;  // per device
};

Size bytes_of(const Tile& tile) { return static_cast<Size>(tile.size()); }

Tiles apply(const Dynslice& step, const State& state) {
  Tiles after(state.tiles.size());
  const auto n = static_cast<std::size_t>(group_size(step));
  const auto keep = [&](std::size_t d, std::size_t q) {
    after[d] = piece(state.tiles[d], state.shape, step.dim, state.element_bytes, n, q);
  };
  if (const auto* groups = std::get_if<DeviceTable>(&step.pieces)) {
    // Position in the row, without searching the table once per device.
    for (Size p = 0; p < groups->size(); ++p) {
      keep(static_cast<std::size_t>(groups->at(p)), static_cast<std::size_t>(p) % n);
    }
  } else {
    for (std::size_t d = 0; d < after.size(); ++d) {
      keep(d, static_cast<std::size_t>(piece_of(step, static_cast<Size>(d))));
    }
  }
  return after;
}

Tiles apply(const Allgather& step, State& state) {
  Tiles after(state.tiles.size());
  for (const std::vector<Size>& row : step.groups.to_rows()) {
    std::vector<const Tile*> members;
    members.reserve(row.size());
    for (const Size member : row) members.push_back(&state.tiles[static_cast<std::size_t>(member)]);
    const Tile gathered = concatenated(members, state.shape, step.dim, state.element_bytes);
    for (const Size member : row) {
      const auto d = static_cast<std::size_t>(member);
      after[d] = gathered;
      state.received_bytes[d] += bytes_of(gathered) - bytes_of(state.tiles[d]);
    }
  }
  return after;
}

Tiles apply(const Alltoall& step, State& state) {
  Tiles after(state.tiles.size());
  for (const std::vector<Size>& row : step.groups.to_rows()) {
    const std::size_t n = row.size();
    Shape piece_shape = state.shape;
    piece_shape[step.split] /= static_cast<Size>(n);
    for (std::size_t q = 0; q < n; ++q) {
      Tiles pieces;
      pieces.reserve(n);
      std::vector<const Tile*> parts;
      for (const Size member : row) {
        pieces.push_back(piece(state.tiles[static_cast<std::size_t>(member)], state.shape,
                               step.split, state.element_bytes, n, q));
        parts.push_back(&pieces.back());
      }
      const auto d = static_cast<std::size_t>(row[q]);
      after[d] = concatenated(parts, piece_shape, step.concat, state.element_bytes);
      state.received_bytes[d] +=
          bytes_of(after[d]) / static_cast<Size>(n) * static_cast<Size>(n - 1);
    }
  }
  return after;
}

Tiles apply(const Allpermute& step, State& state) {
  const std::vector<Size> from = sources(step, static_cast<Size>(state.tiles.size()));
  Tiles after;
  after.reserve(state.tiles.size());
  for (std::size_t d = 0; d < state.tiles.size(); ++d) {
    const auto source = static_cast<std::size_t>(from[d]);
    after.push_back(state.tiles[source]);
    if (source != d) state.received_bytes[d] += bytes_of(after[d]);
  }
  return after;
}

Tiles apply(const Exchange& step, State& state) {
  const Shape& after = state.shape_after;
  const auto size = checked_product(after).value_or(0) * state.element_bytes;
  Tiles tiles(state.tiles.size(), Tile(static_cast<std::size_t>(size)));
  const std::size_t rank = after.size();
  for (const Transfer& transfer : step.transfers) {
    const Tile& from = state.tiles[static_cast<std::size_t>(transfer.source)];
    Tile& to = tiles[static_cast<std::size_t>(transfer.target)];
    Shape at(rank, 0);  // within the box
    bool done = false;
    while (!done) {
      Size source = 0;
      Size target = 0;
      for (std::size_t k = 0; k < rank; ++k) {
        source = source * state.shape[k] + transfer.source_start[k] + at[k];
        target = target * after[k] + transfer.target_start[k] + at[k];
      }
      std::memcpy(to.data() + target * state.element_bytes,
                  from.data() + source * state.element_bytes,
                  static_cast<std::size_t>(state.element_bytes));
      if (transfer.source != transfer.target) {
        state.received_bytes[static_cast<std::size_t>(transfer.target)] += state.element_bytes;
      }
      std::size_t k = rank;
      while (k > 0 && ++at[k - 1] == transfer.shape[k - 1]) at[--k] = 0;
      done = k == 0;
    }
  }
  return tiles;
}

tl::unexpected<Diagnostic> inapplicable(std::size_t index, const Step& step,
                                        const Refusal& refusal) {
  Diagnostic diagnostic{
      .code = refusal.reason == Reason::limit ? Code::size_overflow : Code::inapplicable,
      .message = fmt::format("step {} ({}) cannot be applied", index, op_name(step)),
      .rule = std::string(reason_name(refusal.reason))};
  if (refusal.reason == Reason::transfers && refusal.device && refusal.at) {
    diagnostic.notes.push_back(fmt::format(
        "device {} at [{}]: a box that begins here leaves the tile, or not exactly one transfer "
        "writes this element",
        *refusal.device, fmt::join(*refusal.at, ",")));
  } else if (refusal.device) {
    diagnostic.notes.push_back(fmt::format("device {} is missing or repeated", *refusal.device));
  }
  return refuse(std::move(diagnostic));
}

}  // namespace

Result<Outcome> run(const Program& program, Tiles tiles, Size element_bytes) {
  const auto bad_argument = [](std::string message) {
    return refuse({.code = Code::bad_argument, .message = std::move(message)});
  };
  if (auto good = check_element_size(element_bytes); !good) return refuse(good.error());
  const auto tile_bytes = checked_mul(program.from.tile_size(), element_bytes);
  if (!tile_bytes)
    return refuse({.code = Code::size_overflow, .message = "a tile has more than 2^63 bytes"});
  if (program.devices < 1 || static_cast<std::size_t>(program.devices) != tiles.size()) {
    return bad_argument(
        fmt::format("{} tiles were given for {} devices", tiles.size(), program.devices));
  }
  for (const Tile& tile : tiles) {
    if (bytes_of(tile) != *tile_bytes) {
      return bad_argument(
          fmt::format("a tile of {} bytes was given, the Program starts with tiles of {}",
                      tile.size(), *tile_bytes));
    }
  }

  State state{.tiles = std::move(tiles),
              .shape = program.from.tile(),
              .shape_after = program.from.tile(),
              .element_bytes = element_bytes,
              .received_bytes = std::vector<Size>(static_cast<std::size_t>(program.devices), 0)};
  Outcome outcome;
  outcome.peak_bytes_per_device = *tile_bytes;
  for (std::size_t index = 0; index < program.steps.size(); ++index) {
    const Step& step = program.steps[index];
    if (!well_made(step, state.shape.size(), program.devices)) {
      return bad_argument(fmt::format(
          "step {} ({}) names a dimension or a device that does not exist", index, op_name(step)));
    }
    const auto shape = shape_after(step, state.shape, program.devices);
    if (!shape) return inapplicable(index, step, shape.error());
    const auto elements = checked_product(*shape);
    const auto bytes = elements ? checked_mul(*elements, element_bytes) : std::nullopt;
    const auto both = bytes ? checked_add(*bytes, bytes_of(state.tiles.front())) : std::nullopt;
    if (!both) return inapplicable(index, step, {.reason = Reason::limit, .device = {}});
    outcome.peak_bytes_per_device = std::max(outcome.peak_bytes_per_device, *both);
    state.shape_after = *shape;
    state.tiles = std::visit([&](const auto& op) { return apply(op, state); }, step.op);
    state.shape = *shape;
  }
  outcome.received_bytes =
      *std::max_element(state.received_bytes.begin(), state.received_bytes.end());
  outcome.tiles = std::move(state.tiles);
  return outcome;
}

}  // namespace retile::sim
