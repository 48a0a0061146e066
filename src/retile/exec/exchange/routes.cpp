// The digits of the position that no dimension uses tell replicas of a tile apart. What the header
// says of turns is asked from both sides: a target finds its number among those who get something of
// an old tile and agree with a holder in the copied digits, a source all numbers that are its turn.
#include "retile/exec/exchange/routes.h"

#include <algorithm>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/digits.h"
#include "retile/core/layout_facts.h"

namespace retile {

Size Routes::Numeral::position(Size n) const {
  Size out = 0;
  for (const Digit& digit : digits) {
    out += digit.stride * (n % digit.size);
    n /= digit.size;
  }
  return out;
}

Size Routes::Numeral::number(Size position) const {
  Size out = 0;
  Size weight = 1;
  for (const Digit& digit : digits) {
    out += weight * (position / digit.stride % digit.size);
    weight *= digit.size;
  }
  return out;
}

Routes::End::End(const Layout& end) : layout(&end) {
  const TileMap& map = end.numbers();
  if (!map.is_compact()) {
    device_at = map.order();
    position_of = map.order().inverse();
  }
  for (const auto& digits : map.digits()) tiles.push_back({digits, product_of(digits)});
  for (const Cuts& cuts : end.cuts()) skips.push_back(may_skip(cuts));
}

Size Routes::Along::place(Size number, Size position) const {
  Size out = 0;
  for (const Part& part : parts) {
    Size digit = 0;
    if (part.copied) {
      digit = position / part.digit.stride % part.digit.size;
    } else {
      digit = number % part.digit.size;
      number /= part.digit.size;
    }
    out += part.weight * digit;
  }
  return out;
}

namespace {

/// Digits cut where atoms end.
std::vector<Digit> cut_at(const std::vector<Digit>& digits, const std::vector<Digit>& atoms) {
  std::vector<Digit> out;
  for (const Digit& digit : digits) {
    for (auto atom = atoms.rbegin(); atom != atoms.rend(); ++atom) {
      if (digit.stride <= atom->stride && atom->stride < digit.stride * digit.size) {
        out.push_back(*atom);
      }
    }
  }
  return out;
}

bool contains(const std::vector<Digit>& digits, const Digit& digit) {
  return std::find(digits.begin(), digits.end(), digit) != digits.end();
}

std::vector<Digit> minor_to_major(std::vector<Digit> digits) {
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace

Routes::Along Routes::along(std::size_t k, const std::vector<Digit>& atoms) const {
  Along out;
  const Cuts& old = from_.layout->cuts()[k];
  const Cuts& cuts = to_.layout->cuts()[k];
  // Every old tile meets as many new ones, the first of which has that number times a whole number.
  Size met = 0;
  if (old.count() == 1) {
    const Stretch all = meeting(*to_.layout, k, {0, old.global()});
    if (all.begin != 0 || all.end != cuts.count()) return out;
    met = cuts.count();
  } else {
    const auto each = to_.layout->halos().empty() ? tiles_in_each(old, cuts) : std::nullopt;
    if (!each) return out;
    met = *each;
  }
  std::vector<Digit> digits = to_.tiles[k].digits;
  const auto low = take_minor(digits, met);
  if (!low) return out;
  out.by_digits = true;
  Size weight = 1;
  for (const Digit& atom : cut_at(*low, atoms)) {
    out.parts.push_back({.digit = atom, .weight = weight});
    weight *= atom.size;
  }
  if (weight != met) out = {};  // an atom goes beyond what all old tiles meet
  return out;
}

Routes::Turns Routes::turns(const std::optional<std::vector<Digit>>& atoms) const {
  Turns out;
  for (std::size_t k = 0; k < rank_; ++k) out.along.push_back(atoms ? along(k, *atoms) : Along{});
  const auto replicas = [&atoms](const End& end) {
    const std::vector<Digit> digits = minor_to_major(end.layout->numbers().unused());
    return atoms ? cut_at(digits, *atoms) : digits;
  };
  const std::vector<Digit> free = replicas(from_);
  std::vector<Digit> left;
  const auto copy = [&](const Digit& atom) {
    if (!atoms || !contains(free, atom)) return false;
    out.copied.push_back(atom);
    return true;
  };
  for (Along& along : out.along) {
    std::vector<Digit> rest;
    for (Along::Part& part : along.parts) {
      part.copied = copy(part.digit);
      if (!part.copied) rest.push_back(part.digit);
    }
    along.rest = {rest, product_of(rest)};
  }
  for (const Digit& atom : replicas(to_)) {
    if (copy(atom)) {
      out.unsaid.push_back(atom);
    } else {
      left.push_back(atom);
    }
  }
  out.replica = {left, product_of(left)};
  left.clear();
  for (const Digit& atom : free) {
    if (!contains(out.copied, atom)) left.push_back(atom);
  }
  out.holder = {left, product_of(left)};
  return out;
}

bool Routes::is_in_node(Size holders, Size target) const {
  return part_of(tied_, holders) == part_of(tied_, target);
}

bool Routes::knows(const Layout& from, const Layout& to) {
  return !from.is_listed() && !to.is_listed() && from.in_boxes() && to.in_boxes() &&
         from.halos().empty() && !addition_of(from, to);
}

Routes::Routes(const Layout& from, const Layout& to, Size node_devices)
    : rank_(from.rank()), from_(from), to_(to) {
  RETILE_ASSERT(knows(from, to) && from.devices() == to.devices() && from.global() == to.global(),
                "routes are between layouts of one array by tile numbers");
  RETILE_ASSERT(node_devices >= 1, "a node has devices");
  // Where the ends count positions in other orders, no digit of one is a digit of the other.
  const bool alike = from.numbers().order() == to.numbers().order();
  std::vector<Digit> digits;
  for (const End* end : {&from_, &to_}) {
    for (const Numeral& tiles : end->tiles) {
      digits.insert(digits.end(), tiles.digits.begin(), tiles.digits.end());
    }
  }
  const Size devices = from.devices();
  std::optional<std::vector<Digit>> atoms;
  if (alike) atoms = common_factors(devices, digits);
  even_ = turns(atoms);
  keeps_to_nodes_ = node_devices == 1;
  if (!atoms || keeps_to_nodes_ || devices % node_devices != 0 || from_.device_at) return;
  digits.push_back({node_devices, devices / node_devices});
  atoms = common_factors(devices, digits);
  if (!atoms) return;
  keeps_to_nodes_ = true;
  Turns near = turns(atoms);
  std::vector<Digit> left;
  for (const Digit& atom : near.holder.digits) {
    if (atom.stride >= node_devices) {
      near.copied.push_back(atom);
    } else {
      left.push_back(atom);
    }
  }
  if (left.size() == near.holder.digits.size()) return;
  near.holder = {left, product_of(left)};
  for (const Numeral& tiles : from_.tiles) {
    for (const Digit& atom : cut_at(tiles.digits, *atoms)) {
      if (atom.stride >= node_devices) tied_.push_back(atom);
    }
  }
  in_node_ = std::move(near);
}

Stretch Routes::stretch(const Layout& layout, std::size_t k, Size tile) {
  const Cuts& cuts = layout.cuts()[k];
  const Size begin = cuts.at(tile);
  const Size end = cuts.at(tile + 1);
  if (layout.halos().empty() || begin == end) return {begin, end};
  const Halo& halo = layout.halos()[k];
  return {begin - std::min(begin, halo.below), end + std::min(cuts.global() - end, halo.above)};
}

Stretch Routes::meeting(const Layout& layout, std::size_t k, Stretch part) {
  const Cuts& cuts = layout.cuts()[k];
  // A tile reaches as far as its halos into what lies beside it.
  if (!layout.halos().empty()) {
    const Halo& halo = layout.halos()[k];
    part.begin -= std::min(part.begin, halo.above);
    part.end += std::min(cuts.global() - part.end, halo.below);
  }
  if (cuts.is_blocks()) {
    return {part.begin / cuts.block(), (part.end - 1) / cuts.block() + 1};
  }
  // The last tile that begins there or before, and the first that begins behind.
  const auto first_behind = [&cuts](Size place) {
    Size least = 0;
    Size most = cuts.count();
    while (least < most) {
      const Size middle = least + (most - least) / 2;
      (cuts.at(middle) > place ? most : least) = cuts.at(middle) > place ? middle : middle + 1;
    }
    return least;
  };
  return {first_behind(part.begin) - 1, first_behind(part.end - 1)};
}

Routes::Piece Routes::old_piece(const Line& line, Size tile) const {
  const Stretch old = stretch(*from_.layout, line.k, tile);
  const Stretch needed = meeting(*to_.layout, line.k, old);
  return {.tile = tile,
          .position = from_.tiles[line.k].position(tile),
          .at = old.begin,
          .begin = std::max(old.begin, line.tile.begin),
          .end = std::min(old.end, line.tile.end),
          .first = needed.begin,
          .count = needed.end - needed.begin};
}

Routes::Piece Routes::new_piece(const Line& line, Size tile) const {
  const Stretch box = stretch(*to_.layout, line.k, tile);
  const Size begin = std::max(line.tile.begin, box.begin);
  return {.tile = tile,
          .position = to_.tiles[line.k].position(tile),
          .at = box.begin,
          .begin = begin,
          .end = std::max(begin, std::min(line.tile.end, box.end))};
}

Routes::Line Routes::old_line(std::size_t k, Size new_tile) const {
  const Stretch box = stretch(*to_.layout, k, new_tile);
  Line out{.k = k, .tile = box, .met = {}};
  if (box.begin == box.end) return out;
  out.met = meeting(*from_.layout, k, box);
  out.count = out.met.end - out.met.begin;
  // Only a table can leave out tiles that hold nothing.
  if (out.count > most_in_table && !from_.skips[k]) return out;
  out.table.reserve(static_cast<std::size_t>(out.count));
  for (Size tile = out.met.begin; tile < out.met.end; ++tile) {
    if (from_.skips[k] && from_.layout->cuts()[k].width(tile) == 0) continue;
    out.table.push_back(old_piece(out, tile));
  }
  out.count = static_cast<Size>(out.table.size());
  return out;
}

Routes::Line Routes::new_line(std::size_t k, Size old_tile) const {
  const Stretch old = stretch(*from_.layout, k, old_tile);
  Line out{.k = k, .tile = old, .met = {}};
  if (old.begin == old.end) return out;
  out.met = meeting(*to_.layout, k, old);
  out.count = out.met.end - out.met.begin;
  if (out.count > most_in_table) return out;
  out.table.reserve(static_cast<std::size_t>(out.count));
  for (Size tile = out.met.begin; tile < out.met.end; ++tile) {
    out.table.push_back(new_piece(out, tile));
  }
  return out;
}

Size Routes::boxes(Size device) const {
  const Shape mine = numbers(to_, to_.position(device));
  Size out = 1;
  for (std::size_t k = 0; k < rank_; ++k) {
    const Stretch box = stretch(*to_.layout, k, mine[k]);
    if (box.begin == box.end) return 0;
    const Stretch tiles = meeting(*from_.layout, k, box);
    Size met = tiles.end - tiles.begin;
    if (from_.skips[k]) {
      for (Size tile = tiles.begin; tile < tiles.end; ++tile) {
        met -= from_.layout->cuts()[k].width(tile) == 0 ? 1 : 0;
      }
    }
    out = checked_mul(out, met).value_or(Size{1} << 62);
  }
  return out;
}

Size Routes::table_bytes(Size device) const {
  const Shape mine = numbers(to_, to_.position(device));
  const Shape old = numbers(from_, from_.position(device));
  Size received = 0;
  Size sent = 0;
  for (std::size_t k = 0; k < rank_; ++k) {
    const Stretch box = stretch(*to_.layout, k, mine[k]);
    const Stretch tile = stretch(*from_.layout, k, old[k]);
    const Stretch sources = meeting(*from_.layout, k, box);
    const Stretch targets = meeting(*to_.layout, k, tile);
    const Size met = sources.end - sources.begin;
    if (box.begin < box.end && (met <= most_in_table || from_.skips[k])) received += met;
    const Size meeting_it = targets.end - targets.begin;
    if (tile.begin < tile.end && meeting_it <= most_in_table) sent += meeting_it;
  }
  constexpr Size numbers_at_hand = 8;  // of one Transfer, of tiles and of what is chosen
  return std::max(received, sent) * Size{sizeof(Piece)} +
         static_cast<Size>(rank_) *
             (numbers_at_hand * Size{sizeof(Size) + 16} + 2 * Size{sizeof(Line)}) +
         512;
}

bool Routes::has_numbers(const End& end, Size position, const Shape& numbers) const {
  for (std::size_t k = 0; k < rank_; ++k) {
    if (end.tiles[k].number(position) != numbers[k]) return false;
  }
  return true;
}

Shape Routes::numbers(const End& end, Size position) const {
  Shape out(rank_);
  for (std::size_t k = 0; k < rank_; ++k) out[k] = end.tiles[k].number(position);
  return out;
}

}  // namespace retile
