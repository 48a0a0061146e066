#include "retile/foreign/traffic.h"

#include <algorithm>
#include <vector>

#include "retile/core/capped.h"
#include "retile/core/collective_cost.h"
#include "retile/foreign/dtensor/trace.h"
#include "retile/operations/element.h"

namespace retile::foreign {
namespace {

/// What one operation costs, and how much every device gets; of a permutation only its targets.
struct Share {
  Capped cost = {};
  Capped received = {};
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
  [[nodiscard]] Capped size(ValueId value) const {
    return Capped::of(checked_product(function_.values[value].type.extents));
  }
  [[nodiscard]] Capped operands(const Operation& operation) const {
    return size(operation.operands.front()) * Capped{static_cast<Size>(operation.operands.size())};
  }
  [[nodiscard]] Share of_groups(CollectiveKind kind, const Groups& groups,
                                const Operation& operation) const {
    const auto members = static_cast<Size>(groups.front().size());
    if (members == 1) return {};
    const Capped all = operands(operation);
    return {.cost = collective_cost(kind, all, size(operation.results.front())),
            .received = collective_received(kind, all, Capped{members})};
  }
  template <typename Local>
  [[nodiscard]] Share of(const Local&, const Operation&) const {
    return {};
  }
  [[nodiscard]] Share of(const AllGather& action, const Operation& operation) const {
    return of_groups(CollectiveKind::gather, action.groups, operation);
  }
  [[nodiscard]] Share of(const AllToAll& action, const Operation& operation) const {
    return of_groups(CollectiveKind::all_to_all, action.groups, operation);
  }
  [[nodiscard]] Share of(const CollectivePermute& action, const Operation& operation) const {
    const bool moves = std::any_of(action.pairs.begin(), action.pairs.end(),
                                   [](const auto& pair) { return pair.first != pair.second; });
    if (!moves) return {};
    return {.cost = operands(operation), .received = operands(operation), .permutation = &action};
  }
  [[nodiscard]] Share of(const AllReduce& action, const Operation& operation) const {
    return of_groups(CollectiveKind::all_reduce, action.groups, operation);
  }
  [[nodiscard]] Share of(const ReduceScatter& action, const Operation& operation) const {
    return of_groups(CollectiveKind::reduce_scatter, action.groups, operation);
  }

  [[nodiscard]] Share of(const Assemble& action, const Operation& operation) const {
    for (std::size_t device = 0; device < action.pieces.size(); ++device) {
      if (received(action, device).value == 0) continue;
      return {.cost = size(operation.results.front()), .assembly = &action};
    }
    return {};
  }
  [[nodiscard]] Share of(const Ranks& action, const Operation&) const {
    Share out{.ranks = &action};
    for (std::size_t rank = 0; rank < action.trace->ranks.size(); ++rank) {
      out.cost = std::max(out.cost, Capped{action.trace->traffic(rank).first});
    }
    return out;
  }

 public:
  /// What a device gets of others.
  [[nodiscard]] static Capped received(const Share& share, std::size_t device) {
    if (share.assembly != nullptr) return received(*share.assembly, device);
    if (share.ranks != nullptr) return {share.ranks->trace->traffic(device).second};
    return share.received;
  }
  [[nodiscard]] static Capped received(const Assemble& action, std::size_t device) {
    Capped out;
    for (const Assemble::Piece& piece : action.pieces[device]) {
      if (piece.source == static_cast<Size>(device)) continue;
      out = out + Capped::of(checked_product(piece.extents));
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
  std::vector<Capped> elements(devices);
  std::vector<Capped> bytes(devices);
  Capped cost;
  for (const Operation& operation : function.operations) {
    const Share share = counter.share(operation);
    if (share.received.value == 0 && share.cost.value == 0) continue;
    cost = cost + share.cost;
    const Size width =
        element_kind(function.values[operation.results.front()].type.element).bytes();
    const auto receive = [&](Size device) {
      const auto k = static_cast<std::size_t>(device);
      const Capped received = Counter::received(share, k);
      elements[k] = elements[k] + received;
      bytes[k] = bytes[k] + received * Capped{width};
    };
    if (share.permutation != nullptr) {
      for (const auto& [source, target] : share.permutation->pairs) {
        if (source != target) receive(target);
      }
    } else {
      for (Size device = 0; device < function.devices; ++device) receive(device);
    }
  }
  return {.cost = cost.value,
          .received = std::max_element(elements.begin(), elements.end())->value,
          .received_bytes = std::max_element(bytes.begin(), bytes.end())->value};
}

}  // namespace retile::foreign
