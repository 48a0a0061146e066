// Whole programs in HLO and StableHLO: a text does what it does itself, with comments between its lines
// as well, and at smaller extents.
//
// An input is a text.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "fuzz/refusal.h"
#include "retile/foreign/reader.h"
#include "retile/whole/validate.h"

const fuzz::Target fuzz::target = {"whole", 0.5};

namespace {

using retile::whole::Answer;
using retile::whole::Extents;
using retile::whole::Validation;

/// The same text, as every reader of it must see it.
std::string commented(const std::string& text) {
  const bool is_hlo = retile::foreign::language_of(text) == retile::foreign::Language::hlo;
  std::string out;
  for (const char c : text) {
    if (c == '\n') out += is_hlo ? "  /* none */" : "  // none";
    out += c;
  }
  return out;
}

void compare(const std::string& text, const std::string& other, Extents extents) {
  const retile::Result<Validation> out =
      retile::whole::validate(text, "before", other, "after",
                              {.draws = 2,
                               .seed = 1,
                               .most_bytes = retile::Size{1} << 24,
                               .timeout_seconds = 1,
                               .extents = extents,
                               .from = {},
                               .to = {}});
  fuzz::require(out.has_value(), "a text is not read beside itself", text);
  if (out->answer == Answer::undecided) {
    fuzz::tally("undecided");
    return;
  }
  fuzz::reached();
  const bool is_right = (out->answer == Answer::right) != fuzz::control();
  fuzz::require(is_right, "a program does not do what it does", text);
}

/// Sums, products and functions of two arguments, one behind the other.
std::string fresh(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<std::string> both = {"add", "multiply", "subtract", "maximum", "divide"};
  const std::vector<std::string> one = {"negate", "exponential", "tanh", "copy", "abs"};
  std::string out =
      "HloModule m\nENTRY e {\n v0 = f32[4,8] parameter(0)\n v1 = f32[4,8] parameter(1)\n";
  const std::size_t count = 1 + random() % 6;
  for (std::size_t k = 2; k < 2 + count; ++k) {
    const std::string name =
        std::string(k + 1 == 2 + count ? "ROOT " : "") + "v" + std::to_string(k);
    const auto any = [&] { return "v" + std::to_string(random() % k); };
    out += " " + name + " = f32[4,8] ";
    out += random() % 2 == 0 ? both[random() % both.size()] + "(" + any() + ", " + any() + ")\n"
                             : one[random() % one.size()] + "(" + any() + ")\n";
  }
  return out + "}\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::input(data, size));
  const auto read = retile::whole::readable(text, "input");
  if (!read) {
    fuzz::check_refusal(read.error(), text);
    return 0;
  }
  const std::string other = commented(text);
  const bool is_same = retile::whole::readable(other, "commented").has_value();
  compare(text, is_same ? other : text, Extents::full);
  compare(text, text, Extents::reduced);
  return 0;
}

static const std::vector<std::string> vocabulary = {
    "HloModule m, num_partitions=4\n",
    "ENTRY e {\n",
    "}\n",
    " p = f32[8,16] parameter(0), sharding={devices=[4,1]<=[4]}\n",
    " ROOT r = f32[8,16] copy(p)\n",
    " c = s32[4] constant({0, 1, 2, 3})\n",
    " i = u32[] partition-id()\n",
    " k = s32[8,16] iota(), iota_dimension=1\n",
    ", channel_id=1, replica_groups={{0,1},{2,3}}, dimensions={0}",
    ", replica_groups=[2,2]<=[4], use_global_device_ids=true",
    ", source_target_pairs={{0,1},{1,0}}",
    ", dynamic_slice_sizes={1,4}",
    ", to_apply=%add",
    ", condition=%c, body=%b",
    ", padding=1_0_1",
    ", slice={[0:4], [4:8]}",
    ", direction=GE",
    ", lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ", window={size=3x1 pad=1_1x0_0}, dim_labels=b0f_0io->b0f",
    ", dimensions={1}",
    "all-gather(",
    "all-reduce(",
    "reduce(",
    "reduce-window(",
    "scatter(",
    "gather(",
    "sort(",
    "while(",
    "conditional(",
    "dynamic-slice(",
    "dot(",
    "select(",
    "convert(",
    "bf16[",
    "f32[",
    "c64[",
    "s32[]",
    "pred[]",
    "stablehlo.add %0, %1 : tensor<4x8xf32>",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    "=",
    "0",
    "16",
    "-1",
    "9223372036854775807"};
RETILE_FUZZ_TEXT_MUTATORS(vocabulary, fresh)
