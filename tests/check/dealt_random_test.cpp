// Random problems of which some dimensions are dealt out or cut in sections, others even, uneven or whole, and some
// arrays sums: their plans, what stays right of a plan in other words, and what goes wrong of one. `check` and the oracle
// read the same ones, and say the same, down to the element.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "check/another_number.h"
#include "check/judge.h"
#include "retile/exec/exchange/direct.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "support/samples.h"

namespace check_tests::dealt_random_test {
namespace {

#ifdef RETILE_SLOW_TESTS
constexpr std::size_t wanted = 1'000'000;  // Programs that both read, and judge
#else
constexpr std::size_t wanted =
    std::max<std::size_t>(support::samples(12'000U), 3'000);  // every kind of refusal comes
#endif

/// What is done to the Program of a plan. All before `text` are of exchanges, and the first keep it right.
enum class Change {
  none,
  other_order,   ///< boxes in another order
  cut_in_two,    ///< a box goes in two parts
  with_a_claim,  ///< the last step says that it makes the end
  left_out,      ///< a box is not sent
  doubled,       ///< a box is sent twice
  moved,         ///< a box begins elsewhere in a tile
  other_source,  ///< a box comes from another device, which may hold the same
  other_end,     ///< the Program is to make other tiles
  text,          ///< a number of the text is another
};

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] std::size_t below(std::size_t count) { return random_() % count; }

  /// A problem as a Program without steps.
  std::string problem() {
    draw_mesh();
    global_ = {1 + number(below(3) == 0 ? 30 : 12)};
    if (below(2) == 0) global_.push_back(1 + number(5));
    std::string out = "retile.program/2\nmesh ";
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      out += (a == 0 ? "" : ",") + name(a) + ":" + std::to_string(axes_[a]);
    }
    has_addends_ = below(5) == 0;
    if (!has_addends_ && below(8) == 0) out += order();
    addition_ = std::array{"sum", "max", "min"}[below(3)];
    return out + "\nfrom " + type() + "\nto " + type() + "\n";
  }

  /// The same, with a change of it.
  std::string changed(Program program, Change change) {
    if (change == Change::text) {
      if (below(2) == 0) program = with_claim(std::move(program));
      return with_another_number(retile::to_text(program), random_);
    }
    if (change == Change::other_end) {
      const std::string text = retile::to_text(program);
      const std::size_t to = text.find("\nto ") + 4;
      return text.substr(0, to) + type() + text.substr(text.find('\n', to));
    }
    if (program.steps.empty()) return retile::to_text(program);
    if (change == Change::with_a_claim) return retile::to_text(with_claim(std::move(program)));
    retile::Step& step = program.steps[below(program.steps.size())];
    auto* const op = std::get_if<retile::Exchange>(&step.op);
    if (op != nullptr && !op->transfers.empty()) change_boxes(op->transfers, program, change);
    return retile::to_text(program);
  }

 private:
  static std::string name(std::size_t axis) { return std::string(1, "abcd"[axis]); }

  /// A number in [0, below).
  Size number(Size below) {
    return static_cast<Size>(random_() % static_cast<std::uint64_t>(below));
  }

  void draw_mesh() {
    static const std::vector<std::vector<Size>> meshes = {
        {1},    {2},    {3},    {4},    {5},       {6},       {7},       {8},    {9},
        {2, 2}, {2, 3}, {3, 2}, {2, 4}, {2, 2, 2}, {3, 3},    {10},      {2, 5}, {11},
        {12},   {3, 4}, {6, 2}, {4, 3}, {2, 2, 3}, {2, 3, 2}, {1, 2, 4}, {8, 1}};
    axes_ = meshes[below(meshes.size())];
    devices_ = 1;
    for (const Size size : axes_) devices_ *= size;
  }

  /// Who stands where, by transposed axes.
  std::string order() {
    std::string shape;
    std::string turned;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      shape += (a == 0 ? "" : ",") + std::to_string(axes_[axes_.size() - 1 - a]);
      turned += (a == 0 ? "" : ",") + std::to_string(axes_.size() - 1 - a);
    }
    return " order=[" + std::to_string(devices_) + "]<=[" + shape + "]T(" + turned + ")";
  }

  /// One end: every axis, or both halves of one of 4, cuts a dimension, counts addends or does nothing.
  std::string type() {
    struct Part {
      std::string text;
      Size size;
    };
    std::vector<Part> parts;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (axes_[a] == 4 && below(3) == 0) {
        parts.push_back({name(a) + ":(1)2", 2});
        parts.push_back({name(a) + ":(2)2", 2});
      } else {
        parts.push_back({name(a), axes_[a]});
      }
    }
    std::shuffle(parts.begin(), parts.end(), random_);
    std::vector<std::string> texts(global_.size() + 2);
    std::vector<Size> counts(global_.size() + 2, 1);
    for (const Part& part : parts) {
      const std::size_t place = below(global_.size() + 1 + (has_addends_ ? 1 : 0));
      texts[place] += (texts[place].empty() ? "" : ",") + part.text;
      counts[place] *= part.size;
    }
    std::string out;
    for (std::size_t i = 0; i < global_.size(); ++i) {
      out += (i == 0 ? "" : ", ") + dim(texts[i], counts[i], global_[i]);
    }
    const std::string& addends = texts[global_.size() + 1];
    return addends.empty() ? "[" + out + "]"
                           : std::string(addition_) + "{" + addends + "}[" + out + "]";
  }

  static Size ceil(Size n, Size count) { return (n + count - 1) / count; }

  std::string dim(const std::string& axes, Size count, Size global) {
    const auto said = [&](Size tile, const char* mark, const std::string& size) {
      return std::to_string(tile) + mark + "{" + axes + "}" + size;
    };
    const std::string whole = std::to_string(global) + (below(40) == 0 ? "<0,0>" : "");
    const Size least = ceil(global, count);
    switch (below(12)) {
      case 0:
      case 1:
        return said(least, "", whole);
      case 2:
        return said(least + number(3), "~", whole);
      case 3:
        return said(least, "=", whole);
      case 4: {
        std::vector<Size> at = {0, global};
        for (Size k = 1; k < count; ++k) at.push_back(number(global + 1));
        std::sort(at.begin(), at.end());
        std::string cuts;
        for (const Size cut : at) cuts += (cuts.empty() ? "(" : ",") + std::to_string(cut);
        return cuts + "){" + axes + "}" + whole;
      }
      case 5:
      case 6:
        return said(1 + number(4), "@", whole);
      case 7:
        return said(1 + number(4), "@", sections(count, global).first);
      case 8:
      case 9:
        return chunks(count, global) + "{" + axes + "}" + whole;
      default: {
        const auto [text, largest] = sections(count, global);
        return said(largest, "", text);
      }
    }
  }

  /// A grid of chunks of one to three dimensions, in turn or in any of so many tiles; now and then in one too many, or
  /// with a tile too few.
  std::string chunks(Size count, Size global) {
    std::vector<Size> extents = {global};
    for (std::size_t more = below(3); more > 0; --more) {
      Size inner = 1 + number(extents.back());
      while (extents.back() % inner != 0) --inner;
      extents.back() /= inner;
      extents.push_back(inner);
    }
    std::string out;
    std::size_t count_of_chunks = 1;
    for (const Size extent : extents) {
      std::vector<Size> ends = {0, extent};
      for (std::size_t more = below(4); more > 0; --more) ends.push_back(number(extent + 1));
      std::sort(ends.begin(), ends.end());
      count_of_chunks *= ends.size() - 1;
      out += out.empty() ? "" : "*";
      for (std::size_t k = 0; k < ends.size(); ++k) {
        out += (k == 0 ? "(" : ",") + std::to_string(ends[k]);
      }
      out += ")";
    }
    out += "@";
    if (below(2) == 0) return out;
    if (below(30) == 0) --count_of_chunks;
    for (std::size_t k = 0; k < count_of_chunks; ++k) {
      out += (k == 0 ? "(" : ",") + std::to_string(number(count + (below(90) == 0 ? 1 : 0)));
    }
    return out + (count_of_chunks > 0 ? ")" : "");
  }

  /// A sum of one to four sections, and what the largest of so many tiles has of it.
  std::pair<std::string, Size> sections(Size count, Size global) {
    std::string out;
    Size largest = 0;
    Size left = global;
    for (std::size_t k = 1 + below(3); k > 0 && left > 1; --k) {
      const Size extent = 1 + number(left - 1);
      out += std::to_string(extent) + "+";
      largest += ceil(extent, count);
      left -= extent;
    }
    return {out + std::to_string(left), largest + ceil(left, count)};
  }

  /// The last step says what it makes.
  static Program with_claim(Program program) {
    if (!program.steps.empty()) program.steps.back().claims.map = program.to;
    return program;
  }

  void change_boxes(std::vector<retile::Transfer>& boxes, const Program& program, Change change) {
    const std::size_t n = below(boxes.size());
    retile::Transfer& box = boxes[n];
    const std::size_t i = box.shape.empty() ? 0 : below(box.shape.size());
    if (change == Change::other_order) std::shuffle(boxes.begin(), boxes.end(), random_);
    if (change == Change::left_out && boxes.size() > 1)
      boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(n));
    if (change == Change::other_source) box.source = number(program.devices);
    if (change == Change::moved) {
      Size& start = (below(2) == 0 ? box.source_start : box.target_start)[i];
      start += start > 0 && below(2) == 0 ? -1 : 1;
    }
    if (change == Change::doubled) boxes.push_back(retile::Transfer(box));
    if (change == Change::cut_in_two && box.shape[i] > 1) {
      retile::Transfer behind = box;
      box.shape[i] = 1 + number(box.shape[i] - 1);
      behind.shape[i] -= box.shape[i];
      behind.source_start[i] += box.shape[i];
      behind.target_start[i] += box.shape[i];
      boxes.push_back(std::move(behind));
    }
  }

  std::mt19937_64 random_;
  std::vector<Size> axes_;
  Size devices_ = 1;
  Shape global_;
  bool has_addends_ = false;
  const char* addition_ = "sum";
};

/// Who says whether a Program is right.
using Judge = std::function<Verdict(const Program&)>;

Verdict checked(const Program& program) { return retile::check(program); }

/// How both see a text, and where they differ.
struct Seen {
  std::string what;  ///< `refused` where both refuse to read it
  std::string difference;
};

bool names_an_element(const Verdict& verdict) {
  if (!verdict.wrong) return false;
  const Reason reason = verdict.wrong->reason;
  return reason == Reason::end || reason == Reason::map_claim || reason == Reason::addends ||
         reason == Reason::replicas;
}

/// Whether two verdicts say the same, and of tiles of several boxes, and of sums, name the same element. Without sums
/// `check` looks at the shapes of all devices before any element, and the oracle at device after device.
bool same(const Program& program, const Verdict& a, const Verdict& oracle) {
  if (!naive::same_judgement(a, oracle)) return false;
  const bool adds = addition_of(program).has_value();
  if (!names_an_element(a) || (!adds && traits_of(program).in_boxes)) return true;
  if (fields_of(a) == fields_of(oracle)) return true;
  return !adds && !fields_of(a).at && fields_of(oracle).device <= fields_of(a).device;
}

Seen see(const std::string& text, const Judge& judge = checked) {
  const auto ours = retile::parse_programs(text);
  const auto theirs = spec::parse_programs(text);
  if (!ours || theirs.error) {
    if (!ours && theirs.error) return {"refused", ""};
    return {"refused", ours ? "the oracle alone refuses it: " + theirs.error->message
                            : "the oracle reads it: " + retile::render(ours.error())};
  }
  const Verdict got = judge(ours->front());
  const Verdict oracle = in_our_words(spec::check(theirs.programs.front()));
  if (same(ours->front(), got, oracle)) return {outcome(oracle), ""};
  return {outcome(oracle), "check:  " + show(got) + "\noracle: " + show(oracle)};
}

/// The Program of a plan, or of one exchange; nothing where a problem of sums has none.
std::optional<Program> planned(const std::string& problem) {
  const Program ends = program(problem);
  auto both = retile::Problem::make(ends.from, ends.to);
  if (!both) return std::nullopt;
  const auto plan = retile::plan(*std::move(both));
  if (!plan) return std::nullopt;
  auto made = retile::program_of(*plan);
  if (!made) return std::nullopt;
  made->mesh = ends.mesh;
  return *std::move(made);
}

/// What came of the texts.
class Campaign {
 public:
  explicit Campaign(Judge judge = checked) : judge_(std::move(judge)) {}

  /// How the oracle sees a text. Counts it unless it was there before.
  std::string take(const std::string& text) {
    Seen it = see(text, judge_);
    if (seen_.insert(std::hash<std::string>()(text)).second) ++counts_[it.what];
    if (!it.difference.empty() && differences_++ == 0) first_ = text + it.difference;
    return std::move(it.what);
  }
  [[nodiscard]] std::size_t count(const std::string& what) const {
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
  }
  /// Different texts that both read, and judged.
  [[nodiscard]] std::size_t judged() const { return seen_.size() - count("refused"); }
  [[nodiscard]] std::size_t differences() const { return differences_; }
  [[nodiscard]] const std::string& first() const { return first_; }
  void print() const {
    std::cout << seen_.size() << " texts:";
    for (const auto& [what, count] : counts_) std::cout << ' ' << what << ' ' << count;
    std::cout << '\n';
  }

 private:
  Judge judge_;
  std::unordered_set<std::size_t> seen_;  // hashes: two alike are taken for one
  std::map<std::string, std::size_t> counts_;
  std::size_t differences_ = 0;
  std::string first_;
};

/// Draws until so many Programs are judged, or one is judged differently.
/// \return how many problems of which an end has tiles of several boxes had a plan
std::size_t run(Campaign& campaign, Draws& draws, std::size_t count) {
  std::size_t several = 0;
  while (campaign.judged() < count && campaign.differences() == 0) {
    const std::string problem = draws.problem();
    if (campaign.take(problem) == "refused") continue;
    const auto made = planned(problem);
    if (!made) continue;
    several += traits_of(*made).in_boxes ? 0U : 1U;
    for (const Change change :
         {Change::none, Change::other_order, Change::cut_in_two, Change::with_a_claim}) {
      const std::string text = draws.changed(*made, change);
      const std::string what = campaign.take(text);
      EXPECT_EQ(what, "right") << text;
    }
    for (const Change change : {Change::left_out, Change::doubled, Change::moved,
                                Change::other_source, Change::other_end, Change::text}) {
      campaign.take(draws.changed(*made, change));
    }
    if (testing::Test::HasFailure()) break;
  }
  return several;
}

TEST(DealtRandom, both_checkers_say_the_same) {
  Draws draws(20261127);
  Campaign campaign;
  const std::size_t several = run(campaign, draws, wanted);
  EXPECT_EQ(campaign.differences(), 0U) << campaign.first();
  campaign.print();
  const std::size_t right = campaign.count("right");
  std::cout << several << " plans between tiles of several boxes, " << right << " Programs right, "
            << campaign.judged() - right << " wrong\n";
  EXPECT_GT(right, wanted / 10);
  EXPECT_GT(campaign.judged() - right, wanted / 10);
  EXPECT_GT(several, wanted / 40);
  for (const char* what : {"end", "transfers", "map_claim", "addends", "refused"}) {
    EXPECT_GT(campaign.count(what), wanted / 2000) << what;
  }
}

/// The mistakes of a checker that the campaign must notice, each by its first difference.
TEST(DealtRandom, a_false_verdict_is_noticed) {
  const auto noticed = [](const Judge& judge) {
    Draws draws(1);
    Campaign campaign(judge);
    run(campaign, draws, support::instrumented ? 1'000 : 3'000);
    return campaign.differences() > 0;
  };
  EXPECT_FALSE(noticed(checked));
  // One that believes every exchange between tiles of several boxes.
  EXPECT_TRUE(noticed([](const Program& program) {
    Verdict out = checked(program);
    if (traits_of(program).in_boxes || !out.wrong || out.wrong->reason != Reason::end) return out;
    out.answer = Answer::right;
    out.wrong.reset();
    return out;
  }));
  // One that refutes a right one, now and then.
  EXPECT_TRUE(noticed([](const Program& program) {
    Verdict out = checked(program);
    if (out.answer == Answer::right && program.devices == 11) out.answer = Answer::wrong;
    return out;
  }));
  // One that names another element.
  EXPECT_TRUE(noticed([](const Program& program) {
    Verdict out = checked(program);
    if (!out.wrong) return out;
    auto* const sign = std::get_if<retile::Witness::OtherElement>(&out.wrong->witness.sign);
    if (sign != nullptr) ++sign->at.front();
    return out;
  }));
}

}  // namespace
}  // namespace check_tests::dealt_random_test
