#include "retile/run/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

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

/// Adds what is left of a box without a part of it.
void cut_out(Box box, const Box& part, std::vector<Box>& rest) {
  for (std::size_t k = 0; k < box.at.size(); ++k) {
    const Size end = box.at[k] + box.extent[k];
    const Size part_end = part.at[k] + part.extent[k];
    const auto add = [&](Size from, Size to) {
      if (from == to) return;
      rest.push_back(box);
      rest.back().at[k] = from;
      rest.back().extent[k] = to - from;
    };
    add(box.at[k], part.at[k]);
    add(part_end, end);
    box.at[k] = part.at[k];
    box.extent[k] = part.extent[k];
  }
}

/// What of a box a device holds, if it holds some of it.
std::optional<Box> part_held(const Box& box, const BoxRows& held, Size device) {
  if (held.is_empty(device)) return std::nullopt;
  const auto begin = [&](std::size_t k) { return std::max(box.at[k], held.begin(device, k)); };
  const auto end = [&](std::size_t k) {
    return std::min(box.at[k] + box.extent[k], held.end(device, k));
  };
  for (std::size_t k = 0; k < box.at.size(); ++k) {
    if (begin(k) >= end(k)) return std::nullopt;
  }
  Box out = box;
  for (std::size_t k = 0; k < box.at.size(); ++k) {
    out.at[k] = begin(k);
    out.extent[k] = end(k) - begin(k);
  }
  return out;
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
Result<std::vector<Box>> Comparison::each_copy(const Layout& layout, Size device, Size first,
                                               Size holders, const Visit& visit) const {
  const Layout& from = program_->from;
  const Box tile = layout.box(device);
  std::vector<Box> left;
  if (!tile.is_empty()) left.push_back(tile);
  const Shape strides = strides_of(tile.extent);
  for (Size k = 0; k < holders && !left.empty(); ++k) {
    const Size holder = (first + k) % from.devices();
    if (from.addend(holder) != layout.addend(device)) continue;
    std::vector<Box> rest;
    for (Box& box : left) {
      const auto part = part_held(box, held_, holder);
      if (!part) {
        rest.push_back(std::move(box));
        continue;
      }
      cut_out(box, *part, rest);
      const Box whole = from.box(holder);
      const Size place = offset_of(moved_by(part->at, whole.at, -1), strides_of(whole.extent));
      const Size target = offset_of(moved_by(part->at, tile.at, -1), strides);
      const add::SumBox copy{.shape = part->extent, .terms = {{holder, place}}, .targets = {}};
      if (auto done = visit(copy, {device, target}); !done) return tl::unexpected(done.error());
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
    const auto left = each_copy(program_->to, device, device, program_->devices, visit);
    if (!left) return tl::unexpected(left.error());
    if (left->empty()) continue;
    return refuse({.code = Code::inapplicable,
                   .message = fmt::format(
                       "device {} must hold the element [{}] at the end, which is in no tile of "
                       "the start",
                       device, fmt::join(left->front().at, ", "))});
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
  const Layout& from = program_->from;
  for (Size device = devices_.first; device < devices_.first + devices_.count; ++device) {
    const Box tile = from.box(device);
    const auto compare = [&](const add::SumBox& box, const add::Term& target) -> Result<void> {
      const auto found = difference(box, target, executor.input(device), tile.extent, buffer);
      if (!found) return tl::unexpected(found.error());
      if (!*found) return {};
      const Shape element = moved_by(index_of(**found, tile.extent), tile.at, 1);
      return refuse(
          {.code = Code::bad_file,
           .message = fmt::format("the tiles of devices {} and {} differ in the element "
                                  "[{}], which both hold",
                                  box.terms.front().device, device, fmt::join(element, ", ")),
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
  const auto done = each_sum([&](const add::SumBox& box, const add::Term& target) -> Result<void> {
    told(compared);
    compared += *checked_product(box.shape);
    const auto found = difference(box, target, executor.output(target.device),
                                  program_->to.box(target.device).extent, buffer);
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
                                                   const Shape& shape, Buffer& buffer) const {
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
      return buffer.piece(piece_bytes)
          .subspan(index(number * most * width), index(elements * width));
    };
    const auto addend = [&](std::size_t number, Size k) -> const std::byte* {
      if (readable) readable = read(addends[number], block, target.device, room(k), buffer);
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
                              std::span<std::byte> out, Buffer& buffer) const {
  const auto file = files_->file(term.device, reader);
  if (!file) return tl::unexpected(file.error());
  TileReader part(*file, block.extent,
                  moved_by(index_of(term.element, file->header().shape), block.at, 1));
  auto done = part.read(out);
  buffer.note(part.buffer_bytes());
  return done;
}

}  // namespace retile::run
