#include "retile/whole/flow.h"

#include <algorithm>
#include <numeric>

#include "retile/whole/evaluate.h"

namespace retile::whole {
namespace {

/// Sets of values that are joined one by one.
class Joined {
 public:
  explicit Joined(std::size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }
  std::size_t root(std::size_t one) {
    while (parents_[one] != one) one = parents_[one] = parents_[parents_[one]];
    return one;
  }
  void join(std::size_t one, std::size_t other) { parents_[root(one)] = root(other); }

 private:
  std::vector<std::size_t> parents_;
};

}  // namespace

std::vector<ValueId> moved_operands(const Instruction& one) {
  if (std::holds_alternative<ManualDetail>(one.detail)) return {};
  switch (one.id) {
    case Id::reshape:
    case Id::bitcast:
    case Id::transpose:
    case Id::reverse:
    case Id::slice:
    case Id::dynamic_slice:
      return {one.operands[0]};
    case Id::pad:
    case Id::dynamic_update_slice:
      return {one.operands[0], one.operands[1]};
    case Id::select:
      return {one.operands[1], one.operands[2]};
    case Id::concatenate:
      return one.operands;
    default:
      return is_collective(one.id) ? one.operands : std::vector<ValueId>();
  }
}

Flow::Flow(const Computation& in)
    : makers_(in.values.size(), nullptr),
      is_constant_(in.values.size(), false),
      is_near_(in.values.size(), false),
      users_(in.values.size()),
      is_result_(in.values.size(), false) {
  for (const ValueId value : in.results) is_result_[value] = true;
  for (const Instruction& one : in.body) {
    const bool is_constant = std::all_of(one.operands.begin(), one.operands.end(),
                                         [&](ValueId value) { return is_constant_[value]; });
    for (const ValueId value : one.results) {
      makers_[value] = &one;
      is_constant_[value] = is_constant;
    }
    for (const ValueId value : one.operands) {
      std::vector<const Instruction*>& users = users_[value];
      if (users.empty() || users.back() != &one) users.push_back(&one);
    }
  }
  find_near(in);
}

void Flow::find_near(const Computation& in) {
  Joined joined(in.values.size());
  for (const Instruction& one : in.body) {
    for (const ValueId operand : moved_operands(one)) {
      for (const ValueId result : one.results) joined.join(operand, result);
    }
  }
  std::vector<bool> has_exchange(in.values.size(), false);
  for (const Instruction& one : in.body) {
    if (!exchanges(one)) continue;
    for (const ValueId result : one.results) has_exchange[joined.root(result)] = true;
  }
  for (ValueId value = 0; value < in.values.size(); ++value) {
    is_near_[value] = has_exchange[joined.root(value)];
  }
}

}  // namespace retile::whole
