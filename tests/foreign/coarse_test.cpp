// Functions on strips: what they hold is what the tags of all elements say, and so are verdicts.
#include "retile/foreign/coarse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "functions.h"
#include "random_modules.h"
#include "retile/core/index.h"
#include "retile/core/walk.h"
#include "retile/foreign/evaluator.h"
#include "retile/foreign/judge.h"
#include "support/samples.h"

namespace retile::foreign {
namespace coarse_test {

constexpr Size most_bytes = Size{1} << 28;

/// What is in a place: an element of an addend each, how often, and of how many parts; or what else is there.
struct There {
  std::map<Size, Size> terms;
  Size parts = 1;
  std::int64_t otherwise = 0;
  friend bool operator==(const There&, const There&) = default;
};

template <typename Number>
There there(const Cells& cells, std::size_t k, const Sums& sums, const Number& number) {
  There out;
  if (!cells.are_tags()) {
    out.otherwise = cells.numbers()[k];
    return out;
  }
  const Tag tag = cells.tags()[k];
  for (const Term& term : sums.terms(tag)) out.terms[number(term.atom)] += term.times;
  out.parts = sums.parts(tag);
  if (const auto way = sums.added_by(tag)) out.otherwise = 1 + static_cast<int>(*way);
  if (tag < 0) out.otherwise = tag;
  return out;
}

/// The place that is left of a dimension in which a place lies, and how far on it is in every digit.
struct Position {
  Size left = 0;
  std::vector<std::pair<DigitId, Size>> steps;
};
Position position_of(const Strips& strips, DimId dim, Size place) {
  Position out;
  while (out.left + 1 < strips.count(dim)) {
    // The digits of the first places are not in one order with the places, so all are tried.
    bool inside = true;
    Size rest = place - strips.first(dim, out.left);
    for (std::size_t k = strips.digits(dim); inside && k-- > 0;) {
      const DigitId digit{dim, k};
      const Size step = rest / strips.weight(digit);
      inside = rest >= 0 && step < strips.length(digit, out.left);
      rest -= step * strips.weight(digit);
    }
    if (inside && rest == 0) break;
    ++out.left;
  }
  Size rest = place - strips.first(dim, out.left);
  for (std::size_t k = strips.digits(dim); k-- > 0;) {
    const DigitId digit{dim, k};
    const Size step = rest / strips.weight(digit);
    if (step > 0) out.steps.emplace_back(digit, step);
    rest -= step * strips.weight(digit);
  }
  return out;
}

/// Compares both evaluations of a function in every place of every device.
class Comparison {
 public:
  Comparison(const Function& function, const Layout& from, const Coarse& coarse)
      : function_(function),
        from_(from),
        coarse_(coarse),
        all_(function, from, most_bytes),
        left_(coarse.function, coarse.start, most_bytes) {
    for (const Operation& operation : function.operations) all_.apply(operation);
    for (const Operation& operation : coarse.function.operations) left_.apply(operation);
  }

  /// Empty where they are alike.
  std::string difference() {
    for (ValueId value = 0; value < function_.values.size(); ++value) {
      find_positions(value);
      for (std::size_t device = 0; device < all_.at(value).blocks.size(); ++device) {
        const Shape& extents = function_.values[value].type.extents;
        bool same = true;
        for_box(extents, [&](const Shape& at) { same = same && is_same(value, device, at); });
        if (!same) {
          return function_.values[value].name + " on device " + std::to_string(device);
        }
      }
    }
    return "";
  }

 private:
  void find_positions(ValueId value) {
    positions_.clear();
    for (std::size_t k = 0; k < coarse_.dims[value].size(); ++k) {
      auto& positions = positions_.emplace_back();
      for (Size at = 0; at < function_.values[value].type.extents[k]; ++at) {
        positions.push_back(position_of(coarse_.strips, coarse_.dims[value][k], at));
      }
    }
  }
  bool is_same(ValueId value, std::size_t device, const Shape& at) {
    Shape left;
    std::vector<std::pair<DigitId, Size>> steps;
    for (std::size_t k = 0; k < at.size(); ++k) {
      const Position& position = positions_[k][index(at[k])];
      left.push_back(position.left);
      steps.insert(steps.end(), position.steps.begin(), position.steps.end());
    }
    const Shape& extents = function_.values[value].type.extents;
    const Shape& coarse_extents = coarse_.function.values[value].type.extents;
    const auto found = there(*left_.at(value).blocks[device],
                             index(offset_of(left, strides_of(coarse_extents))), left_.sums(),
                             [&](Tag atom) { return element(atom, steps); });
    const auto wanted =
        there(*all_.at(value).blocks[device], index(offset_of(at, strides_of(extents))),
              all_.sums(), [](Tag atom) { return Size{atom}; });
    return found == wanted;
  }
  /// The atom of the array that one of the coarse array is after these steps.
  Size element(Tag atom, const std::vector<std::pair<DigitId, Size>>& steps) {
    const Shape& global = coarse_.start.global;
    const Size size = count_of(global);
    const Shape at = index_of(atom % size, global);
    Size out = atom / size * from_.global_size();
    for (std::size_t k = 0; k < at.size(); ++k) {
      Size place = coarse_.strips.first(coarse_.array[k], at[k]);
      for (std::size_t digit = 0; digit < coarse_.strips.digits(coarse_.array[k]); ++digit) {
        const DigitId own{coarse_.array[k], digit};
        if (coarse_.strips.length(own, at[k]) == 1) continue;
        for (const auto& [other, step] : steps) {
          if (coarse_.strips.kin(other) == coarse_.strips.kin(own)) {
            place += step * coarse_.strips.weight(own);
          }
        }
      }
      out += place * strides_of(from_.global())[k];
    }
    return out;
  }

  const Function& function_;
  const Layout& from_;
  const Coarse& coarse_;
  Evaluator all_;
  Evaluator left_;
  std::vector<std::vector<Position>> positions_;  // of a value's dimensions
};

Layout from_of(const testing::RandomModule& module) {
  std::vector<Cuts> cuts;
  std::vector<std::vector<Digit>> digits;
  for (const Size extent : module.tile()) {
    const bool first = cuts.empty();
    cuts.push_back(Cuts::even(extent, first ? module.devices() : 1));
    digits.push_back(first && module.devices() > 1 ? std::vector<Digit>{{1, module.devices()}}
                                                   : std::vector<Digit>{});
  }
  return Layout::numbered(module.devices(), std::move(cuts), std::move(digits)).value();
}

Size places(const Function& function) {
  Size out = 0;
  for (const Value& value : function.values) out += count_of(value.type.extents);
  return out;
}

TEST(Coarse, values_of_random_modules_are_those_of_all_elements) {
  int made = 0;
  int coarser = 0;
  int in_digits = 0;
  const int count = support::samples(3'000);
  for (int seed = 0; seed < count; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    testing::RandomModule module(
        [&](Size bound) {
          return static_cast<Size>(random() % static_cast<std::uint64_t>(bound));
        },
        seed % 3 == 0 ? 1 : seed % 3 == 1 ? 4 : 6);
    const std::string text = module.text();
    const Function function = testing::function_of(text);
    const Layout from = from_of(module);
    const auto coarse = coarsened(function, from, from);
    if (!coarse) continue;
    ++made;
    if (places(coarse->function) * 3 < places(function)) ++coarser;
    for (const auto& dims : coarse->dims) {
      for (const DimId dim : dims) in_digits += coarse->strips.digits(dim) > 1 ? 1 : 0;
    }
    const std::string what = Comparison(function, from, *coarse).difference();
    ASSERT_EQ(what, "") << "seed " << seed << "\n" << text;
  }
  EXPECT_GT(made, count / 2) << count;
  EXPECT_GT(coarser, count / 4) << made;
  EXPECT_GT(in_digits, count / 8);
  std::printf("%d %d %d of %d\n", made, coarser, in_digits, count);
}

}  // namespace coarse_test
}  // namespace retile::foreign
