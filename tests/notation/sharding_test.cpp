// Shardings of other systems: what they mean, and what is refused.
#include "retile/notation/sharding.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "support/values.h"

namespace retile::sharding_test {
namespace {

ShardingContext context(std::string_view mesh, Shape shape) {
  ShardingContext out;
  if (!mesh.empty()) out.mesh = support::value(parse_any_mesh(mesh));
  out.shape = std::move(shape);
  return out;
}

Sharding sharding(std::string_view text, std::string_view mesh = "x:2,y:4",
                  Shape shape = {32, 24}) {
  return support::value(parse_sharding(text, context(mesh, std::move(shape))));
}

std::string refusal(std::string_view text, std::string_view mesh = "x:2,y:4",
                    Shape shape = {32, 24}) {
  const auto out = parse_sharding(text, context(mesh, std::move(shape)));
  return out ? "accepted" : render(out.error());
}

/// One placement as every notation writes it.
struct Row {
  const char* paper;
  const char* shardy;
  const char* jax;  ///< nothing: JAX cannot say it
  const char* hlo1;
  const char* hlo2;
  const char* hlo3;
  const char* dtensor;
  const char* mlir;
};

constexpr Row rows[] = {
    {"[16{x}32, 6{y}24]", R"([{"x"}, {"y"}])", "P('x','y')", "{devices=[2,4]0,1,2,3,4,5,6,7}",
     "{devices=[2,4]<=[8]}", "[{'x'}, {'y'}]", "(Shard(dim=0), Shard(dim=1))", "[[0], [1]]"},
    {"[8{y}32, 12{x}24]", R"([{"y"}, {"x"}])", "P('y','x')", "{devices=[4,2]0,4,1,5,2,6,3,7}",
     "{devices=[4,2]<=[2,4]T(1,0)}", "[{'y'}, {'x'}]", "[Shard(1), Shard(0)]", "[[1], [0]]"},
    {"[4{y,x}32, 24]", R"([{"x","y"}, {}])", "P(('x','y'),None)", "{devices=[8,1]0,1,2,3,4,5,6,7}",
     "{devices=[8,1]<=[8]}", "[{'x','y'}, {}]", "(Shard(0), Shard(0))", "[[0, 1]]"},
    {"[4{x,y}32, 24]", R"([{"y","x"}, {}])", "P(('y','x'),None)", "{devices=[8,1]0,4,1,5,2,6,3,7}",
     "{devices=[8,1]<=[2,4]T(1,0)}", "[{'y','x'}, {}]",
     "(_StridedShard(dim=0, sf=4), Shard(dim=0))", "[[1, 0], []]"},
    {"[16{x}32, 24]", R"([{"x"}, {}])", "P('x')",
     "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}",
     "{devices=[2,1,4]<=[8] last_tile_dim_replicate}", "[{'x'}, {}]", "(Shard(0), Replicate())",
     "[[0]]"},
    {"[32, 6{y}24]", R"([{}, {"y"}])", "P(None,'y')",
     "{devices=[1,4,2]0,4,1,5,2,6,3,7 last_tile_dims={replicated}}",
     "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", "[{}, {'y'}]",
     "(Replicate(), Shard(-1))", "[[], [1]]"},
    {"[16{y:(1)2}32, 24]", R"([{"y":(1)2}, {}])", nullptr, nullptr,
     "{devices=[2,1,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}", "[{'y':(1)2}, {}]", nullptr,
     nullptr},
};

TEST(Sharding, one_placement_in_every_notation) {
  for (const Row& row : rows) {
    const Layout want = sharding(row.paper).layout;
    const auto expect = [&](const std::string& text, Notation notation) {
      const Sharding got = sharding(text);
      EXPECT_EQ(got.notation, notation) << text;
      EXPECT_TRUE(got.layout.equivalent(want)) << text;
      EXPECT_EQ(type_text(got), row.paper) << text;
    };
    expect(std::string("#sdy.sharding<@mesh, ") + row.shardy + ">", Notation::shardy);
    expect(std::string("<mesh<[\"x\"=2, \"y\"=4]>, ") + row.shardy + ">", Notation::shardy);
    expect(std::string("{mesh['x'=2,'y'=4], ") + row.hlo3 + "}", Notation::hlo);
    expect(row.hlo2, Notation::hlo);
    if (row.hlo1 != nullptr) expect(row.hlo1, Notation::hlo);
    if (row.jax != nullptr) expect(row.jax, Notation::jax);
    if (row.dtensor != nullptr) expect(row.dtensor, Notation::dtensor);
    if (row.mlir != nullptr) {
      expect(std::string("#mesh.shard<@m, ") + row.mlir + ">", Notation::mlir);
      expect(std::string("shard.sharding @m split_axes = ") + row.mlir + " : !shard.sharding",
             Notation::mlir);
    }
  }
}

TEST(Sharding, lists_are_major_to_minor_and_ours_are_not) {
  // The control of the table: read the other way round, these are other placements.
  EXPECT_FALSE(
      sharding(R"(<@m, [{"y","x"}, {}]>)").layout.equivalent(sharding("[4{y,x}32, 24]").layout));
  EXPECT_FALSE(sharding("{devices=[8,1]<=[2,4]T(1,0)}")
                   .layout.equivalent(sharding("{devices=[8,1]<=[8]}").layout));
}

TEST(Sharding, ambiguous_texts_are_refused) {
  EXPECT_EQ(refusal(R"([{"x"}, {}])"),
            "error: dimensions of Shardy or of HLO without what they are over\n"
            "  [{\"x\"}, {}]\n"
            "  ^~~~~~~~~~~\n"
            "note: Shardy writes <@mesh, [{\"x\"}, {}]>, HLO {mesh['x'=2], [{'x'}, {}]}\n");
  EXPECT_EQ(refusal("()").substr(0, 36), "error: () may be DTensor's or JAX's\n");
}

TEST(Sharding, what_no_layout_says_is_refused_by_name) {
  EXPECT_EQ(refusal("{{replicated}, {manual}}"),
            "error: a tuple of shardings\n  {{replicated}, {manual}}\n   ^\n"
            "note: give the one sharding of the array that moves\n");
  EXPECT_EQ(refusal("{devices=[2,4]<=[8] last_tile_dims={manual}}"),
            "error: manual: the array is no global one\n"
            "  {devices=[2,4]<=[8] last_tile_dims={manual}}\n"
            "                                      ^~~~~~\n"
            "note: what each device holds is not said by the sharding\n");
}

}  // namespace
}  // namespace retile::sharding_test
