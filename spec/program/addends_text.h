/// Reads the ways of adding, and what is said of addends in the tilings of one Program.
#pragma once

#include "tokens.h"

namespace spec {

/// sum, max, min or stack, if one of these stands here.
inline Addition accept_addition(Tokens& in) {
  if (in.accept("sum")) return Addition::sum;
  if (in.accept("max")) return Addition::max;
  if (in.accept("min")) return Addition::min;
  return in.accept("stack") ? Addition::stack : Addition::none;
}
inline bool at_addition(Tokens in) { return accept_addition(in) != Addition::none; }

/// How a step adds.
inline Addition read_add(Tokens& in) {
  const ParseError place = in.here();
  const Name word = in.word();
  if (word == "sum") return Addition::sum;
  if (word == "max") return Addition::max;
  if (word != "min") Tokens::fail(place, "add is sum, max or min");
  return Addition::min;
}

/// Whether there is no order of P devices, or an iota that leaves every number in its place.
inline bool keeps_order(const Table* order, Size P) {
  if (order == nullptr) return true;
  if (order->stages.empty()) return false;
  for (Size p = 0; p < P; ++p) {
    if (iota_element(order->stages, p) != p) return false;
  }
  return true;
}

/// Why L cannot stand below tilings that add up as O, the first of which is `from`, if it cannot.
inline const char* wrong_addition(Addition O, const Layout& from, const Layout& L) {
  if (L.addition != Addition::none && L.addition != O) return "a tiling above adds in another way";
  if (O == Addition::stack && tile_count(L.zs) != tile_count(from.zs)) {
    return "where one tiling is a stack, all are, and of as many arrays";
  }
  return nullptr;
}

}  // namespace spec
