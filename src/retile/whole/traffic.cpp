#include "retile/whole/traffic.h"

#include <algorithm>

#include "retile/core/capped.h"
#include "retile/core/collective_cost.h"
#include "retile/core/index.h"
#include "retile/whole/array.h"

namespace retile::whole {
namespace {

CollectiveKind kind_of(const Instruction& one) {
  switch (one.id) {
    case Id::all_gather:
      return CollectiveKind::gather;
    case Id::all_reduce:
      return CollectiveKind::all_reduce;
    case Id::reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case Id::collective_permute:
      return CollectiveKind::permute;
    case Id::collective_broadcast:
      return CollectiveKind::broadcast;
    default:
      break;
  }
  return CollectiveKind::all_to_all;
}

Capped count_capped(const ArrayType& type) { return Capped::of(checked_product(type.extents)); }

/// Adds what every device of the groups gets of an array that it has.
class Counter {
 public:
  Counter(const Instruction& one, Transfer& out) : one_(one), out_(out) {}

  void add(const ArrayType& operand, const ArrayType& result) {
    const Capped has = count_capped(operand);
    const Capped width{operand.kind.bytes()};
    const CollectiveKind kind = kind_of(one_);
    const Capped cost = collective_cost(kind, has, count_capped(result));
    bool moves = false;
    if (const auto* detail = std::get_if<PairsDetail>(&one_.detail)) {
      for (const auto& [source, target] : detail->pairs) {
        if (source == target) continue;
        moves = true;
        receive(target, has * width);
      }
    } else {
      for (const std::vector<Size>& group : std::get<GroupsDetail>(one_.detail).groups) {
        const auto n = static_cast<Size>(group.size());
        if (n < 2) continue;
        moves = true;
        for (const Size device : group) {
          const bool gives = kind == CollectiveKind::broadcast && device == group.front();
          if (!gives) receive(device, collective_received(kind, has, Capped{n}) * width);
        }
      }
    }
    if (moves) out_.cost = (Capped{out_.cost} + cost).value;
  }

 private:
  void receive(Size device, Capped bytes) {
    Size& all = out_.received[index(device)];
    all = (Capped{all} + bytes).value;
  }

  const Instruction& one_;
  Transfer& out_;
};

}  // namespace

Size Transfer::bytes() const {
  Capped out;
  for (const Size one : received) out = out + Capped{one};
  return out.value;
}

Size Transfer::most_bytes() const {
  return received.empty() ? 0 : *std::max_element(received.begin(), received.end());
}

Transfer transfer_of(const Computation& in, const Instruction& one, Size devices) {
  Transfer out{.spot = {}, .received = std::vector<Size>(index(devices), 0)};
  if (const auto* groups = std::get_if<GroupsDetail>(&one.detail)) out.groups = groups->groups;
  if (const auto* pairs = std::get_if<PairsDetail>(&one.detail)) out.pairs = pairs->pairs;
  Counter counter(one, out);
  const auto* detail = std::get_if<GroupsDetail>(&one.detail);
  if (one.id == Id::all_to_all && detail != nullptr && !detail->has_dim) {
    // Of a tuple, operand k is what goes to member k: together they are cut into as many parts.
    ArrayType all = in.values[one.operands.front()].type;
    all.extents.push_back(static_cast<Size>(one.operands.size()));
    counter.add(all, all);
    return out;
  }
  for (std::size_t k = 0; k < one.operands.size() && k < one.results.size(); ++k) {
    counter.add(in.values[one.operands[k]].type, in.values[one.results[k]].type);
  }
  return out;
}

}  // namespace retile::whole
