#include "retile/foreign/arrays.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "retile/foreign/typing.h"

namespace retile::foreign {
namespace {

/// Operations of all parts together.
constexpr std::size_t most_operations = std::size_t{1} << 22;

/// The operations that make one result, last first.
std::vector<std::size_t> makers_of(const Function& function, ValueId result) {
  std::vector<bool> needed(function.values.size());
  needed[result] = true;
  std::vector<std::size_t> out;
  for (std::size_t k = function.operations.size(); k-- > 0;) {
    const Operation& operation = function.operations[k];
    bool makes = false;
    for (const ValueId value : operation.results) makes = makes || needed[value];
    if (!makes) continue;
    out.push_back(k);
    for (const ValueId value : operation.operands) needed[value] = true;
  }
  return out;
}

class Part {
 public:
  Part(const Function& function, std::size_t number) : function_(function) {
    out_.name = fmt::format("{}, array {}", function.name, number);
    out_.place = function.place;
    out_.devices = function.devices;
    out_.mesh = function.mesh;
    out_.array = number;
    out_.arrays = function.results.size();
    if (number == 0) out_.notes = function.notes;
    if (number < function.ends.size()) out_.to = function.ends[number];
    ids_.assign(function.values.size(), none);
  }

  void add(const Operation& operation) {
    Operation copy = operation;
    for (ValueId& value : copy.operands) value = id_of(value);
    for (ValueId& value : copy.results) value = id_of(value);
    if (auto* parameter = std::get_if<Parameter>(&copy.action)) {
      const std::size_t number = std::exchange(parameter->number, out_.parameters.size());
      if (number < function_.starts.size()) out_.from = function_.starts[number];
      if (number != out_.array) {
        out_.notes.push_back(fmt::format("result {} is made of parameter {}", out_.array, number));
      }
      out_.parameters.push_back(copy.results.front());
    }
    out_.operations.push_back(std::move(copy));
  }
  Function function(ValueId result) {
    out_.results = {id_of(result)};
    return std::move(out_);
  }

 private:
  static constexpr ValueId none = static_cast<ValueId>(-1);
  ValueId id_of(ValueId value) {
    if (ids_[value] == none) {
      ids_[value] = out_.values.size();
      out_.values.push_back(function_.values[value]);
    }
    return ids_[value];
  }

  const Function& function_;
  Function out_;
  std::vector<ValueId> ids_;  // of the function's values
};

}  // namespace

std::vector<Function> arrays_of(Function function, const text::Input& input) {
  std::vector<Function> out;
  if (function.parameters.size() <= 1 && function.results.size() == 1) {
    if (!function.from && !function.starts.empty()) function.from = function.starts[0];
    if (!function.to && !function.ends.empty()) function.to = function.ends[0];
    out.push_back(std::move(function));
    return out;
  }
  std::size_t operations = 0;
  for (std::size_t k = 0; k < function.results.size(); ++k) {
    const std::vector<std::size_t> makers = makers_of(function, function.results[k]);
    operations += makers.size() + function.values.size() / 64;
    if (operations > most_operations) {
      text::fail(place_in(input, function.place),
                 {.code = Code::limit_reached,
                  .message = "too many arrays, each made of too many operations"});
    }
    Part part(function, k);
    for (auto maker = makers.rbegin(); maker != makers.rend(); ++maker) {
      part.add(function.operations[*maker]);
    }
    out.push_back(part.function(function.results[k]));
  }
  return out;
}

}  // namespace retile::foreign
