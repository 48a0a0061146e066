// Traces of DTensor: what is read, who waits for whom, and what no rank can have done.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "retile/foreign/dtensor/trace.h"
#include "retile/foreign/judge_text.h"
#include "retile/foreign/module.h"
#include "retile/foreign/reader.h"
#include "retile/text/place.h"

namespace retile::foreign {
namespace dtensor_test {

/// A rank that begins with a tile, does these operations, and ends with a value.
std::string rank(int number, const std::string& start, const std::string& operations,
                 int result = 1) {
  return "{\"rank\": " + std::to_string(number) + ", \"start\": [" + start +
         "], \"operations\": [" + operations + "], \"result\": " + std::to_string(result) + "}";
}

/// One operation on value 0 that makes value 1 of this shape.
std::string step(const std::string& op, const std::string& more, const std::string& shape) {
  return "{\"op\": \"" + op + "\", " + (more.empty() ? "" : more + ", ") +
         "\"in\": [0], \"out\": [1], \"sizes\": [[" + shape + "]]}";
}

/// The trace of two ranks on an axis, listed as the mesh says.
std::string trace(const std::string& shape, const std::string& from, const std::string& to,
                  const std::string& ranks, const std::string& listed = "0, 1") {
  return "{\"schema\": \"retile.dtensor-trace/1\", \"mesh\": {\"names\": [\"x\"], \"sizes\": [2], "
         "\"ranks\": [" +
         listed + "]}, \"shape\": [" + shape + "], \"from\": [\"" + from + "\"], \"to\": [\"" + to +
         "\"], \"ranks\": [" + ranks + "]}";
}

/// Both ranks alike.
std::string alike(const std::string& start, const std::string& operations, int result = 1) {
  return rank(0, start, operations, result) + ", " + rank(1, start, operations, result);
}

std::string refusal(const std::string& text) {
  const auto judged = judge_text(text, "trace.json");
  return judged ? "" : judged.error().message;
}

/// Why two ranks that do the same alone are refused.
std::string refused_alone(const std::string& start, const std::string& operations) {
  return refusal(trace(start, "Replicate()", "Replicate()", alike(start, operations)));
}

/// The verdict on a trace of one function.
Verdict verdict(const std::string& text) {
  const auto judged = judge_text(text, "trace.json");
  EXPECT_TRUE(judged.has_value()) << (judged ? "" : render(judged.error()));
  return judged ? judged->front().verdict : Verdict();
}

const std::string both = "\"group\": [0, 1]";

TEST(DtensorTrace, ranks_are_counted_as_the_mesh_lists_them) {
  const std::string gather = step("all_gather", "\"group\": [7, 3]", "4");
  const std::string ranks = rank(3, "2", gather) + ", " + rank(7, "2", gather);
  const std::string right = trace("4", "Shard(0)", "Replicate()", ranks, "7, 3");
  EXPECT_EQ(verdict(right).right, true);
  const text::Input input{.text = right, .source = "test", .numbered = true};
  const auto functions = read(input, Language::dtensor, {});
  ASSERT_TRUE(functions.has_value());
  const auto& ran = std::get<Ranks>(functions->front().operations.back().action).trace;
  EXPECT_EQ(ran->ranks[0].number, 7);
  EXPECT_EQ(ran->ranks[0].steps[0].group, std::vector<Size>({0, 1}));
  EXPECT_EQ(verdict(trace("4", "Shard(0)", "Replicate()", ranks, "3, 7")).right, false);
  EXPECT_EQ(refusal(trace("4", "Shard(0)", "Replicate()", ranks, "7, 7")), "rank 7 is there twice");
  EXPECT_EQ(refusal(trace("4", "Shard(0)", "Replicate()", ranks, "7, 4")),
            "the mesh lists every rank once");
  EXPECT_EQ(refusal(trace("4", "Shard(0)", "Replicate()", rank(7, "2", gather), "7, 3")),
            "the mesh has ranks that are not listed");
  const std::string other = step("all_gather", "\"group\": [7, 5]", "4");
  EXPECT_EQ(refusal(trace("4", "Shard(0)", "Replicate()",
                          rank(3, "2", gather) + ", " + rank(7, "2", other), "7, 3")),
            "the mesh has no rank 5");
}

TEST(DtensorTrace, an_array_has_elements_and_fewer_than_2_to_the_63) {
  const auto refused = [](const std::string& shape) {
    return refusal(trace(shape, "Replicate()", "Replicate()", alike("4", step("same", "", "4"))));
  };
  EXPECT_EQ(refused("4"), "");
  EXPECT_EQ(refused("0"), "the extents of an array are at least 1");
  EXPECT_EQ(refused("2, 9223372036854775807"), "the global size does not fit in 63 bits");
}

TEST(DtensorTrace, ranks_wait_for_each_other) {
  const std::string gather = step("all_gather", both, "8");
  const std::string reduce = step("all_reduce", both + ", \"reduction\": \"sum\"", "4");
  const auto refused = [](const std::string& first, const std::string& second) {
    return refusal(
        trace("8", "Shard(0)", "Replicate()", rank(0, "4", first) + ", " + rank(1, "4", second)));
  };
  EXPECT_EQ(refused(gather, gather), "");
  const std::string waits = "this rank waits here, and others do not come";
  EXPECT_EQ(refused(gather, reduce), waits);
  EXPECT_EQ(refused(gather, step("same", "", "4")), waits);
  EXPECT_EQ(refused(gather, step("all_gather", "\"group\": [1, 0]", "8")), waits);
  const std::string groups = "a group is of different ranks, this one among them";
  EXPECT_EQ(refused(step("all_gather", "\"group\": [1]", "4"), gather), groups);
  EXPECT_EQ(refused(step("all_gather", "\"group\": [0, 0]", "8"), gather), groups);
  EXPECT_EQ(refused(step("all_gather", "\"group\": []", "4"), gather), groups);
}

TEST(DtensorTrace, collectives_make_what_their_members_have) {
  const auto refused = [](const std::string& op, const std::string& more,
                          const std::string& shape) {
    return refusal(trace("8", "Shard(0)", "Replicate()", alike("4", step(op, both + more, shape))));
  };
  EXPECT_EQ(refused("all_gather", "", "8"), "");
  EXPECT_EQ(refused("all_gather", "", "4"), "all_gather makes [8], not [4]");
  EXPECT_EQ(refused("reduce_scatter", "", "4"), "reduce_scatter makes [2], not [4]");
  EXPECT_EQ(refused("broadcast", ", \"root\": 1", "4"), "");
  EXPECT_EQ(refused("broadcast", ", \"root\": 2", "4"), "the mesh has no rank 2");
  EXPECT_EQ(
      refusal(trace("6", "Shard(0)", "Replicate()", alike("3", step("reduce_scatter", both, "1")))),
      "rows that the members do not divide");
  EXPECT_EQ(refusal(trace("5", "Shard(0)", "Replicate()",
                          rank(0, "3", step("all_gather", both, "6")) + ", " +
                              rank(1, "2", step("all_gather", both, "6")))),
            "all_gather of tiles of different sizes");
  const auto reduce = [](const std::string& word) {
    return step("all_reduce", both + ", \"reduction\": \"" + word + "\"", "4");
  };
  const auto reduced = [&](const std::string& first, const std::string& second) {
    return refusal(trace("4", "Partial(sum)", "Replicate()",
                         rank(0, "4", reduce(first)) + ", " + rank(1, "4", reduce(second))));
  };
  EXPECT_EQ(reduced("sum", "avg"), "");
  EXPECT_EQ(reduced("sum", "max"), "members that add in different ways");
  EXPECT_EQ(reduced("stack", "stack"), "a reduction by stack is not read");
}

TEST(DtensorTrace, what_is_sent_is_what_is_received) {
  const auto exchange = [](const std::string& send, const std::string& receive, int rows) {
    return step("all_to_all", both + ", \"send\": [" + send + "], \"receive\": [" + receive + "]",
                std::to_string(rows));
  };
  const auto refused = [&](const std::string& first, const std::string& second) {
    return refusal(
        trace("8", "Shard(0)", "Shard(0)", rank(0, "4", first) + ", " + rank(1, "4", second)));
  };
  EXPECT_EQ(refused(exchange("1, 3", "1, 2", 3), exchange("2, 2", "3, 2", 5)), "");
  EXPECT_EQ(refused(exchange("1, 3", "1, 3", 4), exchange("2, 2", "2, 2", 4)),
            "what is sent is not what is received");
  EXPECT_EQ(refused(exchange("1, 2", "1, 2", 3), exchange("2, 2", "3, 2", 5)),
            "what is sent is not all rows");
  EXPECT_EQ(refused(exchange("4", "1, 2", 3), exchange("2, 2", "3, 2", 5)),
            "rows are sent to every member, and received of every member");
}

TEST(DtensorTrace, padding_is_of_the_last_dimensions_first) {
  const auto pads = [](const std::string& padding, const std::string& shape) {
    return refused_alone("2, 3", step("pad", "\"padding\": [" + padding + "]", shape));
  };
  EXPECT_EQ(pads("1, 2", "2, 6"), "");
  EXPECT_EQ(pads("1, 2, 0, 4", "6, 6"), "");
  EXPECT_EQ(pads("-1, 0", "2, 2"), "");
  EXPECT_EQ(pads("1, 2", "5, 3"), "pad makes [2,6], not [5,3]");
  EXPECT_EQ(pads("-2, -2", "2, 0"), "padding takes away too much");
  EXPECT_EQ(pads("-4, 4", "2, 3"), "padding takes away too much");
  EXPECT_EQ(pads("1", "2, 4"), "low without high");
  EXPECT_EQ(pads("0, 0, 0, 0, 0, 0", "2, 3"), "padding of more dimensions than there are");
}

TEST(DtensorTrace, operations_of_one_rank_fit_their_shapes) {
  const std::string dim = "\"dim\": 1, ";
  EXPECT_EQ(refused_alone("2, 3", step("slice", dim + "\"start\": 1", "2, 2")), "");
  EXPECT_EQ(refused_alone("2, 3", step("slice", dim + "\"start\": 2", "2, 2")),
            "a slice goes past the end");
  EXPECT_EQ(refused_alone("2, 3", step("slice", "\"dim\": 2, \"start\": 0", "2, 3")),
            "no dimension 2 in [2,3]");
  EXPECT_EQ(refused_alone("2, 3", step("transpose", "\"order\": [1, 0]", "3, 2")), "");
  EXPECT_EQ(refused_alone("2, 3", step("transpose", "\"order\": [1, 1]", "3, 3")),
            "the order of a transpose names every dimension once");
  EXPECT_EQ(refused_alone("2, 3", step("reshape", "", "6")), "");
  EXPECT_EQ(refused_alone("2, 3", step("reshape", "", "5")),
            "a reshape keeps the number of elements");
  EXPECT_EQ(refused_alone("2, 3", step("same", "", "3, 2")), "same keeps the shape");
  EXPECT_EQ(refused_alone("2, 3", step("zeros", "", "3")), "zeros takes 0 values and makes 1");
  const auto split = [](const std::string& sizes, const std::string& out) {
    return refused_alone("2, 3", "{\"op\": \"split\", \"dim\": 1, \"in\": [0], \"out\": [" + out +
                                     "], \"sizes\": [" + sizes + "]}");
  };
  EXPECT_EQ(split("[2, 1], [2, 2]", "1, 2"), "");
  EXPECT_EQ(split("[2, 1], [2, 1]", "1, 2"), "the parts of a split are not the whole");
  EXPECT_EQ(split("[2, 1], [1, 2]", "1, 2"), "a part of a split differs in another dimension");
  EXPECT_EQ(split("[2, 3]", "1, 2"), "as many sizes as values that are made");
  EXPECT_EQ(split("[2, 1], [2, 2]", "1, 1"), "value 1 is made twice");
}

TEST(DtensorTrace, a_cat_passes_over_what_has_no_elements) {
  const auto cat = [](const std::string& empty, const std::string& shape) {
    return refused_alone("2, 3",
                         "{\"op\": \"empty\", \"in\": [], \"out\": [5], \"sizes\": [[" + empty +
                             "]]}, {\"op\": \"cat\", \"dim\": 1, \"in\": [5, 0, 0], \"out\": [1], "
                             "\"sizes\": [[" +
                             shape + "]]}");
  };
  EXPECT_EQ(cat("0", "2, 6"), "");
  EXPECT_EQ(cat("2, 1", "2, 7"), "");
  EXPECT_EQ(cat("1", "2, 7"), "no dimension 1 in [1]");
  EXPECT_EQ(cat("3, 1", "2, 7"), "a part of a cat differs in another dimension");
  EXPECT_EQ(cat("0", "2, 3"), "cat makes [2,6], not [2,3]");
}

TEST(DtensorTrace, keys_are_there_once) {
  const std::string right =
      trace("4", "Shard(0)", "Replicate()", alike("2", step("all_gather", both, "4")));
  EXPECT_EQ(refusal(right), "");
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string text = right;
    text.replace(text.find(old), old.size(), now);
    return refusal(text);
  };
  EXPECT_EQ(with("\"shape\"", "\"to\": [\"Replicate()\"], \"shape\""), "a second to");
  EXPECT_EQ(with("\"shape\"", "\"form\""), "form is no key of a trace");
  EXPECT_EQ(with("\"shape\": [4], ", ""),
            "a trace has the keys schema, mesh, shape, from, to and ranks");
  EXPECT_EQ(with("\"rank\": 0, ", ""), "a rank has the keys rank, start, operations and result");
  EXPECT_EQ(with("\"op\": \"all_gather\", ", ""), "an operation without its op");
  EXPECT_EQ(with("all_gather", "all_gather_v"), "all_gather_v is not read");
  EXPECT_EQ(with("\"in\": [0]", "\"in\": [2]"), "no value 2 so far");
  EXPECT_EQ(with("\"result\": 1", "\"result\": 2"), "no value 2 so far");
  EXPECT_EQ(with("trace/1", "trace/2"), "the schema is not retile.dtensor-trace/1");
  EXPECT_EQ(with("\"sizes\": [2]", "\"sizes\": [3]"),
            "a mesh has a name and a size for every axis, and as many ranks as the sizes say");
  EXPECT_EQ(with("\"start\": [2], \"operations\"", "\"operations\""),
            "the start comes before operations");
}

TEST(DtensorTrace, says_who_is_wrong_by_his_own_number) {
  const std::string mine =
      rank(7, "2", "", 0) + ", " + rank(3, "2", step("slice", "\"dim\": 0, \"start\": 0", "1"));
  const Verdict wrong = verdict(trace("4", "Shard(0)", "Shard(0)", mine, "7, 3"));
  EXPECT_EQ(wrong.right, false);
  ASSERT_TRUE(wrong.mismatch.has_value());
  EXPECT_EQ(wrong.mismatch->rank, 3);
  EXPECT_EQ(wrong.mismatch->device, 1);
}

}  // namespace dtensor_test
}  // namespace retile::foreign
