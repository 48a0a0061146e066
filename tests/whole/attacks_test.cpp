// Pairs that were once called right and are wrong, or were called wrong and are right, each beside one
// that the other answer is due to.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

struct Attack {
  std::string name;
  std::string parameters;  ///< what all texts begin with
  std::string before;
  std::string same;   ///< means the same
  std::string other;  ///< does not, and must not be called right
  std::string more = "";
};

const char* const floats = "%x = f32[4] parameter(0)\n";

std::string root_of(const std::string& type, const std::string& operation) {
  return "ROOT %r = " + type + " " + operation + "\n";
}

void expect_told_apart(const std::vector<Attack>& all, const std::string& header = "") {
  for (const Attack& one : all) {
    const auto text = [&](const std::string& body) {
      std::string out = module_of(one.parameters + body, one.more);
      return out.replace(0, 11, "HloModule m" + header);
    };
    EXPECT_EQ(answer(text(one.before), text(one.same)), "right") << one.name;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      EXPECT_NE(answer(text(one.before), text(one.other), seed), "right") << one.name;
    }
  }
}

std::string call_of(const std::string& attributes) {
  return "ROOT %r = f32[4] custom-call(%x), custom_call_target=\"f\"" + attributes + "\n";
}

TEST(Attacks, unknown_functions_by_all_that_they_are_told) {
  const std::string named =
      "%own {\n  %p = f32[] parameter(0)\n  %q = f32[] parameter(1)\n"
      "  ROOT %s = f32[] add(%p, %q)\n}\n";
  std::vector<Attack> all = {
      {"a computation by what it does", floats, call_of(", to_apply=%add_f32"),
       call_of(", to_apply=%own"), call_of(", to_apply=%multiply_f32"), named},
      {"several computations", floats, call_of(", called_computations={%add_f32, %own}"),
       call_of(", called_computations={%own, %add_f32}"),
       call_of(", called_computations={%own, %multiply_f32}"), named},
      {"shape of an operand", floats, call_of(""), call_of(", api_version=API_VERSION_ORIGINAL"),
       "%y = f32[2,2] reshape(%x)\nROOT %r = f32[4] custom-call(%y), custom_call_target=\"f\"\n"},
      {"shape of a result", floats, call_of(""), call_of(""),
       "%y = f32[2,2] custom-call(%x), custom_call_target=\"f\"\nROOT %r = f32[4] reshape(%y)\n"},
  };
  for (const char* attribute : {"window={size=", "feature_group_count=", "literal={"}) {
    const std::string first = std::string(", ") + attribute;
    const std::string end = first.find('{') == std::string::npos ? "" : "}";
    all.push_back({attribute, floats, call_of(first + "3" + end), call_of(first + "3" + end),
                   call_of(first + "5" + end)});
  }
  expect_told_apart(all);
}

TEST(Attacks, random_numbers) {
  const std::string ends = "%a = f32[] constant(0)\n%b = f32[] constant(1)\n";
  const auto drawn = [](const std::string& name) {
    return name + " = f32[4] rng(%a, %b), distribution=rng_uniform\n";
  };
  expect_told_apart(
      {{"drawn twice", ends, drawn("%p") + drawn("%q") + root_of("f32[4]", "subtract(%p, %q)"),
        drawn("%p") + drawn("%q") + root_of("f32[4]", "subtract(%p, %q)"),
        drawn("%p") + root_of("f32[4]", "subtract(%p, %p)")}});
}

/// From f32 to a type and to what the result is.
std::string through(const std::string& type, const std::string& to,
                    const std::string& operation = "convert") {
  return "%y = " + type + "[4] " + operation + "(%x)\n" + root_of(to + "[4]", "convert(%y)");
}

TEST(Attacks, conversions_by_type) {
  const std::string bytes = "%x = u8[4] parameter(0)\n";
  const std::string words = "%x = u16[4] parameter(0)\n";
  const auto there_and_back = [](const std::string& number, const std::string& integer) {
    return "%y = " + number + "[4] bitcast-convert(%x)\n" +
           root_of(integer + "[4]", "bitcast-convert(%y)");
  };
  expect_told_apart({
      {"to fewer bits first", floats, through("s8", "s32"), through("s8", "s32"),
       root_of("s32[4]", "convert(%x)")},
      {"without a sign first", floats, through("u32", "s32"), through("u32", "s32"),
       root_of("s32[4]", "convert(%x)")},
      {"formats of as many bits", floats, through("f8e4m3fn", "f32"), through("f8e4m3fn", "f32"),
       through("f8e4m3b11fnuz", "f32")},
      {"bits of f16 and of bf16", words, through("bf16", "f32", "bitcast-convert"),
       through("bf16", "f32", "bitcast-convert"), through("f16", "f32", "bitcast-convert")},
      {"bits of f8", bytes, through("f8e4m3fn", "f32", "bitcast-convert"),
       through("f8e4m3fn", "f32", "bitcast-convert"), through("f8e5m2", "f32", "bitcast-convert")},
      {"bits of f32 and of f64", floats, root_of("s32[4]", "bitcast-convert(%x)"),
       root_of("s32[4]", "bitcast-convert(%x)"),
       "%y = f64[4] convert(%x)\n%z = s64[4] bitcast-convert(%y)\n" +
           root_of("s32[4]", "convert(%z)")},
      {"bits of f4 and of f8", "%x = f4e2m1fn[4] parameter(0)\n",
       "%y = s4[4] bitcast-convert(%x)\n" + root_of("s32[4]", "convert(%y)"),
       "%y = s4[4] bitcast-convert(%x)\n" + root_of("s32[4]", "convert(%y)"),
       "%w = f8e4m3fn[4] convert(%x)\n%b = s8[4] bitcast-convert(%w)\n%y = s4[4] convert(%b)\n" +
           root_of("s32[4]", "convert(%y)")},
  });
  // Every value of 16 bits keeps them, but for those of what is no number.
  EXPECT_EQ(answer(module_of(words + there_and_back("f16", "u16")),
                   module_of(words + root_of("u16[4]", "negate(%x)"))),
            "wrong");
  EXPECT_NE(answer(module_of(words + there_and_back("f16", "u16")),
                   module_of(words + root_of("u16[4]", "copy(%x)"))),
            "wrong");
}

TEST(Attacks, numbers_that_are_known) {
  const std::string tenth = "%c = f32[] constant(0.1)\n";
  const std::string large = "%c = f32[] constant(300)\n";
  const auto constant = [](const std::string& type, const std::string& number) {
    return root_of(type + "[]", "constant(" + number + ")");
  };
  const auto counted_as = [](const std::string& type) {
    return "%i = s32[600] iota(), iota_dimension=0\n%y = " + type + "[600] convert(%i)\n" +
           root_of("f32[600]", "convert(%y)");
  };
  expect_told_apart({
      {"rounded", tenth, "%d = bf16[] convert(%c)\n" + root_of("f32[]", "convert(%d)"),
       constant("f32", "0.100097656"), constant("f32", "0.1")},
      {"rounded to a precision", tenth,
       root_of("f32[]", "reduce-precision(%c), exponent_bits=8, mantissa_bits=7"),
       constant("f32", "0.100097656"), constant("f32", "0.1")},
      {"beyond the largest", large, root_of("s8[]", "convert(%c)"), constant("s8", "127"),
       constant("s8", "44")},
      {"no number", "%c = f32[] constant(nan)\n", root_of("s32[]", "convert(%c)"),
       constant("s32", "0"), constant("s32", "10")},
      {"towards zero", "%c = f32[] constant(2.7)\n", root_of("s32[]", "convert(%c)"),
       constant("s32", "2"), constant("s32", "3")},
      {"bits", "%c = f32[] constant(1.5)\n", root_of("s32[]", "bitcast-convert(%c)"),
       constant("s32", "1069547520"), constant("s32", "1069547521")},
      {"of bits", "%c = s32[] constant(1069547520)\n", root_of("f32[]", "bitcast-convert(%c)"),
       constant("f32", "1.5"), constant("f32", "1.25")},
      {"counted in a format", "", counted_as("bf16"),
       "%i = bf16[600] iota(), iota_dimension=0\n" + root_of("f32[600]", "convert(%i)"),
       counted_as("f32")},
      {"magnitude", "%c = f32[] constant(-2.5)\n", root_of("f32[]", "abs(%c)"),
       constant("f32", "2.5"), constant("f32", "-2.5")},
      {"floor", "%c = f32[] constant(-2.5)\n", root_of("f32[]", "floor(%c)"), constant("f32", "-3"),
       constant("f32", "-2")},
  });
  // A sum that was rounded is no mistake, and the number beside it may be one.
  const std::string sum =
      "%c = bf16[] constant(0.1)\n%d = bf16[] constant(0.3)\n" + root_of("bf16[]", "add(%c, %d)");
  EXPECT_EQ(answer(module_of(sum), module_of(constant("bf16", "0.400390625"))), "right");
  EXPECT_EQ(answer(module_of(sum), module_of(constant("bf16", "0.40234375"))).substr(0, 9),
            "undecided");
  EXPECT_EQ(answer(module_of(sum), module_of(constant("bf16", "0.5"))), "wrong");
}

TEST(Attacks, integers_of_any_size) {
  const std::string two = "%x = s32[4] parameter(0)\n%y = s32[4] parameter(1)\n";
  const std::string limit = "%m = s32[] constant(1000)\n%b = s32[4] broadcast(%m), dimensions={}\n";
  expect_told_apart({
      {"narrowed", two, root_of("s32[4]", "add(%x, %y)"), root_of("s32[4]", "add(%y, %x)"),
       "%n = s16[4] convert(%x)\n%w = s32[4] convert(%n)\n" + root_of("s32[4]", "add(%w, %y)")},
      {"beside what stands in the text", two + limit,
       root_of("pred[4]", "compare(%x, %b), direction=LT"),
       root_of("pred[4]", "compare(%b, %x), direction=GT"),
       root_of("pred[4]", "compare(%x, %b), direction=LE")},
      {"a power of an exponent without a sign", "%a = u64[] constant(3)\n",
       "%b = u64[] constant(18446744073709551615)\n" + root_of("u64[]", "power(%a, %b)"),
       root_of("u64[]", "constant(12297829382473034411)"), root_of("u64[]", "constant(0)")},
      {"their own order is total", "%a = s32[] constant(-1)\n%b = s32[] constant(1)\n",
       root_of("pred[]", "compare(%a, %b), direction=LT, order=TOTAL"),
       root_of("pred[]", "constant(true)"), root_of("pred[]", "constant(false)")},
  });
}

/// A module of two devices.
std::string of_two(const std::string& body, const std::string& more = "",
                   const std::string& header = ", num_partitions=2") {
  return module_of(body, more).replace(0, 11, "HloModule m" + header);
}

TEST(Attacks, devices_that_hold_their_own) {
  const std::string swapped = "collective-permute(%x), source_target_pairs={{0,1},{1,0}}";
  const std::string copied = floats + root_of("f32[4]", "copy(%x)");
  for (const std::string& rest : {std::string(", channel_id=1"), std::string()}) {
    const std::string header = rest.empty() ? ", replica_count=2" : ", num_partitions=2";
    const std::string text = of_two(floats + root_of("f32[4]", swapped + rest), "", header);
    EXPECT_EQ(answer(text, of_two(copied, "", header)), "wrong") << header;
    EXPECT_EQ(answer(text, text), "right") << header;
    // Partitions of a text that says nothing of them hold the whole, replicas what each has.
    EXPECT_EQ(answer(of_two(copied, "", header), text), rest.empty() ? "wrong" : "right") << header;
  }
  // The devices of the text before hold different numbers, and those of the other one the same.
  const std::string own = "%p = u32[] partition-id()\n" + root_of("u32[]", "copy(%p)");
  EXPECT_EQ(answer(of_two(own), of_two(root_of("u32[]", "constant(0)"))), "wrong");
  EXPECT_EQ(answer(of_two(own), of_two(own)), "right");
  EXPECT_EQ(answer(module_of(own), of_two(own)), "wrong");
  const std::string alone = module_of(floats + root_of("f32[4]",
                                                       "all-reduce(%x), channel_id=1, "
                                                       "replica_groups={{0}}, to_apply=%add_f32"));
  EXPECT_EQ(answer(of_two(floats + root_of("f32[4]", "copy(%x)")), alone).substr(0, 9),
            "undecided");
}

TEST(Attacks, padding_where_an_extent_is_1) {
  const std::string before = of_two(
      "%x = f32[1] parameter(0), sharding={devices=[2]<=[2]}\n"
      "ROOT %r = f32[1] copy(%x), sharding={replicated}\n");
  const std::string gathered =
      "%g = f32[2] all-gather(%x), channel_id=1, replica_groups={{0,1}}, "
      "use_global_device_ids=true, dimensions={0}\n";
  const std::string parameter = "%x = f32[1] parameter(0)\n";
  EXPECT_EQ(answer(before, of_two(parameter + root_of("f32[1]", "copy(%x)"))), "wrong");
  EXPECT_EQ(
      answer(before, of_two(parameter + gathered + root_of("f32[1]", "slice(%g), slice={[0:1]}"))),
      "right");
  EXPECT_EQ(answer(before, before), "right");  // both of the whole array
}

/// Three integers on two devices: the last one holds one and padding, which `%inside` masks.
const char* const inside =
    "%p = u32[] partition-id()\n%n = s32[] convert(%p)\n%t = s32[] constant(2)\n"
    "%f = s32[] multiply(%n, %t)\n%i = s32[2] iota(), iota_dimension=0\n"
    "%b = s32[2] broadcast(%f), dimensions={}\n%j = s32[2] add(%i, %b)\n"
    "%e = s32[] constant(3)\n%l = s32[2] broadcast(%e), dimensions={}\n"
    "%inside = pred[2] compare(%j, %l), direction=LT\n";
const char* const largest_of_both =
    "ROOT %r = s32[] all-reduce(%s), channel_id=1, replica_groups={{0,1}}, "
    "use_global_device_ids=true, to_apply=%maximum_s32\n";

TEST(Attacks, integers_in_padding) {
  const std::string least = "%z = s32[] constant(-2147483648)\n";
  const std::string before =
      of_two("%x = s32[3] parameter(0), sharding={devices=[2]<=[2]}\n" + least +
             "ROOT %r = s32[] reduce(%x, %z), dimensions={0}, to_apply=%maximum_s32, "
             "sharding={replicated}\n");
  const std::string reduced = "= s32[] reduce(%y, %z), dimensions={0}, to_apply=%maximum_s32\n";
  const std::string masked = std::string(inside) +
                             "%w = s32[2] broadcast(%z), dimensions={}\n"
                             "%y = s32[2] select(%inside, %x, %w)\n";
  const std::string parameter = "%x = s32[2] parameter(0)\n" + least;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(
        answer(before, of_two(parameter + "%y = s32[2] copy(%x)\n%s " + reduced + largest_of_both),
               seed),
        "wrong");
    EXPECT_EQ(answer(before, of_two(parameter + masked + "%s " + reduced + largest_of_both), seed),
              "right");
  }
}

/// One below the least integer is the largest, and one above the largest the least. Hardly any argument
/// is either of them.
TEST(Attacks, the_least_and_the_largest_integer_in_padding) {
  for (const bool is_least : {true, false}) {
    const auto overflows = [&](const std::string& extent) {
      return "%o = s32[] constant(1)\n%os = s32[" + extent +
             "] broadcast(%o), dimensions={}\n%y = s32[" + extent + "] " +
             (is_least ? "subtract" : "add") + "(%x, %os)\n%c = pred[" + extent +
             "] compare(%y, %x), direction=" + (is_least ? "GT" : "LT") + "\n";
    };
    const std::string any = "reduce(%m, %z), dimensions={0}, to_apply=%maximum_s32";
    const std::string before =
        of_two("%x = s32[3] parameter(0), sharding={devices=[2]<=[2]}\n" + overflows("3") +
               "%m = s32[3] convert(%c)\n%z = s32[] constant(0)\nROOT %r = s32[] " + any +
               ", sharding={replicated}\n");
    const auto after = [&](const std::string& where) {
      return of_two("%x = s32[2] parameter(0)\n" + overflows("2") + where +
                    "%m = s32[2] convert(%w)\n%z = s32[] constant(0)\n%s = s32[] " + any + "\n" +
                    largest_of_both);
    };
    const std::string masked = std::string(inside) + "%w = pred[2] and(%c, %inside)\n";
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      EXPECT_EQ(answer(before, after("%w = pred[2] copy(%c)\n"), seed), "wrong") << is_least;
      EXPECT_EQ(answer(before, after(masked), seed), "right") << is_least;
    }
  }
}

TEST(Attacks, halves_of_an_operation_in_a_call) {
  const std::string two = "%x = f32[4] parameter(0)\n%y = f32[4] parameter(1)\n";
  const std::string halves =
      "%f {\n  %p = f32[4] parameter(0)\n  %s = f32[4] all-reduce-start(%p), channel_id=1, "
      "replica_groups={{0,1}}, use_global_device_ids=true, to_apply=%maximum_f32\n"
      "  ROOT %d = f32[4] all-reduce-done(%s)\n}\n";
  const auto called = [&](const std::string& second) {
    return of_two(two + "%a = f32[4] call(%x), to_apply=%f\n%b = f32[4] call(" + second +
                      "), to_apply=%f\n" + root_of("f32[4]", "add(%a, %b)"),
                  halves);
  };
  EXPECT_EQ(answer(called("%y"), called("%x")), "wrong");
  EXPECT_EQ(answer(called("%y"), called("%y")), "right");
}

TEST(Attacks, layouts_of_what_a_bitcast_reads) {
  const std::string parameter = "%x = f32[2,3]{1,0} parameter(0)\n";
  const auto copied = [&](const std::string& layout) {
    return module_of(parameter + "%c = f32[2,3]" + layout + " copy(%x)\n" +
                     root_of("f32[3,2]{1,0}", "bitcast(%c)"));
  };
  const std::string reshaped = module_of(parameter + root_of("f32[3,2]{1,0}", "reshape(%x)"));
  EXPECT_EQ(answer(copied("{1,0}"), reshaped), "right");
  const std::string transposed =
      module_of(parameter + root_of("f32[3,2]{1,0}", "transpose(%x), dimensions={1,0}"));
  EXPECT_EQ(answer(copied("{0,1}"), reshaped), "wrong");
  EXPECT_EQ(answer(copied("{0,1}"), transposed), "right");
}

TEST(Attacks, hostile_texts) {
  std::string nested = "%f0 {\n  ROOT %p = f32[4] parameter(0)\n}\n";
  constexpr int depth = 20000;
  for (int k = 1; k < depth; ++k) {
    const std::string inner = "%f" + std::to_string(k - 1);
    nested += "%f" + std::to_string(k) +
              " {\n  %p = f32[4] parameter(0)\n  %c = pred[] constant(true)\n"
              "  ROOT %r = f32[4] conditional(%c, %p, %p), true_computation=" +
              inner + ", false_computation=" + inner + "\n}\n";
  }
  const std::string deep = module_of(
      std::string(floats) + root_of("f32[4]", "call(%x), to_apply=%f" + std::to_string(depth - 1)),
      nested);
  EXPECT_EQ(answer(deep, deep), "computations in each other deeper than 64");
  const std::string length = std::to_string((std::int64_t{1} << 62) - 57);
  const std::string transform =
      module_of("%x = c64[0," + length + "] parameter(0)\nROOT %r = c64[0," + length +
                "] fft(%x), fft_type=FFT, fft_length={" + length + "}\n");
  EXPECT_EQ(answer(transform, transform), "undecided: transforms of too many lengths");
  EXPECT_EQ(answer(of_two(floats + root_of("f32[4]", "copy(%x)")),
                   of_two(floats + root_of("f32[4]", "copy(%x)"), "", ", num_partitions=4")),
            "2 devices before, but 4 devices after");
}

// ---- Smaller extents ----------------------------------------------------------------------------

void expect_told_apart_at_smaller(const std::vector<Attack>& all) {
  for (const Attack& one : all) {
    const auto answer_of = [&](const std::string& body) {
      const auto out = validate(module_of(one.parameters + one.before), "before",
                                module_of(one.parameters + body), "after",
                                {.draws = 3, .seed = 1, .extents = Extents::reduced});
      return out ? out->answer : Answer::undecided;
    };
    EXPECT_EQ(answer_of(one.same), Answer::right) << one.name;
    EXPECT_EQ(answer_of(one.other), Answer::wrong) << one.name;
  }
}

std::string kept_where(const std::string& condition) {
  return condition + root_of("f32[64,64]", "select(%m, %x, %zs)");
}

/// In a block of one index the first index is all of the block, and `<` is `<=`.
TEST(Attacks, places_in_a_block_that_became_one) {
  const std::string masks =
      "%x = f32[64,64] parameter(0)\n%z = f32[] constant(0)\n%n = s32[] constant(16)\n"
      "%o = s32[] constant(0)\n%zs = f32[64,64] broadcast(%z), dimensions={}\n"
      "%ns = s32[64,64] broadcast(%n), dimensions={}\n"
      "%os = s32[64,64] broadcast(%o), dimensions={}\n"
      "%i = s32[64,64] iota(), iota_dimension=0\n%j = s32[64,64] iota(), iota_dimension=1\n"
      "%k = s32[64,64] add(%j, %ns)\n";
  const auto where = [](const std::string& a, const std::string& b, const std::string& direction) {
    return kept_where("%m = pred[64,64] compare(" + a + ", " + b + "), direction=" + direction +
                      "\n");
  };
  expect_told_apart_at_smaller({
      {"the first of a block", masks, where("%i", "%os", "EQ"), where("%i", "%os", "LE"),
       where("%i", "%ns", "LT")},
      {"all but the first", masks, where("%i", "%os", "GT"), where("%os", "%i", "LT"),
       where("%i", "%ns", "GE")},
      {"a triangle, and the next block", masks, where("%i", "%j", "LE"), where("%j", "%i", "GE"),
       where("%i", "%k", "LT")},
  });
}

/// Smaller numbers fit where the numbers of the text are cut off.
TEST(Attacks, places_that_their_type_has_no_room_for) {
  const auto first_64 = [](const std::string& t) {
    return "%k = " + t + "[] constant(64)\n%c = " + t +
           "[512] broadcast(%k), dimensions={}\n%i = " + t +
           "[512] iota(), iota_dimension=0\n%m = pred[512] compare(%i, %c), direction=LT\n" +
           root_of("f32[512]", "select(%m, %x, %zs)");
  };
  const std::string wide =
      "%x = f32[512] parameter(0)\n%z = f32[] constant(0)\n"
      "%zs = f32[512] broadcast(%z), dimensions={}\n";
  expect_told_apart_at_smaller({
      {"with a sign", wide, first_64("s32"), first_64("s16"), first_64("s8")},
      {"without a sign", wide, first_64("s32"), first_64("u16"), first_64("u8")},
  });
  const auto itself = [](const std::string& t) {
    return "%j = s32[512] iota(), iota_dimension=0\n%i = " + t +
           "[512] iota(), iota_dimension=0\n%k = s32[512] convert(%i)\n"
           "%m = pred[512] compare(%j, %k), direction=EQ\n" +
           root_of("f32[512]", "select(%m, %x, %zs)");
  };
  expect_told_apart_at_smaller(
      {{"without constants", wide, itself("s64"), itself("s16"), itself("s8")}});
}

/// What is left of 64 elements may be as many as the other text has.
TEST(Attacks, as_many_elements_as_are_left) {
  const std::string copies =
      "%x = f32[] parameter(0)\n%z = f32[] constant(0)\n%xs = f32[64] broadcast(%x), "
      "dimensions={}\n";
  const std::string sum = root_of("f32[]", "reduce(%xs, %z), dimensions={0}, to_apply=%add_f32");
  expect_told_apart_at_smaller({
      {"added up", copies, sum, "%n = f32[] constant(64)\n" + root_of("f32[]", "multiply(%x, %n)"),
       root_of("f32[]", "add(%x, %x)")},
  });
}

/// Addends of a sum have the type of the sum.
TEST(Attacks, sums_of_devices_that_are_not_cut) {
  const auto on_two = [](const std::string& body) {
    return "HloModule m, num_partitions=2\n" + scalar_computations() + "ENTRY %main {\n" + body +
           "}\n";
  };
  const std::string before = on_two(
      "%x = f32[4] parameter(0), sharding={devices=[1,2]<=[2] last_tile_dims={unreduced}}\n"
      "ROOT %r = f32[4] negate(%x), sharding={replicated}\n");
  const std::string addend = "%x = f32[4] parameter(0)\n";
  EXPECT_EQ(answer(before, on_two(addend + root_of("f32[4]", "negate(%x)"))), "wrong");
  EXPECT_EQ(answer(before, on_two(addend + "%n = f32[4] negate(%x)\n" +
                                  root_of("f32[4]",
                                          "all-reduce(%n), channel_id=1, replica_groups={{0,1}}, "
                                          "use_global_device_ids=true, to_apply=%add_f32"))),
            "right");
}

}  // namespace
}  // namespace retile::whole::tests
