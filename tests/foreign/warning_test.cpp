// XLA's warning of a full rematerialization, in its wordings.
#include "retile/foreign/warning.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace retile::foreign {
namespace warning_test {

const std::string from = "{devices=[2,1,4]<=[4,2]T(1,0)}";
const std::string to = "{devices=[1,8,1]<=[8]}";
const std::string operation =
    "%get = f32[8,32,16]{2,1,0} get-tuple-element(%t), index=0, sharding={replicated}";

std::string new_wording(const std::string& start = from, const std::string& what = operation) {
  return "W1 spmd_partitioner.cc:666] [SPMD] Involuntary full rematerialization. The compiler "
         "cannot go from sharding " +
         start + " to " + to + " efficiently for HLO operation " + what +
         ". As the last resort, SPMD will replicate the tensor.";
}

std::string old_wording(const std::string& what) {
  return "E0 spmd_partitioner.cc:569] [spmd] Involuntary full rematerialization. The compiler was "
         "not able to go from sharding " +
         from + " to " + to + " without doing a full rematerialization of the tensor" + what +
         ". You probably want to enrich the sharding annotations to prevent this from happening.";
}

/// The only warning of a text.
Warning warning_of(const std::string& text) {
  const auto out = read_warnings(text, "LOG");
  EXPECT_TRUE(out.has_value()) << (out ? "" : render(out.error()));
  if (!out || out->size() != 1) {
    ADD_FAILURE() << "not one warning";
    return {};
  }
  return out->front();
}

TEST(Warning, of_torch_says_what_it_does_in_steps) {
  const std::string line =
      "[rank0]:W1127 _redistribute.py:394] While redistributing from (Shard(dim=0), Shard(dim=0), "
      "_StridedShard(dim=0, sf=2)) to (Replicate(), Replicate(), Replicate()), 2 sequential "
      "all_gather "
      "operations will be performed. This is suboptimal: multiple collective operations ..";
  const Warning one = warning_of(line + "\n" + line);
  EXPECT_TRUE(one.is_torch);
  EXPECT_EQ(one.from, "(Shard(dim=0), Shard(dim=0), _StridedShard(dim=0, sf=2))");
  EXPECT_EQ(one.to, "(Replicate(), Replicate(), Replicate())");
  EXPECT_EQ(one.operation, "2 sequential all_gather operations");
  EXPECT_FALSE(one.tile.has_value());
  EXPECT_FALSE(warning_of(new_wording()).is_torch);
  // Both kinds in one log.
  EXPECT_EQ(read_warnings(line + "\n" + new_wording() + "\n", "LOG").value().size(), 2U);
  EXPECT_TRUE(has_warning(line));
  EXPECT_TRUE(has_warning(new_wording()));
  EXPECT_FALSE(has_warning("While waiting"));
  for (const std::size_t end :
       {line.find(" to ("), line.find(", 2 seq"), line.find(" will be"), line.find("(Shard") + 3}) {
    EXPECT_FALSE(read_warnings(line.substr(0, end), "LOG").has_value()) << end;
  }
}

TEST(Warning, of_new_releases_and_of_old_ones) {
  for (const std::string& text : {new_wording(), old_wording(" for HLO operation: " + operation)}) {
    const Warning warning = warning_of(text);
    EXPECT_EQ(warning.from, from);
    EXPECT_EQ(warning.to, to);
    EXPECT_EQ(warning.operation, "%get");
    EXPECT_EQ(warning.tile, Shape({8, 32, 16}));
    EXPECT_EQ(warning.element, "f32");
  }
  const Warning oldest = warning_of(old_wording(""));
  EXPECT_EQ(oldest.from, from);
  EXPECT_EQ(oldest.operation, "");
  EXPECT_EQ(oldest.tile, std::nullopt);
}

TEST(Warning, names_between_quotes_may_hold_braces) {
  const std::string start =
      from.substr(0, from.size() - 1) + R"( metadata={op_name="a }} to {{"}})";
  EXPECT_EQ(warning_of(new_wording(start)).from, start);
}

TEST(Warning, stands_once_however_often_a_log_says_it) {
  const std::string other = new_wording(from, "%p = bf16[4,32,16]{2,1,0} parameter(0)");
  const std::string log =
      "begin\n" + new_wording() + "\n" + new_wording() + "\r\nmore\n" + other + "\nend\n";
  const auto warnings = read_warnings(log, "LOG");
  ASSERT_TRUE(warnings.has_value());
  ASSERT_EQ(warnings->size(), 2);
  EXPECT_EQ(warnings->back().operation, "%p");
  EXPECT_EQ(warnings->back().element, "bf16");
  EXPECT_EQ(warnings->back().tile, Shape({4, 32, 16}));
  EXPECT_TRUE(read_warnings("nothing\n", "LOG")->empty());
}

TEST(Warning, an_operation_that_makes_no_array_has_no_tile) {
  const Warning warning = warning_of(new_wording(from, "%t = (f32[8], f32[8]) tuple(%a, %b)"));
  EXPECT_EQ(warning.tile, std::nullopt);
}

TEST(Warning, names_a_tile_of_the_array) {
  EXPECT_EQ(array_of(warning_of(new_wording())).value(), Shape({16, 32, 64}));
  const Warning far = warning_of(new_wording(from, "%p = f32[4611686018427387904,1,1] iota()"));
  EXPECT_EQ(array_of(far).error().code, Code::size_overflow);
  EXPECT_FALSE(array_of(warning_of(new_wording(from, "%p = f32[8,4] iota()"))).has_value());
  EXPECT_FALSE(array_of(warning_of(new_wording("{manual}"))).has_value());
}

TEST(Warning, knows_which_arrays_have_such_tiles) {
  const auto is_array = [](const Warning& warning, const Shape& shape) {
    return is_array_of(warning, shape).value();
  };
  const Warning warning = warning_of(new_wording());
  EXPECT_TRUE(is_array(warning, {16, 32, 64}));
  EXPECT_TRUE(is_array(warning, {15, 32, 61}));  // cut into tiles that are not full
  EXPECT_FALSE(is_array(warning, {17, 32, 64}));
  EXPECT_FALSE(is_array(warning, {16, 32, 60}));
  EXPECT_FALSE(is_array(warning, {8, 32, 16}));
  EXPECT_FALSE(is_array(warning, {16, 32}));
  EXPECT_TRUE(is_array(warning_of(old_wording("")), {3}));
  EXPECT_FALSE(is_array_of(warning_of(new_wording("{manual}")), {16, 32, 64}).has_value());
}

TEST(Warning, is_refused_in_other_words_and_where_it_was_cut) {
  const auto code = [](const std::string& text) {
    const auto out = read_warnings(text, "LOG");
    return out ? std::nullopt : std::optional(out.error().code);
  };
  const std::string text = new_wording();
  const std::size_t words = text.find("The compiler");
  const std::size_t known = text.find(" for HLO");
  for (std::size_t end = words; end < known; ++end) {
    EXPECT_EQ(code(text.substr(0, end)), Code::syntax) << text.substr(0, end);
  }
  for (std::size_t end = known; end <= text.size(); ++end) {
    static_cast<void>(code(text.substr(0, end)));
  }
  EXPECT_EQ(code(new_wording("manual")), Code::syntax);
  EXPECT_EQ(code(new_wording("}")), Code::syntax);
}

}  // namespace warning_test
}  // namespace retile::foreign
