#include "retile/run/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "retile/core/boxes.h"
#include "retile/core/division.h"
#include "retile/core/index.h"
#include "retile/core/walk.h"
#include "retile/exec/add/order.h"
#include "retile/exec/add/recipe.h"
#include "retile/exec/npy/tile_runs.h"
#include "retile/program/tile_shapes.h"

namespace retile::run {
namespace {

/// An index of a box that lies elsewhere.
Shape moved_by(Shape at, const Shape& by, Size sign) {
  for (std::size_t k = 0; k < at.size(); ++k) at[k] += sign * by[k];
  return at;
}

/// The part of a part that a box inside it is.
TilePart part_in(const TilePart& whole, Box box) {
  Shape place = moved_by(moved_by(box.at, whole.box.at, -1), whole.place, 1);
  return {std::move(place), std::move(box)};
}

/// The parts of a device's tile that lie in a box.
std::vector<TilePart> parts_held(const Box& box, const TileStretches& held, Size device) {
  std::vector<std::vector<PlacedStretch>> along(box.at.size());
  for (std::size_t k = 0; k < along.size(); ++k) {
    held.each(device, k, [&](const Stretch& one, Size place) {
      const Stretch both{std::max(box.at[k], one.begin),
                         std::min(box.at[k] + box.extent[k], one.end)};
      if (both.begin < both.end) along[k].push_back({both, place + both.begin - one.begin});
    });
    if (along[k].empty()) return {};
  }
  return parts_of(along);
}

/// Calls visit(block) for boxes of at most `most` elements that a box of this shape is cut into, one
/// behind the other in C order, until it says no.
/// Precondition: the box has elements.
template <typename Visit>
void each_block(const Shape& shape, Size most, const Visit& visit) {
  const std::size_t rank = shape.size();
  Shape largest(rank, 1);
  for (std::size_t k = rank; k-- > 0;) {
    largest[k] = std::min(shape[k], most);
    most /= largest[k];
    if (most <= 1) break;
  }
  Shape blocks(rank);
  for (std::size_t k = 0; k < rank; ++k) blocks[k] = ceil_div(shape[k], largest[k]);
  Box block{Shape(rank, 0), largest};
  for_box(blocks, [&](const Shape& number) {
    for (std::size_t k = 0; k < rank; ++k) {
      block.at[k] = number[k] * largest[k];
      block.extent[k] = std::min(largest[k], shape[k] - block.at[k]);
    }
    return visit(std::as_const(block));
  });
}

}  // namespace

Result<Comparison> Comparison::make(const TileFiles& files, const Program& program,
                                    Executor::Devices devices) {
  Comparison out(files, program, devices);
  const auto adder = add::adder_of(program, files.type());
  if (!adder) return tl::unexpected(adder.error());
  if (!*adder) return out;
  const auto shapes = tile_shapes(program, files.type().bytes);
  if (!shapes) return tl::unexpected(shapes.error());
  auto sums = add::sums_of(program, *shapes);
  if (!sums) return tl::unexpected(sums.error());
  out.adder_ = *adder;
  out.sums_ = std::move(*sums);
  return out;
}

/// Visits what a device's tile of a layout has in common with the tiles of `holders` devices of the
/// start, `first` and the following ones, around the end if need be. Every element comes once, from the
/// first that holds it; what none of them holds is handed back.
Result<std::vector<TilePart>> Comparison::each_copy(const Layout& layout, Size device, Size first,
                                                    Size holders, const Visit& visit) const {
  const Layout& from = program_->array_from();
  std::vector<TilePart> left = layout.parts(device);
  const Shape strides = strides_of(layout.tile(device));
  for (Size k = 0; k < holders && !left.empty(); ++k) {
    const Size holder = (first + k) % from.devices();
    if (from.addend(holder) != layout.addend(device)) continue;
    std::vector<TilePart> rest;
    for (const TilePart& wanted : left) {
      std::vector<Box> missing = {wanted.box};
      for (const TilePart& part : parts_held(wanted.box, held_, holder)) {
        std::vector<Box> other;
        for (Box& box : missing) {
          const auto shared = common(box, part.box);
          std::vector<Box> more =
              shared ? without(std::move(box), *shared) : std::vector{std::move(box)};
          std::move(more.begin(), more.end(), std::back_inserter(other));
        }
        missing = std::move(other);
        const Size place = offset_of(part.place, strides_of(from.tile(holder)));
        const Size target = offset_of(part_in(wanted, part.box).place, strides);
        const add::SumBox copy{.shape = part.box.extent, .terms = {{holder, place}}, .targets = {}};
        if (auto done = visit(copy, {device, target}); !done) return tl::unexpected(done.error());
      }
      for (Box& box : missing) rest.push_back(part_in(wanted, std::move(box)));
    }
    left = std::move(rest);
  }
  return left;
}

/// Visits all boxes of the tiles of the end that this process has.
Result<void> Comparison::each_sum(const Visit& visit) const {
  const Size end = devices_.first + devices_.count;
  if (sums_) {
    for (const add::SumBox& box : sums_->boxes) {
      for (const add::Term& target : box.targets) {
        if (target.device < devices_.first || target.device >= end) continue;
        if (auto done = visit(box, target); !done) return done;
      }
    }
    return {};
  }
  for (Size device = devices_.first; device < end; ++device) {
    // Its own file first, and then another one than its neighbour reads.
    const auto left = each_copy(program_->array_to(), device, device, program_->devices, visit);
    if (!left) return tl::unexpected(left.error());
    if (left->empty()) continue;
    return refuse({.code = Code::inapplicable,
                   .message = fmt::format(
                       "device {} must hold the element [{}] at the end, which is in no tile of "
                       "the start",
                       program_->numbers.of(device), fmt::join(left->front().box.at, ", "))});
  }
  return {};
}

Result<void> Comparison::reach() const {
  std::set<Size> reached;
  return each_sum([&](const add::SumBox& box, const add::Term& target) -> Result<void> {
    for (const add::Term& term : box.terms) {
      if (!term.is_element() || !reached.insert(term.device).second) continue;
      const auto file = files_->file(term.device, target.device);
      if (!file) return tl::unexpected(file.error());
    }
    return {};
  });
}

Result<void> Comparison::compare_replicas(Executor& executor, Buffer& buffer) const {
  const Layout& from = program_->array_from();
  Reading reading{OpenTiles(*files_), buffer};
  for (Size device = devices_.first; device < devices_.first + devices_.count; ++device) {
    const Shape tile = from.tile(device);
    const auto compare = [&](const add::SumBox& box, const add::Term& target) -> Result<void> {
      const auto found = difference(box, target, executor.input(device), tile, reading);
      if (!found) return tl::unexpected(found.error());
      if (!*found) return {};
      const Shape element = element_at(from.parts(device), index_of(**found, tile));
      return refuse({.code = Code::bad_file,
                     .message = fmt::format("the tiles of devices {} and {} differ in the element "
                                            "[{}], which both hold",
                                            program_->numbers.of(box.terms.front().device),
                                            program_->numbers.of(device), fmt::join(element, ", ")),
                     .source = files_->path(device)});
    };
    const auto alone = each_copy(from, device, 0, device, compare);
    if (!alone) return tl::unexpected(alone.error());
  }
  return {};
}

Result<std::optional<Mismatch>> Comparison::find_mismatch(
    Executor& executor, Buffer& buffer, const std::function<void(Size)>& told) const {
  std::optional<Mismatch> first;
  Size compared = 0;
  Reading reading{OpenTiles(*files_), buffer};
  const auto done = each_sum([&](const add::SumBox& box, const add::Term& target) -> Result<void> {
    told(compared);
    compared += *checked_product(box.shape);
    const auto found = difference(box, target, executor.output(target.device),
                                  program_->array_to().tile(target.device), reading);
    if (!found) return tl::unexpected(found.error());
    if (!*found) return {};
    const Mismatch here{.device = target.device, .local_index = **found};
    const auto place = [](const Mismatch& it) { return std::tuple(it.device, it.local_index); };
    if (!first || place(here) < place(*first)) first = here;
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  return first;
}

/// The first element of a box of a tile that is not what the files say, by its number in the tile.
Result<std::optional<Size>> Comparison::difference(const add::SumBox& box, const add::Term& target,
                                                   std::span<const std::byte> tile,
                                                   const Shape& shape, Reading& reading) const {
  const Size width = files_->type().bytes;
  const add::Recipe recipe(box.terms);
  std::vector<add::Term> addends;
  std::copy_if(box.terms.begin(), box.terms.end(), std::back_inserter(addends),
               [](const add::Term& term) { return term.is_element(); });
  // Two addends and the sums on the way share the buffer; one element alone has all of it.
  const Size rooms = recipe.levels() == 0 ? 1 : 2 + recipe.levels();
  const Size most = static_cast<Size>(piece_bytes) / width / rooms;
  if (most == 0) return refuse(Code::limit_reached, "a sum has too many brackets to be compared");
  const Shape start = index_of(target.element, shape);
  Result<void> readable;
  std::optional<Size> first;
  each_block(box.shape, most, [&](const Box& block) {
    const Size elements = *checked_product(block.extent);
    const auto room = [&](Size number) {
      return reading.buffer.piece(piece_bytes)
          .subspan(index(number * most * width), index(elements * width));
    };
    const auto addend = [&](std::size_t number, Size k) -> const std::byte* {
      if (readable) readable = read(addends[number], block, target.device, room(k), reading);
      return room(k).data();
    };
    const auto level = [&](Size number) { return room(2 + number).data(); };
    const std::byte* const wanted = recipe.run(adder_, index(elements), addend, level);
    if (!readable) return false;
    for (TileRuns runs(shape, block.extent, moved_by(block.at, start, 1)); !runs.done();) {
      const Run run = runs.next(runs.run_elements());
      const std::byte* const there = tile.data() + run.global * width;
      const std::byte* const expected = wanted + run.local * width;
      const std::byte* const end = expected + run.elements * width;
      if (std::memcmp(there, expected, index(run.elements * width)) == 0) continue;
      first = run.global + (std::mismatch(expected, end, there).first - expected) / width;
      return false;
    }
    return true;
  });
  if (!readable) return tl::unexpected(readable.error());
  return first;
}

/// Reads a block of a box that begins at an element of a device's tile of the start.
Result<void> Comparison::read(const add::Term& term, const Box& block, Size reader,
                              std::span<std::byte> out, Reading& reading) {
  const auto opened = reading.files.file(term.device, reader);
  if (!opened) return tl::unexpected(opened.error());
  const NpyFile& file = **opened;
  TileReader part(file, block.extent,
                  moved_by(index_of(term.element, file.header().shape), block.at, 1));
  auto done = part.read(out);
  reading.buffer.note(part.buffer_bytes());
  return done;
}

}  // namespace retile::run
