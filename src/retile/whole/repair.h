// Which operation of a wrong program would have to make something else: where a value of the text before,
// put in the place of what the devices hold, makes a wrong result right. Room-internal.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/whole/array.h"
#include "retile/whole/evaluate.h"
#include "retile/whole/field.h"
#include "retile/whole/module.h"
#include "retile/whole/spot.h"

namespace retile::whole {

/// What all devices hold of a result, before and after.
struct WrongResult {
  std::size_t number = 0;
  std::vector<Box> boxes;  ///< of the array before, on every device
};

/// A value of the text after that should be boxes of one before.
struct Repair {
  std::size_t instruction = 0;  ///< of the entry after
  std::size_t part = 0;         ///< of its results
  std::size_t nearest = 0;      ///< the instruction to look at: this one, or what it is made of
  ValueId value = 0;            ///< before
  std::vector<Box> boxes;       ///< of every device
};

class Repairs {
 public:
  /// \param first, second  all values of both entries
  Repairs(const Module& before, const Module& after, std::vector<Held> first,
          std::vector<Held> second, Limits& limits);

  /// An array is cut like this somewhere; others may be cut so along single dimensions.
  void note_cut(const Shape& extents, const std::vector<Box>& boxes);

  /// The first operation of the text after for which there is such a value; or one between devices beside
  /// it that has to do with all that is wrong.
  /// \param near  a value before that is looked at first, with what it is made of and what is made of it
  [[nodiscard]] std::optional<Repair> first_of(Evaluator<Field>& evaluator,
                                               const WrongResult& wrong, ValueId near) const;
  /// Operations a few steps behind what is right for which there is such a value that is made of the same
  /// as they are, however large the program is.
  [[nodiscard]] std::vector<Repair> likely_of(Evaluator<Field>& evaluator, const WrongResult& wrong,
                                              std::size_t most) const;

 private:
  [[nodiscard]] std::vector<ValueId> values_around(ValueId near) const;
  /// Instructions that a result needs and that make, from there on, no value before.
  [[nodiscard]] std::vector<bool> wrong_way_to(ValueId result) const;
  /// The same where the operation's value goes to another device next, which may be what is wrong.
  [[nodiscard]] Repair at_next_exchange(Evaluator<Field>& evaluator, const WrongResult& wrong,
                                        const std::vector<ValueId>& values, Repair repair) const;
  /// Of an operation and of those between devices that it is made of, the one that says least beside
  /// what is wrong.
  [[nodiscard]] std::size_t nearest_to(Evaluator<Field>& evaluator, const WrongResult& wrong,
                                       const Repair& repair) const;
  /// Operations between devices whose values come into an operation's without being any before.
  [[nodiscard]] std::vector<std::size_t> exchanges_into(std::size_t instruction) const;
  /// Whether a tile has a device's box of a value before.
  [[nodiscard]] bool is_box_held(ValueId value, const Box& box, std::size_t device,
                                 const Array& tile, const ArrayType& type) const;
  [[nodiscard]] bool is_explained(ValueId value) const;
  /// Values before of which the devices hold boxes.
  [[nodiscard]] std::vector<ValueId> explanations_of(ValueId value, std::size_t most) const;
  /// Of instructions after, how many one behind the other their operands are from what is explained.
  [[nodiscard]] std::vector<std::size_t> depths() const;
  /// Values before that are made of the same ones as an instruction after, and these themselves.
  [[nodiscard]] std::vector<ValueId> values_made_like(std::size_t instruction) const;
  /// Words of a result on all devices.
  using Words = std::vector<std::vector<bool>>;
  [[nodiscard]] Words wrong_words(const WrongResult& wrong) const;
  /// Those that change with an operation's value.
  [[nodiscard]] Words words_of_influence(Evaluator<Field>& evaluator, const WrongResult& wrong,
                                         std::size_t instruction) const;
  /// How boxes of an array may lie in tiles.
  [[nodiscard]] std::vector<std::vector<Box>> layouts_of(const ArrayType& array,
                                                         const ArrayType& tile) const;
  [[nodiscard]] Held tiles_of(ValueId value, const std::vector<Box>& boxes,
                              ValueId in_place_of) const;
  [[nodiscard]] bool is_mended(Evaluator<Field>& evaluator, const WrongResult& wrong,
                               const Repair& repair) const;
  [[nodiscard]] std::optional<Repair> at(Evaluator<Field>& evaluator, const WrongResult& wrong,
                                         const std::vector<ValueId>& values,
                                         std::size_t instruction, std::size_t part) const;

  const Computation& before_;
  const Computation& after_;
  std::vector<Held> first_;
  std::vector<Held> second_;
  Limits& limits_;
  std::vector<std::size_t> makers_;  // instructions of the values after
  /// Along a dimension, which part each device holds; by the number of parts.
  std::vector<std::pair<Size, std::vector<Size>>> cuts_;
  std::unordered_map<Word, std::vector<ValueId>>
      by_word_;  // values before that have a word of those that are looked for
  mutable Size tries_ = 0;
};

/// Where an operation was dropped, its operand is copied in its place.
[[nodiscard]] Spot spot_or_copy(const Computation& in, const Repair& repair);

}  // namespace retile::whole
