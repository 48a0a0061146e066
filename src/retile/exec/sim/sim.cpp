// The simulator: every step is the boxes that it moves (program/moves.h), one after the other.
#include "retile/exec/sim/sim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/element_type.h"
#include "retile/core/index.h"
#include "retile/core/walk.h"
#include "retile/exec/add/adder.h"
#include "retile/exec/add/order.h"
#include "retile/program/moves.h"
#include "retile/program/tile_shapes.h"

namespace retile::sim {
namespace {

using Tile = std::vector<std::byte>;

struct State {
  Tiles tiles;
  const DeviceShapes* before = nullptr;  // the step that is applied
  const DeviceShapes* after = nullptr;
  Size element_bytes = 1;
  std::optional<add::Adder> adder;   // of a Program that adds
  std::vector<Size> received_bytes;  // per device
};

Size bytes_of(const Tile& tile) { return static_cast<Size>(tile.size()); }

/// Tiles of the shapes after the step, of zero bytes.
Tiles new_tiles(const State& state) {
  Tiles tiles;
  for (Size d = 0; d < static_cast<Size>(state.tiles.size()); ++d) {
    const Size elements = checked_product(state.after->of(d)).value();
    tiles.emplace_back(index(elements * state.element_bytes));
  }
  return tiles;
}

/// Moves one box.
/// \param adds  to what is there, instead of writing over it
void move(const Transfer& transfer, bool adds, State& state, Tiles& tiles) {
  const Shape before = strides_of(state.before->of(transfer.source));
  const Shape after = strides_of(state.after->of(transfer.target));
  Walk<2> box;
  for (std::size_t k = 0; k < after.size(); ++k) box.add(transfer.shape[k], {before[k], after[k]});
  const Tile& from = state.tiles[index(transfer.source)];
  Tile& to = tiles[index(transfer.target)];
  Size moved = 0;
  const auto move_row = [&](const Row<2>& row) {
    const bool is_dense = row.step == Walk<2>::Strides{1, 1};
    const Size length = is_dense ? row.length : 1;  // of elements that lie together
    for (Size e = 0; e < row.length; e += length) {
      const std::byte* const source =
          from.data() + (row.at[0] + e * row.step[0]) * state.element_bytes;
      std::byte* const target = to.data() + (row.at[1] + e * row.step[1]) * state.element_bytes;
      if (adds) {
        state.adder->add(target, source, index(length));
      } else {
        std::memcpy(target, source, index(length * state.element_bytes));
      }
    }
    moved += row.length;
    return true;
  };
  static_cast<void>(box.each_row(
      {offset_of(transfer.source_start, before), offset_of(transfer.target_start, after)},
      move_row));
  if (transfer.source == transfer.target) return;
  state.received_bytes[index(transfer.target)] += moved * state.element_bytes;
}

/// The tiles after a step.
/// \param ranks  of the tiles, where the Program has addends
Tiles apply(const Step& step, const std::vector<Size>& ranks, State& state) {
  const TileShapes before = state.before->of_all(static_cast<Size>(state.tiles.size()));
  constexpr std::string_view seen = "tile_shapes() has seen that the step can be applied";
  Tiles tiles = new_tiles(state);
  const auto manner = add::manner_of(step.op);
  if (!manner) {
    const auto after = each_move(
        step, before, [&](const Transfer& transfer) { move(transfer, false, state, tiles); });
    RETILE_ASSERT(after.has_value(), seen);
    return tiles;
  }
  auto moves = moves_of(step, before);
  RETILE_ASSERT(moves.has_value(), seen);
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

/// Whether these are tiles of the shapes with which a Program starts.
Result<void> check_tiles(const Tiles& tiles, const Program& program, const DeviceShapes& shapes,
                         Size element_bytes) {
  if (static_cast<Size>(tiles.size()) != program.devices) {
    return refuse({.code = Code::bad_argument,
                   .message = fmt::format("the Program starts with {} tiles", program.devices)});
  }
  for (Size d = 0; d < program.devices; ++d) {
    const Size bytes = checked_product(shapes.of(d)).value() * element_bytes;
    if (bytes_of(tiles[index(d)]) == bytes) continue;
    return refuse({.code = Code::bad_argument,
                   .message = fmt::format("the Program starts with a tile of {} bytes on device {}",
                                          bytes, program.numbers.of(d))});
  }
  return {};
}

Result<Outcome> run_steps(const Program& program, Tiles tiles, Size element_bytes,
                          const std::optional<ElementType>& type) {
  if (auto good = check_element_size(element_bytes); !good) return refuse(good.error());
  const auto adder = add::adder_of(program, type);
  if (!adder) return refuse(adder.error());
  const auto shapes = tile_shapes(program, element_bytes);
  if (!shapes) return refuse(shapes.error());
  const Size tile_bytes = program.from.tile_size() * element_bytes;
  if (auto fit = check_tiles(tiles, program, shapes->front(), element_bytes); !fit) {
    return refuse(fit.error());
  }
  State state{.tiles = std::move(tiles),
              .element_bytes = element_bytes,
              .adder = *adder,
              .received_bytes = std::vector<Size>(static_cast<std::size_t>(program.devices), 0)};
  std::vector<std::vector<Size>> ranks(program.steps.size());
  if (*adder) ranks = add::ranks_before_steps(program, *shapes);
  Outcome outcome;
  outcome.peak_bytes_per_device = tile_bytes;
  for (std::size_t number = 0; number < program.steps.size(); ++number) {
    const Step& step = program.steps[number];
    state.before = &(*shapes)[number];
    state.after = &(*shapes)[number + 1];
    const Size before = largest_bytes(state.tiles);
    state.tiles = apply(step, ranks[number], state);
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
  return run_steps(program, std::move(tiles), element_bytes, std::nullopt);
}

Result<Outcome> run(const Program& program, Tiles tiles, const ElementType& type) {
  return run_steps(program, std::move(tiles), type.bytes, type);
}

}  // namespace retile::sim
