#include "retile/foreign/traffic.h"

#include <algorithm>
#include <vector>

#include "retile/core/capped.h"
#include "retile/core/collective_cost.h"
#include "retile/core/index.h"
#include "retile/operations/element.h"

namespace retile::foreign {
namespace {

/// What one operation costs, and how much every device gets; of a permutation only its targets.
struct Share {
  Capped cost = {};
  Capped received = {};
  const CollectivePermute* permutation = nullptr;
  const Assemble* assembly = nullptr;
};

class Counter {
 public:
  explicit Counter(const Function& function) : function_(function) {}

  [[nodiscard]] Share share(const Operation& operation) const {
    return std::visit([&](const auto& action) { return this->of(action, operation); },
                      operation.action);
  }
  /// Whether operands and results are those of members, each on its own device.
  [[nodiscard]] bool is_apart(const Operation& operation) const {
    return function_.values[operation.results.front()].device.has_value();
  }

 private:
  [[nodiscard]] Capped size(ValueId value) const {
    return Capped::of(checked_product(function_.values[value].type.extents));
  }
  [[nodiscard]] Capped operands(const Operation& operation) const {
    const std::size_t count = is_apart(operation) ? 1 : operation.operands.size();
    return size(operation.operands.front()) * Capped{static_cast<Size>(count)};
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
    if (is_apart(operation)) return {.assembly = &action};
    for (std::size_t member = 0; member < action.pieces.size(); ++member) {
      if (received(action, member).value == 0) continue;
      return {.cost = size(operation.results.front()), .assembly = &action};
    }
    return {};
  }

 public:
  /// What it costs a member: of tiles that differ the larger of its own two.
  [[nodiscard]] Capped cost(const Share& share, const Operation& operation,
                            std::size_t member) const {
    if (share.assembly == nullptr || !is_apart(operation)) return share.cost;
    return std::max(size(operation.operands[member]), size(operation.results[member]));
  }
  /// What a member gets of others.
  [[nodiscard]] static Capped received(const Share& share, std::size_t member) {
    return share.assembly != nullptr ? received(*share.assembly, member) : share.received;
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
  std::vector<Capped> costs(devices);
  std::vector<Capped> elements(devices);
  std::vector<Capped> bytes(devices);
  for (const Operation& operation : function.operations) {
    const Share share = counter.share(operation);
    if (share.assembly == nullptr && share.received.value == 0 && share.cost.value == 0) continue;
    const bool apart = counter.is_apart(operation);
    const auto device_of = [&](std::size_t member) {
      return apart ? index(*function.values[operation.results[member]].device) : member;
    };
    const Size width =
        element_kind(function.values[operation.results.front()].type.element).bytes();
    const auto receive = [&](std::size_t member) {
      const std::size_t device = device_of(member);
      const Capped received = Counter::received(share, member);
      elements[device] = elements[device] + received;
      bytes[device] = bytes[device] + received * Capped{width};
    };
    const std::size_t members = apart ? operation.results.size() : devices;
    for (std::size_t member = 0; member < members; ++member) {
      Capped& cost = costs[device_of(member)];
      cost = cost + counter.cost(share, operation, member);
      if (share.permutation == nullptr) receive(member);
    }
    if (share.permutation == nullptr) continue;
    for (const auto& [source, target] : share.permutation->pairs) {
      if (source != target) receive(index(target));
    }
  }
  return {.cost = std::max_element(costs.begin(), costs.end())->value,
          .received = std::max_element(elements.begin(), elements.end())->value,
          .received_bytes = std::max_element(bytes.begin(), bytes.end())->value};
}

}  // namespace retile::foreign
