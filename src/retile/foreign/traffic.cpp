#include "retile/foreign/traffic.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "retile/core/cases.h"
#include "retile/foreign/dtensor/trace.h"
#include "retile/operations/element.h"

namespace retile::foreign {
namespace {

Size capped_sum(Size a, Size b) {
  return checked_add(a, b).value_or(std::numeric_limits<Size>::max());
}
Size capped_product(Size a, Size b) {
  return checked_mul(a, b).value_or(std::numeric_limits<Size>::max());
}

/// What one operation costs, and how much every device gets; of a permutation only its targets.
struct Share {
  Size cost = 0;
  Size received = 0;
  const CollectivePermute* permutation = nullptr;
  const Assemble* assembly = nullptr;
  const Ranks* ranks = nullptr;
};

class Counter {
 public:
  explicit Counter(const Function& function) : function_(function) {}

  [[nodiscard]] Share share(const Operation& operation) const {
    return std::visit([&](const auto& action) { return this->of(action, operation); },
                      operation.action);
  }

 private:
  [[nodiscard]] Size size(ValueId value) const {
    return checked_product(function_.values[value].type.extents)
        .value_or(std::numeric_limits<Size>::max());
  }
  [[nodiscard]] Size operands(const Operation& operation) const {
    return capped_product(size(operation.operands.front()),
                          static_cast<Size>(operation.operands.size()));
  }
  [[nodiscard]] static Size members(const Groups& groups) {
    return static_cast<Size>(groups.front().size());
  }
  template <typename Local>
  [[nodiscard]] Share of(const Local&, const Operation&) const {
    return {};
  }
  [[nodiscard]] Share of(const AllGather& action, const Operation& operation) const {
    const Size n = members(action.groups);
    if (n == 1) return {};
    return {.cost = size(operation.results.front()),
            .received = capped_product(operands(operation), n - 1)};
  }
  [[nodiscard]] Share of(const AllToAll& action, const Operation& operation) const {
    const Size n = members(action.groups);
    const Size all = operands(operation);
    if (n == 1) return {};
    return {.cost = all, .received = all - all / n};
  }
  [[nodiscard]] Share of(const CollectivePermute& action, const Operation& operation) const {
    const bool moves = std::any_of(action.pairs.begin(), action.pairs.end(),
                                   [](const auto& pair) { return pair.first != pair.second; });
    if (!moves) return {};
    return {.cost = operands(operation), .received = operands(operation), .permutation = &action};
  }
  [[nodiscard]] Share of(const AllReduce& action, const Operation& operation) const {
    const Size n = members(action.groups);
    const Size all = operands(operation);
    if (n == 1) return {};
    return {.cost = capped_product(2, all), .received = capped_product(2, all - all / n)};
  }
  [[nodiscard]] Share of(const ReduceScatter& action, const Operation& operation) const {
    const Size n = members(action.groups);
    const Size all = operands(operation);
    if (n == 1) return {};
    return {.cost = all, .received = all - all / n};
  }

  [[nodiscard]] Share of(const Assemble& action, const Operation& operation) const {
    for (std::size_t device = 0; device < action.pieces.size(); ++device) {
      if (received(action, device) == 0) continue;
      return {.cost = size(operation.results.front()), .assembly = &action};
    }
    return {};
  }
  [[nodiscard]] Share of(const Ranks& action, const Operation&) const {
    Share out{.ranks = &action};
    for (std::size_t rank = 0; rank < action.trace->ranks.size(); ++rank) {
      out.cost = std::max(out.cost, action.trace->traffic(rank).first);
    }
    return out;
  }

 public:
  /// What a device gets of others.
  [[nodiscard]] static Size received(const Share& share, std::size_t device) {
    if (share.assembly != nullptr) return received(*share.assembly, device);
    if (share.ranks != nullptr) return share.ranks->trace->traffic(device).second;
    return share.received;
  }
  [[nodiscard]] static Size received(const Assemble& action, std::size_t device) {
    Size out = 0;
    for (const Assemble::Piece& piece : action.pieces[device]) {
      if (piece.source == static_cast<Size>(device)) continue;
      out = capped_sum(out,
                       checked_product(piece.extents).value_or(std::numeric_limits<Size>::max()));
    }
    return out;
  }

 private:
  const Function& function_;
};

}  // namespace

Traffic traffic_of(const Function& function) {
  const Counter counter(function);
  const auto devices = static_cast<std::size_t>(function.devices);
  std::vector<Size> elements(devices, 0);
  std::vector<Size> bytes(devices, 0);
  Traffic out;
  for (const Operation& operation : function.operations) {
    const Share share = counter.share(operation);
    if (share.received == 0 && share.cost == 0) continue;
    out.cost = capped_sum(out.cost, share.cost);
    const Size width =
        element_kind(function.values[operation.results.front()].type.element).bytes();
    const auto receive = [&](Size device) {
      const auto k = static_cast<std::size_t>(device);
      const Size received = Counter::received(share, k);
      elements[k] = capped_sum(elements[k], received);
      bytes[k] = capped_sum(bytes[k], capped_product(received, width));
    };
    if (share.permutation != nullptr) {
      for (const auto& [source, target] : share.permutation->pairs) {
        if (source != target) receive(target);
      }
    } else {
      for (Size device = 0; device < function.devices; ++device) receive(device);
    }
  }
  out.received = *std::max_element(elements.begin(), elements.end());
  out.received_bytes = *std::max_element(bytes.begin(), bytes.end());
  return out;
}

}  // namespace retile::foreign
