/// What modules denote, and whether it is what they say.
///
/// D-SPMD: the value is a family (v_κ), one array for each addend κ of its layout; it exists iff devices
/// agree wherever their boxes of one v_κ overlap. A layout sum{z̄} means Σ_κ v_κ. redistribute keeps
/// what is meant. All is decided on formal polynomials, so for all numbers: the local programs of all
/// devices are carried out, and where an array is cut into addends again, the new addends are
/// variables of which only the sum is known. So a module that is right is so for every function in the
/// place of exp, sqrt and 1/x, and wrong ones differ for some numbers and these functions themselves.
#pragma once

#include "spmd.h"

namespace spec::spmd {

constexpr TooLarge maxima_differ = {"the maxima in this are not the same, but no numbers show it"};
constexpr TooLarge indices_differ = {
    "what stands at indices in this is not the same, but no numbers show a difference"};
constexpr TooLarge functions_differ = {
    "the functions in this are not of the same numbers, but no numbers show a difference"};

/// Whether two polynomials lie in intervals that do not meet, for some numbers that are drawn: small
/// fractions of either sign, of one sign, and numbers beyond what coefficients part.
inline bool lie_apart(const Variables& variables, const Polynomial& p, const Polynomial& q) {
  std::vector<double> most = {0.125, 1, 4};
  for (const Size c : variables.magnitudes()) {
    if (c > 2) most.push_back(2 * static_cast<double>(c) + 2);
  }
  std::uint64_t state = 1;
  for (Index draw = 0; draw < 64 + 8 * std::min<Index>(most.size(), 64); ++draw) {
    const auto number = [&]() -> MaybeEnclosure {
      state = state * 6364136223846793005U + 1442695040888963407U;
      const double below_1 = static_cast<double>((state >> 33U) % 1021 + 1) / 1024;
      const bool is_negative = draw % 3 == 0 ? (state >> 60U) % 2 == 0 : draw % 3 == 1;
      const double x = below_1 * most[draw / 3 % most.size()];
      return Enclosure{is_negative ? -x : x, is_negative ? -x : x};
    };
    const auto index = [&](Size n) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      return static_cast<Size>((state >> 17U) % static_cast<std::uint64_t>(n));
    };
    const auto values = variables.enclosures(number, index);
    const auto p_x = values ? Variables::enclosure(p, *values) : std::nullopt;
    const auto q_x = values ? Variables::enclosure(q, *values) : std::nullopt;
    if (p_x && q_x && !meet(*p_x, *q_x)) return true;
  }
  return false;
}

/// Whether two polynomials that are not the same differ for some numbers. With maxima or indices: for some
/// that are drawn, small ones and such as lie on both sides of what coefficients part.
inline bool differ(const Variables& variables, const Polynomial& p, const Polynomial& q) {
  if (variables.is_of_numbers(p) && variables.is_of_numbers(q)) return true;
  if (variables.has_functions()) return lie_apart(variables, p, q);
  Sizes most = {5};
  for (const Size c : variables.magnitudes()) {
    if (c > 2) most.push_back(c > Tokens::most / 2 - 2 ? Tokens::most : 2 * c + 2);
  }
  std::uint64_t state = 1;
  const auto drawn = [&](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state ^ (state >> 32U)) % below;
  };
  const Index draws = 64 + 16 * std::min<Index>(most.size(), 64);
  for (Index draw = 0; draw < draws; ++draw) {
    const auto number = [&] {
      const Index of = draw < 64 ? 0 : drawn(4) == 0 ? drawn(most.size()) : draw % most.size();
      const Size magnitude = static_cast<Size>(drawn(static_cast<std::uint64_t>(most[of]) + 1));
      const bool is_negative = draw % 3 == 0 ? drawn(2) == 0 : draw % 3 == 1;
      return is_negative ? -magnitude : magnitude;
    };
    const auto values = variables.values(number);
    const auto p_x = values ? Variables::value(p, *values) : std::nullopt;
    const auto q_x = values ? Variables::value(q, *values) : std::nullopt;
    if (p_x && q_x && *p_x != *q_x) return true;
  }
  return false;
}

inline TooLarge not_the_same(const Variables& variables) {
  return variables.has_functions() ? functions_differ
         : variables.has_indices() ? indices_differ
                                   : maxima_differ;
}

/// Why a module is wrong: at a statement, or in the end where `statement` is none. An element of the
/// global array, and a device where one is at fault.
struct WrongModule {
  std::string reason;
  std::optional<Name> statement = {};
  std::optional<Size> device = {};
  std::optional<Sizes> element = {};
};

struct ModuleVerdict {
  bool right = false;
  bool decided = true;
  const char* why_undecided = "";
  std::optional<WrongModule> wrong = {};
};

/// A value: a layout, and what each device holds.
struct ModuleValue {
  Layout layout;
  std::vector<PolynomialTensor> tiles;
};

class ModuleJudge {
 public:
  explicit ModuleJudge(const Module& module) : module_(module) {}

  /// The module has a type. Throws TooLarge.
  ModuleVerdict run() {
    for (const auto& [x, L] : module_.parameters) {
      const std::vector<PolynomialTensor> family = drawn_family(L, x);
      values_[x] = {L, tiles_of(family, L)};
      inputs_[x] = collapsed(family, L.addition);
    }
    for (const ModuleStatement& statement : module_.body) {
      const auto wrong = carry_out(statement);
      if (wrong) return {false, true, "", wrong};
    }
    return module_.denotes ? compared() : ModuleVerdict{true};
  }

 private:
  PolynomialTensor drawn(const Sizes& shape) {
    return tensor_of<Polynomial>(shape, [&](const Sizes&) { return variables_.fresh(); });
  }
  /// An array for each addend, all elements variables.
  std::vector<PolynomialTensor> drawn_family(const Layout& L, const Name& x) {
    const auto size = product(global_shape(L));
    const auto all = size ? times(*size, addend_count(L)) : std::nullopt;
    if (!all || *all > most_elements) throw too_many_elements;
    const auto below = module_.below.find(x);
    if (below != module_.below.end()) {
      return {tensor_of<Polynomial>(
          global_shape(L), [&](const Sizes&) { return variables_.fresh_index(below->second); })};
    }
    std::vector<PolynomialTensor> out;
    for (Size k = 0; k < addend_count(L); ++k) out.push_back(drawn(global_shape(L)));
    return out;
  }

  /// What the family means: Σ_κ v_κ, or the maximum, or the minimum.
  PolynomialTensor collapsed(const std::vector<PolynomialTensor>& family, Addition O) {
    PolynomialTensor out = family[0];
    for (Index k = 1; k < family.size(); ++k) {
      for (Index at = 0; at < out.elements.size(); ++at) {
        Polynomial& p = out.elements[at];
        const Polynomial& q = family[k].elements[at];
        p = O == Addition::max   ? variables_.max(p, q)
            : O == Addition::min ? -variables_.max(-p, -q)
                                 : p + q;
      }
    }
    return out;
  }

  /// v_κ[box(d)] for every device d.
  std::vector<PolynomialTensor> tiles_of(const std::vector<PolynomialTensor>& family,
                                         const Layout& L) const {
    const std::vector<Box> all = local_boxes(L, module_.devices);
    const Sizes kappa = addend_numbers(L, module_.devices);
    std::vector<PolynomialTensor> out;
    for (Index d = 0; d < all.size(); ++d) {
      const PolynomialTensor& v = family[static_cast<Index>(kappa[d])];
      out.push_back(tensor_of<Polynomial>(shape_of(all[d]), [&](Sizes i) {
        for (Index k = 0; k < i.size(); ++k) i[k] = all[d][k][static_cast<Index>(i[k])];
        return v.elements[position(v.shape, i)];
      }));
    }
    return out;
  }

  /// The family that tiles are of; a reason where devices disagree, or leave out an element.
  std::optional<WrongModule> family_of(const ModuleValue& value,
                                       std::vector<PolynomialTensor>& out) const {
    const Layout& L = value.layout;
    const std::vector<Box> all = local_boxes(L, module_.devices);
    const Sizes kappa = addend_numbers(L, module_.devices), shape = global_shape(L);
    out.assign(static_cast<Index>(addend_count(L)), zeros(shape));
    std::vector<std::vector<bool>> is_known;
    for (const PolynomialTensor& v : out) is_known.emplace_back(v.elements.size(), false);
    std::optional<WrongModule> wrong;
    for (Index d = 0; d < all.size(); ++d) {
      const auto k = static_cast<Index>(kappa[d]);
      for_each_index(shape_of(all[d]), [&](const Sizes& l) {
        Sizes i = l;
        for (Index j = 0; j < i.size(); ++j) i[j] = all[d][j][static_cast<Index>(l[j])];
        const Index at = position(shape, i);
        const Polynomial& p = value.tiles[d].elements[position(value.tiles[d].shape, l)];
        if (is_known[k][at] && out[k].elements[at] != p && !wrong) {
          if (!differ(variables_, out[k].elements[at], p)) throw not_the_same(variables_);
          wrong = {"replicas", {}, static_cast<Size>(d), i};
        }
        out[k].elements[at] = p;
        is_known[k][at] = true;
      });
    }
    for (Index k = 0; k < out.size(); ++k) {
      for_each_index(shape, [&](const Sizes& i) {
        if (!is_known[k][position(shape, i)] && !wrong) wrong = {"uncovered", {}, {}, i};
      });
    }
    return wrong;
  }

  /// D-SPMD or D-REDISTRIBUTE.
  std::optional<WrongModule> carry_out(const ModuleStatement& statement) {
    std::vector<PolynomialTensor> family;
    ModuleValue value;
    std::optional<WrongModule> wrong;
    if (const auto* op = std::get_if<SpmdStatement>(&statement.op)) {
      value = {op->layout, local_values(*op)};
      wrong = family_of(value, family);
    } else {
      const auto& redistribute = std::get<RedistributeStatement>(statement.op);
      const ModuleValue& x = values_.at(redistribute.x);
      wrong = family_of(x, family);
      if (!wrong) value = redistributed(collapsed(family, x.layout.addition), redistribute.layout);
    }
    if (wrong) wrong->statement = statement.y;
    values_[statement.y] = value;
    return wrong;
  }

  /// ⟦e⟧ on every device.
  std::vector<PolynomialTensor> local_values(const SpmdStatement& op) {
    const std::vector<Box> results = local_boxes(op.layout, module_.devices);
    std::vector<PolynomialTensor> out;
    for (Index d = 0; d < results.size(); ++d) {
      std::map<Name, PolynomialTensor> names;
      for (const Name& x : op.x) names[x] = values_.at(x).tiles[d];
      for (const auto& [y, e] : op.body) names[y] = value_of(e, names, variables_);
      out.push_back(value_of(op.e, names, variables_));
    }
    return out;
  }

  /// Tiles of v. Of new addends all but the first are any numbers, and the first is what is left.
  ModuleValue redistributed(const PolynomialTensor& v, const Layout& L) {
    const Size K = addend_count(L);
    if (K > 1 && L.addition != Addition::sum) throw no_split_of_maxima;
    std::vector<PolynomialTensor> family = {v};
    for (Size k = 1; k < K; ++k) {
      family.push_back(drawn(v.shape));
      for (Index at = 0; at < v.elements.size(); ++at) {
        family[0].elements[at] += -family.back().elements[at];
      }
    }
    return {L, tiles_of(family, L)};
  }

  /// Whether what is returned means what `denotes` says of the inputs.
  ModuleVerdict compared() {
    const auto wanted = values_of(*module_.denotes, inputs_, variables_);
    ModuleVerdict out = {true};
    for (Index k = 0; k < wanted.size() && out.right; ++k) out = compared(k, wanted[k]);
    return out;
  }
  ModuleVerdict compared(Index k, const PolynomialTensor& wanted) {
    const ModuleValue& value = values_.at(module_.returned[k]);
    std::vector<PolynomialTensor> family;
    if (auto wrong = family_of(value, family)) return {false, true, "", wrong};
    const PolynomialTensor found = collapsed(family, value.layout.addition);
    ModuleVerdict out = {true};
    bool is_same = true;
    for_each_index(wanted.shape, [&](const Sizes& i) {
      const Index at = position(wanted.shape, i);
      if (out.wrong || found.elements[at] == wanted.elements[at]) return;
      is_same = false;
      if (differ(variables_, found.elements[at], wanted.elements[at])) {
        out = {false, true, "", WrongModule{"denotes", {}, {}, i}};
      }
    });
    if (!is_same && !out.wrong) throw not_the_same(variables_);
    return out;
  }
  const Module& module_;
  Variables variables_;
  std::map<Name, ModuleValue> values_;
  std::map<Name, PolynomialTensor> inputs_;
};

/// Whether a module denotes what it says. Throws ParseError where it has no type.
inline ModuleVerdict judge(const Module& module) {
  Polynomial::terms_left = most_terms;
  try {
    type_module(module);
    return ModuleJudge(module).run();
  } catch (const TooLarge& limit) {
    return {false, false, limit.why};
  }
}

}  // namespace spec::spmd
