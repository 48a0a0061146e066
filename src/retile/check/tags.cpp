#include "retile/check/tags.h"

#include <numeric>
#include <utility>

#include "retile/check/boxes.h"
#include "retile/core/cases.h"
#include "retile/core/walk.h"

namespace retile {
struct Tags::Next {
  Shape counts;   // blocks of a new array
  Shape strides;  // of blocks in a new array
  Size size = 1;  // blocks of a new array
  const Deadline& deadline;
  Watch watch;
  ArrayOf array_of = {};
  std::vector<Size> tags = {};

  [[nodiscard]] Size* array(std::size_t number) { return tags.data() + number * index(size); }
  void make_arrays(std::size_t count) { tags.resize(count * index(size)); }

  /// The loops over a box of so many blocks in an old array and in a new one.
  [[nodiscard]] Walk<2> box(const Shape& blocks, const Shape& old_strides) const {
    Walk<2> out;
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      out.add(blocks[k], {old_strides[k], strides[k]});
    }
    return out;
  }
  /// Copies a box that begins at these blocks of an old and of a new array.
  [[nodiscard]] bool copy(const Walk<2>& box, const Size* from, Size* to) {
    return box.each_row({0, 0}, [&](const Row<2>& row) {
      for (Size b = 0; b < row.length; ++b) {
        to[row.at[1] + b * row.step[1]] = from[row.at[0] + b * row.step[0]];
      }
      return watch.in_time(row.length);
    });
  }
};

Tags::Tags(const State& other, Shape unit, ArrayOf array_of)
    : State(other.devices(), other.global(), other.tile()),
      global_strides_(strides_of(other.global())),
      array_of_(std::move(array_of)) {
  set_blocks(other.tile(), std::move(unit));
}

void Tags::set_blocks(const Shape& tile, Shape unit) {
  unit_ = std::move(unit);
  counts_ = in_blocks(tile, unit_);
  strides_ = strides_of(counts_);
  size_ = checked_product(counts_).value();
}

std::unique_ptr<Tags> Tags::make(const State& other, Shape unit, ArrayOf array_of,
                                 std::size_t arrays, const Limits& limits) {
  const auto tags = tags_in(static_cast<Size>(arrays), other.tile(), unit);
  if (!tags || *tags > limits.tag_room) return nullptr;
  std::unique_ptr<Tags> out(new Tags(other, std::move(unit), std::move(array_of)));
  out->tags_.resize(index(*tags));
  return out;
}

std::unique_ptr<State> Tags::of(const Boxes& boxes, const Limits& limits) {
  ArrayOf array_of(index(boxes.devices()));
  std::iota(array_of.begin(), array_of.end(), std::uint32_t{0});
  auto out = make(boxes, boxes.tile(), std::move(array_of), index(boxes.devices()), limits);
  if (out == nullptr) return nullptr;
  const Shape first(boxes.rank(), 0);
  for (Size d = 0; d < boxes.devices(); ++d) {
    out->fill(index(d), PieceView{first, boxes.tile(), boxes.held(d, first)});
  }
  return out;
}

void Tags::fill(std::size_t number, const PieceView& piece) {
  Walk<2> box;  // in the array, in the global array
  std::array<Size, 2> at = {0, 0};
  for (std::size_t k = 0; k < rank(); ++k) {
    box.add(piece.extent[k] / unit_[k], {strides_[k], unit_[k] * global_strides_[k]});
    at[0] += piece.origin[k] / unit_[k] * strides_[k];
    at[1] += (piece.origin[k] + piece.shift[k]) * global_strides_[k];
  }
  Size* const to = tags_.data() + number * index(size_);
  box.each_row(at, [to](const Row<2>& row) {
    for (Size b = 0; b < row.length; ++b) {
      to[row.at[0] + b * row.step[0]] = row.at[1] + b * row.step[1];
    }
    return true;
  });
}

bool Tags::refine(const Shape& unit, Watch& watch) {
  if (unit == unit_) return true;
  const Shape counts = in_blocks(tile(), unit);
  const Shape strides = strides_of(counts);
  Walk<3> walk;  // in the old array, in the new array, and what the new tag is above the old one
  for (std::size_t k = 0; k < rank(); ++k) {
    const Size parts = unit_[k] / unit[k];
    walk.add(counts_[k], {strides_[k], strides[k] * parts, 0});
    walk.add(parts, {0, strides[k], unit[k] * global_strides_[k]});
  }
  const std::size_t arrays = array_count();
  const std::size_t size = index(checked_product(counts).value());
  std::vector<Size> tags(arrays * size);
  for (std::size_t a = 0; a < arrays; ++a) {
    const Size* const from = array(a);
    Size* const to = tags.data() + a * size;
    const bool in_time = walk.each_row({0, 0, 0}, [&](const Row<3>& row) {
      for (Size b = 0; b < row.length; ++b) {
        to[row.at[1] + b * row.step[1]] =
            from[row.at[0] + b * row.step[0]] + row.at[2] + b * row.step[2];
      }
      return watch.in_time(row.length);
    });
    if (!in_time) return false;
  }
  tags_ = std::move(tags);
  set_blocks(tile(), unit);
  return true;
}

Applied Tags::apply(const Step& step, const Shape& after, const Limits& limits) {
  const auto needed = tags_needed(step, {.tile = tile(), .after = after, .devices = devices()},
                                  {.unit = unit_, .arrays = static_cast<Size>(array_count())});
  if (!needed || needed->numbers() > limits.tag_room) return Applied::no_room;
  Watch watch(limits.deadline);
  if (!refine(needed->after.unit, watch)) return Applied::too_late;
  Next next{.counts = in_blocks(after, unit_),
            .strides = {},
            .size = 1,
            .deadline = limits.deadline,
            .watch = watch};
  next.strides = strides_of(next.counts);
  next.size = checked_product(next.counts).value();
  const Applied done = match(
      meaning(step.op, tile()), [&](const Keep& what) { return keep(what, next); },
      [&](const Regroup& what) { return what.splits ? regroup(what, next) : gather(what, next); },
      [&](const Fetch& what) { return fetch(what, next); },
      [&](const Assemble& what) { return assemble(what, next); });
  if (done != Applied::done) return done;
  array_of_ = std::move(next.array_of);
  tags_ = std::move(next.tags);
  set_tile(after);
  set_blocks(after, Shape(unit_));
  return Applied::done;
}

Applied Tags::keep(const Keep& what, Next& next) const {
  const auto piece = pieces_kept(*what.pieces, devices(), next.deadline);
  if (!piece) return Applied::too_late;
  SharedParts shared = shared_parts(array_of_, *piece);
  next.make_arrays(shared.parts.size());
  const Walk<2> box = next.box(next.counts, strides_);
  for (std::size_t a = 0; a < shared.parts.size(); ++a) {
    const auto& [from, part] = shared.parts[a];
    const Size* const begin = array(from) + part * next.counts[what.dim] * strides_[what.dim];
    if (!next.copy(box, begin, next.array(a))) return Applied::too_late;
  }
  next.array_of = std::move(shared.array_of);
  return Applied::done;
}

/// One new array for all of a row.
Applied Tags::gather(const Regroup& what, Next& next) const {
  const std::size_t n = index(what.groups->columns());
  if (n == 1) return unchanged(next);
  const auto members = entries_of(*what.groups, next.deadline);
  if (!members) return Applied::too_late;
  next.make_arrays(members->size() / n);
  next.array_of.resize(array_of_.size());
  const Walk<2> box = next.box(counts_, strides_);
  for (std::size_t position = 0; position < members->size(); ++position) {
    const std::size_t row = position / n;
    const auto place = static_cast<Size>(position % n);
    Size* const to = next.array(row) + place * counts_[what.concat] * next.strides[what.concat];
    if (!next.copy(box, array_of((*members)[position]), to)) return Applied::too_late;
    next.array_of[index((*members)[position])] = static_cast<std::uint32_t>(row);
  }
  return Applied::done;
}

Applied Tags::regroup(const Regroup& what, Next& next) const {
  const std::size_t n = index(what.groups->columns());
  if (n == 1) return unchanged(next);
  const auto members = entries_of(*what.groups, next.deadline);
  if (!members) return Applied::too_late;
  next.make_arrays(members->size());
  next.array_of.resize(array_of_.size());
  Shape piece = counts_;
  piece[what.split] /= static_cast<Size>(n);
  const Walk<2> box = next.box(piece, strides_);
  for (std::size_t position = 0; position < members->size(); ++position) {
    const std::size_t first = position - position % n;
    const auto q = static_cast<Size>(position - first);
    for (std::size_t p = 0; p < n; ++p) {
      const Size* const from =
          array_of((*members)[first + p]) + q * piece[what.split] * strides_[what.split];
      Size* const to = next.array(position) +
                       static_cast<Size>(p) * piece[what.concat] * next.strides[what.concat];
      if (!next.copy(box, from, to)) return Applied::too_late;
    }
    next.array_of[index((*members)[position])] = static_cast<std::uint32_t>(position);
  }
  return Applied::done;
}

Applied Tags::fetch(const Fetch& what, Next& next) const {
  const auto source = sources_of(*what.sources, devices(), next.deadline);
  if (!source) return Applied::too_late;
  for (const Size d : *source) next.array_of.push_back(array_of_[index(d)]);
  next.tags = tags_;
  return Applied::done;
}

Applied Tags::assemble(const Assemble& what, Next& next) const {
  next.make_arrays(array_of_.size());
  next.array_of.resize(array_of_.size());
  std::iota(next.array_of.begin(), next.array_of.end(), std::uint32_t{0});
  for (const Transfer& transfer : *what.transfers) {
    const Walk<2> box = next.box(in_blocks(transfer.shape, unit_), strides_);
    const Size from = offset_of(in_blocks(transfer.source_start, unit_), strides_);
    const Size to = offset_of(in_blocks(transfer.target_start, unit_), next.strides);
    if (!next.copy(box, array_of(transfer.source) + from,
                   next.array(index(transfer.target)) + to)) {
      return Applied::too_late;
    }
  }
  return Applied::done;
}

Applied Tags::unchanged(Next& next) const {
  next.array_of = array_of_;
  next.tags = tags_;
  return Applied::done;
}

Shape Tags::local(Size block) const {
  Shape out(rank());
  for (std::size_t k = 0; k < rank(); ++k) out[k] = block / strides_[k] % counts_[k] * unit_[k];
  return out;
}

Shape Tags::global_index(Size tag) const {
  Shape out(rank());
  for (std::size_t k = 0; k < rank(); ++k) {
    out[k] = tag / global_strides_[k];
    tag %= global_strides_[k];
  }
  return out;
}

Size Tags::first_difference(const Size* tags, const Shape& base) const {
  // What is held lies in the global array. So a block of the box that does not differs, and the
  // others can be told by their numbers.
  Size first_outside = size_;
  Size base_number = 0;
  Walk<2> inside;  // in the array, in the global array
  for (std::size_t k = 0; k < rank(); ++k) {
    const bool begins_inside = base[k] >= 0 && base[k] < global()[k];
    const Size fit = begins_inside ? (global()[k] - base[k]) / unit_[k] : 0;
    if (fit == 0) return 0;
    if (fit < counts_[k]) first_outside = std::min(first_outside, fit * strides_[k]);
    inside.add(std::min(fit, counts_[k]), {strides_[k], unit_[k] * global_strides_[k]});
    base_number += base[k] * global_strides_[k];
  }
  Size found = first_outside;
  inside.each_row({0, base_number}, [&](const Row<2>& row) {
    for (Size b = 0; b < row.length; ++b) {
      const Size block = row.at[0] + b * row.step[0];
      if (block >= first_outside) return false;
      if (tags[block] == row.at[1] + b * row.step[1]) continue;
      found = block;
      return false;
    }
    return true;
  });
  return found < size_ ? found : -1;
}

Witness Tags::witness_of(Size device, Size block, const Shape& base) const {
  const Shape at = local(block);
  Shape element = base;
  for (std::size_t k = 0; k < rank(); ++k) element[k] += at[k];
  return {device, Witness::OtherElement{at, element, global_index(array_of(device)[block])}};
}

std::optional<Witness> Tags::difference(const Columns& expected) const {
  std::vector<bool> is_box(array_count(), false);
  for (Size d = 0; d < devices(); ++d) {
    Shape base;
    for (std::size_t k = 0; k < rank(); ++k) base.push_back(expected[k][index(d)]);
    const std::uint32_t number = array_of_[index(d)];
    // A box is the one that begins where it does.
    if (is_box[number] && global_index(array(number)[0]) == base) continue;
    const Size block = first_difference(array(number), base);
    if (block >= 0) return witness_of(d, block, base);
    is_box[number] = true;
  }
  return std::nullopt;
}

std::optional<Witness> Tags::not_a_box() const {
  std::vector<bool> is_box(array_count(), false);
  for (Size d = 0; d < devices(); ++d) {
    const std::uint32_t number = array_of_[index(d)];
    if (is_box[number]) continue;
    const Shape base = global_index(array(number)[0]);
    const Size block = first_difference(array(number), base);
    if (block >= 0) return witness_of(d, block, base);
    is_box[number] = true;
  }
  return std::nullopt;
}

Shape Tags::held(Size device, const Shape& at) const {
  Size block = 0;
  for (std::size_t k = 0; k < rank(); ++k) block += at[k] / unit_[k] * strides_[k];
  Shape out = global_index(array_of(device)[block]);
  for (std::size_t k = 0; k < rank(); ++k) out[k] += at[k] % unit_[k];
  return out;
}

std::unique_ptr<State> Tags::as_boxes() const {
  if (not_a_box()) return nullptr;
  Columns base(rank(), std::vector<Size>(index(devices())));
  for (Size d = 0; d < devices(); ++d) {
    const Shape first = global_index(array_of(d)[0]);
    for (std::size_t k = 0; k < rank(); ++k) base[k][index(d)] = first[k];
  }
  return std::make_unique<Boxes>(*this, std::move(base));
}

}  // namespace retile
