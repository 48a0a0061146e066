// Chosen schedules against all of them: every assignment of digits is made into a module, whose
// redistributions are planned one by one.
#include "retile/array/choose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <random>
#include <tuple>

#include "retile/array/matching.h"
#include "retile/network/plan.h"
#include "retile/network/read.h"
#include "retile/spmd/judge.h"
#include "support/samples.h"

namespace retile::array::choose_test {
namespace {

using Rank = std::tuple<Size, Size>;  // elements moved, elements of inputs on one device

/// What one redistribution costs; null: what its steps move.
using Price = std::function<Result<Size>(const Problem&)>;

Result<ChoiceReport> chosen(const std::string& text, Size devices, std::optional<Size> limit = {},
                            const Price& price = {}) {
  const text::Input input = {text, "a", true};
  const auto statements = read_statements(input);
  if (!statements) return refuse(statements.error());
  return choose(*statements,
                {.devices = devices,
                 .element_bytes = 1,
                 .memory_limit_bytes = limit,
                 .digits = price ? std::vector<Size>{devices / 2, 2} : std::vector<Size>{},
                 .price = price});
}

/// What a module's redistributions cost, and its inputs; nothing where it cannot be planned.
std::optional<Rank> rank_of(const std::string& module, const Price& price) {
  const text::Input input = {module, "m", true};
  const auto read = spmd::read_module(input);
  if (!read) return std::nullopt;
  const auto routes = spmd::routes_of(*read);
  if (!routes) return std::nullopt;
  Size cost = 0, inputs = 0;
  for (const spmd::Route& route : *routes) {
    const spmd::Statement& at = read->body[route.statement];
    const std::size_t from = std::get<spmd::RedistributeOp>(at.op).argument;
    const auto problem =
        Problem::make(read->values[from].type.layout(), read->values[at.value].type.layout());
    const Result<Size> priced = price ? price(problem.value()) : route.verdict.cost;
    if (!priced) return std::nullopt;
    cost += *priced;
  }
  // Of every statement, what it reads of arrays that nobody writes, moved or not.
  std::vector<bool> is_given(read->values.size(), false);
  std::fill_n(is_given.begin(), read->parameters, true);
  for (const spmd::Statement& statement : read->body) {
    if (const auto* op = std::get_if<spmd::RedistributeOp>(&statement.op)) {
      is_given[statement.value] = is_given[op->argument];
      continue;
    }
    for (const std::size_t x : std::get<spmd::SpmdOp>(statement.op).arguments) {
      if (is_given[x]) inputs += read->values[x].type.layout().tile_size();
    }
  }
  return Rank(cost, inputs);
}

/// A digit that tactics put on a variable of a statement.
struct Kept {
  std::size_t statement;
  std::string variable;
  Digit digit;
};

/// Every module in which every prime digit of the device number cuts a variable of each statement, and no
/// device has nothing to do where that can be. Where a maximum would have no value, digits may cut nothing.
class Enumeration {
 public:
  Enumeration(const Statements& all, Size devices, std::optional<Size> limit, const Price& price,
              const std::vector<Kept>& kept = {})
      : all_(all), limit_(limit), price_(price) {
    grid_.devices = devices;
    for (Size left = devices, p = 2; left > 1; ++p) {
      for (; left % p == 0; left /= p) digits_.push_back({devices / left, p});
    }
    for (const Statement& statement : all.statements) {
      std::vector<Cuts> every;
      Cuts cuts(statement.variables.size());
      digit(cuts, 0, every);
      if (std::none_of(every.begin(), every.end(),
                       [&](const Cuts& one) { return has_values(statement, one); })) {
        may_skip_ = true;
        every.clear();
        digit(cuts, 0, every);
        may_skip_ = false;
      }
      for (const Kept& one : kept) {
        if (one.statement != cuts_.size()) continue;
        every.erase(std::remove_if(every.begin(), every.end(),
                                   [&](const Cuts& c) { return !has(statement, c, one); }),
                    every.end());
      }
      std::vector<Cuts> busy;
      std::copy_if(every.begin(), every.end(), std::back_inserter(busy),
                   [&](const Cuts& one) { return is_busy(statement, one); });
      cuts_.push_back(busy.empty() ? every : busy);
    }
    statement(0);
  }
  std::vector<Rank> best;  // the two best
  Size count = 0;

 private:
  static bool has(const Statement& statement, const Cuts& cuts, const Kept& kept) {
    for (std::size_t v = 0; v < cuts.size(); ++v) {
      if (statement.variables[v].name != kept.variable || !cuts[v]) continue;
      const auto& digits = cuts[v]->digits;
      return std::find(digits.begin(), digits.end(), kept.digit) != digits.end();
    }
    return false;
  }
  /// Whether every device's tile of the work begins within it.
  static bool is_busy(const Statement& statement, const Cuts& cuts) {
    for (std::size_t v = 0; v < cuts.size(); ++v) {
      if (!cuts[v]) continue;
      const Size pieces = cuts[v]->pieces();
      const Size piece = (statement.variables[v].extent + pieces - 1) / pieces;
      if ((pieces - 1) * piece >= statement.variables[v].extent) return false;
    }
    return true;
  }
  [[nodiscard]] bool has_values(const Statement& statement, const Cuts& cuts) const {
    return text::result_of([&] { return addition_of(statement, grid_, cuts); }).has_value();
  }
  void statement(std::size_t s) {
    if (s == all_.statements.size()) return module();
    for (const Cuts& cuts : cuts_[s]) {
      grid_.cuts.push_back(cuts);
      statement(s + 1);
      grid_.cuts.pop_back();
    }
  }
  void digit(Cuts& cuts, std::size_t k, std::vector<Cuts>& out) {
    if (k == digits_.size()) return out.push_back(cuts);
    if (may_skip_) digit(cuts, k + 1, out);
    for (std::size_t v = 0; v < cuts.size(); ++v) {
      const std::size_t has = cuts[v] ? cuts[v]->digits.size() : 0;
      for (std::size_t at = 0; at <= has; ++at) {
        const auto before = cuts[v];
        Cut cut = before.value_or(Cut{});
        cut.digits.insert(cut.digits.begin() + static_cast<std::ptrdiff_t>(at), digits_[k]);
        cuts[v] = cut;
        digit(cuts, k + 1, out);
        cuts[v] = before;
      }
    }
  }
  void module() {
    ++count;
    Grid named = grid_;
    named.axes = {{"devices", grid_.devices}};
    const auto text = text::result_of([&] { return module_of(all_, named); });
    const auto rank = text ? rank_of(*text, price_) : std::nullopt;
    if (!rank || (limit_ && std::get<1>(*rank) > *limit_)) return;
    best.push_back(*rank);
    std::sort(best.begin(), best.end());
    if (best.size() > 2) best.pop_back();
  }

  const Statements& all_;
  std::optional<Size> limit_;
  const Price& price_;
  std::vector<Digit> digits_;
  std::vector<std::vector<Cuts>> cuts_;
  bool may_skip_ = false;  // digits
  Grid grid_;
};

void expect_best(const std::string& text, Size devices, std::optional<Size> limit = {},
                 const Price& price = {}) {
  SCOPED_TRACE(text + " on " + std::to_string(devices));
  const text::Input input = {text, "a", true};
  const auto statements = read_statements(input);
  ASSERT_TRUE(statements) << statements.error().message;
  const Enumeration all(*statements, devices, limit, price);
  const auto found = chosen(text, devices, limit, price);
  ASSERT_EQ(found.has_value(), !all.best.empty()) << (found ? "" : found.error().message);
  if (!found) return;
  const auto rank = [](const Choice& c) { return Rank(c.cost, c.input_bytes); };
  EXPECT_EQ(rank(found->best), all.best[0]) << found->module;
  EXPECT_EQ(rank_of(found->module, price), rank(found->best)) << found->module;
  ASSERT_EQ(found->second.has_value(), all.best.size() > 1);
  if (found->second) {
    EXPECT_EQ(rank(*found->second), all.best[1]);
  }
  Size count = 1;
  for (const Size n : found->candidates) count *= n;
  EXPECT_LE(count, all.count);  // what no module says is no candidate
}

const std::string two_products =
    "retile.array/1\narray x[4,8] w[8,8] u[8,4]\ny[i,j] += x[i,k] * w[k,j]\n"
    "z[i,j] += y[i,k] * u[k,j]\nreturn z";

TEST(Choose, G9_and_G10_two_products) {
  const auto expect = [](const std::string& end, std::optional<Size> limit, Size cost, Size inputs,
                         const std::vector<std::string>& schedules) {
    const auto found = chosen(two_products + end + "\n", 4, limit);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(found->all_digits);
    EXPECT_EQ(found->candidates, (std::vector<Size>{12, 12}));
    EXPECT_EQ(found->best.cost, cost);
    EXPECT_EQ(found->best.input_bytes, inputs);
    if (!schedules.empty()) {
      EXPECT_EQ(found->best.schedules, schedules);
    }
  };
  expect(" : [1{a,b}4, 4]", {}, 0, 104, {"y: i in 4 by a,b", "z: i in 4 by a,b"});
  expect(" : [1{a,b}4, 4]", 64, 8, 64,
         {"y: i in 2 by b, j in 2 by a", "z: i in 2 by b, k in 2 by a"});
  expect(" : [4, 4]", 64, 24, 64, {});
  expect(" : [4, 4]", 40, 48, 40, {"y: j in 2 by a, k in 2 by b", "z: k in 4 by b,a"});
}

TEST(Choose, is_the_best_of_all_schedules) {
  expect_best(two_products + "\n", 4);
  if (!support::instrumented) expect_best(two_products + " : [4, 4]\n", 4, 40);
  expect_best(
      "retile.array/1\narray x[5,7] w[7,3]\ny[i,j] += x[i,k] * w[k,j]\n"
      "z[i,j] = relu(y[i,j])\nr[j] += z[i,j]\nreturn r : [3]\n",
      3);
  // A tree.
  expect_best(
      "retile.array/1\narray x[4,6] w[6,2] v[2,5]\na[i,j] += x[i,k] * w[k,j]\n"
      "b[i] += v[i,k]\nc[i] += a[i,k] * b[k]\nreturn c : [2{2:2}4]\n",
      4);
}

TEST(Choose, says_why_no_redistribution_has_a_price) {
  const Price none = [](const Problem&) -> Result<Size> {
    return refuse({.code = Code::size_overflow, .message = "it takes for ever"});
  };
  const auto found = chosen(two_products + " : [2{2:2}4, 4]\n", 4, {}, none);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::infeasible);
  EXPECT_EQ(found.error().notes, std::vector<std::string>{"of one: it takes for ever"});
}

/// The time of the plan for groups of two devices with links of their own between them.
Price time_on(Size devices) {
  const auto network = network::read_network("2:100GB/s:1ns, *:2GB/s:1ns", "links", {}, devices);
  EXPECT_TRUE(network);
  return [network = *network](const Problem& problem) -> Result<Size> {
    const auto planned = network::plan(problem, network, {.element_bytes = 1});
    if (!planned) return refuse(planned.error());
    return planned->time;
  };
}

/// Statements that read what others read, too.
void expect_cheapest(const std::string& text, Size devices, const Price& price = {},
                     const std::vector<Kept>& kept = {}) {
  SCOPED_TRACE(text + " on " + std::to_string(devices));
  const text::Input input = {text, "a", true};
  const auto statements = read_statements(input);
  ASSERT_TRUE(statements) << statements.error().message;
  const Enumeration all(*statements, devices, {}, price, kept);
  const auto found = chosen(text, devices, {}, price);
  ASSERT_EQ(found.has_value(), !all.best.empty()) << (found ? "" : found.error().message);
  if (!found) return;
  const auto rank = [](const Choice& c) { return Rank(c.cost, c.input_bytes); };
  EXPECT_EQ(rank(found->best), all.best[0]) << found->module;
  EXPECT_EQ(rank_of(found->module, price), rank(found->best)) << found->module;
  EXPECT_EQ(found->lower_bound, std::nullopt);
  EXPECT_TRUE(found->sought_second);
  ASSERT_EQ(found->second.has_value(), all.best.size() > 1);
  if (found->second) {
    EXPECT_EQ(rank(*found->second), all.best[1]);
  }
}

const std::string residual =
    "retile.array/1\narray x[4,6] w[6,6]\ny[i,j] += x[i,k] * w[k,j]\n"
    "z[i,j] = y[i,j] + x[i,j]\nreturn z";

TEST(Choose, statements_that_share_what_they_read) {
  expect_cheapest(residual + "\n", 4);
  expect_cheapest(residual + " : [4, 6]\n", 4);
  expect_cheapest(residual + " : [4, 3{1:2}6]\n", 4, time_on(4));
  // Attention without softmax: a product of two that come from one.
  expect_cheapest(
      "retile.array/1\narray x[4,2] a[2,2] b[2,2]\nq[i,j] += x[i,k] * a[k,j]\n"
      "p[i,j] += x[i,k] * b[k,j]\ns[i,j] += q[i,k] * p[j,k]\nreturn s : [2{1:2}4, 4]\n",
      2);
  // A given end that two read.
  expect_cheapest(
      "retile.array/1\narray x[4,4] : [2{1:2}4, 4]\ny[i,j] = 2x[i,j]\nz[j,i] = y[i,j] * x[j,i]\n"
      "t[i,j] = z[i,j] + y[i,j]\nreturn t\n",
      2);
  // Only where the end is given does it matter which dimension is cut.
  expect_cheapest(
      "retile.array/1\narray x[8,8] : [8, 4{1:2}8]\ny[i,j] = 2x[i,j]\nz[i,j] = y[i,j] + x[i,j]\n"
      "return z\n",
      2);
  // One statement that reads an array with two boxes.
  expect_cheapest(
      "retile.array/1\narray x[4,4] y[4,4]\nz[i,j] = x[i,j] + x[j,i]\nt[i,j] = z[i,j] * x[i,j] + "
      "y[j,i]\n"
      "return t\n",
      4);
}

bool is_right(const std::string& module) {
  const text::Input input = {module, "m", true};
  const auto read = spmd::read_module(input);
  const auto verdict = read ? spmd::judge(*read) : refuse(read.error());
  return verdict && verdict->answer == Answer::right;
}

/// A piece without work has no maximum: others are taken, and where there are none devices do the same.
TEST(Choose, maxima_of_few_elements) {
  for (const std::string n : {"5", "6"}) {
    const std::string alone = "retile.array/1\narray x[" + n + "]\nm[] max= x[k]\nreturn m";
    const std::string softmax = "retile.array/1\narray x[2," + n +
                                "]\nm[i] max= x[i,k]\ne[i,k] = exp(x[i,k] - m[i])\nreturn e";
    expect_best(alone + "\n", 4);
    expect_best(alone + " : []\n", 4);
    expect_cheapest(softmax + "\n", 4);
    const auto found = chosen(alone + "\n", 4);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->candidates, std::vector<Size>{3});  // by one digit, the other or none
    EXPECT_TRUE(is_right(found->module)) << found->module;
  }
}

/// What x[i,i] needs are boxes that leave elements out, so others come from where the array was whole.
TEST(Choose, boxes_with_gaps) {
  for (const std::string lines :
       {"array x[4,4]\ny[i] = x[i,i]\nz[i] = x[i,i] * y[i]\nreturn z\n",
        "array x[4,4]\ny[i] += x[i,i] * x[i,k]\nreturn y : [4]\n",
        "array x[4,4]\ny[i] = x[i,i]\nz[i] += x[i,k] * y[k]\nreturn z : [4]\n",
        "array x[4,4] : [4, 2{1:2}4]\ny[i] = x[i,i]\nz[i] += x[i,k] * y[k]\nreturn z\n",
        "array x[4,4]\ny[i,j] = 2x[i,j]\nz[i] = y[i,i]\nt[i] = y[i,i] * z[i]\n"
        "r[i] += y[k,i] * t[k]\nreturn r\n",
        "array x[4,4]\ny[i] = x[i,i]\nz[i,j] = x[i,j] * y[i]\nreturn z as x\n",
        "array x[4,4] w[4,4]\ny[i] = x[i,i]\nz[i,j] = w[i,j] * y[i]\nreturn z as x\n",
        "array x[9]\ny[i] = x[2*i]\nz[i] = x[2*i+1] - y[i]\nreturn z\n"}) {
    for (const Size devices : {2, 4}) {
      const std::string text = "retile.array/1\n" + lines;
      expect_cheapest(text, devices);
      const auto found = chosen(text, devices);
      ASSERT_TRUE(found) << text << found.error().message;
      EXPECT_TRUE(is_right(found->module)) << found->module;
    }
  }
}

TEST(Choose, what_tactics_leave) {
  const auto tactics = [](const std::string& text, const std::string& lines) {
    return text + "\n" + lines + "tactic propagate\n";
  };
  // An axis of tactics is the major digit, and cuts what it reaches: rows, or what is summed next.
  const Digit major{2, 2};
  expect_cheapest(tactics(two_products, "tactic tile x 0 by r:2\n"), 4, {},
                  {{0, "i", major}, {1, "i", major}});
  expect_cheapest(tactics(two_products + " : [4, 4]", "tactic tile w 1 by a:2\n"), 4, {},
                  {{0, "j", major}, {1, "k", major}});
  expect_cheapest(tactics(two_products + " : [4, 4]", "tactic tile w 1 by r:2\n"), 4, time_on(4),
                  {{0, "j", major}, {1, "k", major}});
  // Two axes on one variable, in their order: nothing is left to choose.
  const auto found =
      chosen(tactics(two_products, "tactic tile x 0 by r:2\ntactic tile x 0 by s:2\n"), 4);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->candidates, (std::vector<Size>{1, 1}));
  EXPECT_EQ(found->best.schedules,
            (std::vector<std::string>{"y: i in 4 by r,s", "z: i in 4 by r,s"}));
  EXPECT_FALSE(found->second);
  expect_cheapest(tactics(residual + " : [4, 6]", "tactic tile x 0 by r:2\n"), 4, {},
                  {{0, "i", major}, {1, "i", major}});
  // A statement that they do not reach is cut by its own choice.
  expect_cheapest(tactics("retile.array/1\narray x[4,6] u[6]\nv[k] = 2u[k]\n"
                          "y[i] += x[i,k] * v[k]\nreturn y : [4]",
                          "tactic tile x 0 by r:2\n"),
                  4, {}, {{1, "i", major}});
}

TEST(Choose, what_tactics_leave_to_many_devices) {
  const auto found =
      chosen(two_products + " : [4, 4]\ntactic tile x 0 by devices:2\ntactic propagate\n", 16);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->all_digits);
  for (const std::string& schedule : found->best.schedules) {
    EXPECT_NE(schedule.find("by devices"), std::string::npos) << schedule;
  }
  EXPECT_NE(found->module.find("mesh devices:2,devices_:8\n"), std::string::npos) << found->module;
  EXPECT_EQ(rank_of(found->module, {}), Rank(found->best.cost, found->best.input_bytes));
  // No tactic makes it dearer.
  const auto free = chosen(two_products + " : [4, 4]\n", 16);
  ASSERT_TRUE(free);
  EXPECT_LE(free->best.cost, found->best.cost);
}

TEST(Choose, refuses_by_name) {
  const auto why = [](const std::string& lines, Size devices, std::optional<Size> limit = {}) {
    const auto found = chosen("retile.array/1\n" + lines, devices, limit);
    return found ? std::string("chosen") : found.error().message;
  };
  EXPECT_EQ(why("array x[4]\ny[i] = x[i]\nreturn x\n", 2), "nothing reads y");
  EXPECT_EQ(why("array x[4]\ny[i] = x[i]\nschedule y i:2\nreturn y\n", 2),
            "the schedule is chosen, so the file has none");
  const std::string tactic = "array x[4]\ny[i] = x[i]\nreturn y\ntactic tile x 0 by r:2\n";
  EXPECT_EQ(why(tactic + "tactic propagate\n", 3),
            "3 devices are no multiple of the axes of tactics");
  EXPECT_EQ(why(tactic, 2), "the last tactic must be propagate");
  EXPECT_EQ(why(tactic + "tactic propagate\n", 2), "chosen");
  EXPECT_EQ(why("array x[4] u[4]\ny[i] = x[i]\nz[i] = u[i]\nreturn z\n", 2), "nothing reads y");
  EXPECT_EQ(why("array x[4]\ny[i] = x[i]\nreturn y\n", 2, 1),
            "no schedule keeps the inputs of all statements within 1 bytes");
  EXPECT_EQ(why("array x[4]\ny[i] = x[i]\nreturn y\n", 1 << 17), "at most 65536 devices");
  EXPECT_EQ(why("array x[4]\ny[i] = x[i]\nreturn y\n", 1), "chosen");
  EXPECT_EQ(why("array x[4]\ny[i] = x[i]\nreturn y\n", 16), "chosen");
}

// Random chains and trees.

using Random = std::mt19937_64;
Size below(Random& random, Size n) {
  return static_cast<Size>(random() % static_cast<std::uint64_t>(n));
}

/// Statements that read what was written before, each array once.
std::string drawn(Random& random, int statements, bool products) {
  std::string declared, lines,
      last = "x0[" + std::to_string(1 + below(random, 6)) + "," +
             std::to_string(1 + below(random, 6)) + "]";
  Size rows = 1 + below(random, 5), columns = 1 + below(random, 5);
  declared = " x[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
  std::string at = "x";
  for (int s = 0; s < statements; ++s) {
    const std::string name(1, static_cast<char>('p' + s));
    const Size kind = below(random, products ? 4 : 3);
    if (kind == 3) {
      const Size wide = 1 + below(random, 5);
      const std::string w = "w" + std::to_string(s);
      declared += " " + w + "[" + std::to_string(columns) + "," + std::to_string(wide) + "]";
      lines += name + "[i,j] += " + at + "[i,k] * " + w + "[k,j]\n";
      columns = wide;
    } else if (kind == 2) {
      lines += name + "[j,i] = " + at + "[i,j]\n";
      std::swap(rows, columns);
    } else if (kind == 1) {
      lines += name + "[i,j] = 2" + at + "[i,j]\n";
    } else {
      const std::string b = "b" + std::to_string(s);
      declared += " " + b + "[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
      lines += name + "[i,j] = " + at + "[i,j] + " + b + "[i,j]\n";
    }
    at = name;
  }
  const std::string end = below(random, 2) == 0
                              ? " : [" + std::to_string(rows) + ", " + std::to_string(columns) + "]"
                              : "";
  return "retile.array/1\narray" + declared + "\n" + lines + "return " + at + end + "\n";
}

/// Statements on square arrays that read any of what stands before them, all of it at last.
std::string drawn_shared(Random& random, int statements) {
  const std::string side = std::to_string(2 + below(random, 3));
  std::string lines;
  std::vector<std::string> names = {"x", "y"};
  std::vector<bool> read(2, false);
  for (int s = 0; s < statements; ++s) {
    const auto any = [&] {
      // Rather one that nobody reads yet.
      std::size_t k = static_cast<std::size_t>(below(random, static_cast<Size>(names.size())));
      for (std::size_t i = 2; i < names.size() && s + 1 == statements; ++i) {
        if (!read[i]) k = i;
      }
      read[k] = true;
      return names[k];
    };
    const std::string a = any(), b = any(), name(1, static_cast<char>('p' + s));
    switch (below(random, 4)) {
      case 0:
        lines += name + "[i,j] += " + a + "[i,k] * " + b + "[k,j]\n";
        break;
      case 1:
        lines += name + "[j,i] = " + a + "[i,j] + " + b + "[i,j]\n";
        break;
      case 2:
        lines += name + "[i,j] = " + a + "[i,j] + " + b + "[j,i]\n";
        break;
      default:
        lines += name + "[i,j] = " + a + "[i,j] * " + b + "[i,j]\n";
    }
    names.push_back(name);
    read.push_back(false);
  }
  std::string declared;
  for (std::size_t k = 0; k < 2; ++k) {
    if (!read[k]) continue;
    const bool is_given = below(random, 3) == 0;
    declared += " " + names[k] + "[" + side + "," + side + "]" +
                (is_given ? " : [" + side + ", " + side + "]" : "");
  }
  const std::string end = below(random, 2) == 0 ? " : [" + side + ", " + side + "]" : "";
  return "retile.array/1\narray" + declared + "\n" + lines + "return " + names.back() + end + "\n";
}

/// The same within a limit: what fits, and a bound that no schedule that fits is below.
void expect_bounded(const std::string& text, Size devices, Size limit, int& exact, int& over) {
  SCOPED_TRACE(text + " on " + std::to_string(devices) + " within " + std::to_string(limit));
  const text::Input input = {text, "a", true};
  const auto statements = read_statements(input);
  ASSERT_TRUE(statements) << statements.error().message;
  const Enumeration all(*statements, devices, limit, {});
  const auto found = chosen(text, devices, limit);
  ASSERT_EQ(found.has_value(), !all.best.empty()) << (found ? "" : found.error().message);
  if (!found || !found->lower_bound) return;
  const Size least = std::get<0>(all.best[0]);
  EXPECT_LE(found->best.input_bytes, limit);
  EXPECT_EQ(rank_of(found->module, {}), Rank(found->best.cost, found->best.input_bytes));
  EXPECT_LE(*found->lower_bound, least);
  EXPECT_GE(found->best.cost, least);
  if (*found->lower_bound == found->best.cost) ++exact;
  if (found->best.cost > least) ++over;
}

TEST(Choose, shared_ones_within_a_limit) {
  int exact = 0, over = 0, all = 0;
  for (Size limit = support::instrumented ? 46 : 20; limit < 60; limit += 2, ++all) {
    expect_bounded(residual + " : [4, 6]\n", 4, limit, exact, over);
  }
  // Where the price of an element of inputs finds none that is best, the bound stays below.
  int known = 0;
  for (const Size limit : {16, 19}) {
    expect_bounded(
        "retile.array/1\narray x[4,4] : [4, 4] y[4,4] : [4, 4]\np[i,j] += x[i,k] * y[k,j]\n"
        "q[i,j] = p[i,j] * " +
            std::string(limit == 16 ? "x" : "y") + "[i,j]\nreturn q\n",
        4, limit, exact, known);
  }
  EXPECT_GT(known, 0);
  Random random(8);
  for (int round = 0; round < support::samples(60); ++round, ++all) {
    const std::string text = drawn_shared(random, 2);
    const auto input = chosen(text, 4);
    if (!input) continue;
    expect_bounded(text, 4, input->best.input_bytes - 1 - below(random, 4), exact, over);
  }
  EXPECT_GT(exact, all / 10);
  EXPECT_LT(over, all / 8);
}

TEST(Choose, random_statements_that_share) {
#ifdef RETILE_SLOW_TESTS
  const int rounds = 400;
#else
  const int rounds = support::samples(32);
#endif
  Random random(21);
  int compared = 0;
  for (int round = 0; round < rounds; ++round) {
    const int statements = static_cast<int>(2 + below(random, 2));
    const Size devices = statements == 2 ? 4 : 2 + below(random, 2);
    const std::string text = drawn_shared(random, statements);
    const auto found = chosen(text, devices);
    if (!found && found.error().message.starts_with("nothing reads")) continue;
    expect_cheapest(text, devices);
    if (devices == 4) expect_cheapest(text, devices, time_on(devices));
    ++compared;
  }
  EXPECT_GT(compared, rounds / 3);
}

/// Statements that read rows, columns and diagonals of square arrays, all of them several times.
std::string drawn_diagonals(Random& random, int statements) {
  std::string lines, last;
  for (int s = 0; s < statements; ++s) {
    const std::string a = below(random, 3) > 0 ? "x" : "y", name(1, static_cast<char>('p' + s));
    const auto before = [&](const std::string& v) {
      return last.empty() ? "" : " * " + last + "[" + v + "]";
    };
    switch (below(random, 4)) {
      case 0:
        lines += name + "[i] += " + a + "[i,k]" + before("k") + "\n";
        break;
      case 1:
        lines += name + "[i] += " + a + "[k,i]" + before("i") + "\n";
        break;
      default:
        lines += name + "[i] = " + a + "[i,i]" + before("i") + "\n";
    }
    last = name;
  }
  std::string declared;
  for (const std::string a : {"x", "y"}) {
    if (lines.find(a + "[") == std::string::npos) continue;
    declared += " " + a + "[4,4]" + (below(random, 4) == 0 ? " : [4, 2{1:2}4]" : "");
  }
  return "retile.array/1\narray" + declared + "\n" + lines + "return " + last +
         (below(random, 2) == 0 ? " : [4]" : "") + "\n";
}

TEST(Choose, random_statements_with_gaps) {
#ifdef RETILE_SLOW_TESTS
  const int rounds = 400;
#else
  const int rounds = support::samples(40);
#endif
  Random random(5);
  for (int round = 0; round < rounds; ++round) {
    const int statements = static_cast<int>(2 + below(random, 2));
    const std::string text = drawn_diagonals(random, statements);
    const Size devices = statements == 2 ? 4 : 2;
    const auto found = chosen(text, devices);
    ASSERT_TRUE(found) << text << found.error().message;
    EXPECT_TRUE(is_right(found->module)) << found->module;
    if (found->sought_second) expect_cheapest(text, devices);
  }
}

TEST(Choose, is_the_fastest_of_all_schedules_on_a_network) {
  // Often not one that moves the fewest elements.
  const std::string two =
      "retile.array/1\narray x[6,4] w[4,6] u[6,6]\ny[i,j] += x[i,k] * w[k,j]\n"
      "z[i,j] += y[i,k] * u[k,j]\nreturn z\n";
  const Price time = time_on(4);
  Size others = 0;
  for (Size limit = 10; limit < 50; limit += support::instrumented ? 10 : 1) {
    const auto usual = chosen(two, 4, limit);
    const auto fast = chosen(two, 4, limit, time);
    ASSERT_EQ(usual.has_value(), fast.has_value());
    if (!usual) continue;
    EXPECT_GE(rank_of(usual->module, time), rank_of(fast->module, time));
    if (rank_of(usual->module, time) != rank_of(fast->module, time)) ++others;
  }
  EXPECT_TRUE(others > 0 || support::instrumented);
  Random random(11);
  for (int round = 0; round < support::samples(48); ++round) {
    const Size devices = round % 2 == 0 ? 4 : 6;
    const std::string text = drawn(random, static_cast<int>(1 + below(random, 2)), round % 4 == 0);
    expect_best(text, devices, 4 + below(random, 20), time_on(devices));
  }
}

TEST(Choose, random_chains) {
#ifdef RETILE_SLOW_TESTS
  const int rounds = 40;
#else
  const int rounds = support::samples(360);
#endif
  Random random(7);
  for (int round = 0; round < rounds; ++round) {
    const Size devices = std::vector<Size>{2, 3, 4, 6}[static_cast<std::size_t>(below(random, 4))];
    const std::string text = drawn(random, static_cast<int>(1 + below(random, 2)), devices < 4);
    expect_best(text, devices);
    expect_best(text, devices, 8 + below(random, 20));
#ifdef RETILE_SLOW_TESTS
    expect_best(drawn(random, 4, false), 4);
    expect_best(drawn(random, 3, false), 8, 8 + below(random, 40));
    expect_best(drawn(random, 4, true), 3);
    expect_best(drawn(random, 2, true), 8);
#endif
  }
}

}  // namespace
}  // namespace retile::array::choose_test
