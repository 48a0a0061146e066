// How the elements of a computation's values flow through it: which operations only move them, from
// where to where. Room-internal.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "retile/whole/module.h"

namespace retile::whole {

/// Which operands' elements a result may have, if it is made by moving alone, between devices or on
/// each; of any other operation none. A sum over devices counts: of arrays that are zero on all devices
/// but one it is a move.
[[nodiscard]] std::vector<ValueId> moved_operands(const Instruction& instruction);

class Flow {
 public:
  explicit Flow(const Computation& in);

  /// The instruction that makes a value; of a parameter none.
  [[nodiscard]] const Instruction* maker(ValueId value) const { return makers_[value]; }
  /// Whether no parameter has a say in it.
  [[nodiscard]] bool is_constant(ValueId value) const { return is_constant_[value]; }
  /// Whether a value may be an end or a station of a move between devices.
  [[nodiscard]] bool is_near_exchange(ValueId value) const { return is_near_[value]; }
  /// The operations that have a value as an operand.
  [[nodiscard]] const std::vector<const Instruction*>& users(ValueId value) const {
    return users_[value];
  }
  [[nodiscard]] bool is_result(ValueId value) const { return is_result_[value]; }

 private:
  void find_near(const Computation& in);

  std::vector<const Instruction*> makers_;
  std::vector<bool> is_constant_;
  std::vector<bool> is_near_;
  std::vector<std::vector<const Instruction*>> users_;
  std::vector<bool> is_result_;
};

}  // namespace retile::whole
