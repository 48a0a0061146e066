#include "retile/notation/paper/problem.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "retile/notation/paper/notation.h"
#include "support/generators.h"
#include "support/values.h"

namespace problem_test {
namespace {

using retile::Code;
using retile::parse_problem;
using retile::Problem;

std::string refusal(std::string_view from, std::string_view to, std::string_view mesh = "x:4,y:6") {
  const auto problem = parse_problem(mesh, from, to);
  if (problem) return "accepted";
  return std::string(code_name(problem.error().code)) + "\n" + render(problem.error());
}

TEST(Problem, example_3_1) {
  const Problem problem = support::problem("x:4,y:6", "[3{x}12,2{y}12]", "[2{y}12,3{x}12]");
  EXPECT_EQ(problem.from.global(), problem.to.global());
  EXPECT_EQ(problem.from, layout_of(problem.spelling->mesh, support::from_type(problem)));
  EXPECT_EQ(problem.to, layout_of(problem.spelling->mesh, support::to_type(problem)));
  EXPECT_EQ(problem.spelling->to, "[2{y}12, 3{x}12]");
}

TEST(Problem, types_of_equal_global_sizes_are_accepted) {
  EXPECT_EQ(refusal("[12, 2{y}12]", "[3{x}12, 12]"), "accepted");
  EXPECT_EQ(refusal("[]", "[]"), "accepted");
}

TEST(Problem, a_dimension_too_many_is_pointed_at) {
  EXPECT_EQ(refusal("[3{x}12]", "[2{y}12,3{x}12]"),
            "rank_mismatch\nerror: TO: FROM has 1 dimension, TO has 2 dimensions [Sec. 2.5]\n"
            "  [2{y}12,3{x}12]\n          ^~~~~~\n"
            "note: a redistribution keeps the array; FROM is [3{x}12]\n");
}

TEST(Problem, a_missing_dimension_is_pointed_at) {
  EXPECT_EQ(refusal("[3{x}12, 12]", "[2{y}12 ]"),
            "rank_mismatch\nerror: TO: FROM has 2 dimensions, TO has 1 dimension [Sec. 2.5]\n"
            "  [2{y}12 ]\n          ^\n"
            "note: a redistribution keeps the array; FROM is [3{x}12, 12]\n");
}

TEST(Problem, different_global_sizes_are_pointed_at) {
  EXPECT_EQ(refusal("[3{x}12, 12]", "[2{y}12, 6{x}24]"),
            "globaltype_mismatch\n"
            "error: TO: global sizes must agree: dimension 1 has size 12 in FROM and 24 in TO "
            "[Sec. 2.5]\n"
            "  [2{y}12, 6{x}24]\n           ^~~~~~\n"
            "note: FROM is [3{x}12, 12]\nnote: 3{x}12 has the global size of FROM\n");
}

TEST(Problem, ends_may_have_meshes_and_orders_of_their_own) {
  const retile::PlacedMesh four{retile::parse_mesh("x:4").value()};
  retile::PlacedMesh six{retile::parse_mesh("y:6").value()};
  const Problem wider = parse_problem(four, six, "[3{x}12]", "[2{y}12]").value();
  EXPECT_EQ(wider.from.devices(), 6);
  EXPECT_EQ(wider.from.box(3), (retile::Box{{9}, {3}}));
  EXPECT_EQ(wider.from.box(4), (retile::Box{{0}, {0}}));
  EXPECT_EQ(wider.to.box(5), (retile::Box{{10}, {2}}));
  EXPECT_EQ(wider.spelling->from, "[3{x}12]");
  EXPECT_EQ(wider.spelling->to, "[2{y}12]");
  EXPECT_EQ(wider.spelling->mesh_to, six.mesh);

  six.order = retile::DeviceTable::list({9, 8, 7, 6, 5, 4});
  const Problem apart = parse_problem(four, six, "[3{x}12]", "[2{y}12]").value();
  EXPECT_EQ(apart.from.devices(), 10);
  EXPECT_EQ(apart.to.box(9), (retile::Box{{0}, {2}}));
  EXPECT_EQ(apart.to.box(4), (retile::Box{{10}, {2}}));
  EXPECT_EQ(apart.to.box(3), (retile::Box{{0}, {0}}));

  // Without a mesh of its own the end has that of the start, and any device may hold all.
  const Problem same = parse_problem(six, {}, "[12]@1", "[2{y}12]").value();
  EXPECT_EQ(same.from.devices(), 10);
  EXPECT_EQ(same.from.box(1), (retile::Box{{0}, {12}}));
  EXPECT_EQ(same.to.box(9), (retile::Box{{0}, {2}}));
  EXPECT_FALSE(same.spelling->mesh_to);
}

TEST(Problem, positions_are_said_where_one_iota_places_both_ends) {
  retile::PlacedMesh four{retile::parse_mesh("x:4").value()};
  retile::IotaChain chain(4);
  chain.append({{2, 2}, {1, 0}});
  four.order = retile::DeviceTable::iota(chain, 4);
  const auto placed = [](const retile::PlacedMesh& from, const retile::PlacedMesh& to,
                         const char* target = "[12, 1{x}4]") {
    return parse_problem(from, to, "[3{x}12, 4]", target).value().placed;
  };
  const auto positions = placed(four, four);
  ASSERT_TRUE(positions.has_value());
  EXPECT_EQ(positions->from.box(1), (retile::Box{{3, 0}, {3, 4}}));
  EXPECT_EQ(positions->device_at.entries(), (std::vector<retile::Size>{0, 2, 1, 3}));
  retile::PlacedMesh other = four;
  other.order = retile::DeviceTable::list({0, 2, 1, 3});  // which is that iota
  EXPECT_TRUE(placed(other, other));
  other.order = retile::DeviceTable::iota(retile::IotaChain(4), 4);
  EXPECT_FALSE(placed(four, other));
  other.order.reset();
  EXPECT_FALSE(placed(four, other));
  EXPECT_FALSE(placed(other, other));
  EXPECT_FALSE(placed(four, four, "[12, 4]@3"));  // a device, not a position
  EXPECT_FALSE(parse_problem(four, four, "[12, 4]@3", "[12, 1{x}4]").value().placed);
}

TEST(Problem, an_end_that_its_order_scatters_says_so) {
  using Reasons = std::pair<std::string, std::string>;
  const retile::PlacedMesh four{retile::parse_mesh("x:4").value()};
  const retile::PlacedMesh five{retile::parse_mesh("y:5").value()};
  retile::PlacedMesh turned = four;
  turned.order = retile::DeviceTable::list({3, 1, 0, 2});
  const auto why = [](const retile::PlacedMesh& from, const retile::PlacedMesh& to,
                      const char* source, const char* target) {
    const Problem made = parse_problem(from, to, source, target).value();
    return Reasons(made.spelling->scattered.value_or(""), made.spelling->scattered_to.value_or(""));
  };
  const std::string list = "lists devices one by one";
  EXPECT_EQ(why(four, turned, "[3{x}12]", "[3{x}12]"), Reasons("", "the order of to " + list));
  EXPECT_EQ(why(turned, five, "[3{x}12]", "[12]"), Reasons("the order of from " + list, ""));
  EXPECT_EQ(why(four, five, "[3{x}12]", "[12]"), Reasons("from stands on 4 of 5 devices", ""));
  // What one device holds alone, it holds in every order.
  EXPECT_EQ(why(turned, four, "[12]@3", "[12]"), Reasons("", ""));
}

TEST(Problem, what_no_device_or_every_device_must_hold_is_refused) {
  const retile::PlacedMesh two{retile::parse_mesh("x:2").value()};
  const retile::PlacedMesh three{retile::parse_mesh("y:3").value()};
  EXPECT_EQ(parse_problem(two, three, "[]", "[]").error().code, Code::unsupported);
  EXPECT_EQ(parse_problem(two, three, "[4]@3", "[4]").error().code, Code::bad_device);
  EXPECT_EQ(parse_problem(two, three, "[2{y}4]", "[4]").error().code, Code::unknown_axis);
  retile::PlacedMesh far = two;
  far.order = retile::DeviceTable::list({0, 2147483647});
  EXPECT_EQ(parse_problem(far, {}, "[2{x}4]", "[4]").value().numbers.list(),
            (std::vector<retile::Size>{0, 2147483647}));
  EXPECT_EQ(parse_problem(two, far, "[2{x}4]", "[4]").error().code, Code::limit_reached);
  EXPECT_EQ(parse_problem(two, far, "[2{x}4]", "[4]").error().source, "--order-to");
  EXPECT_EQ(parse_problem(far, two, "[4]", "[4]@1").error().source, "--order");
  retile::PlacedMesh turned = two;
  turned.order = retile::DeviceTable::list({1, 0});
  EXPECT_EQ(parse_problem(turned, far, "[2{x}4]", "[4]").error().source, "--order-to");
}

TEST(Problem, a_repair_is_only_offered_when_it_divides) {
  EXPECT_EQ(refusal("[10]", "[3{x}12]"),
            "globaltype_mismatch\n"
            "error: TO: global sizes must agree: dimension 0 has size 10 in FROM and 12 in TO "
            "[Sec. 2.5]\n"
            "  [3{x}12]\n   ^~~~~~\nnote: FROM is [10]\n");
}

TEST(Problem, mesh_and_types_are_named_in_their_diagnostics) {
  EXPECT_EQ(parse_problem("", "[12]", "[12]").error().source, "--mesh");
  EXPECT_EQ(parse_problem("x:4", "[12", "[12]").error().source, "FROM");
  EXPECT_EQ(parse_problem("x:4", "[12]", "[12").error().source, "TO");
}

TEST(Problem, made_from_values_the_diagnostic_shows_the_canonical_text) {
  const auto mesh = support::mesh("x:4,y:6");
  const auto problem =
      make_problem(mesh, support::type("[12]", mesh), support::type("[ 2{x}8 ]", mesh));
  ASSERT_FALSE(problem.has_value());
  EXPECT_EQ(problem.error().code, Code::globaltype_mismatch);
  EXPECT_EQ(problem.error().input, "[2{x}8]");
}

TEST(Problem, a_type_of_another_mesh_is_refused) {
  const auto mesh = support::mesh("x:4,y:6");
  const auto twelve = support::type("[12]", mesh);
  EXPECT_EQ(make_problem(mesh, twelve, support::type("[3{z}12]", "z:4")).error().code,
            Code::unknown_axis);
  EXPECT_EQ(make_problem(mesh, support::type("[6{x}12]", "x:2"), twelve).error().code,
            Code::ill_formed_type);
  EXPECT_TRUE(make_problem(mesh, support::type("[3{x}12]", "x:4"), twelve).has_value());
}

}  // namespace
}  // namespace problem_test
