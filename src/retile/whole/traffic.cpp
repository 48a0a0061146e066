#include "retile/whole/traffic.h"

#include <algorithm>
#include <limits>

#include "retile/core/index.h"
#include "retile/whole/array.h"

namespace retile::whole {
namespace {

constexpr Size uncountable = std::numeric_limits<Size>::max();

Size capped_sum(Size a, Size b) { return checked_add(a, b).value_or(uncountable); }
Size capped_product(Size a, Size b) { return checked_mul(a, b).value_or(uncountable); }

/// Adds what every device of the groups gets of an array that it has.
class Counter {
 public:
  Counter(const Instruction& one, Transfer& out) : one_(one), out_(out) {}

  void add(const ArrayType& operand, const ArrayType& result) {
    const Size has = checked_product(operand.extents).value_or(uncountable);
    const Size gets = checked_product(result.extents).value_or(uncountable);
    const Size width = operand.kind.bytes();
    if (const auto* detail = std::get_if<PairsDetail>(&one_.detail)) {
      bool moves = false;
      for (const auto& [source, target] : detail->pairs) {
        if (source == target) continue;
        moves = true;
        receive(target, capped_product(has, width));
      }
      if (moves) out_.cost = capped_sum(out_.cost, has);
      return;
    }
    Size cost = 0;
    for (const std::vector<Size>& group : std::get<GroupsDetail>(one_.detail).groups) {
      const auto n = static_cast<Size>(group.size());
      if (n < 2) continue;
      cost = std::max(cost, cost_of(has, gets));
      for (const Size device : group) {
        const bool is_root = device == group.front();
        receive(device, capped_product(received(has, n, is_root), width));
      }
    }
    out_.cost = capped_sum(out_.cost, cost);
  }

 private:
  void receive(Size device, Size bytes) {
    Size& all = out_.received[index(device)];
    all = capped_sum(all, bytes);
  }
  [[nodiscard]] Size cost_of(Size has, Size gets) const {
    if (one_.id == Id::all_gather) return gets;
    return one_.id == Id::all_reduce ? capped_product(2, has) : has;
  }
  /// Elements that a device of a group of n gets of others.
  [[nodiscard]] Size received(Size has, Size n, bool is_root) const {
    switch (one_.id) {
      case Id::all_gather:
        return capped_product(has, n - 1);
      case Id::all_reduce:  // a reduce-scatter and an all-gather
        return capped_product(2, has - has / n);
      case Id::collective_broadcast:
        return is_root ? 0 : has;
      default:
        return has - has / n;
    }
  }

  const Instruction& one_;
  Transfer& out_;
};

}  // namespace

Size Transfer::bytes() const {
  Size out = 0;
  for (const Size one : received) out = capped_sum(out, one);
  return out;
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
