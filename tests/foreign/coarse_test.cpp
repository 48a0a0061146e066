// Functions on strips: what they hold is what the tags of all elements say, and so are verdicts.
#include "retile/foreign/coarse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "functions.h"
#include "random_modules.h"
#include "retile/core/index.h"
#include "retile/core/walk.h"
#include "retile/emit/emit.h"
#include "retile/exec/exchange/direct.h"
#include "retile/foreign/by_device.h"
#include "retile/foreign/ends.h"
#include "retile/foreign/evaluator.h"
#include "retile/foreign/judge.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "support/random_layouts.h"
#include "support/random_problems.h"
#include "support/samples.h"
#include "support/values.h"

namespace retile::foreign {
namespace coarse_test {

constexpr std::size_t most_work = std::size_t{1} << 26;
constexpr Size most_bytes = Size{1} << 28;

/// What is in a place: an element of an addend each, how often, and of how many parts; or what else is there.
struct There {
  std::map<Size, Size> terms;
  Size parts = 1;
  std::int64_t otherwise = 0;
  friend bool operator==(const There&, const There&) = default;
};

template <typename Number>
There there(const Cells& cells, std::size_t k, const Sums& sums, const Number& number) {
  There out;
  if (!cells.are_tags()) {
    out.otherwise = cells.numbers()[k];
    return out;
  }
  const Tag tag = cells.tags()[k];
  for (const Term& term : sums.terms(tag)) out.terms[number(term.atom)] += term.times;
  out.parts = sums.parts(tag);
  if (const auto way = sums.added_by(tag)) out.otherwise = 1 + static_cast<int>(*way);
  if (tag < 0) out.otherwise = tag;
  return out;
}

/// The place that is left of a dimension in which a place lies, and how far on it is in every digit.
struct Position {
  Size left = 0;
  std::vector<std::pair<DigitId, Size>> steps;
};
Position position_of(const Strips& strips, DimId dim, Size place) {
  Position out;
  while (out.left + 1 < strips.count(dim)) {
    // The digits of the first places are not in one order with the places, so all are tried.
    bool inside = true;
    Size rest = place - strips.first(dim, out.left);
    for (std::size_t k = strips.digits(dim); inside && k-- > 0;) {
      const DigitId digit{dim, k};
      const Size step = rest / strips.weight(digit);
      inside = rest >= 0 && step < strips.length(digit, out.left);
      rest -= step * strips.weight(digit);
    }
    if (inside && rest == 0) break;
    ++out.left;
  }
  Size rest = place - strips.first(dim, out.left);
  for (std::size_t k = strips.digits(dim); k-- > 0;) {
    const DigitId digit{dim, k};
    const Size step = rest / strips.weight(digit);
    if (step > 0) out.steps.emplace_back(digit, step);
    rest -= step * strips.weight(digit);
  }
  return out;
}

/// Compares both evaluations of a function in every place of every device.
class Comparison {
 public:
  Comparison(const Function& function, const Layout& from, const Coarse& coarse)
      : function_(function),
        from_(from),
        coarse_(coarse),
        all_(function, from, most_bytes),
        left_(coarse.function, coarse.start, most_bytes) {
    for (const Operation& operation : function.operations) all_.apply(operation);
    for (const Operation& operation : coarse.function.operations) left_.apply(operation);
  }

  /// Empty where they are alike.
  std::string difference() {
    for (ValueId value = 0; value < function_.values.size(); ++value) {
      find_positions(value);
      for (std::size_t device = 0; device < all_.at(value).blocks.size(); ++device) {
        const Shape& extents = function_.values[value].type.extents;
        bool same = true;
        for_box(extents, [&](const Shape& at) { same = same && is_same(value, device, at); });
        if (!same) {
          return function_.values[value].name + " on device " + std::to_string(device);
        }
      }
    }
    return "";
  }

 private:
  void find_positions(ValueId value) {
    positions_.clear();
    for (std::size_t k = 0; k < coarse_.dims[value].size(); ++k) {
      auto& positions = positions_.emplace_back();
      for (Size at = 0; at < function_.values[value].type.extents[k]; ++at) {
        positions.push_back(position_of(coarse_.strips, coarse_.dims[value][k], at));
      }
    }
  }
  bool is_same(ValueId value, std::size_t device, const Shape& at) {
    Shape left;
    std::vector<std::pair<DigitId, Size>> steps;
    for (std::size_t k = 0; k < at.size(); ++k) {
      const Position& position = positions_[k][index(at[k])];
      left.push_back(position.left);
      steps.insert(steps.end(), position.steps.begin(), position.steps.end());
    }
    const Shape& extents = function_.values[value].type.extents;
    const Shape& coarse_extents = coarse_.function.values[value].type.extents;
    const auto found =
        there(*left_.at(value).blocks[device], index(offset_of(left, strides_of(coarse_extents))),
              left_.sums(), [&](Tag atom) { return element(atom, steps); });
    const auto wanted =
        there(*all_.at(value).blocks[device], index(offset_of(at, strides_of(extents))),
              all_.sums(), [](Tag atom) { return Size{atom}; });
    return found == wanted;
  }
  /// The atom of the array that one of the coarse array is after these steps.
  Size element(Tag atom, const std::vector<std::pair<DigitId, Size>>& steps) {
    const Shape& global = coarse_.start.global;
    const Size size = count_of(global);
    const Shape at = index_of(atom % size, global);
    Size out = atom / size * from_.global_size();
    for (std::size_t k = 0; k < at.size(); ++k) {
      Size place = coarse_.strips.first(coarse_.array[k], at[k]);
      for (std::size_t digit = 0; digit < coarse_.strips.digits(coarse_.array[k]); ++digit) {
        const DigitId own{coarse_.array[k], digit};
        if (coarse_.strips.length(own, at[k]) == 1) continue;
        for (const auto& [other, step] : steps) {
          if (coarse_.strips.kin(other) == coarse_.strips.kin(own)) {
            place += step * coarse_.strips.weight(own);
          }
        }
      }
      out += place * strides_of(from_.global())[k];
    }
    return out;
  }

  const Function& function_;
  const Layout& from_;
  const Coarse& coarse_;
  Evaluator all_;
  Evaluator left_;
  std::vector<std::vector<Position>> positions_;  // of a value's dimensions
};

Layout from_of(const testing::RandomModule& module) {
  std::vector<Cuts> cuts;
  std::vector<std::vector<Digit>> digits;
  for (const Size extent : module.tile()) {
    const bool first = cuts.empty();
    cuts.push_back(Cuts::even(extent, first ? module.devices() : 1));
    digits.push_back(first && module.devices() > 1 ? std::vector<Digit>{{1, module.devices()}}
                                                   : std::vector<Digit>{});
  }
  return Layout::numbered(module.devices(), std::move(cuts), std::move(digits)).value();
}

Size places(const Function& function) {
  Size out = 0;
  for (const Value& value : function.values) out += count_of(value.type.extents);
  return out;
}

TEST(Coarse, values_of_random_modules_are_those_of_all_elements) {
  int made = 0;
  int coarser = 0;
  int in_digits = 0;
  const int count = support::samples(2'000);
  for (int seed = 0; seed < count; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    testing::RandomModule module(
        [&](Size bound) { return static_cast<Size>(random() % static_cast<std::uint64_t>(bound)); },
        seed % 3 == 0   ? 1
        : seed % 3 == 1 ? 4
                        : 6);
    const std::string text = module.text();
    const Function function = testing::function_of(text);
    const Layout from = from_of(module);
    const auto apart = seed % 5 == 0 ? by_device(function) : std::nullopt;
    const Function& taken = apart ? *apart : function;
    const auto coarse = coarsened(taken, from, from, most_work);
    if (!coarse) continue;
    ++made;
    if (places(coarse->function) * 3 < places(taken)) ++coarser;
    for (const auto& dims : coarse->dims) {
      for (const DimId dim : dims) in_digits += coarse->strips.digits(dim) > 1 ? 1 : 0;
    }
    const std::string what = Comparison(taken, from, *coarse).difference();
    ASSERT_EQ(what, "") << "seed " << seed << "\n" << text;
  }
  EXPECT_GT(made, count / 2) << count;
  EXPECT_GT(coarser, count / 4) << made;
  EXPECT_GT(in_digits, count / 8);
}

// ---- Verdicts ---------------------------------------------------------------------------------

using Random = support::Random;

/// A function and its ends, as some text says it.
struct Case {
  Function function;
  Layout from, to;
  std::string text;
  std::string form = "";
};

/// The Program as some system says it; nothing where it cannot.
std::optional<Case> case_of(Random& random, const Program& program) {
  static const std::array<std::pair<emit::Form, const char*>, 5> forms = {
      {{emit::Form::hlo, "HLO"},
       {emit::Form::stablehlo, "StableHLO"},
       {emit::Form::sdy, "Shardy"},
       {emit::Form::mlir19, "MLIR 19"},
       {emit::Form::mlir22, "MLIR 22"}}};
  const auto& [form, name] = forms[random() % forms.size()];
  const auto text = emit::emit(program, form);
  if (!text) return std::nullopt;
  const text::Input input{.text = *text, .source = "test", .numbered = true};
  const Language language = form == emit::Form::hlo ? Language::hlo : Language::mlir;
  auto functions = read(input, language, {program.devices, program.from.global()});
  if (!functions || functions->size() != 1) return std::nullopt;
  return Case{std::move(functions->front()), program.from, program.to, *text, name};
}

/// Of types whose axes divide, with addends of one axis at the start, or of none.
std::optional<Case> even_case(Random& random) {
  static const std::vector<std::string> meshes = {"x:2", "x:4", "x:2,y:2", "x:2,y:3", "x:3,y:4"};
  const Mesh mesh = support::mesh(meshes[random() % meshes.size()]);
  Shape global;
  for (Size rank = support::draw(random, 1, 3); rank > 0; --rank) {
    global.push_back(Size{12} * support::draw(random, 1, 3));
  }
  const bool adds = random() % 3 == 0;
  std::vector<Axis> rest = mesh.axes();
  if (adds) rest.erase(rest.begin());
  std::string from = fmt::format("[{}]", fmt::join(global, ", "));
  if (!rest.empty()) {
    const Mesh part = Mesh::make(rest).value();
    from = to_text(support::draw_type(random, part, global));
  }
  if (adds) from = "sum{x}" + from;
  const std::string to = to_text(support::draw_type(random, mesh, global));
  const auto problem = parse_problem(to_text(mesh), from, to);
  if (!problem) return std::nullopt;
  const auto made = plan(*problem);
  const auto program = made ? program_of(*made) : direct(*problem);
  return program ? case_of(random, *program) : std::nullopt;
}

/// Of any layouts of boxes.
std::optional<Case> uneven_case(Random& random) {
  const Size devices = support::draw(random, 2, 6);
  const Shape global = support::random_global(random, 2, 40);
  Layout from = support::random_layout(random, devices, global);
  Layout to = support::random_layout(random, devices, global);
  if (!from.in_boxes() || !to.in_boxes()) return std::nullopt;
  const auto problem = Problem::make(std::move(from), std::move(to));
  if (!problem) return std::nullopt;
  const auto program = direct(*problem);
  return program ? case_of(random, *program) : std::nullopt;
}

/// What PyTorch does between two placements of one axis, uneven ones too: gather and slice.
std::optional<Case> trace_case(Random& random) {
  const Size n = support::draw(random, 2, 5);
  const bool is_even = random() % 2 == 0;
  Shape shape;
  for (Size rank = support::draw(random, 1, 3); rank > 0; --rank) {
    shape.push_back(is_even ? n * support::draw(random, 1, 12) : support::draw(random, 1, 40));
  }
  const auto a = static_cast<std::size_t>(random() % shape.size());
  const auto b = static_cast<std::size_t>(random() % shape.size());
  const auto chunk = [&](std::size_t dim) { return (shape[dim] + n - 1) / n; };
  const auto begin = [&](std::size_t dim, Size r) { return std::min(shape[dim], r * chunk(dim)); };
  const auto list = [](const Shape& extents) {
    return fmt::format("[{}]", fmt::join(extents, ", "));
  };
  std::vector<std::string> ranks;
  Shape group;
  for (Size r = 0; r < n; ++r) group.push_back(r);
  for (Size r = 0; r < n; ++r) {
    Shape tile = shape;
    tile[a] = begin(a, r + 1) - begin(a, r);
    std::vector<std::string> ops;
    Size values = 1;
    const auto add = [&](const std::string& op, const std::string& more, const Shape& in,
                         const std::vector<Shape>& sizes) {
      Shape out;
      std::vector<std::string> texts;
      for (const Shape& one : sizes) {
        out.push_back(values++);
        texts.push_back(list(one));
      }
      ops.push_back(fmt::format("{{\"op\": \"{}\", {}\"in\": {}, \"out\": {}, \"sizes\": [{}]}}",
                                op, more, list(in), list(out), fmt::join(texts, ", ")));
    };
    Shape padded = tile;
    padded[a] = chunk(a);
    Shape padding;  // as torch says it, the last dimension first
    for (std::size_t k = shape.size(); k-- > 0;) {
      padding.insert(padding.end(), {0, padded[k] - tile[k]});
    }
    if (padded != tile) add("pad", fmt::format("\"padding\": {}, ", list(padding)), {0}, {padded});
    Shape all = padded;
    all[0] *= n;
    add("all_gather", fmt::format("\"group\": {}, ", list(group)), {values - 1}, {all});
    add("split", "\"dim\": 0, ", {values - 1},
        std::vector<Shape>(static_cast<std::size_t>(n), padded));
    Shape parts;
    const Size first = values - n;
    for (Size k = 0; k < n; ++k) {
      Shape part = shape;
      part[a] = begin(a, k + 1) - begin(a, k);
      if (part[a] == 0) continue;
      if (part != padded) {
        add("slice", fmt::format("\"dim\": {}, \"start\": 0, ", a), {first + k}, {part});
      }
      parts.push_back(part != padded ? values - 1 : first + k);
    }
    add("cat", fmt::format("\"dim\": {}, ", a), parts, {shape});
    Shape end = shape;
    end[b] = begin(b, r + 1) - begin(b, r);
    add("slice", fmt::format("\"dim\": {}, \"start\": {}, ", b, begin(b, r)), {values - 1}, {end});
    ranks.push_back(
        fmt::format("{{\"rank\": {}, \"start\": {}, \"operations\": [{}], \"result\": {}}}", r,
                    list(tile), fmt::join(ops, ", "), values - 1));
  }
  const std::string text = fmt::format(
      "{{\"schema\": \"retile.dtensor-trace/1\", \"mesh\": {{\"names\": [\"x\"], \"sizes\": [{}], "
      "\"ranks\": {}}}, \"shape\": {}, \"from\": [\"Shard({})\"], \"to\": [\"Shard({})\"], "
      "\"ranks\": "
      "[{}]}}",
      n, list(group), list(shape), a, b, fmt::join(ranks, ", "));
  const text::Input input{.text = text, .source = "test", .numbered = true};
  auto tasks = read_tasks(input, Language::dtensor, {});
  EXPECT_TRUE(tasks.has_value()) << (tasks ? "" : render(tasks.error())) << text;
  if (!tasks) return std::nullopt;
  Task& task = tasks->front();
  return Case{std::move(task.function), task.ends.from, task.ends.to, text, "traces"};
}

/// Changes one number of an action, or two that stand in a wrong order afterwards; whether it can.
class Mistake {
 public:
  explicit Mistake(Random& random) : random_(random) {}

  /// A function that may be wrong; nothing where its types are.
  std::optional<Function> in(const Function& function) {
    Function out = function;
    const std::size_t first = random_() % out.operations.size();
    for (std::size_t k = 0; k < out.operations.size(); ++k) {
      Operation& operation = out.operations[(first + k) % out.operations.size()];
      if (!std::visit([&](auto& action) { return this->change(action, operation); },
                      operation.action)) {
        continue;
      }
      if (!function.ranks.empty()) return out;
      const text::Input input{.text = "", .source = "test", .numbered = true};
      return check_types(out, input) ? std::optional(out) : std::nullopt;
    }
    return std::nullopt;
  }

 private:
  Size draw(Size below) { return support::draw(random_, below); }
  Size step() { return draw(2) == 0 ? 1 : Size{1} << draw(4); }
  template <typename Other>
  bool change(Other&, Operation&) {
    return false;
  }
  bool change(Slice& action, Operation&) {
    if (action.start.empty()) return false;
    const auto k = index(draw(static_cast<Size>(action.start.size())));
    const Size by = std::min(step(), action.start[k]);
    action.start[k] -= by;
    action.limit[k] -= by;
    return by > 0;
  }
  bool change(Constant& action, Operation&) {
    if (action.numbers.size() < 2) return false;
    const auto count = static_cast<Size>(action.numbers.size());
    if (draw(2) == 0) {
      std::swap(action.numbers[index(draw(count))], action.numbers[index(draw(count))]);
    } else {
      action.numbers[index(draw(count))] += step();
    }
    return true;
  }
  bool change(Groups& groups) {
    const auto member = [&]() -> Size& {
      auto& group = groups[index(draw(static_cast<Size>(groups.size())))];
      return group[index(draw(static_cast<Size>(group.size())))];
    };
    std::swap(member(), member());
    return true;
  }
  bool change(AllGather& action, Operation& operation) {
    return operation.operands.size() == 1 && change(action.groups);
  }
  bool change(AllToAll& action, Operation& operation) {
    return operation.operands.size() == 1 && change(action.groups);
  }
  bool change(ReduceScatter& action, Operation&) { return change(action.groups); }
  bool change(AllReduce& action, Operation& operation) {
    return operation.operands.size() == 1 && change(action.groups);
  }
  bool change(CollectivePermute& action, Operation&) {
    if (action.pairs.empty()) return false;
    const auto count = static_cast<Size>(action.pairs.size());
    std::swap(action.pairs[index(draw(count))].first, action.pairs[index(draw(count))].first);
    return true;
  }
  bool change(Transpose& action, Operation&) {
    if (action.permutation.empty()) return false;
    const auto count = static_cast<Size>(action.permutation.size());
    std::swap(action.permutation[index(draw(count))], action.permutation[index(draw(count))]);
    return true;
  }
  bool change(Concatenate&, Operation& operation) {
    std::swap(operation.operands.front(), operation.operands.back());
    return operation.operands.front() != operation.operands.back();
  }
  bool change(TakeBox& action, Operation&) {
    const auto count = static_cast<Size>(action.starts.size());
    std::swap(action.starts[index(draw(count))], action.starts[index(draw(count))]);
    return true;
  }
  bool change(PutBox& action, Operation&) {
    const auto count = static_cast<Size>(action.starts.size());
    std::swap(action.starts[index(draw(count))], action.starts[index(draw(count))]);
    return true;
  }
  bool change(Assemble& action, Operation&) {
    auto& pieces = action.pieces[index(draw(static_cast<Size>(action.pieces.size())))];
    if (pieces.empty()) return false;
    auto& piece = pieces[index(draw(static_cast<Size>(pieces.size())))];
    if (piece.extents.empty()) return false;
    const auto k = index(draw(static_cast<Size>(piece.extents.size())));
    Size& place = draw(2) == 0 ? piece.from[k] : piece.to[k];
    const Size by = std::min(step(), place);
    place -= by;
    return by > 0;
  }

  Random& random_;
};

/// The operands of a concatenation may have other types now.
bool holds_still(const Function& function) {
  for (const Operation& operation : function.operations) {
    if (!std::holds_alternative<Concatenate>(operation.action)) continue;
    for (const ValueId value : operation.operands) {
      if (function.values[value].type != function.values[operation.operands.front()].type) {
        return false;
      }
    }
  }
  return true;
}

std::string text_of(const std::optional<ValuePlace>& place) {
  return place ? fmt::format("{}:{} {}", place->place.line, place->name, place->op) : "none";
}
std::string text_of(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }
/// All of a verdict that is the same however it is found, in one line; what moves is counted otherwise
/// where values lie on single devices.
std::string text_of(Verdict verdict, bool is_apart) {
  if (is_apart) verdict.cost = verdict.height = 0;
  if (is_apart) verdict.height_value = {};
  std::string out = !verdict.right   ? "undecided " + verdict.limit
                    : *verdict.right ? "right"
                                     : "wrong";
  out += fmt::format("; first {}, claim {}, rearranged {}, whole {}, cost {}, height {} {}",
                     text_of(verdict.first_wrong), verdict.is_claim, verdict.is_rearranged,
                     text_of(verdict.whole_array), verdict.cost, verdict.height,
                     text_of(verdict.height_value));
  if (!verdict.mismatch) return out;
  const Mismatch& m = *verdict.mismatch;
  out += fmt::format("; {} device {} at {} element {} found {} {} addend {} times {} parts {}",
                     name_of(m.fault), m.device.value_or(-1), text_of(m.at), text_of(m.element),
                     name_of(m.found.kind), text_of(m.found.element), m.addend.value_or(-1),
                     m.times.value_or(0), m.parts.value_or(-1));
  return out;
}

struct Counts {
  int cases = 0, right = 0, coarser = 0;
  std::map<std::string, int> of_form = {};
};

/// Compares both verdicts, now and then of averages: at both ends, or at the start alone.
void compare(Case one, Counts& counts) {
  if (counts.cases % 5 < 2) one.function.from = WrittenEnd{.text = "", .place = {}, .divisor = 2};
  if (counts.cases % 5 == 0) one.function.to = one.function.from;
  JudgeOptions every;
  every.fewest_in_strips = std::numeric_limits<Size>::max();
  JudgeOptions strips;
  strips.fewest_in_strips = 0;
  const Verdict wanted = judge(one.function, one.from, one.to, every);
  const auto apart = counts.cases % 3 == 0 ? by_device(one.function) : std::nullopt;
  const Verdict found = judge(apart ? *apart : one.function, one.from, one.to, strips);
  ++counts.cases;
  ++counts.of_form[one.form];
  if (wanted.right == true) ++counts.right;
  if (const auto coarse = coarsened(one.function, one.from, one.to, most_work)) {
    if (places(coarse->function) * 3 < places(one.function)) ++counts.coarser;
  }
  ASSERT_EQ(text_of(found, apart.has_value()), text_of(wanted, apart.has_value())) << one.text;
}

/// How many cases there are of the form that has the fewest.
int fewest(const Counts& counts) {
  if (counts.of_form.size() < 6) return 0;
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::min_element(counts.of_form.begin(), counts.of_form.end(), less)->second;
}

/// Draws cases until there are so many of HLO, StableHLO, Shardy, MLIR 19 and 22, and of traces.
Counts compared(std::uint64_t seed, int of_every_form) {
  Counts out;
  Random random(seed);
  for (int k = 0; fewest(out) < of_every_form; ++k) {
    const auto made = k % 6 == 5   ? trace_case(random)
                      : k % 3 == 1 ? uneven_case(random)
                                   : even_case(random);
    if (!made) continue;
    compare(*made, out);
    for (int mistakes = 0; mistakes < 4; ++mistakes) {
      auto wrong = Mistake(random).in(made->function);
      if (!wrong || !holds_still(*wrong)) continue;
      compare({*std::move(wrong), made->from, made->to, made->text, made->form}, out);
    }
    if (::testing::Test::HasFatalFailure()) break;
  }
  return out;
}

TEST(Coarse, verdicts_are_those_on_all_elements) {
#ifdef RETILE_SLOW_TESTS
  const int of_every_form = 100'000;
#else
  const int of_every_form = support::samples(120);
#endif
  const Counts counts = compared(3, of_every_form);
  for (const auto& [form, count] : counts.of_form) std::cout << form << ": " << count << "\n";
  std::cout << counts.right << " right\n";
  EXPECT_GT(counts.right, of_every_form);
  EXPECT_GT(counts.cases - counts.right, of_every_form);
  EXPECT_GT(counts.coarser, 2 * of_every_form);
}

/// What XLA makes of n elements over four devices that go to two pairs of them: who has fewer adds zeros.
/// \param looked  what is compared
std::string masked(Size n, Size bound, std::string_view direction, std::string_view type,
                   std::string_view looked = "copy(%place)") {
  const Size four = (n + 3) / 4;
  const Size two = (n + 1) / 2;
  return fmt::format(R"(HloModule masked, num_partitions=4
%add (x: f32[], y: f32[]) -> f32[] {{
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}}
ENTRY %main_spmd (param: f32[{0},3]) -> f32[{1},3] {{
  %param = f32[{0},3] parameter(0), sharding={{devices=[4,1]<=[4]}}
  %zero = f32[] constant(0)
  %iota = {6}[{0},3] iota(), iota_dimension=0
  %id = u32[] partition-id()
  %table = {6}[4] constant({{0, {0}, {2}, {3}}})
  %slice.0 = {6}[1] dynamic-slice(%table, %id), dynamic_slice_sizes={{1}}
  %offset = {6}[] reshape(%slice.0)
  %none = {6}[] constant(0)
  %offsets = {6}[{0},3] broadcast(%offset), dimensions={{}}
  %place = {6}[{0},3] add(%iota, %offsets)
  %end = {6}[] constant({4})
  %ends = {6}[{0},3] broadcast(%end), dimensions={{}}
  %one = {6}[] constant(1)
  %ones = {6}[{0},3] broadcast(%one), dimensions={{}}
  %looked = {6}[{0},3] {8}
  %mask = pred[{0},3] compare(%looked, %ends), direction={5}
  %zeros = f32[{0},3] broadcast(%zero), dimensions={{}}
  %select = f32[{0},3] select(%mask, %param, %zeros)
  %whole = f32[{7},3] broadcast(%zero), dimensions={{}}
  %update = f32[{7},3] dynamic-update-slice(%whole, %select, %offset, %none)
  %sum = f32[{7},3] all-reduce(%update), channel_id=1, replica_groups={{{{0,1,2,3}}}}, use_global_device_ids=true, to_apply=%add
  %table.2 = {6}[4] constant({{0, 0, {1}, {1}}})
  %slice.2 = {6}[1] dynamic-slice(%table.2, %id), dynamic_slice_sizes={{1}}
  %offset.2 = {6}[] reshape(%slice.2)
  ROOT %end.3 = f32[{1},3] dynamic-slice(%sum, %offset.2, %none), dynamic_slice_sizes={{{1},3}}, sharding={{devices=[2,1,2]<=[4] last_tile_dim_replicate}}
}}
)",
                     four, two, 2 * four, 3 * four, bound, direction, type, 4 * four, looked);
}
Case masked_case(Size n, const std::string& text) {
  const auto cut = [&](Size count) {
    const Digit digit = count == 4 ? Digit{1, 4} : Digit{2, 2};
    return Layout::numbered(4, {Cuts::blocks((n + count - 1) / count, count, n), Cuts::even(3, 1)},
                            {{digit}, {}})
        .value();
  };
  return {testing::function_of(text), cut(4), cut(2), text};
}

TEST(Coarse, masks_are_those_of_all_elements) {
  Counts counts;
  int number = 0;
  for (const Size n : {5, 9, 10, 16, 32}) {
    if (support::instrumented && ++number > 3) break;
    for (const Size bound : {n, n - 1, n + 1, Size{0}, -n}) {
      for (const char* direction : {"LT", "LE", "EQ", "NE", "GT", "GE"}) {
        for (const std::string_view type : {"s32", "u32"}) {
          if (bound < 0 && type == "u32") continue;
          compare(masked_case(n, masked(n, bound, direction, type)), counts);
        }
      }
    }
    compare(masked_case(n, masked(n, n - 3, "LT", "s32", "multiply(%place, %ones)")), counts);
    const char* negative = "subtract(%place, %ends)";
    for (const char* direction : {"LT, type=UNSIGNED", "LT"}) {
      compare(masked_case(n, masked(n, n / 2 - 1, direction, "s32", negative)), counts);
    }
  }
  EXPECT_GT(counts.right, support::instrumented ? 6 : 10);
  EXPECT_GT(counts.cases - counts.right, support::instrumented ? 90 : 150);
}

TEST(Coarse, reshapes_that_cross_are_those_of_all_elements) {
  Counts counts;
  const Layout whole = testing::layout("[72]", "x:2");
  for (const Size a : {2, 3, 4, 6, 8, 9, 12}) {
    for (const Size b : {2, 3, 4, 6, 8, 9, 12}) {
      for (const std::size_t dim : {std::size_t{0}, std::size_t{1}}) {
        testing::Chain chain(2, {72});
        chain.then(Reshape{}, {72 / a, a}).then(Reshape{}, {b, 72 / b});
        chain.then(Transpose{{1, 0}}, {72 / b, b}).then(Reshape{}, {72});
        chain.then(Reshape{}, {72 / b, b}).then(Transpose{{1, 0}}, {b, 72 / b});
        if (dim == 1) chain.then(Reshape{}, {a, 72 / a}).then(Transpose{{1, 0}}, {72 / a, a});
        compare({chain.then(Reshape{}, {72}).done(), whole, whole, ""}, counts);
      }
    }
  }
  EXPECT_GE(counts.right, 49);
  EXPECT_LT(counts.right, counts.cases);
}

TEST(Coarse, sums_that_are_right_in_the_first_place_of_a_cell_alone_are_wrong) {
  const std::string text = R"(HloModule turned, num_partitions=2
%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}
ENTRY %main_spmd (param: f32[4,4]) -> f32[4,4] {
  %param = f32[4,4] parameter(0), sharding={devices=[1,1,2]<=[2] last_tile_dims={unreduced}}
  %sum = f32[4,4] all-reduce(%param), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=%add
  ROOT %turned = f32[4,4] transpose(%sum), dimensions={1,0}, sharding={replicated}
}
)";
  Counts counts;
  compare({testing::function_of(text), testing::layout("sum{x}[4, 4]", "x:2"),
           testing::layout("[4, 4]", "x:2"), text},
          counts);
  EXPECT_EQ(counts.right, 0);
}

TEST(Coarse, numbers_that_wrap_are_no_places) {
  Counts counts;
  for (const Size bound : {127, 100, 33, 0, -1, -100}) {
    for (const char* direction : {"LT", "GE", "EQ"}) {
      compare(masked_case(130, masked(130, bound, direction, "s8")), counts);
    }
  }
}

TEST(Coarse, uneven_tiles_of_2_to_the_40_are_judged) {
  const Size n = (Size{1} << 40) + 1;
  const auto verdict = [](const Case& one) { return judge(one.function, one.from, one.to); };
  if (!support::instrumented) {
    EXPECT_EQ(verdict(masked_case(n, masked(n, n, "LT", "s64"))).right, true);
  }
  const Verdict out = verdict(masked_case(n, masked(n, n - 1, "LT", "s64")));
  ASSERT_EQ(out.right, false) << out.limit;
  EXPECT_EQ(out.mismatch->device, 2);
  EXPECT_EQ(out.mismatch->at, Shape({(n - 1) / 2 - 1, 0}));
  EXPECT_EQ(out.mismatch->element, Shape({n - 1, 0}));
  EXPECT_EQ(out.first_wrong->name, "%select");
}

}  // namespace coarse_test
}  // namespace retile::foreign
