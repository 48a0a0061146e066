// PartIR:SPMD: distribute, undistribute and redistribute, and every rule that fuses them on all pairs of
// layouts of a small array, with a twin that lacks its premise.
#include "spec/programs/partir_spmd.h"

#include <gtest/gtest.h>

#include "spec/program/layout_text.h"

namespace spec::partir_spmd_test {
namespace {

// Beside files that read other parts of spec/, which have these names, too.
using partir::distribute;
using partir::named;
using partir::redistribute;
using partir::Term;
using partir::TermGamma;
using partir::undistribute;

using Number = std::int64_t;
using Value = partir::Denotation<Number>;
using Tiles = std::vector<Tensor<Number>>;

/// Tokens of a text.
class Reader : public Tokens {
 public:
  explicit Reader(std::string_view text) : Tokens(text) { next_line(); }
};
Layout layout(const std::string& text, const std::string& axes = "r:2,s:2") {
  Reader mesh(axes), in(text);
  return read_layout(in, read_positions(mesh));
}

const std::vector<std::string> layouts = {"[3, 4]",       "[2{r}3, 4]",      "[2{s}3, 4]",
                                          "[3, 2{r}4]",   "[2{r}3, 2{s}4]",  "[1{r,s}3, 4]",
                                          "[3, 1{s,r}4]", "[2{r}3<1,0>, 4]", "[3, 4]@0",
                                          "[3, 4]@3",     "[1{s,r}3, 4]",    "[2{s}3, 2{r}4]"};

/// x is a tensor, and y a distributed one of the first kind that has a different number at each place.
struct Scope {
  TermGamma gamma = {4, {}};
  std::map<Name, Value> values;
};
Scope scope(const Layout& tau) {
  Scope out;
  Number next = 0;
  const auto x = tensor_of<Number>({3, 4}, [&](const Sizes&) { return ++next; });
  out.gamma.types = {{"x", Sizes{3, 4}}, {"y", tau}};
  out.values["x"] = x;
  out.values["y"] = partir::distributed(x, tau, 4);
  return out;
}
bool same_value(const Scope& it, const Term& a, const Term& b) {
  const Value x = partir::value_of(it.gamma, it.values, a);
  const Value y = partir::value_of(it.gamma, it.values, b);
  return x == y;
}
bool same_type(const Scope& it, const Term& a, const Term& b) {
  const auto x = partir::type_of(it.gamma, a), y = partir::type_of(it.gamma, b);
  return x && y && partir::is_same_type(*x, *y, it.gamma.D);
}
void expect_kept(const Scope& it, const Term& before, const Term& after) {
  EXPECT_TRUE(same_type(it, before, after));
  EXPECT_TRUE(same_value(it, before, after));
}

TEST(PartIRSPMD, distributed_types_are_those_of_the_talk) {
  // distributed_tensor<(r:range(32,16)) -> [r,8]>, and with replication over s.
  const Layout tau = layout("[16{r}32, 8]", "r:2");
  EXPECT_EQ(partir::global_type(tau), (Sizes{32, 8}));
  EXPECT_EQ(spmd::shape_of(spmd::local_boxes(tau, 2)[1]), (Sizes{16, 8}));
  const TermGamma gamma = {2, {{"x", Sizes{32, 8}}}};
  const auto type = partir::type_of(gamma, distribute(tau, named("x")));
  ASSERT_TRUE(type);
  EXPECT_TRUE(partir::is_same_type(*type, tau, 2));
  const auto back = partir::type_of(gamma, undistribute(distribute(tau, named("x"))));
  ASSERT_TRUE(back);
  EXPECT_TRUE(partir::is_same_type(*back, Sizes{32, 8}, 2));
}

TEST(PartIRSPMD, terms_without_a_type) {
  const Scope it = scope(layout("[2{r}3, 4]"));
  const auto has_type = [&](const Term& t) { return partir::type_of(it.gamma, t).has_value(); };
  const Layout tau = layout("[3, 2{r}4]");
  EXPECT_TRUE(has_type(distribute(tau, named("x"))));
  EXPECT_FALSE(has_type(distribute(tau, named("y"))));    // it is distributed already
  EXPECT_FALSE(has_type(redistribute(tau, named("x"))));  // it is not yet
  EXPECT_TRUE(has_type(redistribute(tau, named("y"))));
  EXPECT_FALSE(has_type(undistribute(named("x"))));
  EXPECT_TRUE(has_type(undistribute(named("y"))));
  EXPECT_FALSE(has_type(named("z")));
  EXPECT_FALSE(has_type(distribute(layout("[4, 2{r}4]"), named("x"))));  // another global type
  EXPECT_FALSE(has_type(redistribute(layout("[4, 2{r}4]"), named("y"))));
  EXPECT_FALSE(has_type(distribute(layout("sum{r}[3, 4]"), named("x"))));  // which addends?
}

TEST(PartIRSPMD, undistribute_of_distribute_is_nothing) {
  for (const std::string& text : layouts) {
    SCOPED_TRACE(text);
    const Scope it = scope(layout(text));
    const Term before = undistribute(distribute(layout(text), named("x")));
    const auto after = partir::fuse_undistribute(it.gamma, before);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->kind, partir::Distribution::variable);
    expect_kept(it, before, *after);
    EXPECT_FALSE(partir::fuse_undistribute(it.gamma, undistribute(named("y"))));
    EXPECT_FALSE(partir::fuse_undistribute(it.gamma, distribute(layout(text), named("x"))));
  }
}

TEST(PartIRSPMD, distribute_of_undistribute_is_nothing_or_a_redistribution) {
  std::size_t nothing = 0, moves = 0, twin_is_wrong = 0;
  for (const std::string& from : layouts) {
    for (const std::string& to : layouts) {
      SCOPED_TRACE(from + " to " + to);
      const Scope it = scope(layout(from));
      const Term before = distribute(layout(to), undistribute(named("y")));
      const auto second = partir::fuse_distribute(it.gamma, before);
      ASSERT_EQ(second.has_value(), from == to);
      if (second) {
        expect_kept(it, before, *second);
        ++nothing;
      }
      const auto third = partir::fuse_redistribute(it.gamma, before);
      ASSERT_TRUE(third);
      expect_kept(it, before, *third);
      ++moves;
      // The second rule without its premise.
      if (!same_type(it, before, named("y")) || !same_value(it, before, named("y")))
        ++twin_is_wrong;
      // The third one without τ, as the talk has it: a redistribution to what it is in.
      const Term to_itself = redistribute(layout(from), named("y"));
      EXPECT_EQ(same_type(it, before, to_itself), from == to);
    }
  }
  EXPECT_EQ(nothing, layouts.size());
  EXPECT_EQ(moves, layouts.size() * layouts.size());
  EXPECT_EQ(twin_is_wrong, moves - nothing);
}

TEST(PartIRSPMD, chains_become_redistributions_where_types_differ) {
  std::size_t chains = 0;
  for (const std::string& a : layouts) {
    for (const std::string& b : layouts) {
      for (const std::string& c : {layouts[0], layouts[4], layouts[7]}) {
        const Scope it = scope(layout(a));
        const Term before = undistribute(
            distribute(layout(c), undistribute(distribute(layout(b), undistribute(named("y"))))));
        const Term after = partir::fused(it.gamma, before);
        expect_kept(it, before, after);
        ASSERT_EQ(after.kind, partir::Distribution::undistribute);
        int redistributions = 0;
        const Term* at = &after.args[0];
        for (; at->kind == partir::Distribution::redistribute; at = &at->args[0]) ++redistributions;
        EXPECT_EQ(at->kind, partir::Distribution::variable);
        EXPECT_EQ(redistributions, (a == b ? 0 : 1) + (b == c ? 0 : 1));
        ++chains;
      }
    }
  }
  EXPECT_EQ(chains, layouts.size() * layouts.size() * 3);
}

TEST(PartIRSPMD, a_redistribution_takes_elements_from_who_has_them) {
  const Scope it = scope(layout("[3, 4]@3"));
  const Value got =
      partir::value_of(it.gamma, it.values, redistribute(layout("[2{r}3, 2{s}4]"), named("y")));
  const auto& tiles = std::get<Tiles>(got);
  EXPECT_EQ(tiles[0].elements, (std::vector<Number>{1, 2, 5, 6}));
  EXPECT_EQ(tiles[3].elements, (std::vector<Number>{11, 12}));
}

}  // namespace
}  // namespace spec::partir_spmd_test
