// Random layouts whose tiles need not be alike, by a plain random engine: for tests in which all processes draw the same, and
// for campaigns of millions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "retile/core/layout.h"

namespace support {

inline retile::Size draw(std::mt19937_64& random, retile::Size below) {
  return static_cast<retile::Size>(random() % static_cast<std::uint64_t>(below));
}

/// The digits of a mesh whose axes are the prime factors of the devices, each on one dimension or on
/// none.
inline std::vector<std::vector<retile::Digit>> random_digits(std::mt19937_64& random,
                                                             retile::Size devices,
                                                             std::size_t rank) {
  std::vector<std::vector<retile::Digit>> out(rank);
  retile::Size stride = 1;
  for (retile::Size left = devices; left > 1;) {
    retile::Size factor = 2;
    while (left % factor != 0) ++factor;
    const std::size_t dim = random() % (rank + 1);
    if (dim < rank) out[dim].push_back({.stride = stride, .size = factor});
    stride *= factor;
    left /= factor;
  }
  return out;
}

/// Blocks that are dealt out, in one section or two; or two sections that are cut.
inline retile::Cuts random_dealt_cuts(std::mt19937_64& random, retile::Size count,
                                      retile::Size global) {
  std::vector<retile::Section> sections = {{global, 1 + draw(random, 3)}};
  if (global > 1 && random() % 2 == 0) {
    const retile::Size first = 1 + draw(random, global - 1);
    sections.insert(sections.begin(), {first, sections.front().block});
    if (random() % 2 == 0) {
      sections[0].block = (first + count - 1) / count;
      sections[1].block = (global - first + count - 1) / count;
    }
  }
  return retile::Cuts::dealt(count, std::move(sections));
}

/// A grid of chunks of one or two dimensions, some of them empty, in turn or in any tiles.
inline retile::Cuts random_chunks(std::mt19937_64& random, retile::Size count,
                                  retile::Size global) {
  retile::Size outer = 1 + draw(random, global);
  while (global % outer != 0) --outer;
  retile::Chunks out;
  std::size_t chunks = 1;
  for (const retile::Size extent : {outer, global / outer}) {
    std::vector<retile::Size>& ends = out.ends.emplace_back();
    ends = {0, extent};
    for (auto more = random() % 4; more > 0; --more) ends.push_back(draw(random, extent + 1));
    std::sort(ends.begin(), ends.end());
    chunks *= ends.size() - 1;
  }
  const bool in_turn = random() % 2 == 0;
  for (std::size_t k = 0; k < chunks; ++k) {
    out.tiles.push_back(in_turn ? static_cast<retile::Size>(k) % count : draw(random, count));
  }
  return retile::Cuts::chunked(count, std::move(out));
}

/// Blocks, most of them, some larger than they must be; or balanced or listed cuts, or blocks or chunks that are
/// dealt out.
inline retile::Cuts random_cuts(std::mt19937_64& random, retile::Size count, retile::Size global) {
  if (random() % 6 == 0) {
    return random() % 3 == 0 ? random_chunks(random, count, global)
                             : random_dealt_cuts(random, count, global);
  }
  const retile::Size least = (global + count - 1) / count;
  if (random() % 3 != 0) {
    return retile::Cuts::blocks(least + std::max<retile::Size>(0, draw(random, 5) - 2), count,
                                global);
  }
  if (random() % 3 == 0) return retile::Cuts::balanced(count, global);
  std::vector<retile::Size> at{0, global};
  for (retile::Size k = 1; k < count; ++k) at.push_back(draw(random, global + 1));
  std::sort(at.begin(), at.end());
  return retile::Cuts::listed(std::move(at));
}

/// By tile numbers, some with halos; one of eight on one device. Precondition: a rank of 1 at least.
inline retile::Layout random_layout(std::mt19937_64& random, retile::Size devices,
                                    const retile::Shape& global) {
  if (random() % 8 == 0) return retile::Layout::rooted(devices, global, draw(random, devices));
  const auto digits = random_digits(random, devices, global.size());
  std::vector<retile::Cuts> cuts;
  std::vector<retile::Halo> halos;
  for (std::size_t i = 0; i < global.size(); ++i) {
    cuts.push_back(random_cuts(random, retile::product_of(digits[i]), global[i]));
    const bool is_dealt = cuts.back().is_dealt();
    const auto reach = [&] {
      return random() % 8 == 0 && !is_dealt ? retile::Size{1} : retile::Size{0};
    };
    halos.push_back({.below = reach(), .above = reach()});
  }
  const bool none = std::all_of(halos.begin(), halos.end(),
                                [](const retile::Halo& halo) { return halo == retile::Halo{}; });
  return retile::Layout::numbered(devices, std::move(cuts), digits,
                                  none ? std::vector<retile::Halo>() : std::move(halos))
      .value();
}

/// Blocks that are dealt out in whole rounds, of arrays of 2^a 3^b elements: cuts of two such layouts often
/// nest.
inline retile::Layout random_rounds(std::mt19937_64& random, retile::Size devices,
                                    const retile::Shape& global) {
  auto digits = random_digits(random, devices, global.size());
  std::vector<retile::Cuts> cuts;
  for (std::size_t i = 0; i < global.size(); ++i) {
    if (global[i] % retile::product_of(digits[i]) != 0) digits[i].clear();
    if (random() % 2 == 0) std::reverse(digits[i].begin(), digits[i].end());
    const retile::Size count = retile::product_of(digits[i]);
    retile::Size block = 1 + draw(random, global[i] / count);
    while (global[i] / count % block != 0) --block;
    cuts.push_back(retile::Cuts::dealt(count, {{global[i], block}}));
  }
  return retile::Layout::numbered(devices, std::move(cuts), digits).value();
}

inline retile::Shape random_global(std::mt19937_64& random, std::size_t max_rank,
                                   retile::Size most) {
  retile::Shape out;
  for (std::size_t rank = 1 + random() % max_rank; rank > 0; --rank) {
    out.push_back(1 + draw(random, most));
  }
  return out;
}

}  // namespace support
