/// What a program computes: the typing and the denotation of spmd_op and redistribute.
///
/// Paper: Fig. 9, Secs. 2.2 to 2.5. Errata: E9 (a value is an array of the globaltype's shape, not
/// a member of ℝ^rank), E25 (T-SPMD needs x_i : τ_i ∈ Γ). The local array language is a parameter:
/// a typing and an evaluation. Elements are integers.
#pragma once

#include <functional>
#include <map>
#include <variant>

#include "fig07_base_offsets.h"

namespace spec {

/// An array in C order, the last dimension fastest.
struct Array {
  Sizes shape;
  std::vector<std::int64_t> elements;
  bool operator==(const Array&) const = default;
};

/// Calls visit(global, local): the places in v of the elements of the tile of shape c that starts
/// at base offset b, and their places in the tile. False when the tile is not inside v.
template <class Visit>
bool for_tile(const Sizes& shape, const Offset& b, const Sizes& c, const Visit& visit) {
  if (b.size() != shape.size() || c.size() != shape.size()) return false;
  for (Index i = 0; i < shape.size(); ++i) {
    if (b[i] < 0 || c[i] < 1 || b[i] + c[i] > shape[i]) return false;
  }
  const Size count = size_of(c);
  for (Size local = 0; local < count; ++local) {
    Size rest = local, global = 0, stride = 1;
    for (Index i = shape.size(); i-- > 0;) {
      global += (b[i] + rest % c[i]) * stride;
      stride *= shape[i];
      rest /= c[i];
    }
    visit(static_cast<Index>(global), static_cast<Index>(local));
  }
  return true;
}

/// v[b]: the tile of shape c that starts at base offset b.
inline std::optional<Array> tile(const Array& v, const Offset& b, const Sizes& c) {
  Array out = {c, std::vector<std::int64_t>(static_cast<Index>(size_of(c)))};
  const auto copy = [&](Index global, Index local) { out.elements[local] = v.elements[global]; };
  return for_tile(v.shape, b, c, copy) ? std::optional(out) : std::nullopt;
}

/// ⟦x⟧ = (v, β): a global value and where its tiles are.
struct Denotation {
  Array v;
  BaseOffsetMap beta;
  bool operator==(const Denotation&) const = default;
};

/// "The appropriate size" of the tiles of (v, β): there are s_i / c_i offsets in dimension i.
inline Sizes tile_shape(const Denotation& x) {
  Sizes c;
  for (Index i = 0; i < x.v.shape.size(); ++i) {
    Sizes b_i;
    for (const Offset& b : x.beta) b_i.push_back(b[i]);
    std::sort(b_i.begin(), b_i.end());
    b_i.erase(std::unique(b_i.begin(), b_i.end()), b_i.end());
    c.push_back(x.v.shape[i] / static_cast<Size>(b_i.size()));
  }
  return c;
}

/// The local array language ("XLA"): nullopt where an expression has no type or no value.
template <class Expression>
struct LocalLanguage {
  using Shapes = std::map<Name, Sizes>;
  using Arrays = std::map<Name, Array>;
  std::function<std::optional<Sizes>(const Shapes&, const Expression&)> typing;  // x̄s : s̄ ⊢ e : c̄
  std::function<std::optional<Array>(const Arrays&, const Expression&)> value;  // ⟦e⟧_{x_j ↦ ..}
};

/// spmd_op x̄ (λ x̄s → e) as τ
template <class Expression>
struct SpmdOp {
  Names x, xs;
  Expression e;
  Type tau;
};

/// redistribute y as τ
struct Redistribute {
  Name y;
  Type tau;
};

using Gamma = std::map<Name, Type>;        // Γ
using Delta = std::map<Name, Denotation>;  // Δ

/// T-SPMD: H; Γ ⊢ spmd_op x̄ (λ x̄s → e) as τ : τ. Result: τ, or nullopt when a premise fails.
/// Paper: Fig. 9. Errata: E25.
template <class Expression>
std::optional<Type> t_spmd(const LocalLanguage<Expression>& xla, const Mesh& H, const Gamma& gamma,
                           const SpmdOp<Expression>& op) {
  if (op.x.size() != op.xs.size() || !pairwise_distinct(op.xs)) return std::nullopt;
  std::map<Name, Sizes> s;
  for (Index i = 0; i < op.x.size(); ++i) {
    const auto tau_i = gamma.find(op.x[i]);
    if (tau_i == gamma.end() || !wf_type(H, tau_i->second)) return std::nullopt;  // x_i : τ_i ∈ Γ
    s[op.xs[i]] = localtype(tau_i->second);  // s_i = localtype(τ_i)
  }
  const auto c = xla.typing(s, op.e);                      // x̄s : s̄ ⊢ e : [c_1, ..., c_n]
  if (!c || localtype(op.tau) != *c) return std::nullopt;  // localtype(τ) = [c_1, ..., c_n]
  return wf_type(H, op.tau) ? std::optional(op.tau) : std::nullopt;
}

/// D-SPMD: ⟦spmd_op x̄ (λ x̄s → e) as τ⟧ = (v, β) for the v that the premise describes. nullopt:
/// there is none, because two devices give one tile different values (footnote 2), or e has none.
/// Paper: Fig. 9.
template <class Expression>
std::optional<Denotation> d_spmd(const LocalLanguage<Expression>& xla, const Mesh& H,
                                 const Delta& delta, const SpmdOp<Expression>& op) {
  const auto beta = base_offset_map(H, op.tau);  // β = T⟦τ⟧
  const auto size = product(globaltype(op.tau));
  if (!beta || !size || op.x.size() != op.xs.size()) return std::nullopt;
  std::map<Offset, Array> tiles;
  for (Index i = 0; i < beta->size(); ++i) {  // for all ī ∈ |H|
    std::map<Name, Array> arguments;
    for (Index j = 0; j < op.x.size(); ++j) {
      const auto x_j = delta.find(op.x[j]);  // ⟦x_j⟧ = (v_j, β_j)
      if (x_j == delta.end() || x_j->second.beta.size() != beta->size()) return std::nullopt;
      const auto tile_j = tile(x_j->second.v, x_j->second.beta[i], tile_shape(x_j->second));
      if (!tile_j) return std::nullopt;
      arguments[op.xs[j]] = *tile_j;  // x_j ↦ v_j[β_j(ī)]
    }
    const auto value = xla.value(arguments, op.e);
    if (!value || value->shape != localtype(op.tau)) return std::nullopt;
    const auto known = tiles.insert({(*beta)[i], *value});
    if (known.first->second != *value) return std::nullopt;  // ⟦e⟧ = v[β(ī)]
  }
  Array v = {globaltype(op.tau), std::vector<std::int64_t>(static_cast<Index>(*size))};
  for (const auto& [b, value] : tiles) {  // by Lemma 4.2 they are all of v
    const auto& elements = value.elements;
    const auto copy = [&](Index global, Index local) { v.elements[global] = elements[local]; };
    if (!for_tile(v.shape, b, value.shape, copy)) return std::nullopt;
  }
  return Denotation{v, *beta};
}

/// redistribute y as τ : τ, valid iff the globaltypes of y and τ are equal. Paper: Sec. 2.5.
inline std::optional<Type> t_redistribute(const Mesh& H, const Gamma& gamma,
                                          const Redistribute& op) {
  const auto tau_1 = gamma.find(op.y);
  if (tau_1 == gamma.end() || !wf_type(H, op.tau)) return std::nullopt;
  return globaltype(tau_1->second) == globaltype(op.tau) ? std::optional(op.tau) : std::nullopt;
}

/// ⟦redistribute y as τ⟧ = (v, T⟦τ⟧) for ⟦y⟧ = (v, β): the value stays.
inline std::optional<Denotation> d_redistribute(const Mesh& H, const Delta& delta,
                                                const Redistribute& op) {
  const auto y = delta.find(op.y);
  const auto beta = base_offset_map(H, op.tau);
  if (y == delta.end() || !beta || y->second.v.shape != globaltype(op.tau)) return std::nullopt;
  return Denotation{y->second.v, *beta};
}

/// mesh H; fn main(x̄ : τ̄) -> τ { y_1 = ...; ...; return y }
template <class Expression>
struct Main {
  struct Statement {
    Name y;
    std::variant<SpmdOp<Expression>, Redistribute> op;
  };
  Mesh H;
  std::vector<std::pair<Name, Type>> parameters;
  Type result;
  std::vector<Statement> body;
  Name returned;
};

/// Whether main is well-typed: each statement under the Γ of those before it.
template <class Expression>
bool is_well_typed(const LocalLanguage<Expression>& xla, const Main<Expression>& main) {
  Gamma gamma;
  for (const auto& [x, tau] : main.parameters) {
    if (!wf_type(main.H, tau) || !gamma.insert({x, tau}).second) return false;
  }
  for (const auto& [y, op] : main.body) {
    const auto* spmd = std::get_if<SpmdOp<Expression>>(&op);
    const auto tau = spmd ? t_spmd(xla, main.H, gamma, *spmd)
                          : t_redistribute(main.H, gamma, std::get<Redistribute>(op));
    if (!tau || !gamma.insert({y, *tau}).second) return false;
  }
  const auto y = gamma.find(main.returned);
  return y != gamma.end() && y->second == main.result;
}

/// ⟦main⟧ of the values v̄ of its parameters; nullopt when a statement has no denotation.
template <class Expression>
std::optional<Denotation> evaluate(const LocalLanguage<Expression>& xla,
                                   const Main<Expression>& main, const std::vector<Array>& v) {
  Delta delta;
  for (Index j = 0; j < main.parameters.size(); ++j) {
    const auto beta = base_offset_map(main.H, main.parameters[j].second);
    if (!beta || j >= v.size() || v[j].shape != globaltype(main.parameters[j].second)) {
      return std::nullopt;
    }
    delta[main.parameters[j].first] = {v[j], *beta};
  }
  for (const auto& [y, op] : main.body) {
    const auto* spmd = std::get_if<SpmdOp<Expression>>(&op);
    const auto value = spmd ? d_spmd(xla, main.H, delta, *spmd)
                            : d_redistribute(main.H, delta, std::get<Redistribute>(op));
    if (!value) return std::nullopt;
    delta[y] = *value;
  }
  const auto y = delta.find(main.returned);
  return y == delta.end() ? std::nullopt : std::optional(y->second);
}

}  // namespace spec
