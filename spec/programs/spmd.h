/// Modules: values on many devices, local operations on their tiles, and redistributions.
///
///   fn main(x̄ : L̄ [below n]) -> L̄ { y = spmd x̄ { e } as L | y = redistribute x as L; ..; return ȳ } denotes ē
///
/// Fig. 9 of the paper with layouts in the place of types. T-SPMD: on every device the shape of e is
/// that of its box of L. D-SPMD: the value is a family (v_κ), one array for each addend κ of L; it
/// exists iff devices agree wherever their boxes of one v_κ overlap. A layout sum{z̄} means Σ_κ v_κ.
/// redistribute keeps what is meant. All is decided on formal polynomials, so for all numbers: the
/// local programs of all devices are carried out, and where an array is cut into addends again, the
/// new addends are variables of which only the sum is known.
///
/// A parameter below n is an array of indices: its elements are whole numbers from 0 to n - 1.
#pragma once

#include <variant>

#include "../layout/addends.h"
#include "../program/tokens.h"
#include "local_ops.h"

namespace spec::spmd {

constexpr TooLarge too_many_elements = {"more than 2^20 elements on all devices together"};
constexpr TooLarge no_split_of_maxima = {"a redistribution to addends that are not summed"};
constexpr Size most_elements = Size{1} << 20;

/// spmd x̄ { y_1 = e_1; ..; e } as L
struct SpmdStatement {
  std::vector<Name> x;
  std::vector<std::pair<Name, LocalExpression>> body;
  LocalExpression e;
  Layout layout;
};
/// redistribute x as L
struct RedistributeStatement {
  Name x;
  Layout layout;
};
struct ModuleStatement {
  Name y;
  std::variant<SpmdStatement, RedistributeStatement> op;
  ParseError place;  // of the operation
};
/// denotes { y_1 = e_1; ..; return ē }
struct Denoted {
  std::vector<std::pair<Name, LocalExpression>> body;
  std::vector<LocalExpression> e;  // as many as main returns
};
struct Module {
  Size devices = 1;
  std::vector<std::pair<Name, Layout>> parameters;
  std::map<Name, Size> below;  // of parameters that are indices
  std::vector<Layout> results;
  std::vector<ModuleStatement> body;
  std::vector<Name> returned;  // each once
  ParseError return_place;
  std::optional<Denoted> denotes;
  ParseError denotes_place;
};

inline Sizes global_shape(const Layout& L) {
  Sizes out;
  for (const LayoutDim& dim : L.dims) out.push_back(dim.n);
  return out;
}
inline Sizes shape_of(const Box& box) {
  Sizes out;
  for (const Sizes& side : box) out.push_back(static_cast<Size>(side.size()));
  return out;
}

/// box(d) for every device d, if they are small enough. An empty box keeps the extents that it has in
/// the other dimensions: local operations need them.
inline std::vector<Box> local_boxes(const Layout& L, Size D) {
  std::vector<Box> out = boxes(L, D);
  Size room = most_elements;
  for (const Box& box : out) {
    const auto size = product(shape_of(box));
    if (!size || *size > room) throw too_many_elements;
    room -= *size;
  }
  for (Index d = 0; L.at && d < out.size(); ++d) {
    for (Index i = 0; i < L.dims.size(); ++i) {
      out[d][i] = range((*L.at)[d][i], (*L.shapes)[d][i]);
    }
  }
  if (L.at || L.root) return out;
  const Sizes order = L.order ? row(*L.order, 0) : Sizes();
  for (Index i = 0; i < L.dims.size(); ++i) {
    const LayoutDim& dim = L.dims[i];
    const std::vector<Sizes> sides = tiles(dim.C, tile_count(dim.xs).value(), dim.n);
    for (Size p = 0; p < L.positions; ++p) {
      const Size d = L.order ? order[static_cast<Index>(p)] : p;
      out[static_cast<Index>(d)][i] = sides[static_cast<Index>(tile_number(dim.xs, p))];
    }
  }
  return out;
}

/// κ of every device.
inline Sizes addend_numbers(const Layout& L, Size D) {
  Sizes out;
  for (const auto& share : shares(L, D)) out.push_back(share ? share->kappa : 0);
  return out;
}

/// Whether two layouts say the same of every device.
inline bool same_layout(const Layout& L, const Layout& M, Size D) {
  return L.addition == M.addition && global_shape(L) == global_shape(M) &&
         addend_count(L) == addend_count(M) && boxes(L, D) == boxes(M, D) &&
         addend_numbers(L, D) == addend_numbers(M, D);
}

/// What `denotes` says of the inputs, for each that is returned.
inline std::vector<PolynomialTensor> values_of(const Denoted& denotes,
                                               std::map<Name, PolynomialTensor> names,
                                               Variables& variables) {
  for (const auto& [y, e] : denotes.body) names[y] = value_of(e, names, variables);
  std::vector<PolynomialTensor> out;
  for (const LocalExpression& e : denotes.e) out.push_back(value_of(e, names, variables));
  return out;
}

// Types.

[[noreturn]] inline void ill_typed(const ParseError& place, const std::string& message) {
  Tokens::fail(place, message);
}
inline std::string shown(const Sizes& shape) {
  std::string out = "[";
  for (Index i = 0; i < shape.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

using ModuleGamma = std::map<Name, Layout>;
/// What values are below of which that is known.
using Belows = std::map<Name, Size>;

inline const Layout& layout_of(const ModuleGamma& gamma, const Name& x, const ParseError& place) {
  const auto found = gamma.find(x);
  if (found == gamma.end()) ill_typed(place, "there is no value " + to_text(x) + " here");
  return found->second;
}

/// T-SPMD on one device: the shape of e in terms of those of x̄.
inline std::optional<Sizes> local_shape(const SpmdStatement& op, std::map<Name, Sizes> shapes) {
  for (const auto& [y, e] : op.body) {
    const auto shape = shape_of(e, shapes);
    if (!shape) return std::nullopt;
    shapes[y] = *shape;
  }
  return shape_of(op.e, shapes);
}

/// y = e: what is known of y is what is known of e. Throws NoIndices.
inline void define(const Name& y, const LocalExpression& e, std::map<Name, Sizes>& shapes,
                   Belows& below) {
  const Below n = indices_of(e, shapes, below);
  below.erase(y);
  if (n) below[y] = *n;
  shapes[y] = shape_of(e, shapes).value();
}
/// T-TAKE of all expressions of a block, the last ones unnamed.
inline bool has_indices(const std::vector<std::pair<Name, LocalExpression>>& body,
                        const std::vector<LocalExpression>& last, std::map<Name, Sizes> shapes,
                        Belows below) {
  try {
    for (const auto& [y, e] : body) define(y, e, shapes, below);
    for (const LocalExpression& e : last) (void)indices_of(e, shapes, below);
  } catch (const NoIndices&) {
    return false;
  }
  return true;
}

/// T-SPMD, T-TAKE. Throws ParseError where a premise fails.
inline void type_spmd(const ModuleGamma& gamma, const Belows& below, const SpmdStatement& op,
                      Size D, const ParseError& place) {
  std::map<Name, std::vector<Box>> boxes_of;
  for (const Name& x : op.x) boxes_of[x] = local_boxes(layout_of(gamma, x, place), D);
  const std::vector<Box> results = local_boxes(op.layout, D);
  for (Index d = 0; d < results.size(); ++d) {
    std::map<Name, Sizes> shapes;
    for (const Name& x : op.x) shapes[x] = shape_of(boxes_of[x][d]);
    const auto shape = local_shape(op, shapes);
    const std::string here = "on device " + std::to_string(d) + " ";
    if (!shape) ill_typed(place, here + "the local operations do not fit their operands [T-SPMD]");
    Belows known;
    for (const Name& x : op.x) {
      if (below.count(x) > 0) known[x] = below.at(x);
    }
    if (!has_indices(op.body, {op.e}, shapes, known)) {
      ill_typed(place, here + "what take has is no index of its operand [T-TAKE]");
    }
    if (*shape != shape_of(results[d])) {
      ill_typed(place, here + "the result is " + shown(*shape) + ", but its tile is " +
                           shown(shape_of(results[d])) + " [T-SPMD]");
    }
  }
}

/// Sec. 2.5: equal global shapes. And no redistribution makes addends of what has none.
inline void type_redistribute(const ModuleGamma& gamma, const RedistributeStatement& op,
                              const ParseError& place) {
  const Layout& from = layout_of(gamma, op.x, place);
  if (global_shape(from) != global_shape(op.layout)) {
    ill_typed(place, "a redistribution keeps the global shape " + shown(global_shape(from)));
  }
  if (op.layout.addition == Addition::none) return;
  if (from.addition != op.layout.addition || addend_count(from) % addend_count(op.layout) != 0) {
    ill_typed(place, "no redistribution makes addends");
  }
}

/// Whether each statement has a type under those before it. Throws ParseError at the first that has
/// none.
inline void type_module(const Module& module) {
  ModuleGamma gamma;
  Belows below = module.below;
  for (const auto& [x, L] : module.parameters) gamma[x] = L;
  for (const ModuleStatement& statement : module.body) {
    if (const auto* op = std::get_if<SpmdStatement>(&statement.op)) {
      type_spmd(gamma, below, *op, module.devices, statement.place);
      gamma[statement.y] = op->layout;
    } else {
      const auto& redistribute = std::get<RedistributeStatement>(statement.op);
      type_redistribute(gamma, redistribute, statement.place);
      gamma[statement.y] = redistribute.layout;
      const bool stays = below.count(redistribute.x) > 0 && addend_count(redistribute.layout) == 1;
      if (stays) below[statement.y] = below.at(redistribute.x);
    }
  }
  for (Index k = 0; k < module.returned.size(); ++k) {
    const Layout& returned = layout_of(gamma, module.returned[k], module.return_place);
    if (!same_layout(returned, module.results[k], module.devices)) {
      ill_typed(module.return_place, "what is returned has another type than main");
    }
  }
  if (!module.denotes) return;
  std::map<Name, Sizes> shapes, inputs;
  for (const auto& [x, L] : module.parameters) shapes[x] = inputs[x] = global_shape(L);
  for (const auto& [y, e] : module.denotes->body) {
    const auto shape = shape_of(e, shapes);
    if (!shape) ill_typed(module.denotes_place, "the operations do not fit their operands");
    shapes[y] = *shape;
  }
  for (Index k = 0; k < module.results.size(); ++k) {
    if (shape_of(module.denotes->e[k], shapes) != global_shape(module.results[k])) {
      ill_typed(module.denotes_place, "this has another global shape than the result of main");
    }
  }
  if (!has_indices(module.denotes->body, module.denotes->e, inputs, module.below)) {
    ill_typed(module.denotes_place, "what take has is no index of its operand [T-TAKE]");
  }
}

}  // namespace spec::spmd
