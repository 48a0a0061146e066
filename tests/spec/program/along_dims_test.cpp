// Steps along several dimensions: what they make element by element, that they are the single steps
// one after the other, what they cost, and every reason.
#include <gtest/gtest.h>

#include <random>

#include "spec/program/check.h"
#include "spec/program/check_layouts.h"
#include "spec/program/text.h"
#include "support/samples.h"

namespace spec::along_dims_test {
namespace {

std::string program(const std::string& mesh, const std::string& from, const std::string& to,
                    const std::string& steps = "") {
  return "retile.program/2\nmesh " + mesh + "\nfrom " + from + "\nto " + to + "\n" + steps + "\n";
}
Verdict verdict_of(const std::string& text) {
  const Programs read = parse_programs(text);
  EXPECT_FALSE(read.error) << read.error->message << "\n" << text;
  return read.error ? Verdict() : check(read.programs.at(0));
}
std::string outcome(const Verdict& verdict) {
  if (!verdict.wrong) return verdict.right ? "right" : "neither";
  return verdict.wrong->reason + " " + std::to_string(verdict.wrong->first_wrong_step);
}
std::string outcome(const std::string& text) { return outcome(verdict_of(text)); }
std::string error_of(const std::string& step) {
  const Programs read = parse_programs(program("x:2,y:3", "[2{x}4, 1{y}3]", "[4, 3]", step));
  return read.error ? read.error->message : "none";
}

/// What the devices hold at the end.
class Replay : public LayoutReplay {
 public:
  using LayoutReplay::LayoutReplay;
  const std::vector<Tile>& tiles() const { return state_; }
};
std::vector<Tile> tiles_after(const std::string& text) {
  const Programs read = parse_programs(text);
  EXPECT_FALSE(read.error) << read.error->message << "\n" << text;
  if (read.error) return {};
  Replay replay(read.programs.at(0));
  EXPECT_TRUE(replay.run().decided) << text;
  return replay.tiles();
}

// Figures.

TEST(AlongDims, one_gather_of_two_dimensions_costs_its_result) {
  const std::string to = program("x:2,y:3", "[2{x}4, 1{y}3]", "[4, 3]", "");
  const Verdict verdict =
      verdict_of(to + "allgather_dims dims=[0,1] counts=[2,3] groups=[1,6]<=[6] tile=[4,3]");
  EXPECT_EQ(outcome(verdict), "right");
  EXPECT_EQ(verdict.cost, 12);
  EXPECT_EQ(verdict.height, 12);
  EXPECT_EQ(outcome(to + "allgather_dims dims=[1,0] counts=[3,2] groups=[[0,3,1,4,2,5]]"), "right");
  EXPECT_EQ(outcome(to + "allgather_dims dims=[1,0] counts=[3,2] groups=[1,6]<=[6]"),
            "not_a_box 0");
}

TEST(AlongDims, of_a_dimension_named_twice_the_first_digit_is_the_slowest) {
  const std::string step = "allgather_dims dims=[0,0] counts=[2,3] groups=";
  EXPECT_EQ(outcome(program("x:2,y:3", "[1{y,x}6]", "[6]", step + "[1,6]<=[6]")), "right");
  EXPECT_EQ(outcome(program("x:2,y:3", "[1{x,y}6]", "[6]", step + "[[0,3,1,4,2,5]]")), "right");
  EXPECT_EQ(outcome(program("x:2,y:3", "[1{x,y}6]", "[6]", step + "[1,6]<=[6]")), "not_a_box 0");
}

TEST(AlongDims, one_alltoall_of_four_dimensions_costs_its_tile) {
  const std::string text = program("x:2,y:2", "[1{x}2, 2, 1{y}2, 2]", "[2, 1{x}2, 2, 1{y}2]", "");
  const Verdict verdict =
      verdict_of(text + "alltoall_dims splits=[1,3] concats=[0,2] counts=[2,2] groups=[1,4]<=[4]");
  EXPECT_EQ(outcome(verdict), "right");
  EXPECT_EQ(verdict.cost, 4);
  EXPECT_EQ(outcome(text + "alltoall_dims splits=[3,1] concats=[0,2] counts=[2,2] "
                           "groups=[1,4]<=[4]"),
            "end 1");
}

TEST(AlongDims, groups_of_one_move_nothing) {
  const Verdict verdict = verdict_of(program("x:2", "[2{x}4]", "[2{x}4]",
                                             "alltoall_dims splits=[0] concats=[0] counts=[1] "
                                             "groups=[2,1]<=[2]"));
  EXPECT_EQ(outcome(verdict), "right");
  EXPECT_EQ(verdict.cost, 0);
}

TEST(AlongDims, empty_tiles_stay_empty) {
  EXPECT_EQ(outcome(program("x:2,y:2", "[1{x}1, 4]", "[1{x}1, 4]",
                            "alltoall_dims splits=[1,1] concats=[1,1] counts=[1,2] "
                            "groups=[[0,1],[2,3]]")),
            "not_a_box 0");
  EXPECT_EQ(outcome(program("x:2,y:2", "[1{x}1, 2{y}4]", "[1{x}1, 4]",
                            "allgather_dims dims=[1] counts=[2] groups=[[0,1],[2,3]]")),
            "right");
}

// Element by element.

struct Drawn {
  std::string mesh, from, groups;
  Rows rows;
  Sizes shape, splits, concats, counts;
};

std::string text_of(const Sizes& numbers) {
  std::string out;
  for (const Size n : numbers) out += (out.empty() ? "" : ",") + std::to_string(n);
  return "[" + out + "]";
}
std::string text_of(const Rows& rows) {
  std::string out;
  for (const Sizes& row : rows) out += (out.empty() ? "" : ",") + text_of(row);
  return "[" + out + "]";
}

/// Devices in rows, whose tiles are rows of an array, and as many digits as wanted.
Drawn draw(std::mt19937_64& random) {
  const auto below = [&](Size n) {
    return static_cast<Size>(random() % static_cast<std::size_t>(n));
  };
  Drawn out;
  Size members = 1, devices = 0;
  for (Size k = 1 + below(3); k > 0; --k) {
    out.counts.push_back(1 + below(3));
    members *= out.counts.back();
  }
  devices = members * (1 + below(2));
  const Size rank = 1 + below(3);
  for (Index k = 0; k < out.counts.size(); ++k) {
    out.splits.push_back(below(rank));
    out.concats.push_back(below(rank));
  }
  for (Size i = 0; i < rank; ++i) {
    Size extent = 1 + below(2);
    for (Index k = 0; k < out.counts.size(); ++k) extent *= out.splits[k] == i ? out.counts[k] : 1;
    out.shape.push_back(extent);
  }
  Sizes order(static_cast<Index>(devices));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (auto at = order.begin(); at != order.end(); at += members) {
    out.rows.emplace_back(at, at + members);
  }
  out.mesh = "x:" + std::to_string(devices);
  for (Index i = 0; i < out.shape.size(); ++i) {
    const std::string extent = std::to_string(out.shape[i]);
    out.from +=
        i == 0 ? "[" + extent + "{x}" + std::to_string(out.shape[0] * devices) : ", " + extent;
  }
  out.from += "]";
  return out;
}

/// The member that has digit k at position k of `digits`, the last the fastest.
Size position(const Sizes& digits, const Sizes& counts) {
  Size out = 0;
  for (Index k = 0; k < counts.size(); ++k) out = out * counts[k] + digits[k];
  return out;
}

/// Element l of what the member at position q gets: by the digits of where it lies.
Size element(const Drawn& drawn, const std::vector<Tile>& before, const Sizes& row, Size q,
             const Sizes& l, bool cuts) {
  const Index n = drawn.counts.size();
  Sizes part = drawn.shape, block(l.size()), digits(n), own(n), pieces(l.size(), 0);
  for (Index k = 0; cuts && k < n; ++k)
    part[static_cast<Index>(drawn.splits[k])] /= drawn.counts[k];
  for (Index i = 0; i < l.size(); ++i) block[i] = l[i] / part[i];
  for (Index k = n; k-- > 0; q /= drawn.counts[k]) own[k] = q % drawn.counts[k];
  for (Index k = n; k-- > 0;) {
    Size& rest = block[static_cast<Index>(drawn.concats[k])];
    digits[k] = rest % drawn.counts[k];
    rest /= drawn.counts[k];
  }
  for (Index k = 0; cuts && k < n; ++k) {
    Size& piece = pieces[static_cast<Index>(drawn.splits[k])];
    piece = piece * drawn.counts[k] + own[k];
  }
  const Tile& a =
      before[static_cast<Index>(row[static_cast<Index>(position(digits, drawn.counts))])];
  Size at = 0;
  for (Index i = 0; i < l.size(); ++i) at = at * a.shape[i] + pieces[i] * part[i] + l[i] % part[i];
  return a.tags[static_cast<Index>(at)];
}

void expect_elements(const Drawn& drawn, const std::vector<Tile>& before,
                     const std::vector<Tile>& after, bool cuts) {
  for (const Sizes& row : drawn.rows) {
    for (Index q = 0; q < row.size(); ++q) {
      const Tile& out = after[static_cast<Index>(row[q])];
      Sizes l(out.shape.size(), 0);
      for (const Size tag : out.tags) {
        ASSERT_EQ(tag, element(drawn, before, row, static_cast<Size>(q), l, cuts));
        next(l, out.shape);
      }
    }
  }
}

/// The groups in which only digit k differs.
Rows rows_of_digit(const Drawn& drawn, Index k) {
  Rows out;
  Size fast = 1;
  for (Index j = k + 1; j < drawn.counts.size(); ++j) fast *= drawn.counts[j];
  for (const Sizes& row : drawn.rows) {
    for (Size q = 0; q < static_cast<Size>(row.size()); ++q) {
      if (q / fast % drawn.counts[k] != 0) continue;
      out.emplace_back();
      for (Size p = 0; p < drawn.counts[k]; ++p) {
        out.back().push_back(row[static_cast<Index>(q + p * fast)]);
      }
    }
  }
  return out;
}

TEST(AlongDims, each_element_lies_where_the_digits_say) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < support::samples(400); ++trial) {
    const Drawn drawn = draw(random);
    const std::string head = program(drawn.mesh, drawn.from, drawn.from, "");
    const std::string rest = " counts=" + text_of(drawn.counts) + " groups=" + text_of(drawn.rows);
    const std::string gather = "allgather_dims dims=" + text_of(drawn.concats) + rest;
    const std::string exchange = "alltoall_dims splits=" + text_of(drawn.splits) +
                                 " concats=" + text_of(drawn.concats) + rest;
    SCOPED_TRACE(head + gather + "\n" + exchange);
    const std::vector<Tile> before = tiles_after(head);
    expect_elements(drawn, before, tiles_after(head + gather), false);
    expect_elements(drawn, before, tiles_after(head + exchange), true);
    const std::string back = "\nalltoall_dims splits=" + text_of(drawn.concats) +
                             " concats=" + text_of(drawn.splits) + rest;
    EXPECT_EQ(tiles_after(head + exchange + back), before);
    if (HasFatalFailure()) return;
  }
}

TEST(AlongDims, a_gather_is_those_of_its_digits_from_the_last_on) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < support::samples(200); ++trial) {
    const Drawn drawn = draw(random);
    std::string text = program(drawn.mesh, drawn.from, drawn.from, ""), single = text;
    text += "allgather_dims dims=" + text_of(drawn.concats) + " counts=" + text_of(drawn.counts) +
            " groups=" + text_of(drawn.rows);
    for (Index k = drawn.counts.size(); k-- > 0;) {
      single += "allgather dim=" + std::to_string(drawn.concats[k]) +
                " groups=" + text_of(rows_of_digit(drawn, k)) + "\n";
    }
    EXPECT_EQ(tiles_after(text), tiles_after(single)) << text << "\n" << single;
  }
}

TEST(AlongDims, an_alltoall_is_those_of_its_digits_where_each_has_dimensions_of_its_own) {
  std::mt19937_64 random(3);
  int compared = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const Drawn drawn = draw(random);
    Sizes all = drawn.splits;
    all.insert(all.end(), drawn.concats.begin(), drawn.concats.end());
    std::sort(all.begin(), all.end());
    const bool is_one = drawn.counts.size() == 1;
    if (!is_one && std::adjacent_find(all.begin(), all.end()) != all.end()) continue;
    std::string text = program(drawn.mesh, drawn.from, drawn.from, ""), single = text;
    text += "alltoall_dims splits=" + text_of(drawn.splits) + " concats=" + text_of(drawn.concats) +
            " counts=" + text_of(drawn.counts) + " groups=" + text_of(drawn.rows);
    for (Index k = 0; k < drawn.counts.size(); ++k) {
      single += "alltoall split=" + std::to_string(drawn.splits[k]) +
                " concat=" + std::to_string(drawn.concats[k]) +
                " groups=" + text_of(rows_of_digit(drawn, k)) + "\n";
    }
    EXPECT_EQ(tiles_after(text), tiles_after(single)) << text << "\n" << single;
    ++compared;
  }
  EXPECT_GT(compared, 200);
}

// Reasons.

TEST(AlongDims, reasons) {
  const std::string head = program("x:2,y:3", "[2{x}4, 1{y}3]", "[4, 3]", "");
  const std::string gather = "allgather_dims dims=[0,1] counts=";
  EXPECT_EQ(outcome(head + gather + "[2,2] groups=[1,6]<=[6]"), "groups 0");
  EXPECT_EQ(outcome(head + gather + "[2,3] groups=[[0,1,2,3,4,4]]"), "groups 0");
  EXPECT_EQ(outcome(head + "alltoall_dims splits=[0,1] concats=[1,0] counts=[3,2] "
                           "groups=[1,6]<=[6]"),
            "indivisible 0");
  EXPECT_EQ(outcome(program("x:3", "[3{x}8]", "[8]",
                            "allgather_dims dims=[0] counts=[3] groups=[1,3]<=[3]")),
            "ragged 0");
  EXPECT_EQ(outcome(head + gather + "[2,3] groups=[1,6]<=[6] tile=[4,4]"), "tile_claim 0");
}

TEST(AlongDims, what_cannot_be_read) {
  const std::string groups = " groups=[1,6]<=[6]";
  EXPECT_EQ(error_of("allgather_dims dims=[0,1] counts=[2,3]" + groups), "none");
  EXPECT_EQ(error_of("allgather_dims dims=[0,2] counts=[2,3]" + groups),
            "there is no such dimension");
  EXPECT_NE(error_of("allgather_dims dims=[0] counts=[2,3]" + groups), "none");
  EXPECT_NE(error_of("allgather_dims dims=[] counts=[]" + groups), "none");
  EXPECT_NE(error_of("alltoall_dims splits=[] concats=[0] counts=[6]" + groups), "none");
  EXPECT_NE(error_of("alltoall_dims concats=[0] counts=[6]" + groups), "none");
  EXPECT_NE(error_of("allgather_dims dims=[0,1] counts=[2,0]" + groups), "none");
  EXPECT_NE(error_of("allgather_dims dims=[0,1,1] counts=[4294967296,4294967296,2]" + groups),
            "none");
  EXPECT_NE(error_of("allgather_dims dims=[0,1] counts=[2,3] add=max" + groups), "none");
  EXPECT_NE(error_of("allgather dims=[0] counts=[6]" + groups), "none");
}

}  // namespace
}  // namespace spec::along_dims_test
