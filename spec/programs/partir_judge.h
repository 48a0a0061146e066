/// Whether two expressions of PartIR have the same type and denote the same.
///
/// Types are those of partir.h. Values are formal polynomials, so what is the same is so for all numbers, and
/// in the sense of spmd_judge.h for all functions. Where that is too much work, tensors are drawn modulo a
/// prime: then a difference is a proof, but that none shows is not.
#pragma once

#include <random>

#include "partir_text.h"
#include "spmd_judge.h"

namespace spec::partir {

constexpr TooLarge too_much_work = {
    "values that take more than 2^20 units of work, and 2^26 for products, sums and relu"};
constexpr TooLarge relus_differ = {
    "the relus in this differ at drawn numbers, and may be of equal values"};
constexpr Size most_polynomials = Size{1} << 20, most_drawn = Size{1} << 26;
constexpr int draws = 4;

/// What is known of two expressions.
struct Sameness {
  enum class Values { all_numbers, drawn, different, undecided };

  std::optional<Sizes> before, after;  // types
  Values values = Values::undecided;   // of the same type; otherwise undecided
  std::optional<Sizes> element = {};   // where they differ
  const char* why_undecided = "";
};

/// Elements that are made while e is evaluated, a product of matrices n m o of them; nullopt at 2^63.
inline std::optional<Size> work(Gamma gamma, const Expression& e) {
  const auto add_up = [](std::optional<Size> a, std::optional<Size> b) {
    Size out = 0;
    const bool fits = a && b && !__builtin_add_overflow(*a, *b, &out);
    return fits ? std::optional(out) : std::nullopt;
  };
  const auto multiplied = [](std::optional<Size> a, std::optional<Size> b) {
    Size out = 0;
    const bool fits = a && b && !__builtin_mul_overflow(*a, *b, &out);
    return fits ? std::optional(out) : std::nullopt;
  };
  std::optional<Size> here = product(type_of(gamma, e).value());
  if (e.kind == Kind::matmul) here = multiplied(here, type_of(gamma, e.args[0]).value()[1]);
  if (e.kind == Kind::operation && e.op[0].op == spmd::LocalOp::einsum) {
    std::vector<Sizes> shapes;
    for (const Expression& arg : e.args) shapes.push_back(type_of(gamma, arg).value());
    const auto extents = spmd::label_extents(*spmd::einsum_of(e.op[0].x), shapes);
    for (const auto& [label, n] : *extents) here = multiplied(here, n);
  }
  std::optional<Size> inside = 1;
  if (binds(e)) gamma.ranges[e.x] = {e.range, std::min(e.range.n, e.range.w)};
  for (const Expression& arg : e.args) inside = add_up(inside, work(gamma, arg));
  if (binds(e)) inside = multiplied(inside, (e.range.n + e.range.w - 1) / e.range.w);
  return add_up(here, inside);
}

inline bool has_operations(const Expression& e, Kind kind) {
  const auto here = [&](const Expression& arg) { return has_operations(arg, kind); };
  return e.kind == kind || std::any_of(e.args.begin(), e.args.end(), here);
}

/// The first element that is another one, of tensors of the same shape.
template <class Number, class Differ>
std::optional<Sizes> difference(const Tensor<Number>& x, const Tensor<Number>& y,
                                const Differ& differ) {
  std::optional<Sizes> out;
  for_each_index(x.shape, [&](const Sizes& i) {
    const Index at = position(x.shape, i);
    if (!out && differ(x.elements[at], y.elements[at])) out = i;
  });
  return out;
}

/// All elements of tensors are variables.
inline void compare_for_all_numbers(const std::map<Name, Sizes>& tensors, const Expression& before,
                                    const Expression& after, Sameness& out) {
  spmd::Variables variables;
  Environment<spmd::Polynomial> env;
  for (const auto& [x, shape] : tensors) {
    env.tensors[x] =
        tensor_of<spmd::Polynomial>(shape, [&](const Sizes&) { return variables.fresh(); });
  }
  env.operation = [&](const spmd::LocalExpression& op,
                      const std::vector<spmd::PolynomialTensor>& args) {
    std::vector<Sizes> shapes;
    for (const auto& arg : args) shapes.push_back(arg.shape);
    return spmd::value_of(op, args, spmd::shape_of(op, shapes).value(), variables);
  };
  const auto x = value_of(env, before), y = value_of(env, after);
  const auto other = [](const auto& p, const auto& q) { return p != q; };
  out.values = Sameness::Values::all_numbers;
  if (!difference(x, y, other)) return;
  out.element = difference(
      x, y, [&](const auto& p, const auto& q) { return p != q && spmd::differ(variables, p, q); });
  if (!out.element) throw spmd::not_the_same(variables);
  out.values = Sameness::Values::different;
}

/// A number modulo 2^31 - 1.
struct Remainder {
  static constexpr std::uint64_t p = 2147483647;
  std::uint64_t value = 0;

  Remainder& operator+=(const Remainder& b) {
    value = (value + b.value) % p;
    return *this;
  }
  friend Remainder operator*(const Remainder& a, const Remainder& b) {
    return {a.value * b.value % p};
  }
  bool operator==(const Remainder&) const = default;
  bool operator<(const Remainder& b) const { return value < b.value; }
};

/// Elements of tensors are drawn, and relu is any function.
inline void compare_drawn(const std::map<Name, Sizes>& tensors, const Expression& before,
                          const Expression& after, Sameness& out) {
  std::mt19937_64 random(std::random_device{}());
  for (int draw = 0; draw < draws && !out.element; ++draw) {
    Environment<Remainder> env;
    for (const auto& [x, shape] : tensors) {
      env.tensors[x] = tensor_of<Remainder>(
          shape, [&](const Sizes&) { return Remainder{random() % Remainder::p}; });
    }
    const std::uint64_t key = random();
    env.operation = [key](const spmd::LocalExpression&,
                          const std::vector<Tensor<Remainder>>& args) {
      Tensor<Remainder> x = args[0];
      for (Remainder& element : x.elements) {
        element.value = std::mt19937_64(element.value ^ key)() % Remainder::p;
      }
      return x;
    };
    out.element = difference(value_of(env, before), value_of(env, after),
                             [](const auto& a, const auto& b) { return !(a == b); });
  }
  out.values = Sameness::Values::drawn;
  if (!out.element) return;
  out.values = Sameness::Values::different;
  if (has_operations(before, Kind::relu) || has_operations(after, Kind::relu)) throw relus_differ;
}

/// The first expression has a type.
inline Sameness sameness(const std::map<Name, Sizes>& tensors, const Expression& before,
                         const Expression& after) {
  const Gamma gamma = {tensors, {}};
  Sameness out = {type_of(gamma, before), type_of(gamma, after)};
  if (out.before != out.after) return out;
  const auto a = work(gamma, before), b = work(gamma, after);
  const bool is_of_talk =
      !has_operations(before, Kind::operation) && !has_operations(after, Kind::operation);
  const auto is_at_most = [&](Size most) { return a && b && *a <= most && *b <= most; };
  const bool can_be_drawn = is_of_talk && is_at_most(most_drawn);
  try {
    if (is_at_most(most_polynomials)) {
      spmd::Polynomial::terms_left = spmd::most_terms;
      try {
        compare_for_all_numbers(tensors, before, after, out);
        return out;
      } catch (const TooLarge& limit) {
        if (!can_be_drawn || limit.why != std::string_view(spmd::too_many_terms.why)) throw;
      }
    }
    if (!can_be_drawn) throw too_much_work;
    compare_drawn(tensors, before, after, out);
  } catch (const TooLarge& limit) {
    out.values = Sameness::Values::undecided;
    out.element.reset();
    out.why_undecided = limit.why;
  }
  return out;
}

}  // namespace spec::partir
