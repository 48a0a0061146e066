// PartIR: what the talk shows, and every rewrite rule on random expressions, with a broken twin.
//
// Bound: matrices of extents 1 to 6, widths 1 to 7, depth 4, so uneven and nested ranges are among
// them. A rule that applies keeps the type and the value; a twin must not, somewhere.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "spec/programs/partir_judge.h"
#include "support/samples.h"

namespace spec::partir_test {
namespace {

using namespace partir;  // NOLINT(google-build-using-namespace): its functions are the subject
// Beside files that read other parts of spec/, which have these names, too.
using partir::Path;
using partir::rewrite;

#ifdef RETILE_SLOW_TESTS
constexpr int rounds = 50'000;
#else
constexpr int rounds = support::instrumented ? support::samples(7'200) : 1'200;
#endif

using Number = std::int64_t;
using Random = std::mt19937_64;

Size below(Random& random, Size n) {
  return static_cast<Size>(random() % static_cast<std::uint64_t>(n));
}

Tensor<Number> numbers(const Sizes& shape, Random& random) {
  return tensor_of<Number>(shape, [&](const Sizes&) { return below(random, 5) - 2; });
}

/// The tensors of these types, drawn.
Environment<Number> drawn(const std::map<Name, Sizes>& tensors) {
  Random random(7);
  Environment<Number> out;
  for (const auto& [x, shape] : tensors) out.tensors[x] = numbers(shape, random);
  return out;
}

/// The type without ranges in scope.
std::optional<Sizes> type_in(const std::map<Name, Sizes>& tensors, const Expression& e) {
  return type_of({tensors, {}}, e);
}

// What the talk shows.

TEST(PartIR, values_of_range_types) {
  EXPECT_EQ(intervals({16, 8}), (std::vector<Interval>{{0, 8}, {8, 16}}));
  // R1: the talk prints [0..4) for the first.
  EXPECT_EQ(intervals({16, 5}), (std::vector<Interval>{{0, 5}, {5, 10}, {10, 15}, {15, 16}}));
  EXPECT_EQ(intervals({32, 5}).size(), 7U);
  EXPECT_EQ(widths({32, 5}), (Sizes{5, 2}));
  EXPECT_EQ(widths({64, 4}), (Sizes{4}));
}

TEST(PartIR, a_slice_has_the_width_of_its_range) {
  const Gamma gamma = {{{"x", {64, 32, 64}}}, {{"r", {{64, 4}, 4}}}};
  const auto sliced = [&](Index d) { return type_of(gamma, slice(d, variable("x"), "r")); };
  EXPECT_EQ(sliced(0), (Sizes{4, 32, 64}));
  EXPECT_EQ(sliced(1), std::nullopt);  // TYPE-ERROR
  EXPECT_EQ(sliced(2), (Sizes{64, 32, 4}));
  EXPECT_EQ(sliced(3), std::nullopt);
  EXPECT_EQ(type_of(gamma, slice(0, variable("x"), "s")), std::nullopt);
  EXPECT_EQ(type_of(gamma, slice(0, variable("y"), "r")), std::nullopt);
}

TEST(PartIR, a_tile_has_all_of_its_dimension) {
  const std::map<Name, Sizes> tensors = {{"x", {32, 12, 16}}, {"y", {32, 4, 16}}, {"z", {12, 12}}};
  const Expression x_r = slice(1, variable("x"), "r");
  for (const Size w : {1, 4, 5, 12, 20}) {
    EXPECT_EQ(type_in(tensors, tile(1, "r", {12, w}, x_r)), (Sizes{32, 12, 16})) << w;
    EXPECT_EQ(type_in(tensors, tile(0, "r", {12, w}, x_r)), std::nullopt) << w;
  }
  // A body that does not slice has the width only where there is one.
  EXPECT_EQ(type_in(tensors, tile(1, "r", {12, 4}, variable("y"))), (Sizes{32, 12, 16}));
  EXPECT_EQ(type_in(tensors, tile(1, "r", {11, 4}, variable("y"))), std::nullopt);
  EXPECT_EQ(type_in(tensors, tile(1, "r", {12, 0}, variable("y"))), std::nullopt);
  // r stands in another extent, too.
  const Expression both = slice(1, slice(0, variable("z"), "r"), "r");
  EXPECT_EQ(type_in(tensors, tile(0, "r", {12, 5}, both)), std::nullopt);
}

TEST(PartIR, a_sum_has_the_type_of_its_body) {
  const std::map<Name, Sizes> tensors = {{"x", {32, 16}}};
  EXPECT_EQ(type_in(tensors, sum("r", {9, 4}, variable("x"))), (Sizes{32, 16}));
  EXPECT_EQ(type_in(tensors, sum("r", {16, 5}, slice(1, variable("x"), "r"))), std::nullopt);
  const auto env = drawn(tensors);
  Tensor<Number> three_times = env.tensors.at("x");
  for (Number& element : three_times.elements) element *= 3;
  EXPECT_EQ(value_of(env, sum("r", {9, 4}, variable("x"))), three_times);
}

TEST(PartIR, operations_have_types_where_extents_fit) {
  const std::map<Name, Sizes> tensors = {{"x", {2, 3}}, {"y", {3, 4}}, {"v", {3}}};
  const Expression x = variable("x"), y = variable("y"), v = variable("v");
  EXPECT_EQ(type_in(tensors, matmul(x, y)), (Sizes{2, 4}));
  EXPECT_EQ(type_in(tensors, matmul(y, x)), std::nullopt);
  EXPECT_EQ(type_in(tensors, matmul(x, v)), std::nullopt);
  EXPECT_EQ(type_in(tensors, add(x, x)), (Sizes{2, 3}));
  EXPECT_EQ(type_in(tensors, add(x, y)), std::nullopt);
  EXPECT_EQ(type_in(tensors, relu(v)), (Sizes{3}));
}

// The talk's mlp, by its three actions.

const std::map<Name, Sizes> mlp_tensors = {{"x", {16, 256}}, {"w", {256, 256}}, {"u", {256, 256}}};

Rule dumb(Index d, const Name& r, Size w) {
  return [=](const Scope& scope, const Expression& e) { return dumb_tiling(scope, e, d, r, w); };
}
Rule alone(std::optional<Expression> (*rule)(const Expression&)) {
  return [=](const Scope&, const Expression& e) { return rule(e); };
}

/// Rewrites in place; a rule that does not apply is a mistake of the test.
void step(Expression& e, const Path& path, const Rule& rule) {
  const auto next = rewrite({mlp_tensors, {}}, e, path, rule);
  ASSERT_TRUE(next);
  e = *next;
}

TEST(PartIR, mlp_by_its_three_actions) {
  const Expression x = variable("x"), w = variable("w"), u = variable("u");
  const Expression mlp = matmul(matmul(x, w), u);
  Expression e = mlp;
  step(e, {0, 0}, dumb(0, "r", 8));  // arg-tile 0 0 8
  const Expression tiled_x = tile(0, "r", {16, 8}, slice(0, x, "r"));
  EXPECT_EQ(e, matmul(matmul(tiled_x, w), u));
  step(e, {0}, alone(pull_tile_0));  // propagate
  step(e, {}, alone(pull_tile_0));
  const Expression x_r = slice(0, x, "r");
  EXPECT_EQ(e, tile(0, "r", {16, 8}, matmul(matmul(x_r, w), u)));
  step(e, {0, 0, 1}, dumb(1, "s", 128));  // arg-tile 1 1 128
  step(e, {0, 1}, dumb(0, "t", 128));     // arg-tile 2 0 128
  step(e, {0, 0}, alone(pull_tile_1));    // propagate
  step(e, {0}, [](const Scope& scope, const Expression& product) {
    return matmul_sum(scope, product, "q", 128);
  });
  step(e, {0, 0, 0}, fuse);
  step(e, {0, 0, 1}, fuse);
  const Expression inner = matmul(matmul(x_r, slice(1, w, "q")), slice(0, u, "q"));
  EXPECT_EQ(e, tile(0, "r", {16, 8}, sum("q", {256, 128}, inner)));
  const auto env = drawn(mlp_tensors);
  EXPECT_EQ(type_in(mlp_tensors, e), (Sizes{16, 256}));
  EXPECT_EQ(value_of(env, e), value_of(env, mlp));
}

// Random expressions.

/// An extent: a number, or the width of a range in scope.
struct Extent {
  Size n = 1;
  Name r = {};
};

class Drawing {
 public:
  explicit Drawing(Random& random) : random_(random) {}

  Expression matrix(const Scope& scope, const Extent& rows, const Extent& columns, int depth) {
    if (depth == 0) return leaf(scope, rows, columns);
    const Size what = below(random_, 13);
    if (what < 4) {
      const Extent inner = any_extent(scope);
      const Expression x = matrix(scope, rows, inner, depth - 1);
      return matmul(x, matrix(scope, inner, columns, depth - 1));
    }
    if (what < 5) return relu(matrix(scope, rows, columns, depth - 1));
    if (what < 6) {
      const Expression x = matrix(scope, rows, columns, depth - 1);
      return add(x, matrix(scope, rows, columns, depth - 1));
    }
    if (what < 7) return summed(scope, rows, columns, depth - 1);
    if (what < 11) return tiled_or_sliced(scope, rows, columns, depth - 1);
    return relu(summed(scope, rows, columns, depth - 1));
  }

  std::map<Name, Sizes> tensors;

 private:
  Extent any_extent(const Scope& scope) {
    const auto count = static_cast<Size>(scope.ranges.size());
    if (count > 0 && below(random_, 3) > 0) {
      return {0, std::next(scope.ranges.begin(), below(random_, count))->first};
    }
    return {1 + below(random_, 6), ""};
  }
  /// A name that no extent needs, often of a range in scope.
  Name free_name(const Extent& rows, const Extent& columns) {
    const std::vector<Name> names = {"r", "s", "t"};
    for (;;) {
      const Name& r = names[static_cast<Index>(below(random_, 3))];
      if (r != rows.r && r != columns.r) return r;
    }
  }
  Range range_of(Size n) { return {n, 1 + below(random_, n + 1)}; }

  Expression leaf(const Scope& scope, const Extent& rows, const Extent& columns) {
    const auto full = [&](const Extent& extent) {
      return extent.r.empty() ? extent.n : scope.ranges.at(extent.r).n;
    };
    const Name x = "x" + std::to_string(full(rows)) + "_" + std::to_string(full(columns)) + "_" +
                   std::to_string(below(random_, 2));
    tensors[x] = {full(rows), full(columns)};
    Expression e = variable(x);
    if (!rows.r.empty()) e = slice(0, e, rows.r);
    return columns.r.empty() ? e : slice(1, e, columns.r);
  }
  Expression summed(Scope scope, const Extent& rows, const Extent& columns, int depth) {
    const Name r = free_name(rows, columns);
    const Range range = range_of(1 + below(random_, 6));
    scope.ranges[r] = range;
    return sum(r, range, matrix(scope, rows, columns, depth));
  }
  Expression tiled_or_sliced(Scope scope, Extent rows, Extent columns, int depth) {
    const auto d = static_cast<Index>(below(random_, 2));
    Extent& cut = d == 0 ? rows : columns;
    if (!cut.r.empty()) {  // a slice, half of them of a tile, and half of these of the same range
      Range range = scope.ranges.at(cut.r);
      const Name s = cut.r;
      cut = {range.n, ""};
      if (below(random_, 2) == 0) return slice(d, matrix(scope, rows, columns, depth), s);
      if (below(random_, 2) == 0) range = range_of(range.n);
      const Name r = free_name(rows, columns);
      Scope inside = scope;
      inside.ranges[r] = range;
      cut = {0, r};
      return slice(d, tile(d, r, range, matrix(inside, rows, columns, depth)), s);
    }
    const Range range = range_of(cut.n);
    const Name r = free_name(rows, columns);
    scope.ranges[r] = range;
    cut = {0, r};
    return tile(d, r, range, matrix(scope, rows, columns, depth));
  }

  Random& random_;
};

std::vector<Path> paths(const Expression& e) {
  std::vector<Path> out = {{}};
  for (Index k = 0; k < e.args.size(); ++k) {
    for (Path path : paths(e.args[k])) {
      path.insert(path.begin(), k);
      out.push_back(path);
    }
  }
  return out;
}

// The rules, each with a twin that forgets a premise or confuses two parts.

struct Named {
  const char* name;
  Rule rule, twin;
};

Expression exchanged(Expression e, Index d) {  // slices dimension d of both factors
  for (Expression& factor : e.args[0].args) {
    if (factor.kind == Kind::slice) factor.d = d;
  }
  return e;
}

std::optional<Expression> fuse_any_range(const Scope& scope, const Expression& e) {
  if (e.kind != Kind::slice || e.args[0].kind != Kind::tile || e.args[0].d != e.d) {
    return std::nullopt;
  }
  Scope same = scope;
  same.ranges[e.x] = e.args[0].range;
  return fuse(same, e);
}
std::optional<Expression> fuse_with_capture(const Scope& scope, const Expression& e) {
  if (e.kind != Kind::slice || e.args[0].kind != Kind::tile || e.args[0].d != e.d) {
    return std::nullopt;
  }
  const auto s = scope.ranges.find(e.x);
  if (s == scope.ranges.end() || s->second != e.args[0].range) return std::nullopt;
  return substitute(e.args[0].args[0], e.x, e.args[0].x);
}
std::optional<Expression> fuse_without_substitution(const Scope& scope, const Expression& e) {
  return fuse(scope, e) ? std::optional(e.args[0].args[0]) : std::nullopt;
}
std::optional<Expression> pull_0_anyway(const Expression& e) {
  if (e.kind != Kind::matmul || e.args[0].kind != Kind::tile || e.args[0].d != 0) {
    return std::nullopt;
  }
  const Expression& tiled = e.args[0];
  return tile(0, tiled.x, tiled.range, matmul(tiled.args[0], e.args[1]));
}
std::optional<Expression> pull_1_anyway(const Expression& e) {
  if (e.kind != Kind::matmul || e.args[1].kind != Kind::tile || e.args[1].d != 1) {
    return std::nullopt;
  }
  const Expression& tiled = e.args[1];
  return tile(1, tiled.x, tiled.range, matmul(e.args[0], tiled.args[0]));
}
std::optional<Expression> push_slice_of_the_other(const Expression& e) {
  const auto right = push_slice(e);
  if (!right) return std::nullopt;
  const Expression &x = e.args[0].args[0], &y = e.args[0].args[1];
  return e.d == 1 ? matmul(slice(0, x, e.x), y) : matmul(x, slice(1, y, e.x));
}
std::optional<Expression> backwards_dropping(const Scope&, const Expression& e) {
  return binds(e) && e.args[0].kind == Kind::slice ? std::optional(e.args[0].args[0])
                                                   : std::nullopt;
}
/// Pulling a sum out of relu, which is no rule: relu is not linear.
std::optional<Expression> pull_sum_out_of_relu(const Expression& e) {
  if (e.kind != Kind::relu || e.args[0].kind != Kind::sum) return std::nullopt;
  return sum(e.args[0].x, e.args[0].range, relu(e.args[0].args[0]));
}

std::vector<Named> rules(Size w) {
  const auto tile_0 = [w](const Scope& scope, const Expression& e) {
    return matmul_tile_0(scope, e, "q", w);
  };
  const auto tile_1 = [w](const Scope& scope, const Expression& e) {
    return matmul_tile_1(scope, e, "q", w);
  };
  const auto summed = [w](const Scope& scope, const Expression& e) {
    return matmul_sum(scope, e, "q", w);
  };
  const auto one_interval_less = [](const Rule& rule) -> Rule {
    return [rule](const Scope& scope, const Expression& e) {
      auto out = rule(scope, e);
      if (out) out->range.n -= 1;
      return out;
    };
  };
  const auto sliced_otherwise = [](const Rule& rule, Index d) -> Rule {
    return [rule, d](const Scope& scope, const Expression& e) {
      const auto out = rule(scope, e);
      return out ? std::optional(exchanged(*out, d)) : std::nullopt;
    };
  };
  const auto unsliced_sum = [summed](const Scope& scope, const Expression& e) {
    auto out = summed(scope, e);
    if (out) out->args[0] = e;
    return out;
  };
  const auto narrower_sum = [w, summed](const Scope& scope, const Expression& e) {
    auto out = summed(scope, e);
    if (out && w > 1) out->args[0].args[1] = slice(0, e.args[1], "p");
    return out;
  };
  return {
      {"matmul-tile-0", tile_0, sliced_otherwise(tile_0, 1)},
      {"matmul-tile-0, short", tile_0, one_interval_less(tile_0)},
      {"matmul-tile-1", tile_1, sliced_otherwise(tile_1, 0)},
      {"matmul-sum", summed, unsliced_sum},
      {"matmul-sum, two ranges", summed, narrower_sum},
      {"dumb tiling 0", dumb(0, "q", w), one_interval_less(dumb(0, "q", w))},
      {"dumb tiling 1", dumb(1, "q", w), sliced_otherwise(dumb(1, "q", w), 0)},
      {"backwards", backwards, backwards_dropping},
      {"fuse", fuse, fuse_any_range},
      {"fuse, capture", fuse, fuse_with_capture},
      {"fuse, names", fuse, fuse_without_substitution},
      {"push slice", alone(push_slice), alone(push_slice_of_the_other)},
      {"pull tile 0", alone(pull_tile_0), alone(pull_0_anyway)},
      {"pull tile 1", alone(pull_tile_1), alone(pull_1_anyway)},
      {"pull sum out of relu", nullptr, alone(pull_sum_out_of_relu)},
  };
}

/// Whether e has the type and the value that are wanted.
bool is_kept(const std::map<Name, Sizes>& tensors, const Expression& e, const Sizes& type,
             const Environment<Number>& env, const Tensor<Number>& value) {
  return type_in(tensors, e) == type && value_of(env, e) == value;
}

TEST(PartIR, rules_keep_types_and_values_and_their_twins_do_not) {
  Random random(20);
  std::map<std::string, std::size_t> applied, caught;
  for (int round = 0; round < rounds; ++round) {
    Drawing drawing(random);
    const Extent rows = {1 + below(random, 6), ""}, columns = {1 + below(random, 6), ""};
    const Expression e = drawing.matrix({}, rows, columns, 4);
    const Sizes type = {rows.n, columns.n};
    ASSERT_EQ(type_in(drawing.tensors, e), type);
    const auto env = drawn(drawing.tensors);
    const Tensor<Number> value = value_of(env, e);
    ASSERT_EQ(value.shape, type);
    std::vector<Path> all = paths(e);
    for (Index k = all.size(); k-- > 1;) {
      std::swap(all[k], all[static_cast<Index>(below(random, static_cast<Size>(k) + 1))]);
    }
    const auto somewhere = [&](const Rule& rule) {
      std::optional<Expression> out;
      for (const Path& path : all) {
        if (rule && !out) out = rewrite({drawing.tensors, {}}, e, path, rule);
      }
      return out;
    };
    for (const Named& rule : rules(1 + below(random, 7))) {
      if (const auto kept = somewhere(rule.rule)) {
        ++applied[rule.name];
        EXPECT_TRUE(is_kept(drawing.tensors, *kept, type, env, value)) << rule.name;
      }
      const auto broken = somewhere(rule.twin);
      if (broken && !is_kept(drawing.tensors, *broken, type, env, value)) ++caught[rule.name];
    }
  }
  for (const Named& rule : rules(1)) {
    std::cout << rule.name << ": " << applied[rule.name] << " kept, " << caught[rule.name]
              << " twins caught\n";
    EXPECT_TRUE(!rule.rule || applied[rule.name] >= 5) << rule.name;
    EXPECT_GE(caught[rule.name], 1U) << rule.name;
  }
}

/// What is printed is read again, and what the judge says of twins is what numbers say.
TEST(PartIR, texts_and_verdicts_of_random_expressions) {
  Random random(21);
  std::map<std::string, int> said;
  for (int round = 0; round < support::samples(120); ++round) {
    Drawing drawing(random);
    const Extent rows = {1 + below(random, 4), ""}, columns = {1 + below(random, 4), ""};
    const Expression e = drawing.matrix({}, rows, columns, 3);
    Text text = {{drawing.tensors.begin(), drawing.tensors.end()}, e};
    const Text again = parse_text(to_text(text));
    EXPECT_EQ(again.e, e) << to_text(text);
    EXPECT_EQ(again.tensors, text.tensors);
    const auto env = drawn(drawing.tensors);
    for (const Named& rule : rules(1 + below(random, 5))) {
      for (const bool is_twin : {false, true}) {
        const Rule& one = is_twin ? rule.twin : rule.rule;
        const auto next = one ? one({drawing.tensors, {}}, e) : std::nullopt;
        if (!next) continue;
        const Sameness same = sameness(drawing.tensors, e, *next);
        const bool is_same =
            is_kept(drawing.tensors, *next, {rows.n, columns.n}, env, value_of(env, e));
        if (!is_same) {
          EXPECT_NE(same.values, Sameness::Values::all_numbers) << to_text(text) << rule.name;
        }
        if (same.before != same.after) {
          EXPECT_EQ(same.values, Sameness::Values::undecided);
        }
        if (!is_twin) {
          EXPECT_EQ(same.values, Sameness::Values::all_numbers) << to_text(text) << rule.name;
        }
        ++said[same.before != same.after                    ? "type"
               : same.values == Sameness::Values::different ? "different"
               : same.values == Sameness::Values::undecided ? "undecided"
                                                            : "same"];
      }
    }
  }
  for (const auto& [word, count] : said) std::cout << word << ": " << count << "\n";
  if (support::samples(120) < 120) return;
  for (const char* word : {"same", "different", "type"}) EXPECT_GT(said[word], 5) << word;
}

TEST(PartIR, expressions_of_other_types_have_no_verdict_on_values) {
  const auto text = [](const std::string& e) {
    return parse_text("retile.partir/1\nx : [1, 2]\n" + e + "\n");
  };
  const Text row = text("x"), column = text("transpose [1,0] x");
  const std::map<Name, Sizes> tensors(row.tensors.begin(), row.tensors.end());
  const Sameness same = sameness(tensors, row.e, column.e);
  EXPECT_NE(same.before, same.after);
  EXPECT_EQ(same.values, Sameness::Values::undecided);
  EXPECT_EQ(sameness(tensors, row.e, text("transpose [1,0] (transpose [1,0] x)").e).values,
            Sameness::Values::all_numbers);
}

/// All extents and widths of one product, even and uneven, by every rule that splits it.
TEST(PartIR, every_width_of_a_product) {
  std::size_t instances = 0;
  for_each_index({6, 6, 6, 7}, [&](const Sizes& i) {
    const std::map<Name, Sizes> tensors = {{"x", {i[0] + 1, i[1] + 1}},
                                           {"y", {i[1] + 1, i[2] + 1}}};
    const Expression e = matmul(variable("x"), variable("y"));
    const Scope scope = {tensors, {}};
    const Size w = i[3] + 1;
    const auto env = drawn(tensors);
    const Tensor<Number> value = value_of(env, e);
    for (const auto& right : {matmul_tile_0(scope, e, "r", w), matmul_tile_1(scope, e, "r", w),
                              matmul_sum(scope, e, "r", w), dumb_tiling(scope, e, 0, "r", w)}) {
      ASSERT_TRUE(right);
      EXPECT_TRUE(is_kept(tensors, *right, {i[0] + 1, i[2] + 1}, env, value));
      EXPECT_EQ(backwards(scope, *right), e);
      ++instances;
    }
  });
  EXPECT_EQ(instances, 6U * 6 * 6 * 7 * 4);
}

}  // namespace
}  // namespace spec::partir_test
