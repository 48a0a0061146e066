// The simulator. Every step is written as the table in docs/reference/program.md says it: cut pieces, put
// them side by side. Shares nothing with the MPI executor but the question whether a step can be
// applied.
#include "retile/exec/sim/sim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>

#include "retile/core/assert.h"
#include "retile/core/element_type.h"
#include "retile/core/walk.h"
#include "retile/exec/add/adder.h"
#include "retile/exec/add/order.h"
#include "retile/program/apply.h"
#include "retile/program/tile_shapes.h"

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
  const DeviceShapes* before = nullptr;  // the step that is applied
  const DeviceShapes* after = nullptr;
  Size element_bytes = 1;
  std::optional<add::Adder> adder;   // of a Program that adds
  std::vector<Size> received_bytes;  // per device

  /// Of all tiles. Precondition: they are alike.
  [[nodiscard]] const Shape& shape() const { return before->largest(); }
};

Size bytes_of(const Tile& tile) { return static_cast<Size>(tile.size()); }

Tiles apply(const Dynslice& step, const State& state) {
  Tiles after(state.tiles.size());
  const auto n = static_cast<std::size_t>(group_size(step));
  const auto keep = [&](std::size_t d, std::size_t q) {
    after[d] = piece(state.tiles[d], state.shape(), step.dim, state.element_bytes, n, q);
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
    const Tile gathered = concatenated(members, state.shape(), step.dim, state.element_bytes);
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
    Shape piece_shape = state.shape();
    piece_shape[step.split] /= static_cast<Size>(n);
    for (std::size_t q = 0; q < n; ++q) {
      Tiles pieces;
      pieces.reserve(n);
      std::vector<const Tile*> parts;
      for (const Size member : row) {
        pieces.push_back(piece(state.tiles[static_cast<std::size_t>(member)], state.shape(),
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

/// Tiles of the shapes after the step, of zero bytes.
Tiles new_tiles(const State& state) {
  Tiles tiles;
  for (Size d = 0; d < static_cast<Size>(state.tiles.size()); ++d) {
    const Size elements = checked_product(state.after->of(d)).value();
    tiles.emplace_back(static_cast<std::size_t>(elements * state.element_bytes));
  }
  return tiles;
}

/// Moves one box, element by element.
/// \param adds  to what is there, instead of writing over it
void move(const Transfer& transfer, bool adds, State& state, Tiles& tiles) {
  const Shape& before = state.before->of(transfer.source);
  const Shape& after = state.after->of(transfer.target);
  const std::size_t rank = after.size();
  const Tile& from = state.tiles[static_cast<std::size_t>(transfer.source)];
  Tile& to = tiles[static_cast<std::size_t>(transfer.target)];
  Shape at(rank, 0);  // within the box
  do {
    Size source = 0;
    Size target = 0;
    for (std::size_t k = 0; k < rank; ++k) {
      source = source * before[k] + transfer.source_start[k] + at[k];
      target = target * after[k] + transfer.target_start[k] + at[k];
    }
    std::byte* const there = to.data() + target * state.element_bytes;
    const std::byte* const element = from.data() + source * state.element_bytes;
    if (adds) {
      state.adder->add(there, element, 1);
    } else {
      std::memcpy(there, element, static_cast<std::size_t>(state.element_bytes));
    }
    if (transfer.source != transfer.target) {
      state.received_bytes[static_cast<std::size_t>(transfer.target)] += state.element_bytes;
    }
  } while (advance(at, transfer.shape));
}

Tiles moved(const std::vector<Transfer>& transfers, State& state) {
  Tiles tiles = new_tiles(state);
  for (const Transfer& transfer : transfers) move(transfer, false, state, tiles);
  return tiles;
}

Tiles apply(const Exchange& step, State& state) { return moved(step.transfers, state); }

Tiles apply(const Adding auto& /*step*/, State& /*state*/) {
  RETILE_ASSERT(false, "a Program that adds is not even");
}

Tiles apply(const OverDims auto& /*step*/, State& /*state*/) {
  RETILE_ASSERT(false, "a step along several dimensions goes in boxes");
}

/// A step on tiles that are not all alike.
/// \param ranks  of the tiles, where the Program has addends
Tiles apply_uneven(const Step& step, const std::vector<Size>& ranks, State& state) {
  auto moves = moves_of(step, state.before->of_all(static_cast<Size>(state.tiles.size())));
  RETILE_ASSERT(moves.has_value(), "tile_shapes() has seen that the step can be applied");
  const auto manner = add::manner_of(step.op);
  if (!manner) return moved(moves->transfers, state);
  Tiles tiles = new_tiles(state);
  if (manner->clears) {
    for (Tile& tile : tiles) state.adder->clear(tile);
  }
  add::put_in_order(moves->transfers, ranks);
  const Transfer* last = nullptr;
  for (const Transfer& transfer : moves->transfers) {
    const bool is_first = last == nullptr || last->target != transfer.target;
    move(transfer, !(is_first && manner->copies_first), state, tiles);
    last = &transfer;
  }
  return tiles;
}

Size largest_bytes(const Tiles& tiles) {
  Size out = 0;
  for (const Tile& tile : tiles) out = std::max(out, bytes_of(tile));
  return out;
}

/// \param adder  of a Program that adds
Result<Outcome> run_steps(const Program& program, Tiles tiles, Size element_bytes,
                          const std::optional<add::Adder>& adder) {
  const auto shapes = tile_shapes(program, element_bytes);
  if (!shapes) return refuse(shapes.error());
  const Size tile_bytes = program.from.tile_size() * element_bytes;
  bool fit = static_cast<Size>(tiles.size()) == program.devices;
  for (Size d = 0; fit && d < program.devices; ++d) {
    const Size elements = checked_product(shapes->front().of(d)).value();
    fit = bytes_of(tiles[static_cast<std::size_t>(d)]) == elements * element_bytes;
  }
  if (!fit) {
    return refuse(
        {.code = Code::bad_argument,
         .message = fmt::format("the Program starts with {} tiles of {}{} bytes", program.devices,
                                shapes->front().alike() ? "" : "up to ", tile_bytes)});
  }
  State state{.tiles = std::move(tiles),
              .element_bytes = element_bytes,
              .adder = adder,
              .received_bytes = std::vector<Size>(static_cast<std::size_t>(program.devices), 0)};
  std::vector<std::vector<Size>> ranks(program.steps.size());
  if (adder) ranks = add::ranks_before_steps(program, *shapes);
  Outcome outcome;
  outcome.peak_bytes_per_device = tile_bytes;
  for (std::size_t index = 0; index < program.steps.size(); ++index) {
    const Step& step = program.steps[index];
    state.before = &(*shapes)[index];
    state.after = &(*shapes)[index + 1];
    const Size before = largest_bytes(state.tiles);
    state.tiles = state.before->alike()
                      ? std::visit([&](const auto& op) { return apply(op, state); }, step.op)
                      : apply_uneven(step, ranks[index], state);
    outcome.peak_bytes_per_device =
        std::max(outcome.peak_bytes_per_device, before + largest_bytes(state.tiles));
  }
  outcome.received_bytes =
      *std::max_element(state.received_bytes.begin(), state.received_bytes.end());
  outcome.tiles = std::move(state.tiles);
  return outcome;
}

}  // namespace

Result<Outcome> run(const Program& program, Tiles tiles, Size element_bytes) {
  if (auto good = check_element_size(element_bytes); !good) return refuse(good.error());
  if (has_addends(program)) {
    return refuse({.code = Code::unsupported,
                   .message = "a Program with addends is run with elements of a known type only"});
  }
  return run_steps(program, std::move(tiles), element_bytes, std::nullopt);
}

Result<Outcome> run(const Program& program, Tiles tiles, const ElementType& type) {
  if (auto good = check_element_size(type.bytes); !good) return refuse(good.error());
  const auto adder = add::adder_of(program, type);
  if (!adder) return refuse(adder.error());
  return run_steps(program, std::move(tiles), type.bytes, *adder);
}

}  // namespace retile::sim
