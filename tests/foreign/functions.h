// Functions for tests: from HLO text, and by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/foreign/module.h"
#include "retile/foreign/reader.h"
#include "retile/foreign/typing.h"
#include "retile/notation/paper/notation.h"
#include "retile/text/place.h"

namespace retile::foreign::testing {

/// The one function of a text. The test fails where it is refused.
inline Function function_of(std::string_view text) {
  const text::Input input{.text = text, .source = "test", .numbered = true};
  auto functions = read(input, Language::hlo, {});
  EXPECT_TRUE(functions.has_value()) << (functions ? "" : render(functions.error()));
  if (!functions || functions->size() != 1) return {};
  return std::move(functions->front());
}

/// Why a text is refused; empty where it is not.
inline std::string refusal_of(std::string_view text) {
  const text::Input input{.text = text, .source = "test", .numbered = true};
  const auto functions = read(input, Language::hlo, {});
  return functions ? "" : functions.error().message;
}

/// A module of so many devices with these instructions.
inline std::string module_of(Size devices, std::string_view instructions) {
  return "HloModule test, num_partitions=" + std::to_string(devices) + "\nENTRY e_spmd {\n" +
         std::string(instructions) + "\n}\n";
}

inline Layout layout(std::string_view type, std::string_view mesh) {
  const auto parsed_mesh = parse_mesh(mesh);
  EXPECT_TRUE(parsed_mesh.has_value()) << mesh;
  auto out = parse_layout(type, *parsed_mesh);
  EXPECT_TRUE(out.has_value()) << type << (out ? "" : render(out.error()));
  return out ? *std::move(out) : Layout();
}

/// A function of operations one behind the other, of each the operand before it; values are called
/// `v0`, `v1`, ..
class Chain {
 public:
  Chain(Size devices, Shape extents) {
    function_.devices = devices;
    add(Parameter{}, std::move(extents), {});
    function_.parameters = {0};
  }
  Chain& then(Action action, Shape extents) {
    const ValueId last = function_.values.size() - 1;
    return add(std::move(action), std::move(extents), {last});
  }
  /// What the last value claims.
  Chain& claims(Layout layout) {
    function_.values.back().claim = std::make_shared<const Layout>(std::move(layout));
    return *this;
  }
  [[nodiscard]] Function done() {
    function_.results = {function_.values.size() - 1};
    const text::Input input{.text = "", .source = "test", .numbered = true};
    const auto types = check_types(function_, input);
    EXPECT_TRUE(types.has_value()) << (types ? "" : render(types.error()));
    return function_;
  }

 private:
  Chain& add(Action action, Shape extents, std::vector<ValueId> operands) {
    const ValueId id = function_.values.size();
    function_.values.push_back({.name = "v" + std::to_string(id),
                                .type = {.element = "f32", .extents = std::move(extents)},
                                .place = {.line = id + 1, .column = 1}});
    function_.operations.push_back({.action = std::move(action),
                                    .name = "op",
                                    .place = {.line = id + 1, .column = 1},
                                    .operands = std::move(operands),
                                    .results = {id}});
    return *this;
  }

  Function function_;
};

}  // namespace retile::foreign::testing
