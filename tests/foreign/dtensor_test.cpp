// Traces of DTensor: what is read, who waits for whom, and what no rank can have done.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "retile/foreign/judge_text.h"
#include "retile/foreign/module.h"
#include "retile/foreign/reader.h"
#include "retile/foreign/to_program.h"
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
const std::string summed = ", \"reduction\": \"sum\"";

/// The verdict where options say the mesh and the ends again, or why there is none.
std::string verdict_over(const std::string& text, const std::string& mesh,
                         const std::string& from = "S(0)") {
  const auto judged = judge_text(
      text, "trace.json", {.mesh = mesh, .shape = "2", .from = from, .to = "(Replicate(),)"});
  if (!judged) return judged.error().message;
  EXPECT_TRUE(judged->front().notes.empty());
  return judged->front().verdict.right.value_or(false) ? "right" : "wrong";
}

TEST(DtensorTrace, devices_hold_one_box_each) {
  const auto from = [](const std::string& placement) {
    return refusal(trace("8", placement, "Replicate()", alike("4", step("all_gather", both, "8"))));
  };
  EXPECT_EQ(from("Shard(0)"), "");
  EXPECT_EQ(from("_StridedShard(dim=0, sf=2)"), "what a module's devices hold is one box each");
}

TEST(DtensorTrace, ranks_of_a_mesh_are_put_in_order_once) {
  const auto text = [](const std::string& group) {
    const std::string gather = step("all_gather", "\"group\": [" + group + "]", "2");
    return trace("2", "Shard(0)", "Replicate()", alike("1", gather), "1, 0");
  };
  const std::string right = text("1, 0");
  const std::string wrong = text("0, 1");
  for (const char* const mesh :
       {"x:2", "DeviceMesh((2,), 'cpu', stride=(1,))", "DeviceMesh('cpu', [1, 0])",
        "Mesh(device_ids=array([1, 0]), axis_names=('x',))",
        "sdy.mesh @m = <[\"x\"=2], device_ids=[1, 0]>", "mesh['x'=2], device_ids=(1,0)"}) {
    EXPECT_EQ(verdict_over(right, mesh), "right") << mesh;
    EXPECT_EQ(verdict_over(wrong, mesh), "wrong") << mesh;
  }
  for (const char* const mesh : {"DeviceMesh('cpu', [0, 1])", "DeviceMesh('cpu', [ [0], [1]])",
                                 "mesh['x'=2], device_ids=(0,1)"}) {
    EXPECT_EQ(verdict_over(wrong, mesh), "--mesh lists the ranks [0,1], but the trace is of [1,0]")
        << mesh;
  }
  for (const char* const from : {"{devices=[2]0,1}", "{devices=[2]1,0}",
                                 "#sdy.sharding<mesh<[\"x\"=2], device_ids=[0, 1]>, [{\"x\"}]>"}) {
    EXPECT_EQ(verdict_over(wrong, "x:2", from),
              "this numbers devices, and the trace is of the ranks [1,0]")
        << from;
  }
}

TEST(DtensorTrace, ranks_are_counted_as_the_mesh_lists_them) {
  const std::string gather = step("all_gather", "\"group\": [7, 3]", "4");
  const std::string ranks = rank(3, "2", gather) + ", " + rank(7, "2", gather);
  const std::string right = trace("4", "Shard(0)", "Replicate()", ranks, "7, 3");
  EXPECT_EQ(verdict(right).right, true);
  const text::Input input{.text = right, .source = "test", .numbered = true};
  const auto functions = read(input, Language::dtensor, {});
  ASSERT_TRUE(functions.has_value());
  const Function& function = functions->front();
  EXPECT_EQ(function.ranks, std::vector<Size>({7, 3}));
  const auto gathers = [](const Operation& one) {
    return std::holds_alternative<AllGather>(one.action);
  };
  const auto gathered =
      std::find_if(function.operations.begin(), function.operations.end(), gathers);
  ASSERT_NE(gathered, function.operations.end());
  ASSERT_EQ(gathered->operands.size(), 2U);
  EXPECT_EQ(function.values[gathered->operands[0]].device, 0);
  EXPECT_EQ(function.values[gathered->operands[1]].device, 1);
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
  EXPECT_EQ(refused("reduce_scatter", summed, "4"), "reduce_scatter makes [2], not [4]");
  EXPECT_EQ(refused("broadcast", ", \"root\": 1", "4"), "");
  EXPECT_EQ(refused("broadcast", ", \"root\": 2", "4"), "the mesh has no rank 2");
  EXPECT_EQ(refusal(trace("6", "Shard(0)", "Replicate()",
                          alike("3", step("reduce_scatter", both + summed, "1")))),
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
  EXPECT_EQ(reduced("sum", "sum"), "");
  EXPECT_EQ(reduced("avg", "avg"), "");
  EXPECT_EQ(reduced("sum", "avg"), "members that add in different ways");
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

TEST(DtensorTrace, rows_that_are_sent_are_as_long_as_those_beside_them) {
  // Rank 0 holds rows of 4 elements, rank 1 rows of 2.
  const auto refused = [](const std::string& first, const std::string& second) {
    const auto exchange = [](const std::string& rows, const std::string& shape) {
      return step("all_to_all", both + ", \"send\": [" + rows + "], \"receive\": [" + rows + "]",
                  shape);
    };
    return refusal(
        trace("4, 2", "Replicate()", "Replicate()",
              rank(0, "4, 2",
                   "{\"op\": \"reshape\", \"in\": [0], \"out\": [2], \"sizes\": [[2, 4]]}, "
                   "{\"op\": \"all_to_all\", " +
                       both + ", " + first + ", \"in\": [2], \"out\": [1], \"sizes\": [[2, 4]]}") +
                  ", " + rank(1, "4, 2", exchange(second, "4, 2"))));
  };
  EXPECT_EQ(refused("\"send\": [1, 1], \"receive\": [1, 1]", "1, 3"),
            "all_to_all of rows of different sizes");
  EXPECT_EQ(refused("\"send\": [2, 0], \"receive\": [2, 0]", "0, 4"), "");
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

TEST(DtensorTrace, long_ones_end_in_time) {
  std::string operations;
  for (int k = 0; k < 500; ++k) {
    const std::string number = std::to_string(k);
    operations +=
        (k > 0 ? ", " : "") +
        ("{\"op\": \"all_reduce\", \"group\": [0, 1], \"reduction\": \"max\", \"in\": [" + number) +
        "], \"out\": [" + std::to_string(k + 1) + "], \"sizes\": [[1000000]]}";
  }
  JudgeOptions options;
  options.timeout_seconds = 0.2;
  options.fewest_in_strips = Size{1} << 40;  // strips would take no time
  const auto judged =
      judge_text(trace("1000000", "Replicate()", "Replicate()", alike("1000000", operations, 500)),
                 "trace.json", {}, options);
  ASSERT_TRUE(judged.has_value());
  EXPECT_EQ(judged->front().verdict.limit, "no verdict in time");
}

/// A dimension may be long where another has no elements; what is made of it is counted all the same.
TEST(DtensorTrace, extents_are_below_2_to_the_63) {
  const auto of_long = [](const std::string& extent, const std::string& operation) {
    return refused_alone("2", "{\"op\": \"zeros\", \"in\": [], \"out\": [1], \"sizes\": [[" +
                                  extent + ", 0]]}, {\"op\": " + operation);
  };
  const std::string half = "4611686018427387904";
  const std::string most = "9223372036854775807";
  EXPECT_EQ(of_long(half,
                    "\"all_gather\", \"group\": [0, 1], \"in\": [1], \"out\": [2], \"sizes\": "
                    "[[0, 0]]}"),
            "an extent of 2^63 or more");
  EXPECT_EQ(
      of_long(half, "\"cat\", \"dim\": 0, \"in\": [1, 1], \"out\": [2], \"sizes\": [[0, 0]]}"),
      "an extent of 2^63 or more");
  EXPECT_EQ(of_long("2", "\"split\", \"dim\": 0, \"in\": [1], \"out\": [2, 3, 4], \"sizes\": [[" +
                             most + ", 0], [" + most + ", 0], [4, 0]]}"),
            "an extent of 2^63 or more");
  EXPECT_EQ(of_long(most, "\"split\", \"dim\": 0, \"in\": [1], \"out\": [2, 3], \"sizes\": [[" +
                              half + ", 0], [4611686018427387903, 0]]}"),
            "");
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

TEST(DtensorTrace, operations_say_all_that_they_do_and_nothing_else) {
  const auto said = [](const std::string& op, const std::string& more, const std::string& sizes) {
    return refusal(trace("4", "Replicate()", "Replicate()", alike("4", step(op, more, sizes))));
  };
  EXPECT_EQ(said("all_reduce", both, "4"), "all_reduce without its reduction");
  EXPECT_EQ(said("reduce_scatter", both, "2"), "reduce_scatter without its reduction");
  EXPECT_EQ(said("all_reduce", "\"reduction\": \"sum\"", "4"), "all_reduce without its group");
  EXPECT_EQ(said("all_to_all", both + ", \"send\": [2, 2]", "4"), "all_to_all without its receive");
  EXPECT_EQ(said("broadcast", both, "4"), "broadcast without its root");
  EXPECT_EQ(said("split", "", "4"), "split without its dim");
  EXPECT_EQ(said("cat", "", "4"), "cat without its dim");
  EXPECT_EQ(said("slice", "\"dim\": 0", "4"), "slice without its start");
  EXPECT_EQ(said("pad", "", "4"), "pad without its padding");
  EXPECT_EQ(said("transpose", "", "4"), "transpose without its order");
  EXPECT_EQ(said("all_gather", both + ", \"dim\": 0", "8"), "dim is no key of all_gather");
  EXPECT_EQ(said("all_gather", both + summed, "8"), "reduction is no key of all_gather");
  EXPECT_EQ(said("same", both, "4"), "group is no key of same");
  EXPECT_EQ(said("slice", "\"dim\": 0, \"start\": 0", "4"), "");
}

TEST(DtensorTrace, a_maximum_is_no_sum) {
  const auto judged = [](const std::string& placement, const std::string& word) {
    const std::string reduce = step("all_reduce", both + ", \"reduction\": \"" + word + "\"", "4");
    return verdict(trace("4", placement, "Replicate()", alike("4", reduce))).right;
  };
  EXPECT_EQ(judged("Partial(max)", "max"), true);
  EXPECT_EQ(judged("Partial(max)", "sum"), false);
  EXPECT_EQ(judged("Partial(sum)", "max"), false);
  EXPECT_EQ(judged("Replicate()", "max"), true);
}

TEST(DtensorTrace, an_average_is_no_sum) {
  const auto judged = [](const std::string& from, const std::string& operations, int result = 1) {
    return verdict(trace("4", from, "Replicate()", alike("4", operations, result)));
  };
  const auto reduce = [](const std::string& op, const std::string& word, const std::string& shape) {
    return step(op, both + ", \"reduction\": \"" + word + "\"", shape);
  };
  EXPECT_EQ(judged("Partial(sum)", reduce("all_reduce", "sum", "4")).right, true);
  const Verdict half = judged("Partial(sum)", reduce("all_reduce", "avg", "4"));
  EXPECT_EQ(half.right, false);
  ASSERT_TRUE(half.mismatch.has_value());
  EXPECT_EQ(half.mismatch->times, 1U);
  EXPECT_EQ(half.mismatch->parts, 2);
  // What all hold alike is its own average; its sum is twice that.
  EXPECT_EQ(judged("Replicate()", reduce("all_reduce", "avg", "4")).right, true);
  EXPECT_EQ(judged("Replicate()", reduce("all_reduce", "sum", "4")).right, false);
  // The sum of two halves is one.
  const std::string again = ", {\"op\": \"all_reduce\", " + both + summed +
                            ", \"in\": [1], \"out\": [2], \"sizes\": [[4]]}";
  EXPECT_EQ(judged("Partial(sum)", reduce("all_reduce", "avg", "4") + again, 2).right, true);
  EXPECT_EQ(judged("Partial(sum)", reduce("all_reduce", "sum", "4") + again, 2).right, false);
  // A part of an addend is no addend, nor is it written as one.
  const std::string scattered =
      trace("4", "Partial(sum)", "Shard(0)", alike("4", reduce("reduce_scatter", "avg", "2")));
  EXPECT_EQ(verdict(scattered).right, false);
}

TEST(DtensorTrace, addends_of_an_average_are_divided) {
  const auto judged = [](const std::string& from, const std::string& to, const std::string& op,
                         const std::string& word, const std::string& shape = "4") {
    const std::string how = word.empty() ? "" : both + ", \"reduction\": \"" + word + "\"";
    return verdict(trace("4", from, to, alike("4", step(op, how, shape))));
  };
  EXPECT_EQ(judged("Partial(avg)", "Replicate()", "all_reduce", "avg").right, true);
  EXPECT_EQ(judged("Partial(avg)", "Shard(0)", "reduce_scatter", "avg", "2").right, true);
  EXPECT_EQ(judged("Partial(avg)", "Partial(avg)", "same", "").right, true);
  // What all hold alike is an average of itself.
  EXPECT_EQ(judged("Replicate()", "Partial(avg)", "same", "").right, true);
  EXPECT_EQ(judged("Replicate()", "Partial(sum)", "same", "").right, false);
  EXPECT_EQ(judged("Partial(avg)", "Partial(sum)", "same", "").right, false);
  EXPECT_EQ(judged("Partial(sum)", "Partial(avg)", "same", "").right, false);
  const Verdict twice = judged("Partial(avg)", "Replicate()", "all_reduce", "sum");
  EXPECT_EQ(twice.right, false);
  ASSERT_TRUE(twice.mismatch.has_value());
  EXPECT_EQ(twice.mismatch->times, 1U);
  EXPECT_FALSE(twice.mismatch->parts.has_value());
}

TEST(DtensorTrace, tiles_without_dimensions_are_added_and_sent) {
  const auto judged = [](const std::string& op, const std::string& how) {
    return verdict(trace("", "Partial(sum)", "Replicate()", alike("", step(op, how, ""))));
  };
  EXPECT_EQ(judged("all_reduce", both + summed).right, true);
  EXPECT_EQ(judged("broadcast", both + ", \"root\": 0").right, false);
  EXPECT_EQ(refused_alone("", step("all_gather", both, "")),
            "all_gather of a tile without dimensions");
  EXPECT_EQ(refused_alone("", step("reduce_scatter", both + summed, "")),
            "reduce_scatter of a tile without dimensions");
}

/// What two ranks do to tiles 4 of a column, and how they end.
bool moves(const std::string& from, const std::string& to, const std::string& first,
           const std::string& second, int result) {
  return verdict(trace("4, 2", from, to,
                       rank(0, from == "Shard(0)" ? "2, 2" : "4, 1", first, result) + ", " +
                           rank(1, from == "Shard(0)" ? "2, 2" : "4, 1", second, result)))
      .right.value_or(false);
}

/// An operation from values to values.
std::string made(const std::string& op, const std::string& more, const std::string& in,
                 const std::string& out, const std::string& sizes) {
  return "{\"op\": \"" + op + "\", " + (more.empty() ? "" : more + ", ") + "\"in\": [" + in +
         "], \"out\": [" + out + "], \"sizes\": [" + sizes + "]}";
}

std::string sent(const std::string& send, const std::string& receive) {
  return both + ", \"send\": [" + send + "], \"receive\": [" + receive + "]";
}

TEST(DtensorTrace, parts_add_up) {
  const auto reduce = [](const std::string& word, const std::string& in, const std::string& out) {
    return made("all_reduce", both + ", \"reduction\": \"" + word + "\"", in, out, "[4]");
  };
  // Of the sum s: s/2, s, 3s/2, and the average of 3s/2 and s/2.
  const std::string halves = reduce("avg", "0", "1") + ", " + reduce("sum", "1", "2") + ", ";
  const auto ends = [&](const std::string& first, const std::string& second) {
    const std::string ranks =
        rank(0, "4", halves + reduce("sum", "1", "3") + ", " + reduce("avg", first, "4"), 4) +
        ", " +
        rank(1, "4", halves + reduce("sum", "2", "3") + ", " + reduce("avg", second, "4"), 4);
    return verdict(trace("4", "Partial(sum)", "Replicate()", ranks)).right;
  };
  EXPECT_EQ(ends("3", "1"), true);
  EXPECT_EQ(ends("3", "2"), false);
  EXPECT_EQ(ends("1", "1"), false);
}

TEST(DtensorTrace, rows_become_columns_by_an_exchange_of_every_part) {
  const auto exchange = [](const std::string& order) {
    return made("split", "\"dim\": 1", "0", "1, 2", "[2, 1], [2, 1]") + ", " +
           made("cat", "\"dim\": 0", order, "3", "[4, 1]") + ", " +
           made("all_to_all", sent("2, 2", "2, 2"), "3", "4", "[4, 1]");
  };
  EXPECT_TRUE(moves("Shard(0)", "Shard(1)", exchange("1, 2"), exchange("1, 2"), 4));
  EXPECT_FALSE(moves("Shard(0)", "Shard(1)", exchange("2, 1"), exchange("2, 1"), 4));
  EXPECT_FALSE(moves("Shard(0)", "Shard(1)", exchange("1, 2"), exchange("2, 1"), 4));
}

TEST(DtensorTrace, exchanged_rows_are_those_that_are_counted) {
  // Rank 0 receives 0, and 0 1 of rank 1; rank 1 receives 1 2 3, and 2 3 of its own.
  const auto dealt = [](const std::string& first, const std::string& second) {
    const auto slice = [](const std::string& start) {
      return ", " + made("slice", "\"dim\": 0, \"start\": " + start, "1", "2", "[2]");
    };
    const std::string one = made("all_to_all", sent("1, 3", "1, 2"), "0", "1", "[3]");
    const std::string other = made("all_to_all", sent("2, 2", "3, 2"), "0", "1", "[5]");
    return verdict(trace("4", "Replicate()", "Shard(0)",
                         rank(0, "4", one + slice(first), 2) + ", " +
                             rank(1, "4", other + slice(second), 2)))
        .right;
  };
  EXPECT_EQ(dealt("1", "1"), true);
  EXPECT_EQ(dealt("1", "3"), true);
  EXPECT_EQ(dealt("0", "1"), false);
  EXPECT_EQ(dealt("1", "2"), false);
}

TEST(DtensorTrace, reduced_rows_are_dealt_out_in_the_order_of_the_group) {
  const auto scattered = [](const std::string& group) {
    const std::string scatter = step("reduce_scatter", "\"group\": [" + group + "]" + summed, "2");
    return verdict(trace("4", "Partial(sum)", "Shard(0)", alike("4", scatter))).right;
  };
  EXPECT_EQ(scattered("0, 1"), true);
  EXPECT_EQ(scattered("1, 0"), false);
}

TEST(DtensorTrace, a_broadcast_gives_what_the_root_has) {
  const auto cast = [](const std::string& group, int root) {
    const std::string operations = made("all_gather", both, "0", "1", "[4]") + ", " +
                                   made("slice", "\"dim\": 0, \"start\": 2", "1", "2", "[2]");
    const auto given = [&](const std::string& value) {
      return ", " + made("broadcast",
                         "\"group\": [" + group + "], \"root\": " + std::to_string(root), value,
                         "3", "[2]");
    };
    // Rank 0 has the first half as it began, rank 1 the second.
    return verdict(trace("4", "Shard(0)", "Shard(0)",
                         rank(0, "2", operations + given("0"), 0) + ", " +
                             rank(1, "2", operations + given("2"), 3)))
        .right;
  };
  EXPECT_EQ(cast("0, 1", 1), true);
  EXPECT_EQ(cast("1, 0", 1), true);
  EXPECT_EQ(cast("0, 1", 0), false);
  EXPECT_EQ(cast("1, 0", 0), false);
  const auto from = [](const std::string& root) {
    return step("broadcast", both + ", \"root\": " + root, "4");
  };
  EXPECT_EQ(refusal(trace("4", "Replicate()", "Replicate()",
                          rank(0, "4", from("0")) + ", " + rank(1, "4", from("1")))),
            "a group has one root, which is a member");
}

TEST(DtensorTrace, parts_lie_one_behind_the_other) {
  const auto kept = [](const std::string& operations, int result) {
    return verdict(trace("4, 2", "Replicate()", "Replicate()", alike("4, 2", operations, result)))
        .right;
  };
  const std::string parts = made("split", "\"dim\": 0", "0", "1, 2, 3", "[1, 2], [2, 2], [1, 2]");
  EXPECT_EQ(kept(parts + ", " + made("cat", "\"dim\": 0", "1, 2, 3", "4", "[4, 2]"), 4), true);
  EXPECT_EQ(kept(parts + ", " + made("cat", "\"dim\": 0", "3, 2, 1", "4", "[4, 2]"), 4), false);
  const std::string columns = made("split", "\"dim\": 1", "0", "1, 2", "[4, 1], [4, 1]");
  EXPECT_EQ(kept(columns + ", " + made("cat", "\"dim\": 1", "1, 2", "3", "[4, 2]"), 3), true);
  EXPECT_EQ(kept(columns + ", " + made("cat", "\"dim\": 1", "2, 1", "3", "[4, 2]"), 3), false);
  EXPECT_EQ(kept(columns + ", " + made("cat", "\"dim\": 0", "1, 2", "3", "[8, 1]") + ", " +
                     made("reshape", "", "3", "4", "[4, 2]"),
                 4),
            false);
}

TEST(DtensorTrace, what_is_padded_lies_behind_what_is_before_it) {
  const auto kept = [](const std::string& padding, const std::string& shape,
                       const std::string& back) {
    const std::string operations =
        made("pad", "\"padding\": [" + padding + "]", "0", "1", "[" + shape + "]") + ", " +
        made("pad", "\"padding\": [" + back + "]", "1", "2", "[4, 2]");
    return verdict(trace("4, 2", "Replicate()", "Replicate()", alike("4, 2", operations, 2))).right;
  };
  EXPECT_EQ(kept("1, 2", "4, 5", "-1, -2"), true);
  EXPECT_EQ(kept("1, 2", "4, 5", "-2, -1"), false);
  EXPECT_EQ(kept("0, 0, 2, 1", "7, 2", "0, 0, -2, -1"), true);
  EXPECT_EQ(kept("0, 0, 2, 1", "7, 2", "0, 0, -1, -2"), false);
  EXPECT_EQ(kept("-1, 0", "4, 1", "1, 0"), false);  // zeros are no elements
  const Verdict zeros = verdict(trace("2", "Replicate()", "Replicate()",
                                      alike("2",
                                            step("pad", "\"padding\": [0, -2]", "0") + ", " +
                                                made("pad", "\"padding\": [2, 0]", "1", "2", "[2]"),
                                            2)));
  ASSERT_TRUE(zeros.mismatch.has_value());
  EXPECT_EQ(zeros.mismatch->found.kind, Found::Kind::zero);
  const Verdict before = verdict(trace("2", "Replicate()", "Replicate()",
                                       alike("2", step("pad", "\"padding\": [1, -1]", "2"))));
  ASSERT_TRUE(before.mismatch.has_value());
  EXPECT_EQ(before.mismatch->found.kind, Found::Kind::zero);
}

TEST(DtensorTrace, a_transpose_says_which_dimension_each_was) {
  const auto turned = [](const std::string& first, const std::string& second,
                         const std::string& shape) {
    const std::string operations =
        made("transpose", "\"order\": [" + first + "]", "0", "1", "[" + shape + "]") + ", " +
        made("transpose", "\"order\": [" + second + "]", "1", "2", "[2, 2, 2]");
    return verdict(trace("2, 2, 2", "Replicate()", "Replicate()", alike("2, 2, 2", operations, 2)))
        .right;
  };
  EXPECT_EQ(turned("1, 2, 0", "2, 0, 1", "2, 2, 2"), true);
  EXPECT_EQ(turned("1, 2, 0", "1, 2, 0", "2, 2, 2"), false);
  // The last dimension of [j, k, i] is the first of [i, j, k].
  const auto first_of = [](const std::string& order, const std::string& start) {
    return made("transpose", "\"order\": [" + order + "]", "0", "1", "[2, 2, 2]") + ", " +
           made("slice", "\"dim\": 2, \"start\": " + start, "1", "2", "[2, 2, 1]") + ", " +
           made("reshape", "", "2", "3", "[1, 2, 2]");
  };
  const auto cut = [&](const std::string& order) {
    return verdict(trace("2, 2, 2", "Replicate()", "Shard(0)",
                         rank(0, "2, 2, 2", first_of(order, "0"), 3) + ", " +
                             rank(1, "2, 2, 2", first_of(order, "1"), 3)))
        .right;
  };
  EXPECT_EQ(cut("1, 2, 0"), true);
  EXPECT_EQ(cut("2, 0, 1"), false);
}

TEST(DtensorTrace, zeros_are_zeros_and_what_is_empty_nobody_knows) {
  const auto end = [](const std::string& op) {
    return verdict(
        trace("2", "Replicate()", "Replicate()", alike("2", made(op, "", "", "1", "[2]"))));
  };
  ASSERT_TRUE(end("zeros").mismatch.has_value());
  EXPECT_EQ(end("zeros").mismatch->found.kind, Found::Kind::zero);
  ASSERT_TRUE(end("empty").mismatch.has_value());
  EXPECT_EQ(end("empty").mismatch->found.kind, Found::Kind::undefined);
  // Nothing is added by zeros, and nobody knows the sum with what is empty.
  const auto summed_with = [&](const std::string& op) {
    const std::string first = step("all_reduce", both + summed, "2");
    const std::string second =
        made(op, "", "", "2", "[2]") + ", " + made("all_reduce", both + summed, "2", "1", "[2]");
    return verdict(trace("2", "Replicate()", "Replicate()",
                         rank(0, "2", first) + ", " + rank(1, "2", second)))
        .right;
  };
  EXPECT_EQ(summed_with("zeros"), true);
  EXPECT_EQ(summed_with("empty"), false);
}

TEST(DtensorTrace, figures_are_of_the_rank_that_moves_most) {
  const auto figures = [](const std::string& from, const std::string& start,
                          const std::string& first, const std::string& second) {
    const Verdict out = verdict(
        trace("8", from, "Replicate()", rank(0, start, first) + ", " + rank(1, start, second)));
    return std::pair(out.cost, out.received);
  };
  using Figures = std::pair<Size, Size>;
  const std::string gather = step("all_gather", both, "8");
  EXPECT_EQ(figures("Shard(0)", "4", gather, gather), Figures(8, 4));
  const std::string reduce = step("all_reduce", both + summed, "8");
  EXPECT_EQ(figures("Partial(sum)", "8", reduce, reduce), Figures(16, 8));
  const std::string scatter = step("reduce_scatter", both + summed, "4");
  EXPECT_EQ(figures("Partial(sum)", "8", scatter, scatter), Figures(8, 4));
  const std::string cast = step("broadcast", both + ", \"root\": 1", "8");
  EXPECT_EQ(figures("Replicate()", "8", cast, cast), Figures(8, 8));
  const std::string first = step("all_to_all", sent("6, 2", "6, 3"), "9");
  const std::string second = step("all_to_all", sent("3, 5", "2, 5"), "7");
  EXPECT_EQ(figures("Replicate()", "8", first, second), Figures(9, 3));
  const std::string alone = step("all_gather", "\"group\": [0]", "8");
  const std::string other = step("all_gather", "\"group\": [1]", "8");
  EXPECT_EQ(figures("Replicate()", "8", alone, other), Figures(0, 0));
}

TEST(DtensorTrace, says_who_holds_the_whole_array_and_most) {
  const std::string gather = made("all_gather", both, "0", "1", "[4]");
  const auto slice = [](const std::string& start) {
    return ", " + made("slice", "\"dim\": 0, \"start\": " + start, "1", "2", "[2]");
  };
  const Verdict whole = verdict(
      trace("4", "Shard(0)", "Shard(0)",
            rank(0, "2", gather + slice("0"), 2) + ", " + rank(1, "2", gather + slice("2"), 2)));
  EXPECT_EQ(whole.right, true);
  EXPECT_EQ(whole.height, 4);
  ASSERT_TRUE(whole.whole_array.has_value());
  EXPECT_EQ(whole.whole_array->op, "all_gather");
  // As many places, but not of every element.
  const std::string twice = made("cat", "\"dim\": 0", "0, 0", "1", "[4]") + slice("0");
  const Verdict padded = verdict(trace("4", "Shard(0)", "Shard(0)", alike("2", twice, 2)));
  EXPECT_EQ(padded.right, true);
  EXPECT_EQ(padded.height, 4);
  EXPECT_FALSE(padded.whole_array.has_value());
  ASSERT_TRUE(padded.height_value.has_value());
  EXPECT_EQ(padded.height_value->op, "cat");
  EXPECT_EQ(padded.height_value->name, "rank 0");
  const std::string zeros = made("zeros", "", "", "1", "[9]");
  EXPECT_EQ(verdict(trace("4", "Shard(0)", "Shard(0)", alike("2", zeros, 0))).height, 9);
}

TEST(DtensorTrace, says_who_is_wrong_by_his_own_number) {
  const std::string mine =
      rank(7, "2", "", 0) + ", " + rank(3, "2", step("slice", "\"dim\": 0, \"start\": 0", "1"));
  const Verdict wrong = verdict(trace("4", "Shard(0)", "Shard(0)", mine, "7, 3"));
  EXPECT_EQ(wrong.right, false);
  ASSERT_TRUE(wrong.mismatch.has_value());
  EXPECT_EQ(wrong.mismatch->device, 3);
}

/// Operations one behind the other, on a tile of 4 elements: names, and what else they say.
std::string chain(const std::vector<std::pair<std::string, std::string>>& steps) {
  std::string out;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (k > 0) out += ", ";
    out += made(steps[k].first, steps[k].second, std::to_string(k), std::to_string(k + 1), "[4]");
  }
  return out;
}

const std::pair<std::string, std::string> sum_of_both = {"all_reduce", both + summed};

std::string divided_by(int divisor, int degree = 1) {
  return "\"divisor\": " + std::to_string(divisor) + ", \"degree\": " + std::to_string(degree);
}

std::string of_degree(int degree) { return "\"degree\": " + std::to_string(degree); }

TEST(DtensorTrace, what_all_hold_is_shared_out_by_dividing_it) {
  const auto judged = [](const std::string& from, const std::string& to, int divisor) {
    return verdict(trace("4", from, to, alike("4", step("divide", divided_by(divisor), "4"))));
  };
  EXPECT_EQ(judged("Replicate()", "Partial(sum)", 2).right, true);
  EXPECT_EQ(judged("Replicate()", "Partial(sum)", 3).right, false);
  EXPECT_EQ(judged("Replicate()", "Partial(avg)", 1).right, true);
  EXPECT_EQ(judged("Replicate()", "Replicate()", 2).right, false);
  const Verdict cost = judged("Replicate()", "Partial(sum)", 2);
  EXPECT_EQ(cost.cost, 0);
  // The sum of both halves is what was shared out.
  const auto summed_again = [](int divisor) {
    const std::string steps = chain({{"divide", divided_by(divisor)}, sum_of_both});
    return verdict(trace("4", "Replicate()", "Replicate()", alike("4", steps, 2))).right;
  };
  EXPECT_EQ(summed_again(2), true);
  EXPECT_EQ(summed_again(1), false);
  EXPECT_EQ(refused_alone("4", step("divide", divided_by(0), "4")), "a divisor is at least 1");
  EXPECT_EQ(refused_alone("4", step("divide", divided_by(2, 2), "4")), "divide is not read here");
  EXPECT_EQ(refused_alone("4", step("divide", divided_by(2), "2")), "divide makes [4], not [2]");
}

TEST(DtensorTrace, addends_of_fewer_devices_become_more) {
  const auto judged = [](int divisor) {
    std::string ranks;
    for (int k = 0; k < 4; ++k) {
      ranks += (k == 0 ? "" : ", ") + rank(k, "4", step("divide", divided_by(divisor), "4"));
    }
    return verdict(
               "{\"schema\": \"retile.dtensor-trace/1\", \"mesh\": {\"names\": [\"x\", \"y\"], "
               "\"sizes\": [2, 2], \"ranks\": [0, 1, 2, 3]}, \"shape\": [4], \"from\": "
               "[\"Partial(sum)\", \"Replicate()\"], \"to\": [\"Partial(sum)\", "
               "\"Partial(sum)\"], \"ranks\": [" +
               ranks + "]}")
        .right;
  };
  EXPECT_EQ(judged(2), true);
  EXPECT_EQ(judged(1), false);
  const std::string kept = alike("4", step("same", "", "4"));
  EXPECT_EQ(refusal(trace("4", "Partial(sum)", "Partial(max)", kept)),
            "addends of a sum are no addends of a max");
}

TEST(DtensorTrace, addends_of_a_norm_are_powers_when_they_are_added) {
  const auto judged = [](const std::string& to, const std::string& steps, int result) {
    return verdict(trace("4", "_NormPartial(2.0)", to, alike("4", steps, result))).right;
  };
  const std::pair<std::string, std::string> power = {"power", of_degree(2)};
  const std::pair<std::string, std::string> root = {"root", of_degree(2)};
  EXPECT_EQ(judged("Replicate()", chain({power, sum_of_both, root}), 3), true);
  EXPECT_EQ(judged("Replicate()", chain({power, sum_of_both, root}), 2), false);
  EXPECT_EQ(judged("Replicate()", chain({sum_of_both}), 1), false);
  EXPECT_EQ(judged("Replicate()", chain({power, root}), 2), false);
  EXPECT_EQ(judged("_NormPartial(2)", chain({power, root}), 2), true);
  EXPECT_EQ(judged("_NormPartial(2)", chain({power}), 1), false);
  // The root of 2 divides a norm as 2 divides the sum that it is the root of.
  const auto shared = [](int divisor, int degree, const std::string& from = "Replicate()") {
    const std::string steps = step("divide", divided_by(divisor, degree), "4");
    return trace("4", from, "_NormP(2)", alike("4", steps));
  };
  EXPECT_EQ(verdict(shared(2, 2)).right, true);
  EXPECT_EQ(verdict(shared(4, 2)).right, false);
  EXPECT_EQ(refusal(shared(2, 1)), "divide is not read here");
  EXPECT_EQ(refusal(shared(2, 2, "_NormPartial(3)")), "addends of several kinds in one array");
  EXPECT_EQ(refusal(shared(2, 2, "_NormPartial(2.5)")),
            "the degree of a norm that is read is 1 to 9");
  const auto refused = [](const std::string& steps, int result) {
    return refusal(trace("4", "_NormPartial(2)", "Replicate()", alike("4", steps, result)));
  };
  EXPECT_EQ(refused(chain({{"power", of_degree(3)}}), 1), "power is not read here");
  EXPECT_EQ(refused(chain({power, power}), 2), "power is not read here");
  EXPECT_EQ(refused(chain({root}), 1), "root is not read here");
  EXPECT_EQ(refused(chain({{"mask", ""}}), 1), "mask is not read here");
  EXPECT_EQ(refused(chain({power}) + ", " + made("cat", "\"dim\": 0", "0, 1", "2", "[8]"), 2),
            "addends that are ready to be added beside others that are not");
  EXPECT_EQ(refused_alone("4", step("power", of_degree(2), "4")), "power is not read here");
}

TEST(DtensorTrace, rows_of_a_mask_are_added_once_they_are_zeros) {
  const auto judged = [](const std::string& first, const std::string& second, int result,
                         const std::string& to = "Replicate()") {
    return verdict(trace("4", "_MaskPartial(sum, (9, 4), 0)", to,
                         rank(0, "4", first, result) + ", " + rank(1, "4", second, result)))
        .right;
  };
  const std::pair<std::string, std::string> mask = {"mask", ""};
  const std::pair<std::string, std::string> same = {"same", ""};
  const std::string right = chain({mask, sum_of_both});
  EXPECT_EQ(judged(right, right, 2), true);
  EXPECT_EQ(judged(right, chain({same, sum_of_both}), 2), false);
  EXPECT_EQ(judged(chain({sum_of_both}), chain({sum_of_both}), 1), false);
  EXPECT_EQ(judged(chain({same}), chain({same}), 1), false);
  EXPECT_EQ(judged(chain({same}), chain({same}), 1, "MaskP(sum, (9, 4), 0)"), true);
  EXPECT_EQ(judged(chain({same}), chain({same}), 1, "Partial(sum)"), false);
  EXPECT_EQ(judged(chain({mask}), chain({mask}), 1, "Partial(sum)"), true);
}

TEST(DtensorTrace, indices_are_counted_from_the_first_row_of_a_rank) {
  const auto text = [](const std::string& first, const std::string& second,
                       const std::string& mask = "_MaskPartial(sum, (9, 4), 0)") {
    return trace(
        "4", "Replicate()", mask,
        rank(0, "4", step("rows", first, "4")) + ", " + rank(1, "4", step("rows", second, "4")));
  };
  const std::string low = "\"start\": 0, \"length\": 5";
  const std::string high = "\"start\": 5, \"length\": 4";
  EXPECT_EQ(verdict(text(low, high)).right, true);
  EXPECT_EQ(verdict(text(low, high,
                         "_MaskPartial(reduce_op=sum, offset_shape=torch.Size([9, 4]), "
                         "offset_dim=0)"))
                .right,
            true);
  EXPECT_EQ(verdict(text(low, low)).right, false);
  EXPECT_EQ(verdict(text(high, low)).right, false);
  EXPECT_EQ(verdict(text(low, "\"start\": 5, \"length\": 5")).right, false);
  EXPECT_EQ(verdict(text(low, high, "_MaskPartial(sum, (4, 9), 0)")).right, false);
  EXPECT_EQ(verdict(text(low, high, "_MaskPartial(sum, (4, 9), 1)")).right, true);
  for (const char* const mask : {"_MaskPartial(sum)", "_MaskPartial(sum, (9, 4), 2)",
                                 "_MaskPartial(sum, (9223372036854775808, 4), 1)"}) {
    EXPECT_EQ(refusal(text(low, high, mask)), "rows is not read here") << mask;
  }
  // Without that the indices are not the rank's own, and they are no addends either.
  const std::string kept = alike("4", step("same", "", "4"));
  EXPECT_EQ(verdict(trace("4", "Replicate()", "_MaskPartial(sum, (9, 4), 0)", kept)).right, false);
  const std::string twice =
      made("rows", low, "0", "1", "[4]") + ", " + made("rows", low, "1", "2", "[4]");
  EXPECT_EQ(refusal(trace("4", "Replicate()", "_MaskPartial(sum, (9, 4), 0)",
                          rank(0, "4", twice, 2) + ", " + rank(1, "4", twice, 2))),
            "rows is not read here");
}

TEST(DtensorTrace, what_is_divided_or_made_ready_is_no_program) {
  const auto why = [](const std::string& from, const std::string& to, const std::string& steps,
                      int result = 1) {
    const std::string text = trace("4", from, to, alike("4", steps, result));
    const auto functions =
        read({.text = text, .source = "test", .numbered = true}, Language::dtensor, {});
    EXPECT_TRUE(functions.has_value());
    if (!functions) return std::string();
    const Function& one = functions->front();
    const auto program = to_program(one, *one.from->layout, *one.to->layout);
    return program ? "" : program.error().message;
  };
  const std::string divides = "steps of a Program divide nothing: this does";
  const std::string average = step("all_reduce", both + ", \"reduction\": \"avg\"", "4");
  const std::string sum = step("all_reduce", both + summed, "4");
  EXPECT_EQ(why("Partial(sum)", "Replicate()", sum), "");
  EXPECT_EQ(why("Partial(sum)", "Replicate()", average), divides);
  EXPECT_EQ(why("Partial(avg)", "Replicate()", sum), divides);
  EXPECT_EQ(why("Replicate()", "Partial(avg)", step("same", "", "4")), divides);
  EXPECT_EQ(why("Replicate()", "Partial(sum)", step("divide", divided_by(2), "4")), divides);
  const std::string scattered = step("reduce_scatter", both + ", \"reduction\": \"avg\"", "2");
  EXPECT_EQ(why("Partial(sum)", "Shard(0)", scattered), divides);
  const std::string prepared =
      "steps of a Program add what there is: here powers are added, or rows that a mask leaves";
  const std::string norm = chain({{"power", of_degree(2)}, sum_of_both, {"root", of_degree(2)}});
  EXPECT_EQ(why("_NormPartial(2)", "Replicate()", norm, 3), prepared);
  const std::string masked = chain({{"mask", ""}, sum_of_both});
  EXPECT_EQ(why("_MaskPartial(sum)", "Replicate()", masked, 2), prepared);
}

TEST(DtensorTrace, a_line_of_the_job_names_the_redistribute) {
  std::string text = trace("4", "Replicate()", "Replicate()", alike("4", step("same", "", "4")));
  text.insert(1, "\"source\": \"train.py:12\", \"dtype\": \"float32\", ");
  const auto judged = judge_text(text, "trace.json");
  ASSERT_TRUE(judged.has_value()) << render(judged.error());
  EXPECT_EQ(judged->front().name, "redistribute at train.py:12");
}

}  // namespace dtensor_test
}  // namespace retile::foreign
