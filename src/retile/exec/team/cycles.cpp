#include "retile/exec/team/cycles.h"

#include <algorithm>
#include <utility>

#include "retile/core/division.h"
#include "retile/exec/copy/runs.h"

namespace retile::team {
namespace {

using copy::line_bytes;

bool bit(std::span<const std::byte> bits, Size at) {
  return (bits[static_cast<std::size_t>(at / 8)] >> (at % 8) & std::byte{1}) != std::byte{0};
}

}  // namespace

Cycles::Cycles(const BlockTurn& turn, std::vector<int> members, Size position, Size scratch_bytes,
               std::span<std::byte> marks)
    : turn_(turn),
      members_(std::move(members)),
      memories_(members_.size()),
      row_(turn.members * turn.columns),
      batch_bytes_(row_ * turn.block_bytes) {
  const Size most = std::max<Size>(1, std::min(most_bytes, scratch_bytes / most_cuts));
  // Equal parts, of whole lines, so that equally many copies are equally many bytes. A block that
  // is not cut stays as long as it is: many of them move together.
  slices_ = ceil_div(turn.block_bytes, most);
  slice_bytes_ = ceil_div(turn.block_bytes, slices_);
  if (slices_ > 1 && slice_bytes_ + line_bytes <= most)
    slice_bytes_ = ceil_div(slice_bytes_, line_bytes) * line_bytes;
  slices_ = ceil_div(turn.block_bytes, slice_bytes_);
  const Size most_together = std::max<Size>(1, most / turn.block_bytes);
  together_ = ceil_div(turn.batches, ceil_div(turn.batches, most_together));
  const auto marked = static_cast<std::size_t>(mark_bytes(turn));
  if (marked <= marks.size()) mark_leaders(marks.first(marked));

  // All layers have the same cycles.
  Size moved = 0;
  for (Size block = 0; block < blocks_of(turn); ++block) {
    const Place place = place_of(block);
    moved += source_of(place) == place ? 0 : 1;
  }
  if (moved == 0) return;
  const Size layers = ceil_div(turn.batches, together_) * slices_;
  // The boundary before member m, as a layer and a block of it: layers * moved * m / members.
  const auto boundary = [&](Size m) {
    const Size rest = layers % turn.members * m;
    const Size of_layer = rest % turn.members * moved / turn.members;
    return std::pair(layers / turn.members * m + rest / turn.members, of_layer);
  };
  const auto [first_layer, begin] = boundary(position);
  const auto [last_layer, end] = boundary(position + 1);
  Size layer = first_layer;
  if (begin != 0) {
    parts_.push_back(part_of(layer, layer + 1, begin, layer == last_layer ? end : moved));
    ++layer;
  }
  if (layer < last_layer) parts_.push_back(part_of(layer, last_layer, 0, moved));
  if (layer <= last_layer && end != 0) {
    parts_.push_back(part_of(last_layer, last_layer + 1, 0, end));
  }
}

Cycles::Place Cycles::source_of(const Place& place) const {
  const Size by = turn_.turned_before ? turn_.columns : turn_.members;
  const Size quotient = place.index / by;
  const Size rest = place.index % by;
  if (turn_.turned_before) return {quotient, rest * turn_.members + place.member};
  return {rest, place.member * turn_.columns + quotient};
}

bool Cycles::leads(Size block) const {
  if (!leaders_.empty()) return bit(leaders_, block);
  const Place first = place_of(block);
  Place at = source_of(first);
  if (at == first) return false;
  for (; !(at == first); at = source_of(at)) {
    if (number_of(at) < block) return false;
  }
  return true;
}

void Cycles::mark_leaders(std::span<std::byte> marks) {
  const Size blocks = blocks_of(turn_);
  std::vector<bool> passed(static_cast<std::size_t>(blocks));
  std::fill(marks.begin(), marks.end(), std::byte{0});
  for (Size block = 0; block < blocks; ++block) {
    const Place first = place_of(block);
    if (passed[static_cast<std::size_t>(block)] || source_of(first) == first) continue;
    marks[static_cast<std::size_t>(block / 8)] |= std::byte{1} << (block % 8);
    Place at = first;
    do {
      passed[static_cast<std::size_t>(number_of(at))] = true;
      at = source_of(at);
    } while (!(at == first));
  }
  leaders_ = marks;
}

/// Blocks begin to end of each layer, in the order of the cycles.
Cycles::Part Cycles::part_of(Size layer_begin, Size layer_end, Size begin, Size end) const {
  Part out{.layer_begin = layer_begin, .layer_end = layer_end, .cut = {}};
  Size at = 0;
  for (Size block = 0; at < end; ++block) {
    if (!leads(block)) continue;
    const Place leader = place_of(block);
    Walk walk{.first = leader, .stop = leader};
    Place place = leader;
    Size length = 0;
    do {
      if (at + length == begin) walk.first = place;
      if (at + length == end) walk.stop = place;
      place = source_of(place);
      ++length;
    } while (!(place == leader));
    if (begin <= at && at + length <= end) {
      if (out.leaders_end == 0) out.leaders_begin = block;
      out.leaders_end = block + 1;
    } else if (begin < at + length) {
      out.cut.push_back(walk);
    }
    at += length;
  }
  return out;
}

std::byte* Cycles::at(Size layer, const Place& place) const {
  return memories_[static_cast<std::size_t>(place.member)] +
         layer / slices_ * together_ * batch_bytes_ + layer % slices_ * slice_bytes_ +
         place.index * turn_.block_bytes;
}

Size Cycles::bytes_in(Size layer) const {
  return std::min(slice_bytes_, turn_.block_bytes - layer % slices_ * slice_bytes_);
}

void Cycles::copy(Size layer, std::byte* target, Size target_stride, const std::byte* source,
                  Size source_stride) const {
  const Size batches = std::min(together_, turn_.batches - layer / slices_ * together_);
  copy::copy_runs({target, target_stride, source, source_stride, bytes_in(layer), batches});
}

template <typename Function>
void Cycles::for_each_cut(const Function& function) const {
  Size place = 0;
  for (const Part& part : parts_) {
    for (const Walk& walk : part.cut) {
      function(part.layer_begin, walk, place);
      place += slice_bytes_ * together_;
    }
  }
}

void Cycles::keep(const Team& team, std::span<std::byte> scratch) {
  for (std::size_t i = 0; i < members_.size(); ++i) memories_[i] = team.memory(members_[i]).data();
  for_each_cut([&](Size layer, const Walk& walk, Size place) {
    copy(layer, scratch.data() + place, slice_bytes_, at(layer, walk.stop), batch_bytes_);
  });
}

void Cycles::follow(Size layer, const Walk& walk, const std::byte* kept) const {
  std::byte* to = at(layer, walk.first);
  for (Place place = source_of(walk.first); !(place == walk.stop);) {
    std::byte* const from = at(layer, place);
    place = source_of(place);
    copy::fetch(at(layer, place), bytes_in(layer));
    copy(layer, to, batch_bytes_, from, batch_bytes_);
    to = from;
  }
  copy(layer, to, batch_bytes_, kept, slice_bytes_);
}

void Cycles::run(std::span<std::byte> scratch) const {
  for_each_cut([&](Size layer, const Walk& walk, Size place) {
    follow(layer, walk, scratch.data() + place);
  });
  for (const Part& part : parts_) {
    for (Size layer = part.layer_begin; layer < part.layer_end; ++layer) {
      for (Size block = part.leaders_begin; block < part.leaders_end; ++block) {
        if (!leads(block)) continue;
        const Place first = place_of(block);
        copy(layer, scratch.data(), slice_bytes_, at(layer, first), batch_bytes_);
        follow(layer, {.first = first, .stop = first}, scratch.data());
      }
    }
  }
}

}  // namespace retile::team
