// Shardings of other systems: what they mean, and what is refused.
#include "retile/notation/sharding.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "retile/notation/convert.h"
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

/// The message and the caret of a refusal, without its notes.
std::string where(std::string_view text, std::string_view mesh = "x:2,y:4") {
  const std::string all = refusal(text, mesh);
  return all.substr(0, all.find("note:"));
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
  EXPECT_EQ(refusal("[[0], [1]]"),
            "error: dimensions of MLIR without what they are over\n"
            "  [[0], [1]]\n"
            "  ^~~~~~~~~~\n"
            "note: MLIR writes #mesh.shard<@mesh, [[0], [1]]>\n");
  EXPECT_EQ(refusal("()").substr(0, 36), "error: () may be DTensor's or JAX's\n");
}

TEST(Sharding, dimensions_of_shardy_stand_alone_over_a_mesh_that_is_given) {
  EXPECT_EQ(type_text(sharding(R"([{"x"}, {}])")), "[16{x}32, 24]");
  EXPECT_EQ(type_text(sharding(R"([{"y", "x"}, {?}])")), "[4{x,y}32, 24]");
  EXPECT_EQ(type_text(sharding(R"([{}, {"y"}], unreduced={"x"})")), "sum{x}[32, 6{y}24]");
  EXPECT_EQ(type_text(sharding("[{'x'}, {'y'}]")), "[16{x}32, 6{y}24]");
  EXPECT_EQ(sharding("[{}, {}]").notation, Notation::shardy);
  EXPECT_EQ(refusal(R"([{"x"}, {}])", ""),
            "error: the mesh is missing\n  [{\"x\"}, {}]\n  ^~~~~~~~~~~\n"
            "note: give --mesh x:2,y:4, or a mesh as the notation writes it\n");
  EXPECT_EQ(where(R"([{"x"}, {"z"}])"),
            "error: the mesh has no axis z [WF-DIM]\n  [{\"x\"}, {\"z\"}]\n           ^~~\n");
}

TEST(Sharding, placements_of_dtensor_stand_alone_and_together) {
  const auto type = [](std::string_view text) { return type_text(sharding(text)); };
  EXPECT_EQ(type("S(0)R"), "[16{x}32, 24]");
  EXPECT_EQ(type("RS(1)"), "[32, 6{y}24]");
  EXPECT_EQ(type("P(sum)S(0)"), "sum{x}[8{y}32, 24]");
  EXPECT_EQ(type("RP(max)"), "max{y}[32, 24]");
  EXPECT_EQ(type("RR"), "[32, 24]");
  EXPECT_EQ(type("_S(0, 4)S(0)"), "[4{x,y}32, 24]");
  EXPECT_EQ(type("S(0)[0]S(0)[1]"), type("S(0)S(0)"));
  EXPECT_EQ(type("S(0)[1]S(0)[0]"), "[4{x,y}32, 24]");
  EXPECT_EQ(type("Shard(dim=0)Replicate()"), "[16{x}32, 24]");
  EXPECT_EQ(type_text(sharding("Shard(0)", "x:4")), "[8{x}32, 24]");
  EXPECT_EQ(type_text(sharding("R", "x:4")), "[32, 24]");
  const auto spec =
      support::value(parse_sharding("Spec(f32[8, 4](S(0)R))", context("x:2,y:2", {8, 4})));
  EXPECT_EQ(type_text(spec), "[4{x}8, 4]");
  EXPECT_EQ(spec.notation, Notation::dtensor);
  const auto shaped = parse_sharding("Spec(bf16[8, 4](RS(1)))",
                                     {.mesh = support::value(parse_any_mesh("x:2,y:2"))});
  EXPECT_EQ(type_text(support::value(shaped)), "[8, 2{y}4]");
  EXPECT_EQ(sharding("P('x')").notation, Notation::jax);
  EXPECT_EQ(sharding("P(None, 'y')").notation, Notation::jax);
  EXPECT_EQ(
      where("S(0)[1]R"),
      "error: axes that cut one dimension take turns, here [0] to [0]\n  S(0)[1]R\n  ^~~~~~~\n");
  EXPECT_EQ(where("Spec(f32[8, 4](S(0)R))"),
            "error: the shape is [8, 4] here\n  Spec(f32[8, 4](S(0)R))\n       ^~~~~~~~~\n");
}

TEST(Sharding, specs_of_dtensor_say_their_mesh_and_their_shape) {
  const std::string spec =
      "DTensorSpec(mesh=DeviceMesh((dp=2, tp=4), 'cpu', stride=(4, 1)), placements=(Shard(dim=0), "
      "Replicate()), tensor_meta=TensorMeta(shape=torch.Size([8, 4]), stride=(4, 1), "
      "dtype=torch.float32), use_strided_shard_as_shard_order=False)";
  const Sharding read = support::value(parse_sharding(spec, {}));
  EXPECT_EQ(type_text(read), "[4{dp}8, 4]");
  EXPECT_EQ(to_text(read.mesh.mesh), "dp:2,tp:4");
  EXPECT_EQ(read.notation, Notation::dtensor);
  EXPECT_FALSE(parse_sharding("DTensorSpec(mesh=DeviceMesh((dp=2), 'cpu'))", {}));
  const auto mesh = [](const char* text) {
    return to_text(support::value(parse_any_mesh(text)).mesh);
  };
  EXPECT_EQ(mesh("init_device_mesh('cuda', (2, 4), mesh_dim_names=('dp', 'tp'))"), "dp:2,tp:4");
  EXPECT_EQ(mesh("init_device_mesh(\"cuda\", mesh_shape=(2, 4))"), "a0:2,a1:4");
  EXPECT_EQ(mesh("init_device_mesh('cuda', (8,))"), "a0:8");
}

TEST(Sharding, an_average_is_a_sum_that_is_divided) {
  const auto read = [](std::string_view text) { return sharding(text); };
  EXPECT_EQ(read("P(avg)R").divisor, 2);
  EXPECT_EQ(read("RP(avg)").divisor, 4);
  EXPECT_EQ(read("(Partial(avg), Partial('avg'))").divisor, 8);
  EXPECT_EQ(read("P(avg)P(sum)").divisor, 2);
  EXPECT_EQ(read("P(sum)P(sum)").divisor, 1);
  EXPECT_EQ(type_text(read("P(avg)R")), "sum{x}[32, 24]");
  const auto written = [&read](std::string_view text, ShardingForm form) {
    const auto out = to_text(read(text), form);
    return out ? *out : out.error().message;
  };
  EXPECT_EQ(written("P(avg)S(0)", ShardingForm::dtensor), "(Partial(avg), Shard(dim=0))");
  EXPECT_EQ(written("P(avg)R", ShardingForm::paper),
            "an average is written as DTensor's Partial(avg) alone");
  EXPECT_EQ(written("P(avg)P(sum)", ShardingForm::dtensor),
            "DTensor cuts one axis after the other, and these tiles are cut otherwise");
}

TEST(Sharding, addends_of_dtensor_are_read_where_they_are_added) {
  EXPECT_EQ(type_text(sharding("MaskP(sum, torch.Size([4, 2]), 0)R")), "sum{x}[32, 24]");
  EXPECT_EQ(type_text(sharding("(_MaskPartial(reduce_op=sum, offset_shape=torch.Size([4, 2]), "
                               "offset_dim=0), Shard(1))")),
            "sum{x}[32, 6{y}24]");
  EXPECT_EQ(type_text(sharding("RMaskP(sum, torch.Size([4, 2]), 0)")), "sum{y}[32, 24]");
  EXPECT_EQ(where("(_NormPartial(2), Replicate())").substr(0, 71),
            "error: addends of a norm are raised to a power before they are added\n  ");
  EXPECT_EQ(where("P(product)R").substr(0, 51),
            "error: product is no way of adding that is read\n  P");
}

TEST(Sharding, nothing_is_dealt_out_to_devices_that_are_listed) {
  const auto over = [](const std::string& mesh, const std::string& text) {
    const ShardingContext context{.mesh = support::value(parse_any_mesh(mesh)), .shape = Shape{8}};
    const auto read = parse_sharding(text, context);
    return read ? type_text(*read) : read.error().message;
  };
  const std::string refused =
      "with such an order, or fewer positions than devices, nothing is dealt out";
  const std::string strided = "(_StridedShard(dim=0, sf=2), Replicate())";
  EXPECT_EQ(over("DeviceMesh([[0, 1], [2, 3]])", strided), "[4{a0}4+4]");
  EXPECT_EQ(over("DeviceMesh([[0, 2], [1, 3]])", strided), "[4{a0}4+4]");  // as an iota has them
  EXPECT_EQ(over("DeviceMesh([[0, 1], [3, 2]])", strided), refused);
  EXPECT_EQ(over("DeviceMesh([[0, 1], [3, 2]])", "[4{a0}4+4]"), refused);
  EXPECT_EQ(over("DeviceMesh([[0, 1], [3, 2]])", "[4{a0}8]"), "[4{a0}8]");
}

TEST(Sharding, strides_of_one_axis_are_sections) {
  const auto type = [](const std::string& text, const Shape& shape) {
    return type_text(sharding(text, "x:2,y:4", shape));
  };
  EXPECT_EQ(type("(_StridedShard(dim=0, sf=3), Replicate())", {24}), "[12{x}8+8+8]");
  // As torch.chunk: chunks of 3, the last one of 1.
  EXPECT_EQ(type("(Replicate(), _StridedShard(dim=0, sf=4))", {10}), "[4{y}3+3+3+1]");
  EXPECT_EQ(type("(_StridedShard(dim=0, sf=3), Shard(dim=1))", {7, 8}), "[5{x}3+3+1, 2{y}8]");
  EXPECT_EQ(type("(_StridedShard(dim=0, sf=3), Partial())", {7}), "sum{y}[5{x}3+3+1]");
  const auto back = [](const std::string& paper) {
    ShardingContext over = context("x:2,y:4", {});
    over.shape.reset();
    const auto read = parse_sharding(paper, over);
    const auto out = to_text(support::value(read), ShardingForm::dtensor);
    return out ? *out : out.error().message;
  };
  EXPECT_EQ(back("[12{x}8+8+8]"), "(_StridedShard(dim=0, sf=3), Replicate())");
  EXPECT_EQ(back("[2@{y}24]"), "(Replicate(), _StridedShard(dim=0, sf=3))");
  const std::string otherwise =
      "DTensor cuts one axis after the other, and these tiles are cut otherwise";
  EXPECT_EQ(back("[6{x}8+4]"), otherwise);
  EXPECT_EQ(back("[2@{y}25]"), otherwise);
  EXPECT_EQ(back("[1@{y,x}24]"), "(_StridedShard(dim=0, sf=3), _StridedShard(dim=0, sf=3))");
  EXPECT_EQ(back("[1@{x,y}24]"), otherwise);  // it could be said, by the factors 12 and 3
  EXPECT_EQ(back("[(0,1,9)@(1,0){y,x}9]"), otherwise);
}

TEST(Sharding, strides_that_do_not_divide_are_read_where_every_device_holds_one_piece) {
  EXPECT_EQ(type_text(sharding("(_StridedShard(dim=0, sf=2), Shard(dim=0))", "dp:2,tp:2", {5})),
            "[(0,2,3,4,5){dp,tp}5]");
  // Llama 3: the vocabulary over 64 x 8, and wk and wv over 256 x 8.
  const Layout words =
      sharding("(_StridedShard(dim=0, sf=8), Shard(dim=0))", "dp:64,tp:8", {128256, 4}).layout;
  EXPECT_EQ(words.box(0), (Box{{0, 0}, {251, 4}}));
  EXPECT_EQ(words.box(511), (Box{{16032 * 7 + 251 * 63, 0}, {16032 - 251 * 63, 4}}));
  const Layout keys =
      sharding("(_StridedShard(dim=0, sf=8), Shard(dim=0))", "dp:256,tp:8", {1024, 4}).layout;
  EXPECT_EQ(keys.box(8 * 5 + 3), (Box{{3 * 128 + 5, 0}, {1, 4}}));
  EXPECT_EQ(keys.box(8 * 200), (Box{{0, 0}, {0, 0}}));
  EXPECT_EQ(parse_sharding("(_StridedShard(dim=0, sf=4611686018427387904), Replicate())",
                           context("x:2,y:4", {9223372036854775807}))
                .error()
                .code,
            Code::limit_reached);
}

TEST(Sharding, strides_that_leave_several_pieces_by_several_axes_are_chunks) {
  const auto type = [](const std::string& text, const Shape& shape) {
    return type_text(sharding(text, "x:2,y:2", shape));
  };
  // x leaves 0..3 and 8..11; y halves each of these.
  EXPECT_EQ(type("(_StridedShard(dim=0, sf=2), _StridedShard(dim=0, sf=2))", {16}),
            "[(0,2,4,6,8,10,12,14,16)@(0,1,2,3,0,1,2,3){y,x}16]");
  // Chunks of 4, 4 and 2: x leaves 0, 1, 4, 5 and 8, of which y cuts 0, 1, 4 off.
  EXPECT_EQ(type("(_StridedShard(dim=0, sf=3), Shard(dim=0))", {10}),
            "[(0,2,4,5,6,7,8,9,10)@(0,2,0,1,2,3,1,3){y,x}10]");
  EXPECT_EQ(type("(_StridedShard(dim=0, sf=3), Shard(dim=0)) : tensor<10x4xf32>", {10, 4}),
            "[(0,2,4,5,6,7,8,9,10)@(0,2,0,1,2,3,1,3){y,x}10, 4]");
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

TEST(Sharding, addends_on_listed_devices_are_read_where_axes_were_turned) {
  const std::string front = "NamedSharding(mesh=Mesh('x': 2, 'y': 4), spec=P(unreduced={'x'}), ";
  const Sharding turned = sharding(front + "logical_device_ids=(0, 2, 4, 6, 1, 3, 5, 7))");
  for (Size d = 0; d < 8; ++d) EXPECT_EQ(turned.layout.addend(d), d % 2) << d;
  const auto mixed = parse_sharding(front + "logical_device_ids=(0, 2, 4, 6, 1, 3, 7, 5))",
                                    {.shape = Shape{32, 24}});
  ASSERT_FALSE(mixed.has_value());
  EXPECT_EQ(mixed.error().message, "addends on devices that no iota lists");
}

TEST(Sharding, forms_that_systems_print_are_read) {
  const auto type = [](std::string_view text) { return type_text(sharding(text)); };
  EXPECT_EQ(type("NamedSharding(mesh=Mesh(axis_sizes=(2, 4), axis_names=('x', 'y'), "
                 "axis_types=(Auto, Auto)), spec=PartitionSpec(None, ('y', 'x')), "
                 "memory_kind=unpinned_host)"),
            "[32, 3{x,y}24]");
  EXPECT_EQ(type("P(('y',), unreduced={'x'}, reduced=frozenset())"), "sum{x}[8{y}32, 24]");
  EXPECT_EQ(type("P()"), "[32, 24]");
  EXPECT_EQ(type(R"(#sdy.sharding<@"mesh 1", [{"y", ?}p1, {?}], replicated={"x"}>)"),
            "[8{y}32, 24]");
  EXPECT_EQ(type(R"(<@m, [{}, {}], unreduced=max{"y":(2)2}>)"), "max{y:(2)2}[32, 24]");
  EXPECT_EQ(type(R"(<@m, [{}, {}], unreduced={"x"}, replicated={"y"}>)"), "sum{x}[32, 24]");
  EXPECT_NE(
      refusal(R"(<@m, [{"y"}, {}], replicated={"x", "y"}>)").find("axis y is replicated, and used"),
      std::string::npos);
  EXPECT_NE(
      refusal(R"(<@m, [{}, {}], replicated={"x"}, unreduced={"x"}>)").find("axis x is replicated"),
      std::string::npos);
  EXPECT_EQ(type(R"(<@m, [{"y":(1)2}, {}], replicated={"y":(2)2}>)"), "[16{y:(1)2}32, 24]");
  EXPECT_EQ(type("{replicated}"), "[32, 24]");
  EXPECT_EQ(type("{maximal device=3}"), "[32, 24]@3");
  EXPECT_EQ(type("{unreduced}"), "sum{y,x}[32, 24]");
  EXPECT_EQ(type("{devices=[2,1,4]<=[8] last_tile_dim_replicate metadata={op_name=\"a{b,c\"}}"),
            "[16{x}32, 24]");
  EXPECT_EQ(type("{mesh['x'=2,'y'=4], replicated}"), "[32, 24]");
  EXPECT_EQ(type("{mesh['x'=2,'y'=4], [{'x'}, {}], unreduced={'y':(1)2}, replicated={}}"),
            "sum{y:(1)2}[16{x}32, 24]");
  EXPECT_EQ(type("[S(1), R]"), "[32, 12{x}24]");
  EXPECT_EQ(type("(Partial(sum), _StridedShard(dim=-2, sf=1),)"), "sum{x}[8{y}32, 24]");
  EXPECT_EQ(type("#mesh.shard<@m, [[], [1]], partial = max[0]>"), "max{x}[32, 6{y}24]");
  EXPECT_EQ(type("%0 = mesh.sharding @m split_axes = [[0]] halo_sizes = [0, 0] "
                 "sharded_dims_offsets = [0, 5, 32] : !mesh.sharding"),
            "[(0,5,32){x}32, 24]");
}

TEST(Sharding, meshes_of_other_systems_are_read) {
  const auto mesh = [](std::string_view text) {
    const auto read = parse_any_mesh(text);
    return read ? to_text(read->mesh) + (read->order_text ? " " + *read->order_text : "")
                : render(read.error());
  };
  EXPECT_EQ(mesh("x:2,y:4"), "x:2,y:4");
  EXPECT_EQ(mesh("Mesh('x': 2, 'y': 4, axis_types=(Auto, Auto))"), "x:2,y:4");
  EXPECT_EQ(mesh("Mesh(device_ids=array([[0, 1],\n [3, 2]]), axis_names=('x', 'y'))"),
            "x:2,y:2 [0,1,3,2]");
  EXPECT_EQ(mesh(R"(sdy.mesh @mesh = <["x"=2, "y"=4]>)"), "x:2,y:4");
  EXPECT_EQ(mesh(R"(<["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>)"), "x:2,y:2 [3,2,1,0]");
  EXPECT_EQ(mesh("mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0))"), "x:2,y:4 [8]<=[4,2]T(1,0)");
  EXPECT_EQ(mesh("mesh['x'=2], device_ids=(1,0)"), "x:2 [1,0]");
  EXPECT_EQ(mesh("mesh.mesh @m(shape = 2x4)"), "a0:2,a1:4");
  EXPECT_EQ(mesh("shard.grid @m(shape = 3)"), "a0:3");
  EXPECT_EQ(mesh("DeviceMesh('cpu', [[0, 1], [2, 3]], mesh_dim_names=('dp', 'tp'))"), "dp:2,tp:2");
  EXPECT_EQ(mesh("DeviceMesh((dp=2, tp=4), device: 'cuda', stride: (4, 1))"), "dp:2,tp:4");
  EXPECT_EQ(mesh("DeviceMesh((2, 4), 'cuda', stride=(4, 1))"), "a0:2,a1:4");
  EXPECT_EQ(mesh("DeviceMesh((2,), 'cpu', stride=(1,))"), "a0:2");
}

TEST(Sharding, shapes_stand_in_front_or_behind) {
  const auto type = [](std::string_view text) {
    ShardingContext context;
    context.mesh = support::value(parse_any_mesh("x:2,y:4"));
    return type_text(support::value(parse_sharding(text, context)));
  };
  EXPECT_EQ(type("P('x') : tensor<16x8xf32>"), "[8{x}16, 8]");
  EXPECT_EQ(type("f32[16,8]{1,0} {devices=[2,4]<=[8]}"), "[8{x}16, 2{y}8]");
  EXPECT_EQ(type("f32[16,8]{1,0}, sharding={devices=[2,4]<=[8]}"), "[8{x}16, 2{y}8]");
  EXPECT_EQ(type("P() : tensor<f32>"), "[]");
  EXPECT_EQ(support::value(parse_shape("16,8")), (Shape{16, 8}));
  EXPECT_EQ(support::value(parse_shape("[16, 8]")), (Shape{16, 8}));
  EXPECT_EQ(support::value(parse_shape("bf16[]")), Shape());
}

TEST(Sharding, neighbouring_parts_are_written_as_one) {
  const auto written = [](std::string_view text) {
    return support::value(to_text(sharding(text), ShardingForm::sdy));
  };
  EXPECT_EQ(written("[4{y:(2)2,y:(1)2,x}32, 24]"),
            R"(#sdy.sharding<mesh<["x"=2, "y"=4]>, [{"x", "y"}, {}]>)");
  EXPECT_EQ(written("[8{y:(1)2,y:(2)2}32, 24]"),
            R"(#sdy.sharding<mesh<["x"=2, "y"=4]>, [{"y":(2)2, "y":(1)2}, {}]>)");
}

TEST(Sharding, devices_stand_as_the_mesh_says) {
  const Sharding listed =
      sharding(R"(<mesh<["x"=2, "y"=2], device_ids=[2, 0, 3, 1]>, [{"x"}, {"y"}]>)", "", {4, 4});
  EXPECT_EQ(listed.layout.box(2), (Box{{0, 0}, {2, 2}}));
  EXPECT_EQ(listed.layout.box(0), (Box{{0, 2}, {2, 2}}));
  EXPECT_EQ(listed.layout.box(1), (Box{{2, 2}, {2, 2}}));
  const Sharding logical = sharding(
      "NamedSharding(mesh=Mesh('x': 4), spec=P('x'), logical_device_ids=(3, 2, 1, 0))", "", {4, 4});
  EXPECT_EQ(logical.layout.box(3), (Box{{0, 0}, {1, 4}}));
  const Sharding alone = sharding("<mesh<[], device_ids=[2]>, []>", "", {4, 4});
  EXPECT_EQ(alone.layout.box(2), (Box{{0, 0}, {4, 4}}));
  EXPECT_EQ(type_text(alone), "[4, 4]@2");
  EXPECT_EQ(alone.layout.box(1), (Box{{0, 0}, {0, 0}}));
}

TEST(Sharding, refusals_point_at_what_is_wrong) {
  EXPECT_EQ(refusal(R"(<@m, [{"x","z"}, {}]>)"),
            "error: the mesh has no axis z [WF-DIM]\n  <@m, [{\"x\",\"z\"}, {}]>\n"
            "             ^~~\nnote: the mesh has the axes x and y\n");
  EXPECT_EQ(refusal("P('x', 'x')"),
            "error: axis x splits dimension 0 and dimension 1 [WF-TYPE]\n  P('x', 'x')\n"
            "         ^~~\nnote: an axis stands at most once in a type; still free: y\n");
  EXPECT_EQ(where("P('x', None, 'y')"),
            "error: 3 dimensions for an array of 2\n  P('x', None, 'y')\n               ^~~\n");
  EXPECT_EQ(
      where("#mesh.shard<@m, [[2]]>"),
      "error: the mesh has no axis 2 [WF-DIM]\n  #mesh.shard<@m, [[2]]>\n                    ^\n");
  EXPECT_EQ(
      where("{devices=[2,2]<=[2,4]}"),
      "error: 8 devices for a table of 4\n  {devices=[2,2]<=[2,4]}\n                  ^~~~~\n");
  EXPECT_EQ(where("{devices=[2,2]0,1,2,2}", ""),
            "error: device 2 stands at two positions\n  {devices=[2,2]0,1,2,2}\n                   "
            "   ^\n");
  EXPECT_EQ(where("{devices=[2,2]<=[4]}"),
            "error: a table of 4 devices over a mesh of 8\n  {devices=[2,2]<=[4]}\n           "
            "^~~~~~~~~~\n");
  EXPECT_EQ(where("{devices=[4,2]<=[2,4]T(1,1)}"),
            "error: T(..) is no permutation of 2 dimensions\n  {devices=[4,2]<=[2,4]T(1,1)}\n      "
            "                     ^\n");
  EXPECT_EQ(where("(Shard(0),)"),
            "error: 1 placement for a mesh of 2 axes\n  (Shard(0),)\n  ^~~~~~~~~~~\n");
  EXPECT_EQ(where("(Shard(2), Replicate())"),
            "error: the array has 2 dimensions\n  (Shard(2), Replicate())\n   ^~~~~~~~\n");
  EXPECT_EQ(
      where("(Partial(mean), Replicate())"),
      "error: mean is no way of adding that is read\n  (Partial(mean), Replicate())\n          "
      " ^~~~\n");
  EXPECT_EQ(
      where("P(UNCONSTRAINED)"),
      "error: UNCONSTRAINED leaves a dimension open\n  P(UNCONSTRAINED)\n    ^~~~~~~~~~~~~\n");
  EXPECT_EQ(where("P('x') : tensor<16x8xf32>"),
            "error: the shape is [16, 8] here\n  P('x') : tensor<16x8xf32>\n           "
            "^~~~~~~~~~~~~~~~\n");
  EXPECT_EQ(where("NamedSharding(mesh=Mesh('x': 4), spec=P('x'))"),
            "error: the mesh is x:4 here\n  NamedSharding(mesh=Mesh('x': 4), spec=P('x'))\n        "
            "             ^~~~~~~~~~~~\n");
  EXPECT_EQ(where("P('x')", ""), "error: the mesh is missing\n  P('x')\n  ^~~~~~\n");
  EXPECT_EQ(where("{devices=[2,x]<=[4]}"),
            "error: expected a number, found 'x'\n  {devices=[2,x]<=[4]}\n              ^\n");
  EXPECT_EQ(where("<@m, [{\"x\":(3)2}, {}]>"),
            "error: x:(3)2 is no part of axis x: 3 * 2 does not divide 2 [WF-DIM]\n  <@m, "
            "[{\"x\":(3)2}, {}]>\n         ^~~~~~~~\n");
  EXPECT_EQ(where("#sdy.sharding<@m, [{\"x\"}"),
            "error: expected ',' or ']' after a dimension, found the end\n  #sdy.sharding<@m, "
            "[{\"x\"}\n                          ^\n");
  EXPECT_EQ(where("{mesh['x'=2,'y'=4], [{'x'}, {}], unreduced={'x'}}"),
            "error: axis x counts addends and cuts dimension 0 [WF-TYPE]\n  {mesh['x'=2,'y'=4], "
            "[{'x'}, {}], unreduced={'x'}}\n                                              ^~~\n");
  EXPECT_EQ(where("{maximal device=8}"),
            "error: there is no device 8\n  {maximal device=8}\n                  ^\n");
  EXPECT_EQ(where("{unknown}"),
            "error: unknown says nothing of where the array is\n  {unknown}\n   ^~~~~~~\n");
  EXPECT_EQ(
      where("(_OtherPartial(), Replicate())"),
      "error: _OtherPartial is not read\n  (_OtherPartial(), Replicate())\n   ^~~~~~~~~~~~~\n");
  EXPECT_EQ(where("shard.sharding @m split_axes = [[0]] halo_sizes = [1, 1]"),
            "error: a halo: MLIR's reaches beyond the array, and no box does\n  shard.sharding @m "
            "split_axes = [[0]] halo_sizes = [1, 1]\n                                              "
            "       ^\n");
}

}  // namespace
}  // namespace retile::sharding_test
