// Programs with addends run on numbers: 64-bit words in place of formal sums. What is called right must
// give the right words, and the witness of what is called wrong must show in them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/check/check.h"
#include "retile/core/boxes.h"
#include "retile/program/moves.h"
#include "retile/program/program.h"
#include "support/verdict_fields.h"

namespace integers {

using retile::Addition;
using retile::Box;
using retile::Layout;
using retile::Program;
using retile::Shape;
using retile::Size;

/// Sums wrap; maxima and minima are those of signed numbers.
using Word = std::uint64_t;

/// What an element of an addend is.
using Values = std::function<Word(Size addend, const Shape& element)>;

inline std::size_t index(Size n) { return static_cast<std::size_t>(n); }

inline Word neutral(Addition addition) {
  if (addition == Addition::max) return Word{1} << 63;
  return addition == Addition::min ? ~(Word{1} << 63) : 0;
}

inline Word add(Addition addition, Word a, Word b) {
  const bool less = static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
  if (addition == Addition::max) return less ? b : a;
  if (addition == Addition::min) return less ? a : b;
  return a + b;
}

inline Size volume(const Shape& shape) {
  Size out = 1;
  for (const Size extent : shape) out *= extent;
  return out;
}

/// Calls `f(place)` for every place of a box, in C order.
template <typename F>
void each_place(const Shape& extent, F f) {
  if (volume(extent) == 0) return;
  Shape at(extent.size(), 0);
  while (true) {
    f(at);
    std::size_t i = extent.size();
    while (i > 0 && ++at[i - 1] == extent[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

inline std::size_t position(const Shape& extent, const Shape& at) {
  Size out = 0;
  for (std::size_t i = 0; i < extent.size(); ++i) out = out * extent[i] + at[i];
  return index(out);
}

inline Shape moved(Shape at, const Shape& by) {
  for (std::size_t i = 0; i < at.size(); ++i) at[i] += by[i];
  return at;
}

/// What the devices hold.
struct Words {
  retile::TileShapes shapes;
  std::vector<std::vector<Word>> tiles;

  [[nodiscard]] Word at(Size device, const Shape& place) const {
    return tiles[index(device)][position(shapes[index(device)], place)];
  }
  [[nodiscard]] bool has(Size device, const Shape& place) const {
    const Shape& shape = shapes[index(device)];
    for (std::size_t i = 0; i < place.size(); ++i) {
      if (place[i] < 0 || place[i] >= shape[i]) return false;
    }
    return place.size() == shape.size();
  }
};

/// What the devices hold after so many steps; nothing where one of them cannot be applied.
inline std::optional<Words> run(const Program& program, Addition addition, std::size_t steps,
                                const Values& values) {
  Words now{retile::shapes_of(program.from), {}};
  for (Size d = 0; d < program.devices; ++d) {
    const Size addend = program.from.addend(d);
    auto& tile = now.tiles.emplace_back();
    each_place(now.shapes[index(d)], [&](const Shape& at) {
      tile.push_back(values(addend, retile::element_at(program.from.parts(d), at)));
    });
  }
  for (std::size_t k = 0; k < steps; ++k) {
    const auto moves = retile::moves_of(program.steps[k], now.shapes);
    if (!moves) return std::nullopt;
    Words next{moves->after, {}};
    for (const Shape& shape : next.shapes) {
      next.tiles.emplace_back(index(volume(shape)), neutral(addition));
    }
    for (const retile::Transfer& transfer : moves->transfers) {
      each_place(transfer.shape, [&](const Shape& at) {
        const Shape& shape = next.shapes[index(transfer.target)];
        Word& there =
            next.tiles[index(transfer.target)][position(shape, moved(at, transfer.target_start))];
        there = add(addition, there, now.at(transfer.source, moved(at, transfer.source_start)));
      });
    }
    now = std::move(next);
  }
  return now;
}

/// Devices that hold one tile: those of one number, or where there are none of one box.
inline std::vector<Size> tile_of(const Layout& layout, Size device) {
  if (!layout.is_listed()) return layout.numbers().numbers(device);
  const Box box = layout.box(device);
  std::vector<Size> out = box.at;
  out.insert(out.end(), box.extent.begin(), box.extent.end());
  return out;
}

/// Whether the devices hold what a layout says, of so many addends that there were at the start.
inline bool is_right(const Words& words, const Layout& layout, Addition addition, Size addends,
                     const Values& values) {
  if (words.shapes != retile::shapes_of(layout)) return false;
  using Tile = std::vector<Size>;
  std::map<std::pair<Tile, Size>, Size> first;  // device, by tile and addend
  std::map<Tile, std::vector<Size>> holders;    // one of every addend
  for (Size d = 0; d < layout.devices(); ++d) {
    const auto [known, is_new] = first.try_emplace({tile_of(layout, d), layout.addend(d)}, d);
    if (words.tiles[index(d)] != words.tiles[index(known->second)]) return false;
    if (is_new) holders[known->first.first].push_back(d);
  }
  bool right = true;
  for (const auto& holder : holders) {
    const std::vector<Size>& devices = holder.second;
    each_place(words.shapes[index(devices.front())], [&](const Shape& at) {
      const Shape element = retile::element_at(layout.parts(devices.front()), at);
      Word want = neutral(addition);
      Word total = neutral(addition);
      for (Size k = 0; k < addends; ++k) want = add(addition, want, values(k, element));
      for (const Size d : devices) {
        const Word word = words.at(d, at);
        total = add(addition, total, word);
        const bool own = addition != Addition::stack || word == values(layout.addend(d), element);
        right = right && own;
      }
      right = right && (addition == Addition::stack || total == want);
    });
  }
  return right;
}

/// A number that tells nothing about its neighbours.
inline Word scattered(Word seed) {
  seed += 0x9e3779b97f4a7c15U;
  seed = (seed ^ (seed >> 30U)) * 0xbf58476d1ce4e5b9U;
  seed = (seed ^ (seed >> 27U)) * 0x94d049bb133111ebU;
  return seed ^ (seed >> 31U);
}

inline Values random_values(Word seed) {
  return [seed](Size addend, const Shape& element) {
    Word out = scattered(seed + static_cast<Word>(addend));
    for (const Size at : element) out = scattered(out + static_cast<Word>(at));
    return out;
  };
}

/// One element of one addend, or of all, is 1 (of minima -1); the others are 0.
inline Values one_alone(Addition addition, std::optional<Size> addend, Shape element) {
  return [addition, addend, alone = std::move(element)](Size k, const Shape& at) -> Word {
    if ((addend && k != *addend) || at != alone) return 0;
    return addition == Addition::min ? ~Word{0} : 1;
  };
}

inline bool is_of_words(retile::Reason reason) {
  return reason == retile::Reason::end || reason == retile::Reason::addends ||
         reason == retile::Reason::replicas || reason == retile::Reason::map_claim;
}

/// What the words have against a verdict; empty where they have nothing.
inline std::string objection(const Program& program, Addition addition,
                             const retile::Verdict& judged, Word seed) {
  const Size addends = program.from.addend_count();
  if (judged.answer == retile::Answer::right) {
    const Values values = random_values(seed);
    const auto words = run(program, addition, program.steps.size(), values);
    if (!words) return "a step cannot be applied";
    return is_right(*words, program.to, addition, addends, values) ? "" : "the words are wrong";
  }
  const support::VerdictFields verdict = support::fields_of(judged);
  if (!judged.wrong || !is_of_words(judged.wrong->reason)) return "";
  const auto step = index(*verdict.first_wrong_step);
  const bool at_end = step == program.steps.size();
  if (!at_end && verdict.reason != retile::Reason::map_claim) return "";  // adds in another way
  const Layout* said = &program.to;
  if (!at_end) {
    const auto& map = program.steps[step].claims.map;
    said = map ? &*map : nullptr;
  }
  const bool is_shape = !verdict.at.has_value();
  const Values values = is_shape ? random_values(seed)
                                 : one_alone(addition, verdict.addend,
                                             verdict.addend ? *verdict.element : *verdict.found);
  const auto words = run(program, addition, at_end ? step : step + 1, values);
  if (!words) return "a step cannot be applied";
  const bool refuted = said != nullptr && !is_right(*words, *said, addition, addends, values);
  if (is_shape) return refuted || !at_end ? "" : "the words are right";
  if (!words->has(*verdict.device, *verdict.at)) return "no such place";
  const Word there = words->at(*verdict.device, *verdict.at);
  if (!verdict.addend) {  // another element is in the place
    if (there == 0 || verdict.found == verdict.element)
      return "the place does not show the element";
    return refuted || !at_end ? "" : "the words are right";
  }
  const bool counts = addition == Addition::sum || addition == Addition::stack;
  if (verdict.replica) {
    const Word other = words->at(*verdict.replica, *verdict.at);
    if (there == other) return "the replica holds the same";
    if (counts && (there != static_cast<Word>(*verdict.times) ||
                   other != static_cast<Word>(*verdict.replica_times))) {
      return "an addend is there in other numbers";
    }
  }
  return refuted ? "" : "the words are right";
}

}  // namespace integers
