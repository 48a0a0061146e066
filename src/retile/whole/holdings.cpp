#include "retile/whole/holdings.h"

#include <algorithm>
#include <functional>
#include <map>

#include "retile/core/division.h"
#include "retile/core/index.h"
#include "retile/core/primes.h"
#include "retile/core/walk.h"

namespace retile::whole {
namespace {

/// Ways to lay tiles out that are tried where elements are no names.
constexpr std::size_t most_ways = 4096;

/// Whether a number with a point is hardly there by chance, as zeros, ones and infinities are.
bool is_probe(Word word) {
  constexpr Word least = Word{1} << 16U;
  return word >= least;
}

std::uint64_t mixed(Word word) {
  auto out = static_cast<std::uint64_t>(word) * 0x9e3779b97f4a7c15U;
  out ^= out >> 29U;
  out *= 0xbf58476d1ce4e5b9U;
  return out ^ (out >> 32U);
}

/// The same of arrays with the same elements, whatever their order.
Word names_of(const ArrayType& type, const Array& array) {
  std::uint64_t out =
      mixed(static_cast<Word>(type.kind.bits) * 8 + static_cast<Word>(type.kind.form));
  for (const Word word : array.words) out += mixed(word);
  return static_cast<Word>(out);
}

/// Ways to count tiles by digits of the device number, the major digits by the major tiles.
class Ways {
 public:
  Ways(Size devices, Shape extents, Shape tile)
      : extents_(std::move(extents)), tile_(std::move(tile)), counts_(tile_.size(), 1) {
    for (const PrimePower& power : factorize(devices)) {
      sizes_.insert(sizes_.end(), index(power.exponent), power.prime);
    }
    dims_.resize(sizes_.size());
  }
  /// Calls `look` with every way that makes tiles of these extents, until it likes one.
  template <typename Look>
  bool any(const Look& look, std::size_t digit = 0) {
    if (++tried_ > most_ways) return false;
    if (digit == sizes_.size()) return fit() && look();
    for (std::size_t i = 0; i <= counts_.size(); ++i) {
      const bool counts = i < counts_.size();
      if (counts && counts_[i] >= extents_[i]) continue;
      if (counts) counts_[i] *= sizes_[digit];
      dims_[digit] = i;
      const bool is_liked = (!counts || longest(i) >= tile_[i]) && any(look, digit + 1);
      if (counts) counts_[i] /= sizes_[digit];
      if (is_liked) return true;
    }
    return false;
  }
  /// The tile that a device has.
  [[nodiscard]] Shape tile_of(Size device) const {
    Shape out(counts_.size(), 0);
    Size below = 1;
    for (const Size size : sizes_) below *= size;
    for (std::size_t k = 0; k < sizes_.size(); ++k) {
      below /= sizes_[k];
      if (dims_[k] == counts_.size()) continue;
      Size& number = out[dims_[k]];
      number = number * sizes_[k] + device / below % sizes_[k];
    }
    return out;
  }

 private:
  [[nodiscard]] Size longest(std::size_t i) const { return ceil_div(extents_[i], counts_[i]); }
  /// What nothing cuts may be padded.
  [[nodiscard]] bool fit() const {
    for (std::size_t i = 0; i < tile_.size(); ++i) {
      if (longest(i) != tile_[i] && (counts_[i] > 1 || longest(i) > tile_[i])) return false;
    }
    return true;
  }

  Shape extents_;
  Shape tile_;
  Shape counts_;  // of tiles
  std::vector<Size> sizes_;
  std::vector<std::size_t> dims_;  // that each digit counts, the major one first; the rank: none
  std::size_t tried_ = 0;
};

}  // namespace

std::size_t Holdings::look_for(const ArrayType& type, const Held& held) {
  Sought sought{.type = type, .held = held, .tiles = {}, .devices = held.size()};
  std::map<const Array*, std::size_t> known;
  for (std::size_t d = 0; d < held.size(); ++d) {
    const auto [at, is_new] = known.emplace(held[d].get(), sought.tiles.size());
    if (is_new) sought.tiles.push_back({.block = held[d], .devices = {}, .probe = {}, .box = {}});
    sought.tiles[at->second].devices.push_back(d);
  }
  const std::size_t out = sought_.size();
  if (!type.kind.is_number()) {
    for (std::size_t t = 0; t < sought.tiles.size(); ++t) {
      const std::vector<Word>& words = sought.tiles[t].block->words;
      const auto name = std::find_if(words.begin(), words.end(), is_probe);
      if (name == words.end()) continue;
      sought.tiles[t].probe = static_cast<std::size_t>(name - words.begin());
      probes_[*name].push_back({.sought = out, .tile = t});
      may_be_probe_[mixed(*name) >> (64 - filter_bits)] = true;
      sought.is_named = true;
    }
  }
  sought_.push_back(std::move(sought));
  return out;
}

void Holdings::look_in(std::size_t number, const ArrayType& type, const Block& block) {
  if (block->words.empty()) return;
  ++scan_;
  limits_.work(static_cast<Size>(block->words.size()) * 2);
  if (!type.kind.is_number()) look_by_names(type, block);
  bool is_held = false;
  for (Sought& sought : sought_) {
    if (sought.type.kind != type.kind || sought.type.extents.size() != type.extents.size())
      continue;
    std::optional<Holding> holding = found(sought, type);
    const bool is_seen = std::any_of(sought.tiles.begin(), sought.tiles.end(),
                                     [&](const Tile& tile) { return tile.scan == scan_; });
    if (!holding && (is_seen || !sought.is_named)) holding = in_digits(sought, type, block);
    if (!holding) continue;
    is_held = true;
    holding->reference = references_.size();
    // The largest goes first: what is larger than a value may be something broadcast of it.
    const auto is_smaller = [&](const Holding& other) {
      return count_of(references_[other.reference].type) < count_of(type);
    };
    std::vector<Holding>& holdings = sought.holdings;
    holdings.insert(std::find_if(holdings.begin(), holdings.end(), is_smaller),
                    *std::move(holding));
  }
  if (!is_held) return;
  references_.push_back(
      {.number = number, .type = type, .block = block, .names = names_of(type, *block)});
}

void Holdings::look_by_names(const ArrayType& type, const Block& block) {
  const std::size_t width = words_of(type.kind);
  const std::vector<Word>& words = block->words;
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (!may_be_probe_[mixed(words[k]) >> (64 - filter_bits)]) continue;
    const auto probes = probes_.find(words[k]);
    if (probes == probes_.end()) continue;
    for (const Probe& probe : probes->second) {
      Sought& sought = sought_[probe.sought];
      Tile& tile = sought.tiles[probe.tile];
      const Shape& extents = type.extents;
      if (tile.scan == scan_ || sought.type.kind != type.kind ||
          sought.type.extents.size() != extents.size() || *tile.probe % width != k % width) {
        continue;
      }
      Shape at = index_of(static_cast<Size>(k / width), extents);
      const Shape inside = index_of(static_cast<Size>(*tile.probe / width), sought.type.extents);
      for (std::size_t i = 0; i < at.size(); ++i) at[i] -= inside[i];
      try_at(sought, tile, type, block, std::move(at));
    }
  }
}

/// What is padded on every device is longer by less than their number.
bool Holdings::may_be_tile(const Sought& sought, const ArrayType& type, std::size_t dim) {
  const Size tile = sought.type.extents[dim];
  return tile >= 1 && tile < type.extents[dim] + static_cast<Size>(sought.devices);
}

/// Where elements are no names, or stand there several times, as those of a broadcast do: the first
/// layout in digits of the device number of which the tiles are.
std::optional<Holding> Holdings::in_digits(const Sought& sought, const ArrayType& type,
                                           const Block& block) const {
  const Shape& tile = sought.type.extents;
  for (std::size_t i = 0; i < tile.size(); ++i) {
    if (!may_be_tile(sought, type, i)) return std::nullopt;
  }
  const std::size_t width = words_of(type.kind);
  Ways ways(static_cast<Size>(sought.devices), type.extents, tile);
  Holding out;
  const bool is_found = ways.any([&] {
    out.boxes.clear();
    limits_.work(100);
    for (std::size_t d = 0; d < sought.devices; ++d) {
      Box box{.at = ways.tile_of(static_cast<Size>(d)), .extent = tile};
      for (std::size_t i = 0; i < tile.size(); ++i) {
        box.at[i] *= tile[i];
        box.extent[i] = std::clamp<Size>(type.extents[i] - box.at[i], 0, tile[i]);
      }
      if (box.is_empty()) {
        box = {.at = Shape(tile.size(), 0), .extent = Shape(tile.size(), 0)};
      } else if (!begins_with_box(*sought.held[d], tile, *block, type.extents, box, width)) {
        return false;
      }
      out.boxes.push_back(std::move(box));
    }
    return true;
  });
  if (!is_found) return std::nullopt;
  return out;
}

void Holdings::try_at(const Sought& sought, Tile& tile, const ArrayType& type, const Block& block,
                      Shape at) const {
  Box box{.at = std::move(at), .extent = sought.type.extents};
  for (std::size_t i = 0; i < box.at.size(); ++i) {
    if (box.at[i] < 0 || !may_be_tile(sought, type, i)) return;
    box.extent[i] = std::min(box.extent[i], type.extents[i] - box.at[i]);
  }
  if (box.is_empty()) return;
  const std::size_t width = words_of(type.kind);
  if (!begins_with_box(*tile.block, sought.type.extents, *block, type.extents, box, width)) return;
  tile.scan = scan_;
  tile.box = std::move(box);
}

std::optional<Holding> Holdings::found(const Sought& sought, const ArrayType& type) const {
  const auto is_found = [&](const Tile& tile) { return tile.scan == scan_; };
  if (std::none_of(sought.tiles.begin(), sought.tiles.end(), is_found)) return std::nullopt;
  const Box none{.at = Shape(type.extents.size(), 0), .extent = Shape(type.extents.size(), 0)};
  Holding out{.boxes = std::vector<Box>(sought.devices, none)};
  std::vector<bool> covered(static_cast<std::size_t>(count_of(type)));
  std::size_t count = 0;
  const Shape strides = strides_of(type.extents);
  for (const Tile& tile : sought.tiles) {
    if (!is_found(tile)) continue;
    for (const std::size_t d : tile.devices) out.boxes[d] = tile.box;
    for_box(tile.box.extent, [&](const Shape& at) {
      const auto k =
          static_cast<std::size_t>(offset_of(at, strides) + offset_of(tile.box.at, strides));
      if (!covered[k]) ++count;
      covered[k] = true;
      return true;
    });
  }
  limits_.work(static_cast<Size>(covered.size()));
  if (count < covered.size()) return std::nullopt;
  return out;
}

std::optional<std::vector<Box>> Holdings::as_boxes_of(std::size_t reference,
                                                      const Holding& holding) const {
  const Reference& from = references_[holding.reference];
  const Reference& to = references_[reference];
  const std::size_t width = words_of(to.type.kind);
  std::unordered_map<Word, Size> places;
  for (std::size_t k = 0; k < to.block->words.size(); k += width) {
    if (!places.emplace(to.block->words[k], static_cast<Size>(k / width)).second) return {};
  }
  limits_.work(static_cast<Size>(to.block->words.size()) * 50);
  const Shape strides = strides_of(from.type.extents);
  std::vector<Box> out;
  for (const Box& box : holding.boxes) {
    const std::size_t rank = to.type.extents.size();
    Shape least = to.type.extents;
    Shape most(rank, -1);
    Size count = 0;
    const auto see = [&](const Shape& at) {
      const Size place = offset_of(at, strides) + offset_of(box.at, strides);
      const auto found = places.find(from.block->words[static_cast<std::size_t>(place) * width]);
      if (found == places.end()) return false;
      const Shape there = index_of(found->second, to.type.extents);
      for (std::size_t i = 0; i < rank; ++i) {
        least[i] = std::min(least[i], there[i]);
        most[i] = std::max(most[i], there[i]);
      }
      ++count;
      return true;
    };
    if (box.is_empty()) {
      out.push_back({.at = Shape(rank, 0), .extent = Shape(rank, 0)});
      continue;
    }
    if (!for_box(box.extent, see)) return std::nullopt;
    Box made{.at = least, .extent = {}};
    Size volume = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      made.extent.push_back(most[i] - least[i] + 1);
      volume *= made.extent.back();
    }
    if (volume != count) return std::nullopt;
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace retile::whole
