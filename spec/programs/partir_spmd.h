/// PartIR:SPMD: the operators between tensors and distributed tensors, and the rules that fuse them.
///
///   t ::= x | distribute[τ] t | undistribute t | redistribute[τ] t
///
/// The talk "PartIR: Declarative abstractions for tensor program partitioning", in its words, with the layouts
/// of modules as its distributed types: distributed_tensor<(r:range(32,16)) -> [r,8]> is [16{r}32, 8] over a
/// mesh r:2. A rule takes a term on its left side to that on its right side, and none where it does not apply.
/// Errata: R5 (the third rule makes a redistribution to τ). Left out: layouts with addends, of which a
/// distribution would have to choose the numbers, and stacked types (R8).
#pragma once

#include "spmd.h"

namespace spec::partir {

enum class Distribution { variable, distribute, undistribute, redistribute };

struct Term {
  Distribution kind = Distribution::variable;
  Name x = {};                     // of a variable
  std::optional<Layout> tau = {};  // of distribute and redistribute
  std::vector<Term> args = {};
  std::string written = {};  // τ in the text, if it came from one
};

inline Term named(const Name& x) { return {Distribution::variable, x, {}, {}, {}}; }
inline Term distribute(const Layout& tau, const Term& t) {
  return {Distribution::distribute, "", tau, {t}, {}};
}
inline Term undistribute(const Term& t) { return {Distribution::undistribute, "", {}, {t}, {}}; }
inline Term redistribute(const Layout& tau, const Term& t) {
  return {Distribution::redistribute, "", tau, {t}, {}};
}

// Types.

/// tensor<s>, or a distributed type over D devices.
using TermType = std::variant<Sizes, Layout>;
struct TermGamma {
  Size D = 1;
  std::map<Name, TermType> types;
};

/// globalType(τ)
inline Sizes global_type(const TermType& type) {
  const Layout* tau = std::get_if<Layout>(&type);
  return tau != nullptr ? spmd::global_shape(*tau) : std::get<Sizes>(type);
}
inline bool is_distributed(const TermType& type) { return std::holds_alternative<Layout>(type); }

inline bool is_same_type(const TermType& a, const TermType& b, Size D) {
  if (is_distributed(a) != is_distributed(b)) return false;
  if (!is_distributed(a)) return std::get<Sizes>(a) == std::get<Sizes>(b);
  return spmd::same_layout(std::get<Layout>(a), std::get<Layout>(b), D);
}

/// Γ ⊢ t : τ. Result: τ, or nullopt when a premise fails.
inline std::optional<TermType> type_of(const TermGamma& gamma, const Term& t) {
  if (t.kind == Distribution::variable) {
    const auto x = gamma.types.find(t.x);
    return x == gamma.types.end() ? std::nullopt : std::optional(x->second);  // x : τ ∈ Γ
  }
  const auto s = type_of(gamma, t.args[0]);
  if (!s) return std::nullopt;
  if (t.kind == Distribution::undistribute) {
    return is_distributed(*s) ? std::optional(TermType(global_type(*s))) : std::nullopt;
  }
  if (t.tau->addition != Addition::none) return std::nullopt;
  if (is_distributed(*s) != (t.kind == Distribution::redistribute)) return std::nullopt;
  if (global_type(*s) != global_type(TermType(*t.tau))) return std::nullopt;
  return TermType(*t.tau);
}

// What terms denote.

/// ⟦tensor<s>⟧: one tensor. ⟦τ⟧: a tile for every device.
template <class Number>
using Denotation = std::variant<Tensor<Number>, std::vector<Tensor<Number>>>;

/// The tile of a box: for every dimension, the indices that are in it.
template <class Number>
Tensor<Number> tile_of(const Tensor<Number>& x, const Box& box) {
  return tensor_of<Number>(spmd::shape_of(box), [&](const Sizes& i) {
    Sizes at;
    for (Index d = 0; d < i.size(); ++d) at.push_back(box[d][static_cast<Index>(i[d])]);
    return x.elements[position(x.shape, at)];
  });
}

/// ⟦distribute[τ]⟧: every device gets its box.
template <class Number>
std::vector<Tensor<Number>> distributed(const Tensor<Number>& x, const Layout& tau, Size D) {
  std::vector<Tensor<Number>> out;
  for (const Box& box : spmd::local_boxes(tau, D)) out.push_back(tile_of(x, box));
  return out;
}

/// ⟦undistribute⟧: every element from a device that has it. All that have it have the same.
template <class Number>
Tensor<Number> undistributed(const std::vector<Tensor<Number>>& tiles, const Layout& tau, Size D) {
  Tensor<Number> out =
      tensor_of<Number>(spmd::global_shape(tau), [](const Sizes&) { return Number{}; });
  const std::vector<Box> boxes = spmd::local_boxes(tau, D);
  for (Index device = 0; device < boxes.size(); ++device) {
    for_each_index(tiles[device].shape, [&](const Sizes& i) {
      Sizes at;
      for (Index d = 0; d < i.size(); ++d) at.push_back(boxes[device][d][static_cast<Index>(i[d])]);
      out.elements[position(out.shape, at)] =
          tiles[device].elements[position(tiles[device].shape, i)];
    });
  }
  return out;
}

/// Where an index is in a box, if it is.
inline std::optional<Sizes> place_in(const Box& box, const Sizes& at) {
  Sizes out;
  for (Index d = 0; d < box.size(); ++d) {
    const auto found = std::find(box[d].begin(), box[d].end(), at[d]);
    if (found == box[d].end()) return std::nullopt;
    out.push_back(static_cast<Size>(found - box[d].begin()));
  }
  return out;
}

/// ⟦redistribute[τ]⟧: every device gets each element of its box from the first that has it.
template <class Number>
std::vector<Tensor<Number>> redistributed(const std::vector<Tensor<Number>>& tiles,
                                          const Layout& from, const Layout& tau, Size D) {
  const std::vector<Box> has = spmd::local_boxes(from, D);
  std::vector<Tensor<Number>> out;
  for (const Box& box : spmd::local_boxes(tau, D)) {
    out.push_back(tensor_of<Number>(spmd::shape_of(box), [&](const Sizes& i) {
      Sizes at;
      for (Index d = 0; d < i.size(); ++d) at.push_back(box[d][static_cast<Index>(i[d])]);
      for (Index device = 0; device < has.size(); ++device) {
        const auto place = place_in(has[device], at);
        if (place) return tiles[device].elements[position(tiles[device].shape, *place)];
      }
      return Number{};  // nobody has it
    }));
  }
  return out;
}

/// ⟦t⟧. The term has a type in Γ.
template <class Number>
Denotation<Number> value_of(const TermGamma& gamma,
                            const std::map<Name, Denotation<Number>>& values, const Term& t) {
  if (t.kind == Distribution::variable) return values.at(t.x);
  const Denotation<Number> x = value_of(gamma, values, t.args[0]);
  if (t.kind == Distribution::distribute) {
    return distributed(std::get<Tensor<Number>>(x), *t.tau, gamma.D);
  }
  const auto& tiles = std::get<std::vector<Tensor<Number>>>(x);
  const Layout from = std::get<Layout>(*type_of(gamma, t.args[0]));
  if (t.kind == Distribution::undistribute) return undistributed(tiles, from, gamma.D);
  return redistributed(tiles, from, *t.tau, gamma.D);
}

// Rules.

/// undistribute(distribute[τ](x)) ~> x
inline std::optional<Term> fuse_undistribute(const TermGamma& gamma, const Term& t) {
  if (!type_of(gamma, t) || t.kind != Distribution::undistribute) return std::nullopt;
  if (t.args[0].kind != Distribution::distribute) return std::nullopt;
  return t.args[0].args[0];
}

/// x of distribute[τ](undistribute(x)), if t is one.
inline std::optional<Term> inside(const TermGamma& gamma, const Term& t) {
  if (!type_of(gamma, t) || t.kind != Distribution::distribute) return std::nullopt;
  if (t.args[0].kind != Distribution::undistribute) return std::nullopt;
  return t.args[0].args[0];
}

/// distribute[τ](undistribute(x)) ~> x, when type(x) == τ
inline std::optional<Term> fuse_distribute(const TermGamma& gamma, const Term& t) {
  const auto x = inside(gamma, t);
  if (!x) return std::nullopt;
  const bool same = is_same_type(*type_of(gamma, *x), TermType(*t.tau), gamma.D);
  return same ? x : std::nullopt;  // type(x) == τ
}

/// distribute[τ](undistribute(x)) ~> redistribute[τ] x, when globalType(type(x)) == globalType(τ).
/// Errata: R5.
inline std::optional<Term> fuse_redistribute(const TermGamma& gamma, const Term& t) {
  const auto x = inside(gamma, t);
  if (!x) return std::nullopt;
  const bool same = global_type(*type_of(gamma, *x)) == global_type(TermType(*t.tau));
  if (!same) return std::nullopt;
  Term out = redistribute(*t.tau, *x);
  out.written = t.written;
  return out;
}

/// All three, inside out, as often as they apply: the second before the third, of which it is a case.
inline Term fused(const TermGamma& gamma, Term t) {
  for (Term& arg : t.args) arg = fused(gamma, arg);
  for (const auto& rule : {fuse_undistribute, fuse_distribute, fuse_redistribute}) {
    const auto next = rule(gamma, t);
    if (next) return *next;
  }
  return t;
}

}  // namespace spec::partir
