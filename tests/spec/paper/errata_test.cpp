/// One test per erratum: the printed text as code, which must fail, and our reading, which must
/// not.
///
/// docs/dev/errata.md says what is printed where, and which entries are observations: there the print is
/// right, and the test shows what it does not say. E25 needs Fig. 9 and stands in fig09_spmd_test.cpp.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <variant>

#include "spec/paper/def4_sequences.h"
#include "spec/paper/def5_weak.h"
#include "spec/paper/examples.h"
#include "spec/paper/fig09_spmd.h"
#include "spec/paper/fig10_low_level.h"
#include "spec/search/path.h"
#include "tests/spec/values.h"

namespace spec::errata_test {
namespace {

TileMap tiles(const Mesh& H, const char* text) { return tiles(H, type(H, text)).value(); }

/// T-ALLTOALL without i ≠ j, as it is printed.
Type printed_alltoall(const Mesh& H, Index i, Index j, const Type& e) {
  const Name x = e[i].xs.front();
  const Size n = *lookup(H, x);
  Type out = e;
  out[i] = {e[i].c * n, tail(e[i].xs), e[i].s};     // e'_i
  out[j] = {e[j].c / n, cons(x, e[j].xs), e[j].s};  // e'_j
  return out;
}

TEST(Errata, E1_dimensions_are_numbered_from_0) {
  const Mesh H = mesh("x:2");
  const auto printed_dim = [](const Type& tau, Index i) -> std::optional<Dim> {  // [d_1, ..., d_n]
    return 1 <= i && i <= tau.size() ? std::optional(tau[i - 1]) : std::nullopt;
  };
  const auto printed_globaltype = [&](const Type& tau) -> std::optional<Sizes> {  // [s_0, ..., s_n]
    Sizes out;
    for (Index i = 0; i <= tau.size(); ++i) {
      const auto d_i = printed_dim(tau, i);
      if (!d_i) return std::nullopt;
      out.push_back(d_i->s);
    }
    return out;
  };
  for (const char* text : {"[]", "[4]", "[2{x}4, 8]"}) {
    const Type tau = type(H, text);
    EXPECT_EQ(printed_globaltype(tau), std::nullopt) << text;  // there is no d_0
    EXPECT_EQ(globaltype(tau).size(), tau.size()) << text;
    EXPECT_EQ(rank(tau), base_offset_map(H, tau)->front().size()) << text;
  }
}

TEST(Errata, E2_the_base_case_is_a_dimension_without_axes) {
  const Mesh H = mesh("x:2");
  const Point i = {1};
  using Printed = std::variant<Size, Dim>;  // D⟦c⟧ has a bare size
  const std::function<std::optional<Size>(const Printed&)> printed_D = [&](const Printed& d) {
    if (std::holds_alternative<Size>(d)) return std::optional(Size{0});
    const auto& [c, xs, s] = std::get<Dim>(d);
    if (xs.empty()) return std::optional<Size>();  // no equation says D⟦c{}s⟧
    const Size k = *lookup(H, xs.front());
    const auto rest = printed_D(Dim{c * k, tail(xs), s});
    return rest ? std::optional(c * *coordinate(H, i, xs.front()) + *rest) : rest;
  };
  const Dim d = {2, {"x"}, 4};
  EXPECT_EQ(printed_D(Size{4}), 0);
  EXPECT_EQ(printed_D(d), std::nullopt);  // it ends in 4{}4
  EXPECT_EQ(base_offset(H, d, i), 2);
  // Neither reading keeps the size of an unsplit dimension; the type does, hence E6.
  EXPECT_EQ(base_offset_map(H, type(H, "[5]")), base_offset_map(H, type(H, "[7]")));
  EXPECT_NE(globaltype(type(H, "[5]")), globaltype(type(H, "[7]")));
}

TEST(Errata, E3_distinct_means_for_different_places) {
  const Mesh H = mesh("x:2,y:2");
  const auto printed_distinct = [](const Names& xs) {  // x_i ≠ x_j for every i, j
    for (const Name& x_i : xs) {
      for (const Name& x_j : xs) {
        if (x_i == x_j) return false;
      }
    }
    return true;
  };
  EXPECT_FALSE(printed_distinct({"x"}));  // no axis could be used at all
  EXPECT_TRUE(pairwise_distinct({"x"}));
  EXPECT_FALSE(pairwise_distinct({"x", "x"}));
  const auto printed_disjoint = [](const Type& tau) {  // x̄_i # x̄_j for every i, j
    for (const Dim& d_i : tau) {
      for (const Dim& d_j : tau) {
        for (const Name& x : d_i.xs) {
          if (std::find(d_j.xs.begin(), d_j.xs.end(), x) != d_j.xs.end()) return false;
        }
      }
    }
    return true;
  };
  EXPECT_FALSE(printed_disjoint(type(H, "[2{x}4, 2{y}4]")));
  EXPECT_TRUE(wf_type(H, type(H, "[2{x}4, 2{y}4]")));
  EXPECT_FALSE(wf_type(H, type(H, "[2{x}4, 2{x}4]")));
}

TEST(Errata, E4_alltoall_within_one_dimension_is_ill_formed) {
  const Mesh H = mesh("x:2");
  EXPECT_FALSE(wf_type(H, printed_alltoall(H, 0, 0, type(H, "[2{x}4]"))));
  EXPECT_EQ(t_alltoall(H, 0, 0, type(H, "[2{x}4]")), std::nullopt);
}

TEST(Errata, E5_allpermute_keeps_the_globaltype) {
  const Mesh H = mesh("x:2");
  const Type split = type(H, "[2{x}4]"), whole = type(H, "[2]");
  const auto printed = [](const Type& a, const Type& b) { return localtype(a) == localtype(b); };
  EXPECT_TRUE(printed(split, whole));  // half of the array would be gone
  EXPECT_FALSE(t_permute(split, whole));
}

TEST(Errata, E6_one_base_offset_map_cannot_have_two_globaltypes) {
  const Mesh H = mesh("x:2");
  const Type four = type(H, "[4]"), six = type(H, "[6]"), half = type(H, "[2{x}4]");
  ASSERT_EQ(base_offset_map(H, four), base_offset_map(H, six));
  // "T⟦τ_1⟧ -p-> T⟦τ_2⟧ iff H ⊢ p : τ_1 → τ_2" says yes and no of the same two maps.
  const Collective p = {Op::dynslice, 0, 0, "x", {}};
  EXPECT_NE(apply(H, p, four) == half, apply(H, p, six) == half);
  EXPECT_TRUE(strong_step(H, p, four, half));
  // An axis of size 1 does the same within one globaltype; so readers drop it.
  const Mesh with_unit = mesh("u:1");
  EXPECT_EQ(base_offset_map(with_unit, type(with_unit, "[4{u}4]")),
            base_offset_map(with_unit, type(with_unit, "[4]")));
  EXPECT_FALSE(wf_mesh(with_unit));
}

TEST(Errata, E7_base_offsets_are_below_the_globaltype_in_every_component) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau = type(H, "[2{x}4, 2{y}4]");
  const auto beta = *base_offset_map(H, tau);
  const std::set<Offset> image(beta.begin(), beta.end());
  const auto printed = [&](const Offset& o) { return o < globaltype(tau); };  // lexicographically
  const auto ours = [&](const Offset& o) {
    for (Index i = 0; i < o.size(); ++i) {
      if (o[i] >= tau[i].s || o[i] % tau[i].c != 0) return false;
    }
    return true;
  };
  EXPECT_TRUE(printed({0, 6}));  // (0, 6) < (4, 4), and no tile begins there
  EXPECT_TRUE(printed({1, 1}));
  for (Size a = 0; a < 8; ++a) {
    for (Size b = 0; b < 8; ++b) EXPECT_EQ(ours({a, b}), image.count({a, b}) == 1) << a << "," << b;
  }
}

TEST(Errata, E8_the_set_of_tiles_partitions_even_where_T_is_not_injective) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau = type(H, "[2{x}4]");
  const auto beta = *base_offset_map(H, tau);
  const std::set<Offset> image(beta.begin(), beta.end());
  ASSERT_LT(image.size(), beta.size());  // not 1-1, so footnote 4 speaks of a mere cover
  for (Size element = 0; element < 4; ++element) {
    const auto covers = [&](const Offset& o) { return o[0] <= element && element < o[0] + 2; };
    EXPECT_EQ(std::count_if(image.begin(), image.end(), covers), 1);
    EXPECT_EQ(std::count_if(beta.begin(), beta.end(), covers), 2);  // the family over devices
  }
}

TEST(Errata, E9_a_value_has_an_element_for_each_index_of_the_globaltype) {
  const Mesh H = mesh("x:2");
  const Type tau = type(H, "[2{x}4, 4]");
  const auto of_size = [](const Sizes& shape) {
    return Array{shape, std::vector<std::int64_t>(static_cast<Index>(size_of(shape)))};
  };
  const Array printed = of_size({static_cast<Size>(rank(tau))});  // v : ℝ^rank(τ)
  const Array ours = of_size(globaltype(tau));
  const auto beta = *base_offset_map(H, tau);
  for (const Offset& b : beta) {
    EXPECT_EQ(tile(printed, b, localtype(tau)), std::nullopt);  // v[β(ī)] would be nothing
    EXPECT_TRUE(tile(ours, b, localtype(tau)));
  }
}

TEST(Errata, E10_eq_2_needs_an_allgather_per_axis) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau = type(H, "[1{x,y}4, 4]"), replicated = type(H, "[4, 4]");
  const Collective once = {Op::allgather, 0, 0, "", {}};
  EXPECT_NE(sequence(H, tau, {once})->sigma.back(), replicated);  // one allgather(0), as printed
  EXPECT_EQ(sequence(H, tau, {once, once})->sigma.back(), replicated);
}

TEST(Errata, E11_weak_steps_relate_classes_by_some_representative) {
  const Mesh H = mesh("x:2,y:2");
  const Type a = type(H, "[2{x}4]"), b = type(H, "[2{y}4]"), slice = type(H, "[1{y,x}4]");
  ASSERT_TRUE(equivalent(*base_offset_map(H, a), *base_offset_map(H, b)));
  const Collective p = {Op::dynslice, 0, 0, "y", {}};
  // "iff" would make ▶ depend on the representative of one and the same class.
  EXPECT_NE(strong_step(H, p, a, slice), strong_step(H, p, b, slice));
  EXPECT_EQ(weak_step(4, {4}, {Op::dynslice, 0, 0, 2}, localtype(a)), localtype(slice));
}

TEST(Errata, E12_the_third_premise_of_ALLGATHER_speaks_of_the_new_device_map) {
  const Mesh H = mesh("x:2,y:2");
  const TypedAssignment from = {identity(H), type(H, "[1{x}2, 1{y}2]")};
  const Type after = type(H, "[2, 1{y}2]");
  const DeviceMap swapped = {1, 0, 3, 2};             // y = 0 and y = 1 change places
  const auto printed = [&](const DeviceMap& phi_1) {  // β' ∘ φ⁻¹ = β ∘ φ⁻¹ leaves φ' free
    return is_device_map(phi_1) && same_tile_map(H, {from.phi, from.tau}, from);
  };
  EXPECT_TRUE(printed(swapped));  // each device would hold another's columns after an allgather
  EXPECT_FALSE(low_level_allgather(H, 0, "x", from, {swapped, after}));
  EXPECT_TRUE(low_level_allgather(H, 0, "x", from, {from.phi, after}));
  EXPECT_NE(tile_map(H, {swapped, after}), tile_map(H, {from.phi, after}));
  // PERMUTE as printed ends over another mesh H'; with fewer points φ' is no bijection to D.
  const Mesh smaller = mesh("x:2");
  EXPECT_EQ(tile_map(smaller, {from.phi, type(smaller, "[1{x}2, 1]")}), std::nullopt);
  // It says nothing of globaltypes: all devices hold one tile at 0, of [4] and of [2].
  const TypedAssignment four = {identity(H), type(H, "[4]")}, two = {identity(H), type(H, "[2]")};
  EXPECT_TRUE(equivalent(*tile_map(H, four), *tile_map(H, two)));  // β' ∘ φ'⁻¹ = β ∘ φ⁻¹ ∘ π
  EXPECT_FALSE(low_level_allpermute(H, four, two));
  EXPECT_TRUE(low_level_allpermute(H, four, four));
}

TEST(Errata, E13_labels_agree_up_to_naming_the_axis_or_its_dimension) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau = type(H, "[1{x,y}4]");
  // Two labels of ⇒, allgather(x) and allgather(y), belong to the one label allgather(0) of ▶; so
  // "the same p" cannot mean the same label.
  const std::map<Name, const char*> after = {{"x", "[2{y}4]"}, {"y", "[2{x}4]"}};
  std::set<Name> labels;
  for (const auto& [x, text] : after) {
    TypedAssignment to = {identity(H), type(H, text)};
    do {
      if (low_level_allgather(H, 0, x, {identity(H), tau}, to)) labels.insert(x);
    } while (std::next_permutation(to.phi.begin(), to.phi.end()));
    EXPECT_EQ(weak_step(4, {4}, {Op::allgather, 0, 0, 2}, localtype(tau)), localtype(to.tau)) << x;
  }
  EXPECT_EQ(labels, (std::set<Name>{"x", "y"}));
}

TEST(Errata, E14_the_new_device_map_is_not_determined) {
  const Mesh H = mesh("x:2,y:2");
  const TypedAssignment from = {identity(H), type(H, "[1{x}2, 4]")};
  const Type after = type(H, "[2, 4]");
  DeviceMap phi_1 = identity(H);
  std::set<DeviceMap> found;
  std::set<std::vector<Offset>> meanings;
  do {
    if (!low_level_allgather(H, 0, "x", from, {phi_1, after})) continue;
    found.insert(phi_1);
    meanings.insert(*tile_map(H, {phi_1, after}));
  } while (std::next_permutation(phi_1.begin(), phi_1.end()));
  EXPECT_GT(found.size(), 1U);     // "a definition of φ'" there is none
  EXPECT_EQ(meanings.size(), 1U);  // but all mean one tile map: Def. 6.2 repairs it
}

TEST(Errata, E15_the_printed_type_of_Sec_2_5_is_none) {
  const Mesh H = mesh("xdevs:4,ydevs:8");
  EXPECT_EQ(parse_type(H, "[32{\"xdevs\"}, {\"ydevs\"}1024, 32]"), std::nullopt);
  const Type meant = type(H, "[32{\"xdevs\",\"ydevs\"}1024, 32]");
  const Type from = type(H, "[32{xdevs}128, 32{ydevs}256]");
  EXPECT_TRUE(wf_type(H, meant));
  EXPECT_EQ(localtype(from), localtype(meant));  // what the paper says of the two
  EXPECT_NE(globaltype(from), globaltype(meant));
}

/// Whether the three swaps of Fig. 3, repeated, lead from `from` to `to`.
bool swaps_reach(const Mesh& H, const Type& from, const Type& to) {
  std::set<std::vector<Names>> seen;
  std::vector<Type> open = {from};
  const auto lists = [](const Type& tau) {
    std::vector<Names> out;
    for (const Dim& d : tau) out.push_back(d.xs);
    return out;
  };
  while (!open.empty()) {
    const Type tau = open.back();
    open.pop_back();
    if (tau == to) return true;
    if (!seen.insert(lists(tau)).second) continue;
    for (const auto& [x, k] : H) {
      for (const auto& [y, n] : H) {  // x and y, of one size, change places wherever they stand
        if (k != n || x == y) continue;
        Type next = tau;
        for (Dim& d : next) {
          for (Name& z : d.xs) z = z == x ? y : z == y ? x : z;
        }
        open.push_back(next);
      }
    }
    for (Index i = 0; i < tau.size(); ++i) {  // two neighbours within a dimension
      for (Index a = 1; a < tau[i].xs.size(); ++a) {
        Type next = tau;
        std::swap(next[i].xs[a - 1], next[i].xs[a]);
        open.push_back(next);
      }
    }
  }
  return false;
}

TEST(Errata, E16_swaps_of_axes_make_every_typed_permutation_on_prime_meshes_only) {
  const Mesh H = mesh("x:4,y:2,z:2");
  const Type from = type(H, "[2{x}8]"), to = type(H, "[2{y,z}8]");
  EXPECT_TRUE(t_permute(from, to));
  EXPECT_FALSE(swaps_reach(H, from, to));  // "any permutation is a composition of the three"
  Index pairs = 0;
  for (const auto& [prime, g] : spaces(2, 8)) {
    const auto all = all_types(prime, g);
    for (const Type& tau_1 : all) {
      for (const Type& tau_2 : all) {
        if (!t_permute(tau_1, tau_2)) continue;
        ++pairs;
        EXPECT_TRUE(swaps_reach(prime, tau_1, tau_2)) << to_text(tau_1) << " " << to_text(tau_2);
      }
    }
  }
  std::cout << pairs << " typed permutations on prime meshes are compositions of the three swaps\n";
  EXPECT_GT(pairs, 1000U);
}

TEST(Errata, E17_the_third_step_of_Example_3_1_goes_from_dimension_0_to_1) {
  const Mesh H = mesh("x1:2,x2:2,y1:3,y2:2");
  const Type third = type(H, "[1{x1,y1,x2}12, 6{y2}12]"),
             after = type(H, "[2{y1,x2}12, 3{x1,y2}12]");
  EXPECT_NE(t_alltoall(H, 1, 0, third), after);  // as printed
  EXPECT_EQ(t_alltoall(H, 0, 1, third), after);
  // "Not much space other than allgather to the fully replicated type": 24 elements suffice.
  const Mesh whole = mesh("x:4,y:6");
  const auto other = sequence(
      whole, type(whole, "[3{x}12, 2{y}12]"),
      {{Op::allgather, 0, 0, "", {}}, {Op::alltoall, 1, 0, "", {}}, {Op::dynslice, 1, 0, "x", {}}});
  ASSERT_TRUE(other);
  EXPECT_EQ(to_text(other->sigma.back()), "[2{y}12, 3{x}12]");
  EXPECT_EQ(height(*other), 24);
  EXPECT_LT(height(*other), 144);
}

TEST(Errata, E18_8_in_braces_is_no_dimension) {
  const Mesh H = mesh("a:8");
  EXPECT_EQ(parse_type(H, "[1{a}8, 8{8}]"), std::nullopt);
  EXPECT_EQ(type(H, "[1{a}8, 8{}8]"), type(H, "[1{a}8, 8]"));
}

TEST(Errata, E19_three_alltoalls_reverse_the_digits_whatever_axes_are_picked) {
  for (const LowLevelSequence& s : low_level_sequences()) {
    const Mesh H = mesh(s.mesh);
    TypedAssignment a = {identity(H), type(H, s.from)};
    auto f = physical(H, a);
    for (const LowLevelArrow& arrow : s.arrows) {  // well-typed: some φ' satisfies Fig. 10
      if (!arrow.axis) continue;
      TypedAssignment next = {identity(H), type(H, arrow.type)};
      bool found = false;
      do {
        found = low_level_alltoall(H, 0, 1, arrow.axis, a, next);
      } while (!found && std::next_permutation(next.phi.begin(), next.phi.end()));
      ASSERT_TRUE(found) << s.name << " " << arrow.type;
      a = next;
      f = alltoall(*f, 0, 1, 2);  // no choice is left on tile maps (S1)
      EXPECT_EQ(f, physical(H, a)) << s.name;
    }
    EXPECT_NE(*f, tiles(H, "[8, 1{a0,a1,a2}8]")) << s.name;  // the allpermute is always needed
    EXPECT_EQ(*f, tiles(H, "[8, 1{a2,a1,a0}8]")) << s.name;  // and with this target never
    if (std::string(s.name) == "(10)") {
      EXPECT_EQ(to_text(a.tau), "[8, 1{a0,a1,a2}8]");
      EXPECT_NE(a.phi, identity(H));  // "if it then happens to be the case that φ_3 = φ"
    }
    ASSERT_EQ(s.arrows.back().axis, nullptr) << s.name;  // => allpermute, back to φ
    const TypedAssignment end = {identity(H), type(H, s.arrows.back().type)};
    EXPECT_EQ(to_text(end.tau), "[8, 1{a0,a1,a2}8]") << s.name;
    EXPECT_TRUE(low_level_allpermute(H, a, end)) << s.name;
    EXPECT_FALSE(low_level_allpermute(H, {identity(H), type(H, s.from)}, end)) << s.name;
  }
}

TEST(Errata, E20_one_alltoall_over_three_axes_keeps_their_order) {
  const Mesh H = mesh("a0:2,a1:2,a2:2");
  const Type from = type(H, "[1{a0,a1,a2}8, 8]"), to = type(H, "[8, 1{a0,a1,a2}8]");
  EXPECT_EQ(t_alltoall(H, 0, 1, {"a0", "a1", "a2"}, from), to);  // no allpermute "if required"
  EXPECT_EQ(alltoall(tiles(H, "[1{a0,a1,a2}8, 8]"), 0, 1, 8), tiles(H, "[8, 1{a0,a1,a2}8]"));
  EXPECT_EQ(cost(Op::alltoall, localsize(from), localsize(to)), 8);
}

TEST(Errata, E21_steps_merge_when_kind_and_dimensions_agree) {
  const Sizes g = {4, 4, 4}, c = {1, 4, 4};
  const auto two = [&](const WeakCollective& p, const WeakCollective& q) {
    return *weak_step(4, g, q, *weak_step(4, g, p, c));
  };
  const auto one_step_reaches = [&](const Sizes& end) {
    for (const WeakCollective& p : weak_steps(4, g, c)) {
      if (p.p == Op::alltoall && weak_step(4, g, p, c) == end) return true;
    }
    return false;
  };
  const WeakCollective to_1 = {Op::alltoall, 0, 1, 2}, to_2 = {Op::alltoall, 0, 2, 2};
  EXPECT_FALSE(one_step_reaches(two(to_1, to_2)));  // "the same kind of operation"
  EXPECT_TRUE(one_step_reaches(two(to_1, to_1)));
  // And merging is a weak equality: the order of the axes is another.
  const Mesh H = mesh("x:2,y:2");
  const Type tau = type(H, "[1{x,y}4, 4, 4]");
  EXPECT_NE(t_alltoall(H, 0, 1, {"x", "y"}, tau), t_alltoall(H, 0, 1, *t_alltoall(H, 0, 1, tau)));
}

TEST(Errata, E22_the_type_that_is_picked_matters_for_dynslices_only) {
  const Mesh H = mesh("x:2,y:2");
  // "Picking types τ' based on the axes that appear in the final type" says: the pick has an
  // effect.
  const auto has_effect = [&](const TypedAssignment& a, const TypedAssignment& b) {
    return tile_map(H, a) != tile_map(H, b);
  };
  const TypedAssignment from = {identity(H), type(H, "[1{x,y}4]")};
  const TypedAssignment by_x = {identity(H), type(H, "[2{y}4]")};
  const TypedAssignment by_y = {{0, 2, 1, 3}, type(H, "[2{x}4]")};
  ASSERT_TRUE(low_level_allgather(H, 0, "x", from, by_x));
  ASSERT_TRUE(low_level_allgather(H, 0, "y", from, by_y));
  EXPECT_FALSE(has_effect(by_x, by_y));  // each device holds the same tile, whatever the type says
  const TypedAssignment whole = {identity(H), type(H, "[4]")};
  const TypedAssignment slice_x = {identity(H), type(H, "[2{x}4]")};
  const TypedAssignment slice_y = {identity(H), type(H, "[2{y}4]")};
  ASSERT_TRUE(low_level_dynslice(H, 0, "x", whole, slice_x));
  ASSERT_TRUE(low_level_dynslice(H, 0, "y", whole, slice_y));
  EXPECT_TRUE(has_effect(slice_x, slice_y));
}

TEST(Errata, E23_P1_to_P3_need_no_allpermute) {
  Index found = 0;
  for (const WorkedSequence& s : worked_sequences()) {
    const std::string name = s.name;
    if (name != "Fig. 13, P1" && name != "Fig. 13, P2" && name != "Fig. 13, P3") continue;
    ++found;
    const Mesh H = mesh(s.mesh);
    Type tau = type(H, s.from);
    Sizes localsizes = {localsize(tau)};
    std::vector<Op> p;
    for (const Arrow& arrow : s.arrows) {
      const Type next = type(H, arrow.type);
      const auto collective = parse_collective(arrow.label, tau, next);
      ASSERT_TRUE(collective && apply(H, *collective, tau) == next) << name << " " << arrow.label;
      p.push_back(collective->p);
      localsizes.push_back(localsize(next));
      tau = next;
    }
    EXPECT_EQ(std::count(p.begin(), p.end(), Op::allpermute), 0) << name;
    EXPECT_EQ(cost(p, localsizes), localsizes.back()) << name;  // L2: no plan that moves is cheaper
    // "Generates dynslice, alltoall and allpermute": the optimum does without, by brute force.
    TileSearch without_permute;
    without_permute.permute = false;
    const auto best = optimum(H, type(H, s.from), tau, without_permute);
    EXPECT_EQ(best.value().cost, localsizes.back()) << name;
  }
  EXPECT_EQ(found, 3U);
}

TEST(Errata, E29_the_dynslice_of_lemma_6_3_takes_an_unused_axis) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau_1 = type(H, "[2{x}4]"), other = type(H, "[2{y}4]");
  ASSERT_TRUE(t_dynslice(H, 0, "y", tau_1));   // τ_1 ▶dynslice(0,y) τ_2
  EXPECT_FALSE(t_dynslice(H, 0, "y", other));  // "conclude ⇒p": y is in use in β = T⟦other⟧
  const auto ours = t_dynslice(H, 0, "x", other);  // any unused axis of that size
  ASSERT_TRUE(ours);
  EXPECT_EQ(localtype(*ours), localtype(*t_dynslice(H, 0, "y", tau_1)));
}

TEST(Errata, E31_permute_ends_in_semantic_types) {
  const Mesh H = mesh("x:2,y:2");
  const auto from = *tile_map(H, {identity(H), type(H, "[1{x,y}4]")});
  BaseOffsetMap beta = from;
  std::sort(beta.begin(), beta.end());
  Index printed = 0, ours = 0;
  do {  // ⟨id, β'⟩, with β' any map of the class
    const auto f = *tile_map(DeviceAssignment{identity(H), beta});
    printed += equivalent(from, f) ? 1U : 0U;  // some π
    for (const Type& tau : all_types(H, {4})) {
      const TypedAssignment to = {identity(H), tau};
      if (*tile_map(H, to) != f) continue;  // β' = T⟦τ⟧
      ours += low_level_allpermute(H, {identity(H), type(H, "[1{x,y}4]")}, to) ? 1U : 0U;
    }
  } while (std::next_permutation(beta.begin(), beta.end()));
  EXPECT_EQ(printed, 24U);
  EXPECT_EQ(ours, 2U);  // footnote 5: "base offset maps that are semantic types"
}

/// Appendix B, (4): of the n tiles of an alltoall those that remain local are "of lower order in
/// n", and neglected. They are one in n: for n = 2 half of what a device holds. B counts for an
/// allgather, too, the tile that a device has already, without a word. Counted by element.
TEST(Errata, E24_what_remains_local_is_one_in_n) {
  for (const char* text : {"x:2", "x:3"}) {
    const Mesh line = mesh(text);
    const Size n = line[0].k, s = 12;
    // How many elements of its tile after the step no device holds before it; equal on all.
    const auto received = [&](const Type& before, const Type& after) {
      const auto b = *base_offset_map(line, before), b_1 = *base_offset_map(line, after);
      std::set<Size> counts;
      for (Index d = 0; d < b.size(); ++d) {
        Size count = 0;
        for (Size row = 0; row < after[0].c; ++row) {
          for (Size column = 0; column < after[1].c; ++column) {
            const Size i = b_1[d][0] + row - b[d][0], j = b_1[d][1] + column - b[d][1];
            count += i < 0 || i >= before[0].c || j < 0 || j >= before[1].c ? 1 : 0;
          }
        }
        counts.insert(count);
      }
      EXPECT_EQ(counts.size(), 1U);
      return *counts.begin();
    };
    const Type rows = {{s / n, {"x"}, s}, {s, {}, s}}, columns = {{s, {}, s}, {s / n, {"x"}, s}},
               whole = {{s, {}, s}, {s, {}, s}};
    ASSERT_EQ(t_alltoall(line, 0, 1, rows), columns);
    ASSERT_EQ(t_allgather(line, 0, rows), whole);
    const Size moved = received(rows, columns), gathered = received(rows, whole);
    const Size price = cost(Op::alltoall, localsize(rows), localsize(columns)),
               price_gathered = cost(Op::allgather, localsize(rows), localsize(whole));
    EXPECT_EQ(n * moved, (n - 1) * price);
    EXPECT_EQ(n * gathered, (n - 1) * price_gathered);
    EXPECT_LT(moved, price);  // so nothing is exact that neglects it
    EXPECT_EQ(2 * (price - moved) == price, n == 2);
  }
  const Mesh line = mesh("x:2");
  const Type before = type(line, "[6{x}12]"), after = type(line, "[12]");
  const auto b = *base_offset_map(line, before), b_1 = *base_offset_map(line, after);
  for (Index d = 0; d < b.size(); ++d) {
    Size received = 0;
    for (Size element = b_1[d][0]; element < b_1[d][0] + 12; ++element) {
      if (element < b[d][0] || element >= b[d][0] + 6) ++received;
    }
    EXPECT_EQ(2 * received, cost(Op::allgather, localsize(before), localsize(after)));
  }
}

}  // namespace
}  // namespace spec::errata_test
