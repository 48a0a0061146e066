#include "retile/foreign/evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "functions.h"

namespace retile::foreign {
namespace evaluator_test {

using Numbers = std::vector<std::int64_t>;
using Tags = std::vector<Tag>;
using testing::function_of;
using testing::layout;
using testing::module_of;

constexpr Size plenty = Size{1} << 24;

/// All of a function, evaluated.
class Evaluated {
 public:
  Evaluated(const Function& function, const Layout& from)
      : function_(function), evaluator_(function_, from, plenty) {
    for (const Operation& operation : function_.operations) evaluator_.apply(operation);
  }
  [[nodiscard]] const Block& block(Size device) const {
    return evaluator_.at(function_.results.front()).blocks[static_cast<std::size_t>(device)];
  }
  [[nodiscard]] Numbers numbers(Size device = 0) const { return block(device)->numbers(); }
  [[nodiscard]] Tags tags(Size device = 0) const { return block(device)->tags(); }
  [[nodiscard]] const Sums& sums() const { return evaluator_.sums(); }

 private:
  const Function& function_;
  Evaluator evaluator_;
};

/// Numbers that these instructions make on a device of three.
Numbers numbers(const std::string& instructions, Size device = 0) {
  const Function function = function_of(module_of(3, instructions));
  const Layout from = layout("[1]", "x:3");
  return Evaluated(function, from).numbers(device);
}

/// The tags of a device of two after these instructions on `p`, two rows of [4,3].
Tags tags(const std::string& instructions, Size device = 0) {
  const Function function = function_of(module_of(2, "p = f32[2,3] parameter(0)\n" + instructions));
  const Layout from = layout("[2{x}4, 3]", "x:2");
  return Evaluated(function, from).tags(device);
}

TEST(Evaluator, numbers_are_those_of_the_device) {
  EXPECT_EQ(numbers("ROOT r = u32[] partition-id()", 2), Numbers({2}));
  EXPECT_EQ(numbers("ROOT r = u32[] replica-id()", 2), Numbers({0}));
  EXPECT_EQ(numbers("ROOT r = s32[2,3] iota(), iota_dimension=1"), Numbers({0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(numbers("ROOT r = s32[2,3] iota(), iota_dimension=0"), Numbers({0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(numbers("t = s32[3] constant({7, -8, 9})\n i = u32[] partition-id()\n"
                    "ROOT r = s32[1] dynamic-slice(t, i), dynamic_slice_sizes={1}",
                    1),
            Numbers({-8}));
}

TEST(Evaluator, starts_are_clamped) {
  const std::string table = "t = s32[3] constant({7, 8, 9})\n";
  EXPECT_EQ(numbers(table + "i = s32[] constant(5)\n"
                            "ROOT r = s32[2] dynamic-slice(t, i), dynamic_slice_sizes={2}"),
            Numbers({8, 9}));
  EXPECT_EQ(numbers(table + "i = s32[] constant(-5)\n"
                            "ROOT r = s32[2] dynamic-slice(t, i), dynamic_slice_sizes={2}"),
            Numbers({7, 8}));
  EXPECT_EQ(numbers(table + "i = u64[] constant(18446744073709551615)\n"
                            "ROOT r = s32[2] dynamic-slice(t, i), dynamic_slice_sizes={2}"),
            Numbers({8, 9}));
  EXPECT_EQ(numbers(table + "u = s32[2] constant({1, 2})\ni = s32[] constant(9)\n"
                            "ROOT r = s32[3] dynamic-update-slice(t, u, i)"),
            Numbers({7, 1, 2}));
}

TEST(Evaluator, what_moves_numbers) {
  const std::string table = "t = s32[2,3] constant({{1,2,3},{4,5,6}})\nz = s32[] constant(0)\n";
  EXPECT_EQ(numbers(table + "ROOT r = s32[3,2] transpose(t), dimensions={1,0}"),
            Numbers({1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(numbers(table + "ROOT r = s32[3,2] reshape(t)"), Numbers({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbers(table + "ROOT r = s32[1,2] slice(t), slice={[1:2],[0:3:2]}"), Numbers({4, 6}));
  EXPECT_EQ(numbers(table + "ROOT r = s32[2,2] pad(t, z), padding=0_0x-1_0"),
            Numbers({2, 3, 5, 6}));
  EXPECT_EQ(numbers(table + "ROOT r = s32[3,6] pad(t, z), padding=1_0x0_1_1"),
            Numbers({0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}));
  // 1 0 2 0 3 without its ends
  EXPECT_EQ(numbers(table + "ROOT r = s32[2,3] pad(t, z), padding=0_0x-1_-1_1"),
            Numbers({0, 2, 0, 0, 5, 0}));
  EXPECT_EQ(numbers(table + "ROOT r = s32[2,1] pad(t, z), padding=0_0x-4_0_1"), Numbers({3, 6}));
  EXPECT_EQ(numbers(table + "ROOT r = s32[2,6] concatenate(t, t), dimensions={1}"),
            Numbers({1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(numbers("t = s32[2] constant({1,2})\nROOT r = s32[2,2] broadcast(t), dimensions={0}"),
            Numbers({1, 1, 2, 2}));
  EXPECT_EQ(numbers("t = s32[2] constant({1,2})\nROOT r = s32[2,2] broadcast(t), dimensions={1}"),
            Numbers({1, 2, 1, 2}));
}

TEST(Evaluator, steps_over_one_element_may_be_as_large_as_a_number) {
  const std::string row = "t = s32[1,3] constant({{7,8,9}})\nz = s32[] constant(0)\n";
  EXPECT_EQ(numbers(row + "ROOT r = s32[1,1] slice(t), slice={[0:1:4611686018427387904],"
                          "[1:3:9223372036854775807]}"),
            Numbers({8}));
  EXPECT_EQ(numbers(row + "ROOT r = s32[2,3] pad(t, z), padding=1_0_9223372036854775807x0_0"),
            Numbers({0, 0, 0, 7, 8, 9}));
}

TEST(Evaluator, what_decides) {
  const std::string tables =
      "a = s32[3] constant({1,2,3})\nb = s32[3] constant({3,2,1})\nt = pred[] constant(true)\n";
  const std::vector<std::pair<std::string, Numbers>> directions = {
      {"EQ", {0, 1, 0}}, {"NE", {1, 0, 1}}, {"LT", {1, 0, 0}},
      {"LE", {1, 1, 0}}, {"GT", {0, 0, 1}}, {"GE", {0, 1, 1}}};
  for (const auto& [direction, expected] : directions) {
    EXPECT_EQ(numbers(tables + "ROOT r = pred[3] compare(a, b), direction=" + direction), expected);
  }
  EXPECT_EQ(numbers(tables + "c = pred[3] compare(a, b), direction=LT\n"
                             "ROOT r = s32[3] select(c, a, b)"),
            Numbers({1, 2, 1}));
  EXPECT_EQ(numbers(tables + "ROOT r = s32[3] select(t, a, b)"), Numbers({1, 2, 3}));
}

TEST(Evaluator, arithmetic_is_that_of_the_type) {
  const std::string bytes = "a = s8[3] constant({100,-128,7})\nb = s8[3] constant({100,-1,0})\n";
  EXPECT_EQ(numbers(bytes + "ROOT r = s8[3] add(a, b)"), Numbers({-56, 127, 7}));
  EXPECT_EQ(numbers(bytes + "ROOT r = s8[3] subtract(a, b)"), Numbers({0, -127, 7}));
  EXPECT_EQ(numbers(bytes + "ROOT r = s8[3] multiply(a, b)"), Numbers({16, -128, 0}));
  EXPECT_EQ(numbers(bytes + "ROOT r = s8[3] divide(a, b)"), Numbers({1, -128, -1}));
  EXPECT_EQ(numbers(bytes + "ROOT r = s8[3] remainder(a, b)"), Numbers({0, 0, 7}));
  EXPECT_EQ(numbers(bytes + "ROOT r = s8[3] maximum(a, b)"), Numbers({100, -1, 7}));
  EXPECT_EQ(numbers(bytes + "ROOT r = s8[3] minimum(a, b)"), Numbers({100, -128, 0}));
  EXPECT_EQ(numbers(bytes + "ROOT r = s8[3] negate(a)"), Numbers({-100, -128, -7}));
  EXPECT_EQ(numbers(bytes + "ROOT r = s8[3] not(a)"), Numbers({-101, 127, -8}));
  EXPECT_EQ(numbers(bytes + "ROOT r = u8[3] convert(b)"), Numbers({100, 255, 0}));
  EXPECT_EQ(numbers(bytes + "ROOT r = pred[3] convert(b)"), Numbers({1, 1, 0}));
  const std::string words = "a = u32[2] constant({4294967295,5})\nb = u32[2] constant({1,3})\n";
  EXPECT_EQ(numbers(words + "ROOT r = u32[2] add(a, b)"), Numbers({0, 8}));
  EXPECT_EQ(numbers(words + "ROOT r = pred[2] compare(a, b), direction=LT"), Numbers({0, 0}));
  EXPECT_EQ(numbers(words + "ROOT r = u32[2] shift-left(a, b)"), Numbers({4294967294, 40}));
  EXPECT_EQ(numbers(words + "ROOT r = u32[2] shift-right-logical(a, b)"), Numbers({2147483647, 0}));
  EXPECT_EQ(numbers(words + "ROOT r = u32[2] and(a, b)"), Numbers({1, 1}));
  EXPECT_EQ(numbers(words + "ROOT r = u32[2] or(a, b)"), Numbers({4294967295, 7}));
  EXPECT_EQ(numbers(words + "ROOT r = u32[2] xor(a, b)"), Numbers({4294967294, 6}));
}

TEST(Evaluator, shifts_go_by_the_operation_whatever_the_type) {
  const std::string words = "a = s32[2] constant({-8,-1})\nb = s32[2] constant({1,31})\n";
  EXPECT_EQ(numbers(words + "ROOT r = s32[2] shift-right-logical(a, b)"), Numbers({2147483644, 1}));
  EXPECT_EQ(numbers(words + "ROOT r = s32[2] shift-right-arithmetic(a, b)"), Numbers({-4, -1}));
  const std::string bytes = "a = u8[2] constant({200,100})\nb = u8[2] constant({1,9})\n";
  EXPECT_EQ(numbers(bytes + "ROOT r = u8[2] shift-right-arithmetic(a, b)"), Numbers({228, 0}));
  EXPECT_EQ(numbers(bytes + "ROOT r = u8[2] shift-right-logical(a, b)"), Numbers({100, 0}));
}

TEST(Evaluator, comparisons_go_by_their_type) {
  const std::string words = "a = s32[3] constant({-1,1,0})\nb = s32[3] constant({1,-1,0})\n";
  EXPECT_EQ(numbers(words + "ROOT r = pred[3] compare(a, b), direction=GT"), Numbers({0, 1, 0}));
  EXPECT_EQ(numbers(words + "ROOT r = pred[3] compare(a, b), direction=GT, type=SIGNED"),
            Numbers({0, 1, 0}));
  EXPECT_EQ(numbers(words + "ROOT r = pred[3] compare(a, b), direction=GT, type=UNSIGNED"),
            Numbers({1, 0, 0}));
  const std::string bytes = "a = u8[2] constant({255,1})\nb = u8[2] constant({1,255})\n";
  EXPECT_EQ(numbers(bytes + "ROOT r = pred[2] compare(a, b), direction=LT, type=SIGNED"),
            Numbers({1, 0}));
  const std::string reals =
      "a = f32[4] constant({-0, nan, 1.5, -inf})\nb = f32[4] constant({0, nan, 2, nan})\n";
  EXPECT_EQ(numbers(reals + "ROOT r = pred[4] compare(a, b), direction=EQ"), Numbers({1, 0, 0, 0}));
  EXPECT_EQ(numbers(reals + "ROOT r = pred[4] compare(a, b), direction=NE, type=FLOAT"),
            Numbers({0, 1, 1, 1}));
  EXPECT_EQ(numbers(reals + "ROOT r = pred[4] compare(a, b), direction=LT, type=TOTALORDER"),
            Numbers({1, 0, 1, 1}));
  EXPECT_NE(testing::refusal_of(module_of(3, words + "ROOT r = pred[3] compare(a, b), "
                                                     "direction=EQ, type=FLOAT")),
            "");
}

TEST(Evaluator, numbers_with_a_point_are_known_and_become_integers) {
  const std::string reals = "a = f32[4] constant({1.5, -2.75, nan, 1e20})\n";
  EXPECT_EQ(numbers(reals + "ROOT r = s8[4] convert(a)"), Numbers({1, -2, 0, 127}));
  EXPECT_EQ(numbers(reals + "ROOT r = u8[4] convert(a)"), Numbers({1, 0, 0, 255}));
  EXPECT_EQ(numbers(reals + "ROOT r = pred[4] convert(a)"), Numbers({1, 1, 1, 1}));
  EXPECT_EQ(numbers("a = s32[2] constant({16777217,-3})\nb = f32[2] convert(a)\n"
                    "ROOT r = s32[2] convert(b)"),
            Numbers({16777216, -3}));
  EXPECT_EQ(numbers("a = f32[3] iota(), iota_dimension=0\nROOT r = s32[3] convert(a)"),
            Numbers({0, 1, 2}));
}

TEST(Evaluator, numbers_are_clamped_between_scalars_or_arrays) {
  const std::string words =
      "a = s32[3] constant({-5,2,9})\nl = s32[] constant(0)\nh = s32[3] constant({3,1,4})\n";
  EXPECT_EQ(numbers(words + "ROOT r = s32[3] clamp(l, a, h)"), Numbers({0, 1, 4}));
}

TEST(Evaluator, turns_dimensions_around) {
  EXPECT_EQ(tags("ROOT r = f32[2,3] reverse(p), dimensions={0}"), Tags({3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(tags("ROOT r = f32[2,3] reverse(p), dimensions={1}"), Tags({2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(tags("ROOT r = f32[2,3] reverse(p), dimensions={0,1}"), Tags({5, 4, 3, 2, 1, 0}));
}

TEST(Evaluator, the_parameter_is_the_box_of_the_device) {
  EXPECT_EQ(tags("ROOT r = f32[2,3] copy(p)", 0), Tags({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(tags("ROOT r = f32[2,3] copy(p)", 1), Tags({6, 7, 8, 9, 10, 11}));
}

TEST(Evaluator, what_lies_behind_the_array_is_undefined) {
  const Function function = function_of(module_of(4, "ROOT p = f32[2,2] parameter(0)"));
  const Layout from = layout("[2{x}3, 2{y}3]", "x:2,y:2");
  const Evaluated run(function, from);
  EXPECT_EQ(run.tags(0), Tags({0, 1, 3, 4}));
  EXPECT_EQ(run.tags(1), Tags({2, undefined_tag, 5, undefined_tag}));
  EXPECT_EQ(run.tags(2), Tags({6, 7, undefined_tag, undefined_tag}));
  EXPECT_EQ(run.tags(3), Tags({8, undefined_tag, undefined_tag, undefined_tag}));
}

TEST(Evaluator, numbers_among_elements_are_zero_or_unknown) {
  EXPECT_EQ(tags("z = f32[] constant(0)\nROOT r = f32[3,3] pad(p, z), padding=0_1x0_0"),
            Tags({0, 1, 2, 3, 4, 5, zero_tag, zero_tag, zero_tag}));
  EXPECT_EQ(tags("z = f32[] constant(1.5)\nROOT r = f32[3,3] pad(p, z), padding=1_0x0_0"),
            Tags({undefined_tag, undefined_tag, undefined_tag, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(tags("z = f32[] constant(-0)\nb = f32[2,3] broadcast(z), dimensions={}\n"
                 "i = s32[2,3] iota(), iota_dimension=1\no = s32[] constant(1)\n"
                 "c = s32[2,3] broadcast(o), dimensions={}\n"
                 "d = pred[2,3] compare(i, c), direction=EQ\nROOT r = f32[2,3] select(d, b, p)"),
            Tags({0, zero_tag, 2, 3, zero_tag, 5}));
}

TEST(Evaluator, the_ends_of_a_type_add_nothing_to_maxima_and_minima) {
  const auto with = [](const std::string& number, const std::string& operation) {
    return tags("z = f32[] constant(" + number + ")\nb = f32[2,3] broadcast(z), dimensions={}\n" +
                "ROOT r = f32[2,3] " + operation);
  };
  const Tags all = {0, 1, 2, 3, 4, 5};
  const Tags unknown(6, undefined_tag);
  EXPECT_EQ(with("-inf", "maximum(p, b)"), all);
  EXPECT_EQ(with("-inf", "maximum(b, p)"), all);
  EXPECT_EQ(with("inf", "minimum(p, b)"), all);
  EXPECT_EQ(with("inf", "maximum(p, b)"), unknown);
  EXPECT_EQ(with("-inf", "minimum(b, p)"), unknown);
  EXPECT_EQ(with("0", "maximum(p, b)"), unknown);
  EXPECT_EQ(with("-inf", "add(p, b)"), unknown);
}

TEST(Evaluator, collectives_move_between_devices) {
  const std::string both = ", channel_id=1, replica_groups={{1,0}}, dimensions={0}";
  EXPECT_EQ(tags("ROOT r = f32[4,3] all-gather(p)" + both + ", use_global_device_ids=true"),
            Tags({6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(tags("ROOT r = f32[2,3] all-to-all(p)" + both, 0), Tags({9, 10, 11, 3, 4, 5}));
  EXPECT_EQ(tags("ROOT r = f32[2,3] all-to-all(p)" + both, 1), Tags({6, 7, 8, 0, 1, 2}));
  EXPECT_EQ(tags("ROOT r = f32[2,3] collective-permute(p), channel_id=1, "
                 "source_target_pairs={{0,1}}",
                 1),
            Tags({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(tags("ROOT r = f32[2,3] collective-permute(p), channel_id=1, "
                 "source_target_pairs={{0,1}}",
                 0),
            Tags(6, zero_tag));
}

TEST(Evaluator, a_type_without_zeros_has_none_where_nothing_is_sent) {
  const auto permuted = [](const std::string& type) {
    return type + "[1] collective-permute(a), channel_id=1, source_target_pairs={{0,1}}";
  };
  const auto sent = [&](const std::string& type, Size device) {
    const std::string two = "a = " + type + "[1] constant({2})\nROOT r = " + permuted(type);
    return operations::real_of(numbers(two, device).front());
  };
  EXPECT_EQ(sent("f32", 0), 0);
  EXPECT_EQ(sent("f8e8m0fnu", 1), 2);
  EXPECT_TRUE(std::isnan(sent("f8e8m0fnu", 0)));
  const Layout from = layout("[1{x}2]", "x:2");
  for (const auto& [type, zero] :
       std::vector<std::pair<std::string, Tag>>{{"f32", zero_tag}, {"f8e8m0fnu", undefined_tag}}) {
    const Function function =
        function_of(module_of(2, "a = " + type + "[1] parameter(0)\nROOT r = " + permuted(type)));
    EXPECT_EQ(Evaluated(function, from).tags(0), Tags({zero})) << type;
    EXPECT_EQ(Evaluated(function, from).tags(1), Tags({0})) << type;
  }
}

TEST(Evaluator, parts_of_an_alltoall_go_by_member) {
  const std::string parts =
      "a = f32[1,3] slice(p), slice={[0:1],[0:3]}\nb = f32[1,3] slice(p), slice={[1:2],[0:3]}\n"
      "t = (f32[1,3], f32[1,3]) all-to-all(a, b), channel_id=1, replica_groups={{0,1}}\n";
  EXPECT_EQ(tags(parts + "ROOT r = f32[1,3] get-tuple-element(t), index=0", 1), Tags({3, 4, 5}));
  EXPECT_EQ(tags(parts + "ROOT r = f32[1,3] get-tuple-element(t), index=1", 0), Tags({6, 7, 8}));
}

TEST(Evaluator, splits_and_concatenates_other_dimensions) {
  const Function function = testing::Chain(2, {2, 2})
                                .then(AllToAll{.split = 1, .concat = 0, .groups = {{0, 1}}}, {4, 1})
                                .done();
  const Layout from = layout("[2{x}4, 2]", "x:2");
  EXPECT_EQ(Evaluated(function, from).tags(0), Tags({0, 2, 4, 6}));
  EXPECT_EQ(Evaluated(function, from).tags(1), Tags({1, 3, 5, 7}));
}

TEST(Evaluator, sums_are_formal) {
  const Function function = testing::Chain(2, {2}).then(AllReduce{.groups = {{0, 1}}}, {2}).done();
  const Layout from = layout("[2{x}4]", "x:2");
  const Evaluated run(function, from);
  ASSERT_TRUE(Sums::is_sum(run.tags(0)[1]));
  EXPECT_EQ(run.sums().terms(run.tags(0)[1]), (std::vector<Term>{{1, 1}, {3, 1}}));
  EXPECT_EQ(run.tags(0), run.tags(1));
  const Layout alike = layout("[2]", "x:2");
  const Evaluated twice(function, alike);
  EXPECT_EQ(twice.sums().terms(twice.tags(0)[0]), (std::vector<Term>{{0, 2}}));
}

/// What a place holds after sums of several devices that hold the same.
std::vector<Term> added_terms(const std::string& element, Size devices, const std::string& rest) {
  const std::string scalar = element + "[] ";
  const Function function = function_of(
      "HloModule m, num_partitions=" + std::to_string(devices) + "\nadd {\n x = " + scalar +
      "parameter(0)\n y = " + scalar + "parameter(1)\n ROOT r = " + scalar +
      "add(x, y)\n}\nENTRY e_spmd {\n p = " + element + "[1] parameter(0)\n s = " + element +
      "[1] all-reduce(p), channel_id=1, replica_groups=[1," + std::to_string(devices) + "]<=[" +
      std::to_string(devices) + "], use_global_device_ids=true, to_apply=add\n" + rest + "\n}\n");
  const Layout from = layout("[1]", "x:" + std::to_string(devices));
  const Evaluated run(function, from);
  const Tag tag = run.tags(0)[0];
  if (tag == zero_tag) return {};
  if (tag < 0) return {{.atom = tag, .times = -1}};
  return run.sums().terms(tag);
}

TEST(Evaluator, an_addend_is_counted_as_its_type_counts) {
  using Terms = std::vector<Term>;
  const std::string kept = " ROOT t = TYPE[1] copy(s)";
  const auto of = [&](std::string element, Size devices, std::string rest) {
    for (std::size_t at = rest.find("TYPE"); at != std::string::npos; at = rest.find("TYPE")) {
      rest.replace(at, 4, element);
    }
    return added_terms(element, devices, rest);
  };
  EXPECT_EQ(of("s8", 255, kept), Terms({{0, 255}}));
  EXPECT_EQ(of("s8", 256, kept), Terms());
  EXPECT_EQ(of("s8", 257, kept), Terms({{0, 1}}));
  EXPECT_EQ(of("u8", 257, kept), Terms({{0, 1}}));
  EXPECT_EQ(of("u4", 17, kept), Terms({{0, 1}}));
  EXPECT_EQ(of("s4", 16, kept), Terms());
  EXPECT_EQ(of("s2", 6, kept), Terms({{0, 2}}));
  EXPECT_EQ(of("pred", 5, kept), Terms({{0, 1}}));
  for (const std::string element : {"s16", "s64", "f16", "bf16", "f8e4m3fn", "c64"}) {
    EXPECT_EQ(of(element, 257, kept), Terms({{0, 257}})) << element;
  }
}

/// A value that is doubled so often.
std::string doubled(const std::string& element, int times) {
  std::string out;
  std::string last = "s";
  for (int k = 0; k < times; ++k) {
    const std::string next = "d" + std::to_string(k);
    out += (k + 1 == times ? " ROOT " : " ") + next + " = " + element + "[1] add(" + last + ", " +
           last + ")\n";
    last = next;
  }
  return out;
}

TEST(Evaluator, words_of_64_bits_are_counted_modulo_2_to_the_64) {
  using Terms = std::vector<Term>;
  for (const std::string element : {"s64", "u64"}) {
    EXPECT_EQ(added_terms(element, 1, doubled(element, 62)), Terms({{0, Size{1} << 62}}));
    EXPECT_EQ(added_terms(element, 1, doubled(element, 63)),
              Terms({{0, std::numeric_limits<Size>::min()}}));
    EXPECT_EQ(added_terms(element, 1, doubled(element, 64)), Terms());
  }
  EXPECT_THROW(added_terms("f32", 1, doubled("f32", 63)), LimitReached);
}

TEST(Evaluator, elements_are_counted_in_the_type_that_they_are_added_in) {
  using Terms = std::vector<Term>;
  // 3 p in 2 bits is 3 p; 6 p in 8 bits is 6 p, and in 2 bits again 2 p.
  const std::string wide = " c = s8[1] convert(p)\n";
  EXPECT_EQ(added_terms("s2", 3,
                        wide + " a = s8[1] add(c, c)\n b = s8[1] add(a, a)\n"
                               " ROOT e = s8[1] add(a, b)"),
            Terms({{0, 6}}));
  EXPECT_EQ(added_terms("s2", 3,
                        wide + " a = s8[1] add(c, c)\n b = s8[1] add(a, a)\n"
                               " e = s8[1] add(a, b)\n ROOT f = s2[1] convert(e)"),
            Terms({{0, 2}}));
  EXPECT_EQ(added_terms("s2", 3,
                        wide + " a = s8[1] add(c, c)\n b = s8[1] add(a, a)\n"
                               " ROOT f = s2[1] convert(b)"),
            Terms());
  EXPECT_EQ(added_terms("pred", 3, " c = s8[1] convert(p)\n ROOT a = s8[1] add(c, c)"),
            Terms({{0, 2}}));
}

TEST(Evaluator, zero_is_the_least_of_types_without_signs) {
  const auto most = [](const std::string& element) {
    const Function function = function_of(
        module_of(2, "p = " + element + "[1] parameter(0)\n z = " + element +
                         "[1] collective-permute(p), channel_id=1, source_target_pairs={{0,0}}\n"
                         "ROOT r = " +
                         element + "[1] maximum(p, z)"));
    const Layout from = layout("[1{x}2]", "x:2");
    return Evaluated(function, from).tags(1);
  };
  EXPECT_EQ(most("u8"), Tags({1}));
  EXPECT_EQ(most("pred"), Tags({1}));
  EXPECT_EQ(most("s8"), Tags({undefined_tag}));
  EXPECT_EQ(most("f32"), Tags({undefined_tag}));
}

TEST(Evaluator, a_maximum_of_sums_is_unknown) {
  const std::string rows =
      "a = f32[1,3] slice(p), slice={[0:1],[0:3]}\nb = f32[1,3] slice(p), slice={[1:2],[0:3]}\n";
  const std::string sum_first = rows + "s = f32[1,3] add(a, b)\nm = f32[1,3] maximum(a, b)\n";
  const std::string max_first = rows + "m = f32[1,3] maximum(a, b)\ns = f32[1,3] add(a, b)\n";
  const Tags unknown(3, undefined_tag);
  for (const std::string& text : {sum_first, max_first}) {
    EXPECT_NE(tags(text + "ROOT r = f32[1,3] maximum(m, b)"), unknown);
    EXPECT_EQ(tags(text + "ROOT r = f32[1,3] maximum(s, m)"), unknown);
    EXPECT_EQ(tags(text + "ROOT r = f32[1,3] maximum(m, s)"), unknown);
    EXPECT_EQ(tags(text + "ROOT r = f32[1,3] maximum(s, a)"), unknown);
    EXPECT_EQ(tags(text + "ROOT r = f32[1,3] add(m, b)"), unknown);
    EXPECT_EQ(tags(text + "ROOT r = f32[1,3] minimum(m, b)"), unknown);
  }
}

TEST(Evaluator, reduces_and_scatters_by_member) {
  const Function function =
      testing::Chain(2, {2})
          .then(ReduceScatter{.addition = Addition::max, .dim = 0, .groups = {{1, 0}}}, {1})
          .done();
  const Layout from = layout("[2{x}4]", "x:2");
  const Evaluated run(function, from);
  EXPECT_EQ(run.sums().terms(run.tags(1)[0]), (std::vector<Term>{{0, 1}, {2, 1}}));
  EXPECT_EQ(run.sums().terms(run.tags(0)[0]), (std::vector<Term>{{1, 1}, {3, 1}}));
}

TEST(Evaluator, boxes_by_device) {
  const Layout from = layout("[4]", "x:2");
  const Function take = testing::Chain(2, {4}).then(TakeBox{.starts = {{1}, {3}}}, {2}).done();
  EXPECT_EQ(Evaluated(take, from).tags(0), Tags({1, 2}));
  EXPECT_EQ(Evaluated(take, from).tags(1), Tags({3, undefined_tag}));
  const Function put =
      testing::Chain(2, {4}).then(PutBox{.starts = {Shape{1}, std::nullopt}}, {6}).done();
  EXPECT_EQ(Evaluated(put, from).tags(0), Tags({zero_tag, 0, 1, 2, 3, zero_tag}));
  EXPECT_EQ(Evaluated(put, from).tags(1), Tags(6, zero_tag));
  const Function most =
      testing::Chain(2, {4})
          .then(PutBox{.addition = Addition::max, .starts = {Shape{0}, std::nullopt}}, {4})
          .then(AllReduce{.addition = Addition::max, .groups = {{0, 1}}}, {4})
          .done();
  EXPECT_EQ(Evaluated(most, from).tags(1), Tags({0, 1, 2, 3}));
}

TEST(Evaluator, devices_share_what_is_the_same) {
  const Function function = function_of(
      module_of(4,
                "p = f32[2] parameter(0)\nROOT r = f32[8] all-gather(p), channel_id=1, "
                "replica_groups=[1,4]<=[4], dimensions={0}, use_global_device_ids=true"));
  const Layout from = layout("[2{x}8]", "x:4");
  const Evaluated run(function, from);
  EXPECT_EQ(run.block(0), run.block(3));
}

TEST(Evaluator, stops_at_its_limit) {
  const Function function = function_of(module_of(2, "ROOT p = f32[4] parameter(0)"));
  const Layout from = layout("[4{x}8]", "x:2");
  Evaluator evaluator(function, from, 16);
  EXPECT_THROW(evaluator.apply(function.operations.front()), LimitReached);
}

}  // namespace evaluator_test
}  // namespace retile::foreign
