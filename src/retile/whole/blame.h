// Where a wrong program lost its way. Room-internal.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "retile/whole/array.h"
#include "retile/whole/module.h"
#include "retile/whole/spot.h"

namespace retile::whole {

/// Looks for values of one text among those of another. Elements of a field are names of their own: two
/// of them are the same number only where they were made alike.
class Search {
 public:
  /// \param main  of the text before
  explicit Search(const Computation& main) : main_(main), values_(main.values.size()) {}

  /// A value of the text before: some of its elements are looked for from now on.
  void look_for(ValueId value, const Held& held);
  /// Something of the text after.
  /// \param index  of its instruction; of an argument none
  void see(std::optional<std::size_t> index, const ArrayType& type, const Held& held);

  /// The first value that result k needs and that was not seen, though all that it is made of was.
  [[nodiscard]] std::optional<ValueId> lost(std::size_t result) const;
  /// The last instruction of the text after that makes something this value is made of.
  [[nodiscard]] std::optional<std::size_t> last_seen(ValueId value) const;

 private:
  struct Sought {
    std::size_t elements = 0;  ///< that are looked for; none of integers
    std::size_t seen = 0;
    std::optional<std::size_t> last = {};
  };
  [[nodiscard]] bool is_lost(ValueId value) const {
    return values_[value].seen < values_[value].elements;
  }
  [[nodiscard]] const Instruction* maker(ValueId value) const;

  const Computation& main_;
  std::vector<Sought> values_;
  struct Name {
    std::vector<ValueId> values;
    bool is_seen = false;
  };
  std::unordered_map<Word, Name> names_;
};

/// \param one  that makes the value; of an argument none
[[nodiscard]] Spot spot_of(const Computation& in, const Instruction* one, ValueId value);
/// What makes a value; of an argument itself.
[[nodiscard]] Spot spot_making(const Computation& in, ValueId value);

}  // namespace retile::whole
