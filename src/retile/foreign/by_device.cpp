#include "retile/foreign/by_device.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/device_numbers.h"
#include "retile/core/index.h"

namespace retile::foreign {
namespace {

/// Devices times values, and times devices, as some actions say something of every device.
constexpr Size most_values_of_devices = Size{1} << 16;
constexpr Size most_entries_of_devices = Size{1} << 20;

class Unroller {
 public:
  explicit Unroller(const Function& function) : function_(function), own_(function.values.size()) {
    out_.name = function.name;
    out_.place = function.place;
    out_.devices = function.devices;
    out_.ranks = function.ranks;
    out_.from = function.from;
    out_.to = function.to;
  }

  Function unroll() {
    for (const Operation& operation : function_.operations) {
      operation_ = &operation;
      if (is_apart()) {
        keep();
        continue;
      }
      for (const ValueId value : operation.results) add_values(value);
      std::visit([this](const auto& action) { this->rule(action); }, operation.action);
      for (const ValueId value : operation.results) {
        const bool is_result = value == function_.results.front();
        if (function_.values[value].claim || is_result) gather(value);
      }
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::optional<Size> device_of(ValueId value) const {
    return function_.values[value].device;
  }
  /// Whether it makes or takes values of single devices, as in traces.
  [[nodiscard]] bool is_apart() const {
    const auto on_one = [this](ValueId value) { return device_of(value).has_value(); };
    return on_one(operation_->results[0]) ||
           std::any_of(operation_->operands.begin(), operation_->operands.end(), on_one);
  }
  void keep() {
    std::vector<ValueId> operands;
    const std::size_t first = index(device_of(operation_->results[0]).value_or(0));
    for (const ValueId value : operation_->operands) operands.push_back(own_[value][first]);
    std::vector<ValueId> results;
    for (const ValueId value : operation_->results) {
      results.push_back(out_.values.size());
      own_[value].assign(index(function_.devices), results.back());
      out_.values.push_back(function_.values[value]);
    }
    if (operation_->results[0] == function_.results.front()) out_.results = results;
    const auto* gather = std::get_if<AllGather>(&operation_->action);
    const std::size_t members = operands.size();
    add(gather != nullptr ? Action(gathering(*gather, members)) : operation_->action,
        std::move(operands), std::move(results));
  }
  void add_values(ValueId value) {
    for (Size device = 0; device < function_.devices; ++device) {
      own_[value].push_back(out_.values.size());
      Value one = function_.values[value];
      one.claim = nullptr;
      one.device = device;
      one.tiles = {};
      out_.values.push_back(std::move(one));
    }
  }
  void add(Action action, std::vector<ValueId> operands, std::vector<ValueId> results) {
    out_.operations.push_back({.action = std::move(action),
                               .name = operation_->name,
                               .place = operation_->place,
                               .operands = std::move(operands),
                               .results = std::move(results)});
  }
  /// What a device does by itself.
  void add_alone(Size device, Action action) {
    std::vector<ValueId> operands;
    for (const ValueId value : operation_->operands) operands.push_back(own_[value][index(device)]);
    add(std::move(action), std::move(operands), {own_[operation_->results[0]][index(device)]});
  }
  [[nodiscard]] std::vector<ValueId> of_group(ValueId value, const std::vector<Size>& group) const {
    std::vector<ValueId> out;
    for (const Size device : group) out.push_back(own_[value][index(device)]);
    return out;
  }
  /// What a group does.
  void add_together(const std::vector<Size>& group, Action action) {
    add(std::move(action), of_group(operation_->operands[0], group),
        of_group(operation_->results[0], group));
  }
  [[nodiscard]] std::vector<Size> all() const { return from_zero(function_.devices); }
  /// A value of all devices again.
  void gather(ValueId value) {
    Assemble action;
    const Shape& extents = function_.values[value].type.extents;
    const Shape none(extents.size(), 0);
    for (const Size device : all()) action.pieces.push_back({{device, none, none, extents}});
    const ValueId whole = out_.values.size();
    out_.values.push_back(function_.values[value]);
    add(std::move(action), own_[value], {whole});
    if (value == function_.results.front()) out_.results = {whole};
  }

  template <typename Local>
  void rule(const Local& action) {
    for (const Size device : all()) add_alone(device, action);
  }
  void rule(const Parameter& action) {
    out_.parameters = own_[operation_->results[0]];
    for (const ValueId own : out_.parameters) add(action, {}, {own});
  }
  void rule(const PerDevice& action) {
    for (const Size device : all()) add_alone(device, Constant{{action.numbers[index(device)]}});
  }
  template <typename Boxes>
  void boxes(const Boxes& action) {
    for (const Size device : all()) {
      Boxes own = action;
      std::fill(own.starts.begin(), own.starts.end(), action.starts[index(device)]);
      add_alone(device, std::move(own));
    }
  }
  void rule(const TakeBox& action) { boxes(action); }
  void rule(const PutBox& action) { boxes(action); }
  template <typename Collective>
  void in_groups(const Collective& action) {
    for (const auto& group : action.groups) {
      Collective own = action;
      own.groups = {from_zero(static_cast<Size>(group.size()))};
      add_together(group, std::move(own));
    }
  }
  void rule(const AllGather& action) {
    for (const auto& group : action.groups) add_together(group, gathering(action, group.size()));
  }
  /// In pieces, of which members may hold different strips.
  [[nodiscard]] Assemble gathering(const AllGather& action, std::size_t members) const {
    const Shape& tile = function_.values[operation_->operands[0]].type.extents;
    return exchange(tile, {.to_dim = action.dim}, static_cast<Size>(members));
  }
  void rule(const AllReduce& action) { in_groups(action); }
  void rule(const ReduceScatter& action) { in_groups(action); }
  void rule(const CollectivePermute& action) { add_together(all(), action); }
  void rule(const Assemble& action) { add_together(all(), action); }
  void rule(const AllToAll& action) {
    for (const auto& group : action.groups) {
      if (operation_->operands.size() > 1) {
        exchange_parts(group);
        continue;
      }
      const Shape& tile = function_.values[operation_->operands[0]].type.extents;
      add_together(group, exchange(tile, {action.split, action.concat, true},
                                   static_cast<Size>(group.size())));
    }
  }
  /// Result j of member i is operand i of member j.
  void exchange_parts(const std::vector<Size>& group) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::size_t j = 0; j < group.size(); ++j) {
        add(Same{}, {own_[operation_->operands[i]][index(group[j])]},
            {own_[operation_->results[j]][index(group[i])]});
      }
    }
  }
  /// What member i gives of its tile to member j, from there on, and where it is put.
  struct Giving {
    std::size_t from_dim = 0;  ///< along which the tile is cut
    std::size_t to_dim = 0;
    bool is_part = false;  ///< or given whole
  };
  [[nodiscard]] Assemble exchange(const Shape& tile, const Giving& giving, Size members) const {
    Shape part = tile;
    if (giving.is_part) part[giving.from_dim] /= members;
    Assemble out;
    for (Size j = 0; j < members; ++j) {
      auto& pieces = out.pieces.emplace_back();
      for (Size i = 0; i < members; ++i) {
        Shape from(part.size(), 0);
        Shape to(part.size(), 0);
        if (giving.is_part) from[giving.from_dim] = j * part[giving.from_dim];
        to[giving.to_dim] = i * part[giving.to_dim];
        pieces.push_back({i, std::move(from), std::move(to), part});
      }
    }
    return out;
  }

  const Function& function_;
  std::vector<std::vector<ValueId>> own_;  // of every value, by device
  const Operation* operation_ = nullptr;
  Function out_;
};

}  // namespace

std::optional<Function> by_device(const Function& function) {
  const auto values = checked_mul(static_cast<Size>(function.values.size()), function.devices);
  if (!values || *values > most_values_of_devices) return std::nullopt;
  if (*values * function.devices > most_entries_of_devices) return std::nullopt;
  return Unroller(function).unroll();
}

}  // namespace retile::foreign
