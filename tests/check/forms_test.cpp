// The forms that a replay's states have: each of them step by step against explicit replay, which
// one takes over from which, and that none of them lets anybody wait.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "check/judge.h"
#include "check/random_programs.h"
#include "retile/check/replay.h"
#include "retile/program/apply.h"
#include "support/mutants.h"
#include "support/samples.h"

namespace check_tests::forms_test {
namespace {

using retile::Applied;
using retile::CheckOptions;
using retile::Form;
using retile::Forms;
using retile::Limits;
using retile::Replay;

// ---- Every form, step by step -------------------------------------------------------------------

std::string name(Form form) {
  switch (form) {
    case Form::weights:
      return "weights";
    case Form::boxes:
      return "boxes";
    case Form::pieces:
      return "pieces";
    case Form::tags:
      break;
  }
  return "tags";
}

/// Where a state and explicit arrays differ, if they do.
std::string other_arrays(const retile::State& state, const naive::Arrays& arrays) {
  if (state.tile() != arrays.tile) return "another shape";
  const auto local = naive::indices(arrays.tile);
  for (Size d = 0; d < state.devices(); ++d) {
    for (std::size_t n = 0; n < local.size(); ++n) {
      if (state.held(d, local[n]) != arrays.held[naive::to_index(d)][n]) return "another element";
    }
  }
  const auto left = state.not_a_box();
  if (left.has_value() == naive::all_boxes(arrays)) return "boxes are not seen";
  return "";
}

/// Replays a Program in some forms beside explicit arrays; counts the states that each form had.
std::string replayed_otherwise(const Program& program, const Forms& forms,
                               std::map<std::string, Size>& states) {
  Replay replay(program.from, Limits{}, forms);
  const auto expected = naive::replay(program);
  for (std::size_t k = 0; k < expected.size(); ++k) {
    if (k > 0) {
      const retile::Step& step = program.steps[k - 1];
      const auto after = shape_after(step, replay.state()->tile(), program.devices);
      if (!after) return "a step is refused";
      if (replay.apply(step, *after) != Applied::done) return "a step is not done";
    }
    ++states[name(replay.state()->form())];
    if (const auto fault = other_arrays(*replay.state(), expected[k]); !fault.empty()) {
      return "after " + std::to_string(k) + " steps, as " + name(replay.state()->form()) + ": " +
             fault;
    }
  }
  return "";
}

TEST(Forms, all_hold_the_same_arrays_after_every_step) {
  std::map<std::string, std::map<std::string, Size>> states;
  for (std::uint64_t seed = 0; seed < support::samples(1500U); ++seed) {
    const Program program = random_program(support::random_choices(seed));
    if (program.from.rank() == 0) continue;
    std::vector<FormsUnderTest> all(forms_under_test.begin(), forms_under_test.end());
    all.push_back({"all", {}});
    for (const FormsUnderTest& tried : all) {
      const auto fault = replayed_otherwise(program, tried.forms, states[tried.name]);
      ASSERT_EQ(fault, "") << "seed " << seed << ", " << tried.name << '\n'
                           << retile::to_text(program);
    }
  }
  for (const auto& [forms, counts] : states) {
    std::cout << forms << ':';
    for (const auto& [form, count] : counts) std::cout << ' ' << form << ' ' << count;
    std::cout << '\n';
  }
  EXPECT_EQ(states["tags alone"].size(), 1U);
  EXPECT_GT(states["tags alone"]["tags"], support::samples(3000));
  EXPECT_GT(states["pieces alone"]["pieces"], support::samples(3000));
  EXPECT_GT(states["boxes and tags"]["boxes"], support::samples(1500));
  EXPECT_GT(states["boxes and tags"]["tags"], support::samples(300));
  EXPECT_GT(states["weights and tags"]["weights"], support::samples(900));
}

// ---- Which one takes over -----------------------------------------------------------------------

/// The forms of the states of a Program, the start first; "no room" or "too late" where it stops.
std::vector<std::string> forms_of(const Program& program, const Limits& limits = {}) {
  Replay replay(program.from, limits, Forms{});
  std::vector<std::string> out = {name(replay.state()->form())};
  for (const retile::Step& step : program.steps) {
    const auto after = shape_after(step, replay.state()->tile(), program.devices);
    EXPECT_TRUE(after.has_value());
    const Applied done = replay.apply(step, *after);
    if (done != Applied::done) {
      out.emplace_back(done == Applied::no_room ? "no room" : "too late");
      break;
    }
    out.push_back(name(replay.state()->form()));
  }
  return out;
}

using Names = std::vector<std::string>;

/// Two replicas of one element, gathered in so many dimensions: 2^gathers places, all alike.
std::string gathers(Size rank, Size gathers) {
  std::string ends = "[";
  for (Size k = 0; k < rank; ++k) ends += k == 0 ? "1" : ",1";
  ends += "]\n";
  std::string text = "retile.program/1\ndevices 2\nfrom " + ends + "to " + ends;
  for (Size k = 0; k < gathers; ++k) {
    text += "allgather dim=" + std::to_string(k) + " groups=[1,2]<=[2]\n";
  }
  return text;
}

TEST(Forms, each_step_is_taken_by_the_fastest_one_that_can_say_it) {
  const std::string head = "retile.program/1\nmesh x:4\nfrom [1{x}4]\nto [1{x}4]\n";
  const std::string away = "allgather dim=0 groups=[[0,2,1,3]]\n";
  const std::string back = "dynslice dim=0 groups=[[0,2,1,3]]\n";
  EXPECT_EQ(forms_of(program(head + "allpermute source=[4]<=[2,2]T(1,0)\n")),
            (Names{"weights", "weights"}));
  EXPECT_EQ(forms_of(program(head + "allpermute source=[1,0,2,3]\n")), (Names{"weights", "boxes"}));
  EXPECT_EQ(forms_of(program(head + away + back)), (Names{"weights", "pieces", "boxes"}));
}

TEST(Forms, tags_take_over_where_pieces_would_be_more) {
  const auto forms = forms_of(program(gathers(20, 14)));
  EXPECT_EQ(forms.back(), "tags");
  EXPECT_EQ(forms[1], "pieces");
  EXPECT_EQ(forms[5], "pieces") << "few pieces are cheap";
}

/// Each device's tile, [n, 2, .., 2], with the first dimension turned by one place.
retile::Step turned_by_one(const Shape& tile) {
  retile::Exchange out;
  const Shape first(tile.size(), 0);
  for (Size d = 0; d < 2; ++d) {
    Shape most = tile;
    most[0] -= 1;
    Shape one = tile;
    one[0] = 1;
    Shape second = first;
    second[0] = 1;
    Shape last = first;
    last[0] = tile[0] - 1;
    out.transfers.push_back({d, d, second, first, most});
    out.transfers.push_back({d, d, first, last, one});
  }
  return {std::move(out), {.tile = tile, .map = {}, .at = {}}};
}

TEST(Forms, pieces_take_over_where_tags_have_no_room) {
  // As before, but one dimension is long. A turn by one place leaves no blocks along it.
  std::string text = gathers(14, 13);
  for (const std::string end : {"from [", "to ["}) {
    text.insert(text.find(end) + end.size(), "1048576,");
  }
  for (Size k = 12; k >= 0; --k) {
    const auto at = text.find("dim=" + std::to_string(k) + " ");
    text.replace(at, text.find(' ', at) - at, "dim=" + std::to_string(k + 1));
  }
  Program askew = program(text);
  Shape tile(15, 2);
  tile[0] = Size{1} << 20;
  tile[14] = 1;
  askew.steps.push_back(turned_by_one(tile));
  Limits limits;
  limits.room = Size{1} << 26;
  limits.tag_room = Size{1} << 24;
  const auto forms = forms_of(askew, limits);
  ASSERT_GE(forms.size(), 15U);
  EXPECT_EQ(forms[13], "tags");
  EXPECT_EQ(forms[14], "pieces");
  // And no further than there is room for pieces.
  limits.room = Size{1} << 20;
  EXPECT_EQ(forms_of(askew, limits).back(), "no room");
}

TEST(Forms, large_boxes_that_lie_askew_are_pieces_from_the_start) {
  Program askew =
      program("retile.program/1\ndevices 2\nfrom [1099511627776]\nto [1099511627776]\n");
  askew.steps.push_back(turned_by_one({Size{1} << 40}));
  EXPECT_EQ(forms_of(askew), (Names{"weights", "pieces"}));
  const auto verdict = fields_of(retile::check(askew));
  EXPECT_EQ(verdict.reason, Reason::not_a_box);
  EXPECT_EQ(verdict.at, Shape{1});
  EXPECT_EQ(verdict.found, Shape{0});
}

// ---- Time ---------------------------------------------------------------------------------------

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What a machine may be slower than ours by, sanitizers and neighbours included.
constexpr double patience = 10;

TEST(Forms, pieces_that_double_with_every_step_take_no_time) {
  for (const auto& [rank, steps] : {std::pair<Size, Size>{16, 16}, {20, 20}, {2500, 18}}) {
    const Program doubling = program(gathers(rank, steps));
    Verdict verdict;
    EXPECT_LT(seconds([&] { verdict = retile::check(doubling); }), 1 * patience) << rank;
    EXPECT_EQ(outcome(verdict), "not_a_box") << rank;
    Shape second(static_cast<std::size_t>(rank), 0);
    second[0] = 1;
    EXPECT_EQ(fields_of(verdict).at, second);
    EXPECT_EQ(verdict.height, Size{1} << steps);
  }
}

TEST(Forms, what_no_form_can_hold_is_undecided_soon) {
  CheckOptions options;
  options.piece_limit = Size{1} << 22;
  const Program doubling = program(gathers(2500, 50));
  Verdict verdict;
  EXPECT_LT(seconds([&] { verdict = retile::check(doubling, options); }), 2 * patience);
  EXPECT_EQ(verdict.answer, Answer::undecided);
  EXPECT_FALSE(verdict.out_of_time);
}

/// Programs that take long, each in another part of the replay.
std::vector<std::pair<std::string, Program>> slow_programs() {
  std::vector<std::pair<std::string, Program>> out;
  // Tags: arrays of 2^25 places.
  out.emplace_back("tags", program(gathers(25, 25)));
  // Pieces: slabs that lie askew in a tile that is too large for tags.
  Program askew =
      program("retile.program/1\ndevices 2\nfrom [1099511627776]\nto [1099511627776]\n");
  for (Size k = 0; k < 4000; ++k) {
    askew.steps.push_back(turned_by_one({Size{1} << 40}));
    askew.steps.push_back(
        {retile::Alltoall{0, 0, retile::DeviceTable::iota(retile::IotaChain(2), 2)}, {}});
  }
  out.emplace_back("pieces", std::move(askew));
  // Coverage: columns, each cut elsewhere.
  constexpr Size columns = 5000;
  retile::Exchange comb;
  for (Size k = 0; k < columns; ++k) {
    comb.transfers.push_back({0, 0, {0, k}, {0, k}, {k + 1, 1}});
    comb.transfers.push_back({0, 0, {k + 1, k}, {k + 1, k}, {columns - k, 1}});
  }
  Program covered = program("retile.program/1\ndevices 1\nfrom [5001,5000]\nto [5001,5000]\n");
  covered.steps.push_back({std::move(comb), {.tile = Shape{5001, 5000}, .map = {}, .at = {}}});
  out.emplace_back("coverage", std::move(covered));
  // Tables: a chain of many stages that do not merge.
  constexpr Size devices = Size{1} << 20;
  retile::IotaChain chain(devices * 9);
  for (int k = 0; k < 300; ++k) {
    chain.append({{3, 3 * devices}, {1, 0}});
    chain.append({{devices, 9}, {1, 0}});
  }
  Program table = program("retile.program/1\ndevices 9437184\nfrom [4]\nto [4]\n");
  table.steps.push_back({retile::Allpermute{retile::DeviceTable::iota(chain, devices * 9)}, {}});
  table.steps.push_back({retile::Dynslice{0, retile::DeviceTable::iota(chain, 4)}, {}});
  out.emplace_back("tables", std::move(table));
  return out;
}

TEST(Forms, the_time_limit_holds_wherever_the_time_goes) {
  for (const auto& slow : slow_programs()) {
    const std::string& what = slow.first;
    CheckOptions options;
    options.timeout_seconds = 0.05;
    Verdict verdict;
    const double spent = seconds([&] { verdict = retile::check(slow.second, options); });
    std::cout << what << ": " << spent << " s\n";
    EXPECT_EQ(verdict.answer, Answer::undecided) << what << ' ' << show(verdict);
    EXPECT_TRUE(verdict.out_of_time) << what;
    EXPECT_LT(spent, 1 * patience) << what;
  }
}

TEST(Forms, a_time_limit_that_is_not_reached_changes_nothing) {
  CheckOptions options;
  for (const double limit : {1e3, 1e300, std::numeric_limits<double>::infinity()}) {
    options.timeout_seconds = limit;
    EXPECT_EQ(show(retile::check(program(example_3_1), options)), show(judge(example_3_1)));
  }
  for (const double limit : {0.0, -1.0}) {
    options.timeout_seconds = limit;
    EXPECT_TRUE(retile::check(program(example_3_1), options).out_of_time);
  }
}

}  // namespace
}  // namespace check_tests::forms_test
