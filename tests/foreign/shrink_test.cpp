// Smaller reshards, and the search for the smallest.
#include "retile/foreign/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "retile/notation/paper/notation.h"

namespace retile::foreign {
namespace shrink_test {

Reshard reshard(const std::string& mesh, const std::string& from, const std::string& to) {
  const PlacedMesh placed = parse_any_mesh(mesh).value();
  return reshard_of(parse_sharding(from, {.mesh = placed}).value(),
                    parse_sharding(to, {.mesh = placed}).value())
      .value();
}

/// `x:4 | [8{x}32] | [32]`
std::string text(const Reshard& one) {
  const auto ends = shardings_of(one).value();
  return to_text(one.mesh.mesh) + " | " + type_text(ends[0]) + " | " + type_text(ends[1]);
}

Size cuts_in(const Reshard& one) {
  std::size_t out = 0;
  for (const Reshard::End& end : one.ends) {
    for (const auto& dim : end.dims) out += dim.size();
  }
  return static_cast<Size>(out);
}

/// What every step of the search makes smaller, the first that differs.
std::vector<Size> measure(const Reshard& one) {
  Size sizes = 0;
  for (const Axis& axis : one.mesh.mesh.axes()) sizes += axis.size;
  Size extents = 0;
  for (const Size extent : one.shape) extents += extent;
  return {one.mesh.order ? 1 : 0,
          sizes + extents + static_cast<Size>(one.shape.size()) + cuts_in(one)};
}

const std::vector<Reshard>& examples() {
  static const std::vector<Reshard> out = {
      reshard("x:4,y:6", "[3{x}12, 2{y}12]", "[12, 3{x}12]"),
      reshard("x:12", "[4{x:(1)3}12]", "[1{x}12]"),
      reshard("x:3,y:2", "[3{x}8]", "[2{y,x}8]"),
      reshard("x:2,y:3", "sum{x}[2{y}6, 4]", "[6, 4]"),
      reshard("sdy.mesh @m = <[\"x\"=2, \"y\"=3], device_ids=[0, 2, 4, 1, 3, 5]>", "[3{x}6]",
              "[2{y}6]"),
  };
  return out;
}

TEST(Shrink, a_reshard_says_its_ends) {
  EXPECT_EQ(text(examples()[0]), "x:4,y:6 | [3{x}12, 2{y}12] | [12, 3{x}12]");
  EXPECT_EQ(text(examples()[1]), "x:12 | [4{x:(1)3}12] | [1{x}12]");
  EXPECT_EQ(text(examples()[2]), "x:3,y:2 | [3{x}8] | [2{y,x}8]");
  EXPECT_EQ(text(examples()[3]), "x:2,y:3 | sum{x}[2{y}6, 4] | [6, 4]");
}

TEST(Shrink, layouts_are_named_by_axes) {
  for (std::size_t k = 0; k < 4; ++k) {
    const auto ends = shardings_of(examples()[k]).value();
    const auto again = reshard_of(ends[0].layout, ends[1].layout, examples()[k].mesh);
    ASSERT_TRUE(again.has_value()) << render(again.error());
    EXPECT_EQ(text(*again), text(examples()[k]));
  }
  const Reshard& swapped = examples()[0];
  const auto ends = shardings_of(swapped).value();
  const PlacedMesh other = parse_any_mesh("p:3,q:8").value();
  EXPECT_FALSE(reshard_of(ends[0].layout, ends[1].layout, other).has_value());
}

TEST(Shrink, other_cuts_are_refused_by_dimension) {
  const PlacedMesh mesh = parse_any_mesh("x:2").value();
  const Sharding whole = parse_sharding("[8, 8]", {.mesh = mesh}).value();
  for (const std::string other : {"[8, (0,3,8){x}8]", "[8, 6~{x}8]"}) {
    const Sharding cut = parse_sharding(other, {.mesh = mesh}).value();
    for (const auto& out : {reshard_of(whole, cut), reshard_of(cut, whole),
                            reshard_of(whole.layout, cut.layout, mesh)}) {
      ASSERT_FALSE(out.has_value()) << other;
      EXPECT_EQ(out.error().code, Code::unsupported);
      EXPECT_NE(out.error().message.find("dimension 1"), std::string::npos) << out.error().message;
    }
  }
  const Sharding one = parse_sharding("[8, 8]@1", {.mesh = mesh}).value();
  EXPECT_FALSE(reshard_of(whole, one).has_value());
}

TEST(Shrink, every_smaller_one_is_smaller_and_moves_something) {
  for (const Reshard& example : examples()) {
    const std::vector<Reshard> all = smaller(example);
    EXPECT_GE(all.size(), 5U) << text(example);
    for (const Reshard& one : all) {
      EXPECT_LT(measure(one), measure(example)) << text(example) << " -> " << text(one);
      EXPECT_NE(one.ends[0], one.ends[1]) << text(one);
      EXPECT_GE(one.mesh.mesh.device_count(), 2) << text(one);
    }
  }
}

TEST(Shrink, an_axis_goes_with_what_it_cuts) {
  std::set<std::string> all;
  for (const Reshard& one : smaller(examples()[0])) all.insert(text(one));
  // Without x: the dimensions that it cuts are a quarter of what they were, or the same.
  EXPECT_EQ(all.count("y:6 | [3, 1{y}3] | [3, 3]"), 1U);
  EXPECT_EQ(all.count("y:6 | [12, 2{y}12] | [12, 12]"), 1U);
  // Half of it.
  EXPECT_EQ(all.count("x:2,y:6 | [3{x}6, 1{y}6] | [6, 3{x}6]"), 1U);
  EXPECT_EQ(all.count("x:2,y:6 | [6{x}12, 2{y}12] | [12, 6{x}12]"), 1U);
  // A dimension, an extent, a cut.
  EXPECT_EQ(all.count("x:4,y:6 | [2{y}12] | [3{x}12]"), 1U);
  EXPECT_EQ(all.count("x:4,y:6 | [3{x}11, 2{y}12] | [11, 3{x}12]"), 1U);
  EXPECT_EQ(all.count("x:4,y:6 | [3{x}12, 12] | [12, 3{x}12]"), 1U);
}

TEST(Shrink, an_axis_of_which_parts_stand_at_one_end_keeps_its_size) {
  for (const Reshard& one : smaller(examples()[1])) {
    EXPECT_EQ(one.mesh.mesh.device_count(), 12) << text(one);
  }
}

TEST(Shrink, an_order_of_devices_goes_first_and_alone) {
  const std::vector<Reshard> all = smaller(examples()[4]);
  ASSERT_FALSE(all.empty());
  EXPECT_FALSE(all.front().mesh.order.has_value());
  EXPECT_EQ(text(all.front()), "x:2,y:3 | [3{x}6] | [2{y}6]");
  // With another mesh the order means nothing.
  for (const Reshard& one : all) {
    EXPECT_TRUE(!one.mesh.order || one.mesh.mesh.device_count() == 6) << text(one);
  }
}

/// Whether an axis of three cuts a dimension into equal parts at the start.
Result<bool> divides_by_three(const Reshard& one) {
  for (std::size_t dim = 0; dim < one.shape.size(); ++dim) {
    for (const AxisPart& part : one.ends[0].dims[dim]) {
      if (part.major == 0 && one.mesh.mesh.digit(part.axis)->size % 3 == 0 &&
          one.shape[dim] % 3 == 0) {
        return true;
      }
    }
  }
  return false;
}

TEST(Shrink, the_search_ends_where_nothing_smaller_goes_wrong) {
  for (const Reshard& example :
       {examples()[0], reshard("x:6,y:5", "[6{x}36, 3{y}15]", "[36, 15]")}) {
    std::set<std::string> asked;
    const auto goes_wrong = [&](const Reshard& one) -> Result<bool> {
      EXPECT_TRUE(asked.insert(text(one)).second) << "twice: " << text(one);
      return divides_by_three(one);
    };
    const Shrunk found = shrink(example, goes_wrong, 1000).value();
    EXPECT_TRUE(found.complete);
    EXPECT_EQ(found.runs, static_cast<Size>(asked.size()));
    EXPECT_TRUE(divides_by_three(found.reshard).value());
    EXPECT_EQ(found.reshard.shape, Shape{3});
    EXPECT_EQ(found.reshard.mesh.mesh.device_count(), 3) << text(found.reshard);
  }
}

TEST(Shrink, a_limit_of_runs_is_kept_and_said) {
  const auto goes_wrong = [](const Reshard& one) { return divides_by_three(one); };
  for (const Size most : {0, 1, 3}) {
    const Shrunk found = shrink(examples()[0], goes_wrong, most).value();
    EXPECT_FALSE(found.complete);
    EXPECT_EQ(found.runs, most);
    EXPECT_TRUE(divides_by_three(found.reshard).value());
  }
}

TEST(Shrink, an_error_ends_the_search) {
  const auto goes_wrong = [](const Reshard&) -> Result<bool> {
    return refuse({.code = Code::file_error, .message = "no command"});
  };
  const auto found = shrink(examples()[0], goes_wrong, 10);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().message, "no command");
}

}  // namespace shrink_test
}  // namespace retile::foreign
