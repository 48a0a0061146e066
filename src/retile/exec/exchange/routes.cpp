// The digits of the position that a dimension does not use number the replicas of a tile. What the
// header says of turns is asked from both sides: a target finds its number among those who get
// something of an old tile, a source all numbers that are its turn.
#include "retile/exec/exchange/routes.h"

#include <algorithm>
#include <utility>

#include "retile/core/assert.h"

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
  std::vector<Digit> unused = map.unused();
  std::reverse(unused.begin(), unused.end());
  replica = {unused, product_of(unused)};
}

bool Routes::knows(const Layout& from, const Layout& to) {
  return !from.is_listed() && !to.is_listed() && from.halos().empty() && !from.addends() &&
         !to.addends();
}

Routes::Routes(const Layout& from, const Layout& to) : rank_(from.rank()), from_(from), to_(to) {
  RETILE_ASSERT(knows(from, to) && from.devices() == to.devices() && from.global() == to.global(),
                "routes are between layouts of one array by tile numbers");
}

Routes::Stretch Routes::stretch(const Layout& layout, std::size_t k, Size tile) {
  const Cuts& cuts = layout.cuts()[k];
  const Size begin = cuts.at(tile);
  const Size end = cuts.at(tile + 1);
  if (layout.halos().empty() || begin == end) return {begin, end};
  const Halo& halo = layout.halos()[k];
  return {begin - std::min(begin, halo.below), end + std::min(cuts.global() - end, halo.above)};
}

Routes::Stretch Routes::meeting(const Layout& layout, std::size_t k, Stretch part) {
  const Cuts& cuts = layout.cuts()[k];
  // A tile reaches as far as its halos into what lies beside it.
  if (!layout.halos().empty()) {
    const Halo& halo = layout.halos()[k];
    part.begin -= std::min(part.begin, halo.above);
    part.end += std::min(cuts.global() - part.end, halo.below);
  }
  if (!cuts.is_listed()) {
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

std::vector<Routes::Piece> Routes::old_pieces(std::size_t k, Size new_tile) const {
  std::vector<Piece> out;
  const Stretch box = stretch(*to_.layout, k, new_tile);
  if (box.begin == box.end) return out;
  const Stretch tiles = meeting(*from_.layout, k, box);
  out.reserve(static_cast<std::size_t>(tiles.end - tiles.begin));
  for (Size tile = tiles.begin; tile < tiles.end; ++tile) {
    const Stretch old = stretch(*from_.layout, k, tile);
    const Size begin = std::max(old.begin, box.begin);
    const Size end = std::min(old.end, box.end);
    if (begin >= end) continue;
    const Stretch needed = meeting(*to_.layout, k, old);
    out.push_back({.tile = tile,
                   .position = from_.tiles[k].position(tile),
                   .at = old.begin,
                   .begin = begin,
                   .end = end,
                   .first = needed.begin,
                   .count = needed.end - needed.begin});
  }
  return out;
}

std::vector<Routes::Piece> Routes::new_pieces(std::size_t k, Size old_tile) const {
  std::vector<Piece> out;
  const Stretch old = stretch(*from_.layout, k, old_tile);
  if (old.begin == old.end) return out;
  const Stretch tiles = meeting(*to_.layout, k, old);
  out.reserve(static_cast<std::size_t>(tiles.end - tiles.begin));
  for (Size tile = tiles.begin; tile < tiles.end; ++tile) {
    const Stretch box = stretch(*to_.layout, k, tile);
    const Size begin = std::max(old.begin, box.begin);
    out.push_back({.tile = tile,
                   .position = to_.tiles[k].position(tile),
                   .at = box.begin,
                   .begin = begin,
                   .end = std::max(begin, std::min(old.end, box.end))});
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
    if (from_.layout->cuts()[k].is_listed()) {  // there may be empty ones between
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
    if (box.begin < box.end) received += sources.end - sources.begin;
    if (tile.begin < tile.end) sent += targets.end - targets.begin;
  }
  constexpr Size numbers_at_hand = 8;  // of one Transfer, of tiles and of what is chosen
  return std::max(received, sent) * Size{sizeof(Piece)} +
         static_cast<Size>(rank_) * (numbers_at_hand * Size{sizeof(Size) + 16} + 64) + 512;
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
