// Shardings of other systems: read, written in every form, and read again.
//
// An input is two lines, a mesh (or nothing) and a sharding with its shape: `x:2,y:4` and
// `P('x') : tensor<8x8xf32>`.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "fuzz/refusal.h"
#include "retile/notation/convert.h"
#include "retile/notation/sharding.h"

const fuzz::Target fuzz::target = {"sharding", 0.5};

namespace {

using retile::Layout;
using retile::Sharding;
using retile::ShardingContext;
using retile::ShardingForm;
using retile::Size;

/// What is compared device by device.
constexpr Size most_devices = 4096;

/// The same boxes and addends; the control reads the devices backwards.
bool same(const Layout& a, const Layout& b) {
  if (!fuzz::control()) return a.equivalent(b);
  for (Size d = 0; d < a.devices(); ++d) {
    if (a.box(d) != b.box(b.devices() - 1 - d)) return false;
  }
  return true;
}

void check_form(const Sharding& sharding, ShardingForm form, const ShardingContext& context,
                const std::string& notation) {
  const std::string name(retile::sharding_form_names[static_cast<std::size_t>(form)]);
  const auto written = to_text(sharding, form);
  if (!written) {
    fuzz::require(!written.error().message.empty(), "a form refuses without a reason", notation);
    fuzz::tally("not said by " + name);
    return;
  }
  fuzz::tally("written as " + name);
  const auto again = retile::parse_sharding(*written, context, "again");
  const std::string both = notation + "\n" + *written;
  fuzz::require(again.has_value(),
                "what is written is refused" + (again ? "" : ":\n" + retile::render(again.error())),
                both);
  fuzz::require(same(again->layout, sharding.layout), "what is written means something else", both);
  const auto twice = to_text(*again, form);
  fuzz::require(twice.has_value() && *twice == *written, "writing is no fixpoint", both);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::input(data, size);
  const std::string notation(bytes);
  const std::size_t line = bytes.find('\n');
  if (line == std::string_view::npos) return 0;
  ShardingContext context;
  if (line > 0) {
    const auto mesh = retile::parse_any_mesh(bytes.substr(0, line), "--mesh");
    if (!mesh) {
      fuzz::check_refusal(mesh.error(), notation);
      fuzz::tally("meshes refused");
      return 0;
    }
    context.mesh = *mesh;
  }
  const auto read = retile::parse_sharding(bytes.substr(line + 1), context, "FROM");
  if (!read) {
    fuzz::check_refusal(read.error(), notation);
    fuzz::require(retile::render(read.error()).find('^') != std::string::npos,
                  "a refusal points nowhere", notation);
    fuzz::tally("refused");
    return 0;
  }
  if (read->layout.devices() > most_devices) return 0;
  fuzz::reached();
  // Written texts say no shape, some no mesh, and one device alone does not say how many there are.
  context.shape = read->layout.global();
  context.mesh = read->mesh;
  context.devices = read->layout.devices();
  for (std::size_t form = 0; form < retile::sharding_form_names.size(); ++form) {
    check_form(*read, static_cast<ShardingForm>(form), context, notation);
  }
  return 0;
}

static const std::vector<std::string> vocabulary = {
    "x:2,y:4\n",
    "x:12\n",
    "Mesh('x': 2, 'y': 4)\n",
    "<[\"x\"=2, \"y\"=4]>\n",
    "sdy.mesh @m = <[\"x\"=4], device_ids=[3,1,2,0]>\n",
    "mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0))\n",
    "mesh.mesh @m(shape = 2x4)\n",
    "DeviceMesh('cpu', [[0,1],[3,2]])\n",
    "P('x', None)",
    "('y', 'x')",
    "unreduced={'x'}",
    "NamedSharding(mesh=Mesh('x': 4), spec=P('x'))",
    "#sdy.sharding<@m, [{\"x\"}, {\"y\", ?}p1]>",
    "<mesh<[\"x\"=4]>, [{\"x\":(2)2}]>",
    "\"x\":(1)2",
    ", replicated={\"y\"}",
    ", unreduced=max{\"y\"}",
    "{devices=[2,2]<=[4]}",
    "{devices=[2,1,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}",
    "{devices=[2,2]0,2,1,3}",
    " last_tile_dims={unreduced, replicated}",
    "{replicated}",
    "{maximal device=1}",
    "{mesh['x'=2,'y'=4], [{'x'}, {'y':(2)2}]}",
    "T(1,0)",
    "(Shard(0), Replicate())",
    "_StridedShard(dim=0, sf=2)",
    "Partial(max)",
    "#mesh.shard<@m, [[0, 1], []]>",
    ", partial = sum[1]",
    "shard.sharding @m split_axes = [[0], [1]]",
    " sharded_dims_offsets = [0, 3, 8]",
    " : tensor<8x8xf32>",
    "f32[9,4] ",
    " : tensor<6x1xbf16>",
    "[4{x}8, 2{y}8]",
    "sum{y}[4{x}8, 8]",
    "[8, 8]@1",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    ",",
    "'",
    "\"",
    "?",
    "0",
    "2",
    "4",
    "9223372036854775807"};

/// One placement in some notation.
static std::string fresh(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  static const std::vector<std::string> types = {
      "[4{x}8, 2{y}8]",   "[1{y,x}8, 8]", "[1{x,y}8, 8]",   "[8, 2{y:(2)2,x}8]", "sum{x}[8, 2{y}8]",
      "max{y}[4{x}8, 8]", "[8, 8]@3",     "[4{x}7, 2{y}5]", "[(0,5,8){x}8, 8]"};
  ShardingContext context;
  context.mesh = retile::parse_any_mesh("x:2,y:4").value();
  const auto sharding = retile::parse_sharding(types[random() % types.size()], context).value();
  const auto text =
      to_text(sharding, static_cast<ShardingForm>(random() % retile::sharding_form_names.size()));
  std::string shape = " : tensor<";
  for (const Size extent : sharding.layout.global()) shape += std::to_string(extent) + "x";
  return "x:2,y:4\n" + (text ? *text : std::string("P()")) + shape + "f32>";
}
RETILE_FUZZ_TEXT_MUTATORS(vocabulary, fresh)
