#include "retile/check/pieces.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "retile/check/blocks.h"
#include "retile/check/boxes.h"
#include "retile/check/tags.h"
#include "retile/core/assert.h"
#include "retile/core/cases.h"

namespace retile {
namespace {

/// Up to here nobody waits for pieces, and they may become fewer again.
constexpr Size few_numbers = Size{1} << 16;

/// Adds to `pieces` what of `piece` a transfer takes, where it puts it; false when that is nothing.
bool add_part(const PieceView& piece, const Transfer& transfer, PieceList& pieces) {
  const std::size_t rank = transfer.shape.size();
  const std::size_t old_size = pieces.size();
  pieces.resize(old_size + 3 * rank);
  Size* const origin = pieces.data() + old_size;
  for (std::size_t k = 0; k < rank; ++k) {
    const Size source_start = transfer.source_start[k];
    const Size begin = std::max(piece.origin[k], source_start);
    const Size end = std::min(piece.origin[k] + piece.extent[k], source_start + transfer.shape[k]);
    if (begin >= end) {
      pieces.resize(old_size);
      return false;
    }
    const Size moved = source_start - transfer.target_start[k];
    origin[k] = begin - moved;
    origin[rank + k] = end - begin;
    origin[2 * rank + k] = piece.shift[k] + moved;
  }
  return true;
}

Witness witness_of(Size device, const OtherShift& found, std::span<const Size> expected) {
  Shape element = found.at;
  Shape there = found.at;
  // At a first difference every earlier neighbour agrees, so `element` lies at most one past the
  // global array.
  for (std::size_t k = 0; k < element.size(); ++k) {
    element[k] += expected[k];
    there[k] += found.shift[k];
  }
  return {device, Witness::OtherElement{found.at, element, there}};
}

}  // namespace

Applied Pieces::apply(const Step& step, const Shape& after, const Limits& limits) {
  Allowance allowed = allowance(step, after, limits);
  const Applied done = match(
      meaning(step.op, tile()), [&](const Keep& what) { return keep(what, after, allowed); },
      [&](const Regroup& what) { return regroup(what, after, allowed); },
      [&](const Fetch& what) { return fetch(what, allowed); },
      [&](const Assemble& what) { return assemble(what, after, allowed); });
  if (done == Applied::done) set_tile(after);
  return done;
}

Pieces::Allowance Pieces::allowance(const Step& step, const Shape& after,
                                    const Limits& limits) const {
  Allowance out{.most = index(limits.room),
                .beyond = Applied::no_room,
                .deadline = limits.deadline,
                .watch = Watch(limits.deadline)};
  // Of single pieces an exchange makes no more than it has transfers.
  const bool single = lists_.numbers.size() == lists_.count() * piece_size();
  if (single && is_exchange(step)) return out;
  const auto tags = tags_needed(step, {.tile = tile(), .after = after, .devices = devices()},
                                {.unit = unit(), .arrays = static_cast<Size>(lists_.count())});
  if (!tags || tags->numbers() > limits.tag_room) return out;
  const std::size_t most = index(std::max(tags->numbers(), few_numbers));
  if (most >= out.most) return out;
  out.most = most;
  out.beyond = Applied::refused;
  return out;
}

Applied Pieces::keep(const Keep& what, const Shape& after, Allowance& allowed) {
  const auto piece = pieces_kept(*what.pieces, devices(), allowed.deadline);
  if (!piece) return Applied::too_late;
  const Regroup slices = {.groups = nullptr,
                          .split = what.dim,
                          .width = what.width,
                          .concat = what.dim,
                          .stride = 0,
                          .splits = true};
  SharedParts shared = shared_parts(lists_.list_of, *piece);
  Lists next;
  for (auto part = shared.parts.begin(); part != shared.parts.end();) {
    const std::uint32_t list = part->first;
    std::vector<Size> wanted;
    for (; part != shared.parts.end() && part->first == list; ++part) {
      wanted.push_back(part->second);
    }
    std::vector<PieceList> parts(wanted.size());
    std::size_t held = lists_.numbers.size() + next.numbers.size();
    const Applied done = cut(lists_.list(list), slices, 0, wanted, parts, held, allowed);
    if (done != Applied::done) return done;
    for (PieceList& pieces : parts) {
      if (!merge(after, pieces, allowed.watch)) return Applied::too_late;
      next.add(pieces);
    }
  }
  next.list_of = std::move(shared.array_of);
  lists_ = std::move(next);
  return Applied::done;
}

Applied Pieces::regroup(const Regroup& what, const Shape& after, Allowance& allowed) {
  const std::size_t n = index(what.groups->columns());
  if (n == 1) return Applied::done;
  const std::size_t receivers = what.splits ? n : 1;
  // Every receiver gets at least one piece of every member: see early that this is too much.
  if (n > allowed.most / receivers / piece_size()) return allowed.beyond;
  const auto members = entries_of(*what.groups, allowed.deadline);
  if (!members) return Applied::too_late;
  std::vector<Size> wanted(receivers);
  std::iota(wanted.begin(), wanted.end(), Size{0});
  std::vector<PieceList> parts(receivers);
  Lists next;
  next.list_of.resize(index(devices()));
  for (std::size_t row = 0; row < members->size(); row += n) {
    std::size_t held = lists_.numbers.size() + next.numbers.size();
    for (PieceList& part : parts) part.clear();
    for (std::size_t p = 0; p < n; ++p) {
      const Applied done = cut(lists_.of((*members)[row + p]), what,
                               static_cast<Size>(p) * what.stride, wanted, parts, held, allowed);
      if (done != Applied::done) return done;
    }
    std::uint32_t id = 0;
    for (std::size_t q = 0; q < n; ++q) {
      if (q < receivers) {
        if (!merge(after, parts[q], allowed.watch)) return Applied::too_late;
        id = next.add(parts[q]);
      }
      next.list_of[index((*members)[row + q])] = id;
    }
  }
  lists_ = std::move(next);
  return Applied::done;
}

Applied Pieces::fetch(const Fetch& what, Allowance& allowed) {
  const auto source = sources_of(*what.sources, devices(), allowed.deadline);
  if (!source) return Applied::too_late;
  const ArrayOf old = lists_.list_of;
  for (std::size_t d = 0; d < old.size(); ++d) lists_.list_of[d] = old[index((*source)[d])];
  return Applied::done;
}

/// Every new array from the parts of the sources' pieces that lie in the boxes.
Applied Pieces::assemble(const Assemble& what, const Shape& after, Allowance& allowed) {
  const std::vector<Transfer>& transfers = *what.transfers;
  const std::vector<std::size_t> order = by_target(transfers);
  std::size_t held = lists_.numbers.size();
  Lists next;
  std::size_t place = 0;
  for (Size d = 0; d < devices(); ++d) {
    PieceList pieces;
    for (; place < order.size() && transfers[order[place]].target == d; ++place) {
      const Transfer& moved = transfers[order[place]];
      const PieceListView list = lists_.of(moved.source);
      if (!allowed.watch.in_time(static_cast<Size>(list.size()))) return Applied::too_late;
      for (std::size_t n = 0; n < list.size() / piece_size(); ++n) {
        if (!add_part(piece_at(list, rank(), n), moved, pieces)) continue;
        held += piece_size();
        if (held > allowed.most) return allowed.beyond;
      }
    }
    if (!merge(after, pieces, allowed.watch)) return Applied::too_late;
    next.list_of.push_back(next.add(pieces));
  }
  lists_ = std::move(next);
  return Applied::done;
}

/// Adds to parts[w] what piece wanted[w] (ascending) of a list holds, put at `place` along
/// `concat`. `held` counts all numbers of this step.
Applied Pieces::cut(PieceListView list, const Regroup& what, Size place,
                    std::span<const Size> wanted, std::span<PieceList> parts, std::size_t& held,
                    Allowance& allowed) const {
  if (!allowed.watch.in_time(static_cast<Size>(list.size()))) return Applied::too_late;
  for (std::size_t n = 0; n < list.size() / piece_size(); ++n) {
    const PieceView piece = piece_at(list, rank(), n);
    const Size begin = piece.origin[what.split];
    const Size end = begin + piece.extent[what.split];
    const auto from = std::lower_bound(wanted.begin(), wanted.end(), begin / what.width);
    for (auto w = from; w != wanted.end() && *w * what.width < end; ++w) {
      held += piece_size();
      if (held > allowed.most) return allowed.beyond;
      if (!allowed.watch.in_time(static_cast<Size>(piece_size()))) return Applied::too_late;
      PieceList& part = parts[static_cast<std::size_t>(w - wanted.begin())];
      part.insert(part.end(), list.begin() + static_cast<std::ptrdiff_t>(n * piece_size()),
                  list.begin() + static_cast<std::ptrdiff_t>((n + 1) * piece_size()));
      Size* const origin = part.data() + part.size() - piece_size();
      Size* const extent = origin + rank();
      Size* const shift = extent + rank();
      const Size low = *w * what.width;
      const Size inner_begin = std::max(begin, low);
      origin[what.split] = inner_begin - low;
      extent[what.split] = std::min(end, low + what.width) - inner_begin;
      shift[what.split] += low;
      origin[what.concat] += place;
      shift[what.concat] -= place;
    }
  }
  return Applied::done;
}

std::optional<Witness> Pieces::difference(const Columns& expected) const {
  Shape shift(rank());
  for (Size d = 0; d < devices(); ++d) {
    for (std::size_t k = 0; k < rank(); ++k) shift[k] = expected[k][index(d)];
    // A list of several pieces is no box, so this looks at one of them at most.
    if (const auto other = first_difference(lists_.of(d), shift))
      return witness_of(d, *other, shift);
  }
  return std::nullopt;
}

Shape Pieces::held(Size device, const Shape& at) const {
  const PieceListView list = lists_.of(device);
  for (std::size_t n = 0; n < list.size() / piece_size(); ++n) {
    const PieceView piece = piece_at(list, rank(), n);
    bool inside = true;
    for (std::size_t k = 0; inside && k < rank(); ++k) {
      inside = at[k] >= piece.origin[k] && at[k] - piece.origin[k] < piece.extent[k];
    }
    if (!inside) continue;
    Shape out = at;
    for (std::size_t k = 0; k < rank(); ++k) out[k] += piece.shift[k];
    return out;
  }
  RETILE_ASSERT(false, "every local index is in one piece");
}

std::optional<Witness> Pieces::not_a_box() const {
  for (Size d = 0; d < devices(); ++d) {
    const PieceListView list = lists_.of(d);
    if (list.size() == piece_size()) continue;
    const Shape first = held(d, Shape(rank(), 0));
    if (const auto other = first_difference(list, first)) return witness_of(d, *other, first);
  }
  return std::nullopt;
}

Shape Pieces::unit() const {
  Shape out = tile();
  for (std::size_t piece = 0; piece < lists_.numbers.size(); piece += piece_size()) {
    for (std::size_t k = 0; k < rank(); ++k) {
      const Size origin = lists_.numbers[piece + k];
      const Size extent = lists_.numbers[piece + rank() + k];
      // Most pieces are cut where others are.
      if (origin % out[k] == 0 && extent % out[k] == 0) continue;
      out[k] = std::gcd(out[k], std::gcd(origin, extent));
    }
  }
  return out;
}

std::unique_ptr<State> Pieces::slower(const Limits& limits) const {
  auto tags = Tags::make(*this, unit(), lists_.list_of, lists_.count(), limits);
  if (tags == nullptr) return nullptr;
  for (std::size_t l = 0; l < lists_.count(); ++l) {
    const PieceListView list = lists_.list(l);
    for (std::size_t n = 0; n < list.size() / piece_size(); ++n) {
      tags->fill(l, piece_at(list, rank(), n));
    }
  }
  return tags;
}

std::unique_ptr<State> Pieces::as_boxes() const {
  if (lists_.numbers.size() != lists_.count() * piece_size()) return nullptr;
  Columns base(rank(), std::vector<Size>(index(devices())));
  for (Size d = 0; d < devices(); ++d) {
    const PieceView box = piece_at(lists_.of(d), rank(), 0);
    for (std::size_t k = 0; k < rank(); ++k) base[k][index(d)] = box.shift[k];
  }
  return std::make_unique<Boxes>(*this, std::move(base));
}

std::unique_ptr<State> Pieces::of(const Boxes& boxes, const Limits& limits) {
  std::unique_ptr<Pieces> out(new Pieces(boxes));
  const Size size = static_cast<Size>(out->piece_size());
  if (boxes.devices() > limits.room / size) return nullptr;
  out->lists_.numbers.reserve(index(boxes.devices() * size));
  out->lists_.begins.reserve(index(boxes.devices() + 1));
  PieceList box(out->piece_size());
  std::copy(boxes.tile().begin(), boxes.tile().end(),
            box.begin() + static_cast<std::ptrdiff_t>(boxes.rank()));
  for (std::size_t d = 0; d < index(boxes.devices()); ++d) {
    for (std::size_t k = 0; k < boxes.rank(); ++k) box[2 * boxes.rank() + k] = boxes.base()[k][d];
    out->lists_.list_of.push_back(out->lists_.add(box));
  }
  return out;
}

std::unique_ptr<State> Pieces::of(const Tags& tags, const Limits& limits) {
  std::unique_ptr<Pieces> out(new Pieces(tags));
  Watch watch(limits.deadline);
  // Rows of blocks, which are joined later, are more than the pieces will be; but what is a whole
  // room full of them stays too much.
  constexpr Size share = 16;
  const Size most_runs = limits.room / share / static_cast<Size>(out->piece_size());
  Size runs = 0;
  for (std::size_t array = 0; array < tags.array_count(); ++array) {
    PieceList list;
    const bool fits = tags.for_each_run(array, [&](const PieceView& run) {
      for (const auto& numbers : {run.origin, run.extent, run.shift}) {
        list.insert(list.end(), numbers.begin(), numbers.end());
      }
      return ++runs <= most_runs && watch.in_time(static_cast<Size>(out->piece_size()));
    });
    if (!fits || !merge(tags.tile(), list, watch)) return nullptr;
    out->lists_.add(list);
    runs = static_cast<Size>(out->lists_.numbers.size() / out->piece_size());
  }
  out->lists_.list_of = tags.array_of();
  return out;
}

}  // namespace retile
