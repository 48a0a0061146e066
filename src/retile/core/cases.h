// Exhaustive visits: one function per alternative, and no default.
#pragma once

#include <utility>
#include <variant>

namespace retile {

/// Functions as one overloaded function.
template <typename... Functions>
struct Cases : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Cases(Functions...) -> Cases<Functions...>;

/// Calls the function that takes the alternative that `value` holds. An alternative that no function
/// takes is an error of compilation: whoever adds one is told by the compiler what else must say
/// something about it. Therefore no function here may take `const auto&`.
template <typename Variant, typename... Functions>
decltype(auto) match(Variant&& value, Functions&&... functions) {
  return std::visit(Cases{std::forward<Functions>(functions)...}, std::forward<Variant>(value));
}

}  // namespace retile
