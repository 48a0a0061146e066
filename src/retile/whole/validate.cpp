#include "retile/whole/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "retile/core/layout.h"
#include "retile/core/names.h"
#include "retile/foreign/reader.h"
#include "retile/whole/alike.h"
#include "retile/whole/arguments.h"
#include "retile/whole/array.h"
#include "retile/whole/chance.h"
#include "retile/whole/constants.h"
#include "retile/whole/evaluate.h"
#include "retile/whole/explain.h"
#include "retile/whole/field.h"
#include "retile/whole/matching.h"
#include "retile/whole/read.h"
#include "retile/whole/real.h"
#include "retile/whole/run.h"
#include "retile/whole/smaller.h"

namespace retile::whole {
namespace {

/// From so many elements and products on, extents are divided, and fewer draws must do.
constexpr double much_work = 4e8;

/// The order of roots of 1 that transforms of a module need.
Size root_order(const Module& module) {
  Size out = 4;
  for (const Computation& computation : module.computations) {
    for (const Instruction& one : computation.body) {
      const auto* fft = std::get_if<FftDetail>(&one.detail);
      if (fft == nullptr) continue;
      for (const Size length : fft->lengths) {
        constexpr Size most = Size{1} << 30U;
        if (length >= 1 && length <= most) out = std::lcm(out, length);
        if (length > most || out > most) throw LimitReached{"transforms of too many lengths"};
      }
    }
  }
  return out;
}

/// The extents that an index of the module may lie in.
std::vector<Size> indexed_extents(const Module& module) {
  std::set<Size> out;
  for (const Computation& computation : module.computations) {
    for (const Instruction& one : computation.body) {
      if (one.id == Id::conditional) out.insert(static_cast<Size>(one.calls.size()));
      const bool is_indexed = one.id == Id::dynamic_slice || one.id == Id::dynamic_update_slice ||
                              one.id == Id::gather || one.id == Id::scatter;
      if (!is_indexed) continue;
      for (const Size extent : computation.values[one.operands[0]].type.extents) {
        if (extent > 1) out.insert(std::min(extent, Size{1} << 30U));
      }
    }
  }
  if (out.empty()) return {8};
  return {out.begin(), out.end()};
}

/// Whether something in it depends on which number is larger.
bool is_ordered(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& one : computation.body) {
      if (operations::row_of(one.id).in_field == operations::InField::ordered) return true;
    }
  }
  return false;
}

/// Whether a number with a point decides how often a loop runs.
bool has_loops_by_reals(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& one : computation.body) {
      if (one.id != Id::while_loop) continue;
      const Computation& condition = module.computations[one.calls[0]];
      for (const Instruction& test : condition.body) {
        const bool is_of_reals =
            test.id == Id::compare && type_of(condition, test.operands[0]).kind.is_real();
        if (is_of_reals) return true;
      }
    }
  }
  return false;
}

std::size_t count_of(const Module& module) {
  std::size_t out = 0;
  for (const Computation& computation : module.computations) out += computation.body.size();
  return out;
}

/// Of all values.
double elements_of(const Module& module) {
  double out = 0;
  for (const Computation& computation : module.computations) {
    for (const Value& value : computation.values) {
      double count = 1;
      for (const Size extent : value.type.extents) count *= static_cast<double>(extent);
      out += count;
    }
  }
  return out;
}

class Validator {
 public:
  Validator(const Module& before, const Module& after, const Matching& matching,
            const ValidateOptions& options)
      : before_(before),
        after_(after),
        matching_(matching),
        options_(options),
        limits_(options.most_bytes, Deadline::in(options.timeout_seconds)) {}

  [[nodiscard]] Validation validation() {
    out_.devices = matching_.devices;
    out_.results = matching_.ends.size();
    out_.arguments = matching_.starts.size();
    out_.seed = options_.seed;
    out_.comparison = matching_.is_partitioned  ? "partitioned"
                      : matching_.is_per_device ? "per device"
                                                : "same shapes";
    try {
      out_.is_judged = options_.judges;
      const Size draws = options_.judges ? draw_count() : 0;
      for (Size draw = 0; goes_on(draw, draws); ++draw) look(draw);
      out_.draws = static_cast<Size>(out_.primes.size());
      if (!options_.judges) return std::move(out_);
      find_unseen();
      if (!out_.difference && out_.why.empty()) look_in_reals();
      if (out_.answer == Answer::undecided && out_.why.empty()) set_right();
    } catch (const LimitReached& limit) {
      undecided(limit.what, 0);
    } catch (const NotEvaluated& refused) {
      undecided(refused.what, refused.place.line);
    }
    return std::move(out_);
  }
  /// What both texts have in common in some draws, one of which tells them apart if any does.
  /// \param finds_meant  whether to look for what would make it right
  [[nodiscard]] Alike alike(bool finds_meant) {
    Alike out;
    try {
      // What mends one draw by chance mends few others.
      const Size most_sought = !finds_meant ? 0 : is_small() ? 4 : 2;
      const Size most = is_small() ? 48 : draws_of_likeness();
      Size sought = 0;
      std::vector<AlikeInDraw> found;
      for (Size draw = 0; draw < draws_of_likeness() || (draw < most && sought < most_sought);
           ++draw) {
        found.push_back(alike_in_draw(draw, sought < most_sought));
        sought += found.back().is_sought ? 1 : 0;
        if (found.front().wrong.empty() && !found.back().wrong.empty()) {
          std::swap(found.front(), found.back());
        }
      }
      out.values = in_all(found);
      out.wrong = found.front().wrong;
      for (const SeenAlike& one : found.front().meant) {
        const bool is_again = std::all_of(found.begin(), found.end(), [&](const AlikeInDraw& in) {
          return !in.is_sought || in.wrong != out.wrong || is_among(one, in.meant);
        });
        if (is_again) out.meant.push_back(named(one));
      }
    } catch (const LimitReached&) {  // then nothing is known to be alike
    } catch (const NotEvaluated&) {
    }
    return out;
  }
  /// What the text after moves, in a draw of its own.
  void explain(Validation& out) {
    try {
      const Field field(options_.seed, order_of_roots(), literals());
      Arguments<Field> arguments(field, matching_, limits_, options_.seed, 0,
                                 indexed_extents(before_));
      arguments.make();
      std::vector<ArrayType> tiles;
      for (const auto* cuts : {&matching_.starts, &matching_.ends}) {
        for (const Cut& cut : *cuts) tiles.push_back(cut.tile);
      }
      out.movement = movement_of({.before = before_,
                                  .after = after_,
                                  .field = field,
                                  .before_arguments = arguments.before,
                                  .after_arguments = arguments.after,
                                  .devices = matching_.devices,
                                  .tiles = tiles,
                                  .is_global = !matching_.is_per_device},
                                 limits_);
    } catch (const LimitReached& limit) {
      out.unexplained = limit.what;
    } catch (const NotEvaluated& refused) {
      out.unexplained = refused.what;
    }
  }

 private:
  [[nodiscard]] AlikeInDraw alike_in_draw(Size draw, bool finds_meant) {
    const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(draw) * 0x9e3779b97f4aU;
    const Field field(seed, order_of_roots(), literals());
    Run<Field> run(before_, after_, matching_, field, limits_, in_after_);
    Arguments<Field> arguments(field, matching_, limits_, seed, draw, indexed_extents(before_));
    arguments.make();
    return run.alike(arguments, before_, after_, finds_meant);
  }
  [[nodiscard]] Likeness named(const SeenAlike& seen) const {
    const auto bare = [](const Value& value) {
      return value.name.substr(value.name.find_first_not_of('%'));
    };
    const Value& value = before_.main().values[seen.before];
    return {bare(value), bare(after_.main().values[seen.after]), value.type.extents,
            matching_.is_partitioned ? seen.boxes : std::vector<Box>()};
  }
  [[nodiscard]] static bool is_among(const SeenAlike& one, const std::vector<SeenAlike>& all) {
    return std::any_of(all.begin(), all.end(), [&](const SeenAlike& other) {
      return other.before == one.before && other.after == one.after && other.boxes == one.boxes;
    });
  }
  /// What is chosen, by an integer or by an order, is the same as one of the choices in many a draw.
  [[nodiscard]] Size draws_of_likeness() const {
    const bool chooses = has_whole_numbers() || is_ordered(before_) || is_ordered(after_);
    if (!chooses) return 3;
    return is_small() ? 12 : 6;
  }
  /// Of every value after the first one before whose boxes it is in all draws, with other elements in some.
  [[nodiscard]] std::vector<Likeness> in_all(const std::vector<AlikeInDraw>& draws) const {
    std::map<std::pair<ValueId, ValueId>, std::vector<const SeenAlike*>> all;
    for (const AlikeInDraw& draw : draws) {
      for (const SeenAlike& seen : draw.values) all[{seen.after, seen.before}].push_back(&seen);
    }
    std::map<ValueId, std::vector<const SeenAlike*>> alike;
    for (const auto& [values, seen] : all) {
      const SeenAlike& one = *seen.front();
      const bool is_always = seen.size() == draws.size() &&
                             std::all_of(seen.begin(), seen.end(), [&](const SeenAlike* other) {
                               return other->boxes == one.boxes;
                             });
      const bool is_drawn = std::any_of(seen.begin(), seen.end(), [&](const SeenAlike* other) {
        return other->words != one.words;
      });
      if (is_always && is_drawn) alike[one.after].push_back(&one);
    }
    std::vector<Likeness> out;
    for (const auto& [value, those] : alike) {
      // Two integers are often the same where no text says so.
      const bool is_number = type_of(after_.main(), value).kind.is_number();
      if (those.size() == 1 || !is_number) out.push_back(named(*those.front()));
    }
    return out;
  }
  void undecided(const std::string& why, std::size_t line) {
    out_.answer = Answer::undecided;
    out_.why = why;
    out_.line = line;
    out_.in_after = in_after_;
    out_.draws = static_cast<Size>(out_.primes.size());
  }
  void set_right() {
    out_.answer = Answer::right;
    Formulas formulas;
    formulas.add(before_, rounds_, matching_.is_per_device ? matching_.devices : 1);
    formulas.add(after_, rounds_, matching_.devices);
    out_.draw_bits = formulas.bits(order_of_roots());
  }
  /// That the prime of a draw must have.
  [[nodiscard]] Size order_of_roots() const {
    return std::lcm(root_order(before_), root_order(after_));
  }
  [[nodiscard]] bool has_integers() const {
    return std::any_of(matching_.starts.begin(), matching_.starts.end(), [](const Cut& cut) {
      return cut.global.kind.form == ElementKind::Form::integer;
    });
  }
  /// Branches may need draws of their own.
  [[nodiscard]] bool goes_on(Size draw, Size draws) const {
    constexpr Size most = 64;
    if (out_.difference) return false;
    if (matching_.is_again) return draw < draws;
    return draw < draws || (draw < most && is_small() && !untaken().empty());
  }
  [[nodiscard]] bool is_small() const { return count_of(before_) + count_of(after_) < 2000; }
  /// Lines of conditionals of which a branch was taken in no draw.
  [[nodiscard]] std::vector<std::size_t> untaken() const {
    std::vector<std::size_t> out;
    for (const Computation& computation : before_.computations) {
      for (const Instruction& one : computation.body) {
        if (one.id != Id::conditional) continue;
        for (std::size_t k = 0; k < one.calls.size(); ++k) {
          if (!branches_.contains({&one, static_cast<Word>(k)})) out.push_back(one.place.line);
        }
      }
    }
    return out;
  }
  /// Loops that go on for as long as a number is larger than another are soon over in the field, where
  /// that is as likely as not. So the two are tried in floating point as well. What differs is no
  /// mistake where the last bits of what is computed matter as much.
  void look_in_reals() {
    constexpr Size draws = 3;
    constexpr double last_bits = 4e-15;
    if (!has_loops_by_reals(before_) && !has_loops_by_reals(after_)) return;
    const std::vector<Size> extents = indexed_extents(before_);
    Matching whole = matching_;
    whole.ends.clear();
    for (const Cut& cut : matching_.ends) whole.ends.push_back(uncut(cut.global, whole.devices));
    for (Size draw = 0; draw < draws; ++draw) {
      const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(draw);
      const Real real(seed);
      Arguments<Real> arguments(real, matching_, limits_, seed, draw, extents);
      arguments.make();
      std::optional<Difference> difference;
      try {
        difference =
            Run<Real>(before_, after_, matching_, real, limits_, in_after_).difference(arguments);
        if (!difference) continue;
        arguments.after = arguments.before;
        const Real shaken(seed, 1, last_bits);
        Run<Real> again(before_, before_, whole, real, limits_, in_after_, &shaken);
        if (again.difference(arguments)) continue;
      } catch (const NotEvaluated&) {
        return;
      }
      difference->draw = draw;
      difference->integers = integers_of(arguments.before);
      out_.difference = std::move(difference);
      out_.answer = Answer::wrong;
      return;
    }
  }
  /// Devices that wait for each other, but do not all come, wait for ever.
  void find_parted(const Run<Field>& run) {
    for (const bool is_after : {false, true}) {
      const Instruction* one = is_after ? run.parted_after() : run.parted_before();
      if (one == nullptr) continue;
      in_after_ = is_after;
      throw NotEvaluated{one->opcode + ": devices of a group go different ways", one->place};
    }
  }
  /// What no draw has looked at: branches, and results that never were numbers.
  void find_unseen() {
    for (const std::size_t line : untaken()) {
      out_.notes.push_back(
          fmt::format("a branch of the conditional in line {} before was never taken", line));
    }
    for (std::size_t k = 0; k < matching_.ends.size() && !out_.difference; ++k) {
      const ArrayType& type = matching_.ends[k].global;
      if (type.kind.is_number() || retile::whole::count_of(type) == 0 || finite_.contains(k))
        continue;
      if (out_.why.empty()) out_.why = fmt::format("result {} is no finite number in any draw", k);
    }
  }
  /// Whether integers or truth values are arguments.
  [[nodiscard]] bool has_whole_numbers() const {
    return std::any_of(matching_.starts.begin(), matching_.starts.end(),
                       [](const Cut& cut) { return cut.global.kind.is_number(); });
  }
  /// More than were asked for where a few may show nothing: where integers are arguments, which may
  /// be indices, or truth values, which choose, and where something depends on which number is
  /// larger, as each draw tries one order.
  [[nodiscard]] Size draw_count() const {
    constexpr double most_elements = 1e5;
    if (matching_.is_again) return 1;
    if (!is_small()) return options_.draws;
    if (!has_whole_numbers() && !is_ordered(before_) && !is_ordered(after_)) return options_.draws;
    if (work_of(before_) + work_of(after_) > much_work) return options_.draws;
    const bool is_tiny = elements_of(before_) + elements_of(after_) < most_elements;
    return std::max(options_.draws, is_tiny ? Size{36} : Size{12});
  }
  /// Numbers with a point that stand in the texts, and 0 and 1.
  [[nodiscard]] std::vector<double> literals() const {
    constexpr std::size_t most = 16;  // of one constant: others are tables
    std::vector<double> out = {-1, 0, 1};
    for (const Module* module : {&before_, &after_}) {
      for (const Computation& computation : module->computations) {
        for (const Instruction& one : computation.body) {
          const auto* literal = std::get_if<Literal>(&one.detail);
          if (literal == nullptr || literal->words.size() > most) continue;
          if (computation.values[one.results[0]].type.kind.is_number()) continue;
          for (const Word word : literal->words) {
            out.push_back(operations::real_of(word));
            out.push_back(-operations::real_of(word));  // signs go with the order
          }
        }
      }
    }
    return out;
  }
  void look(Size draw) {
    const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(draw) * 0x9e3779b97f4aU;
    const std::vector<Size> extents = indexed_extents(before_);
    const Field field(seed, order_of_roots(), literals());
    out_.primes.push_back(field.prime());
    Run<Field> run(before_, after_, matching_, field, limits_, in_after_);
    Arguments<Field> arguments(field, matching_, limits_, seed, draw, extents);
    arguments.make();
    auto difference = run.difference(arguments);
    note_unknown(run.counts());
    branches_.merge(std::set(run.branches()));
    for (const std::size_t result : run.finite_results()) finite_.insert(result);
    for (const auto& [loop, rounds] : run.rounds()) {
      Size& most = rounds_[loop];
      most = std::max(most, rounds);
    }
    if (!difference) return find_parted(run);
    difference->draw = draw;
    difference->integers = integers_of(arguments.before);
    const std::size_t result = difference->result;
    confirm(*difference, seed, draw, extents);
    if (!options_.blames) return;
    const Validation confirmed = out_;
    try {
      if (out_.answer == Answer::wrong && is_small()) {
        take_small_integers(run, arguments, seed, draw, extents);
      }
      out_.blame = run.blame(arguments, before_, after_, result);
      if (out_.answer == Answer::wrong && has_integers())
        out_.is_right_inside = is_right_inside(seed, extents);
    } catch (const LimitReached&) {
      if (confirmed.answer != Answer::wrong) throw;
      out_ = confirmed;  // it stands, whatever else could have been said of it
    }
  }
  /// Looks for the same with integers near 0 in the place of those that were drawn, one argument after
  /// the other. What is not confirmed stays as it was.
  void take_small_integers(Run<Field>& run, Arguments<Field>& arguments, std::uint64_t seed,
                           Size draw, const std::vector<Size>& extents) {
    for (std::size_t k = 0; k < matching_.starts.size(); ++k) {
      const ArrayType& type = matching_.starts[k].global;
      if (type.kind.form != ElementKind::Form::integer || !type.extents.empty()) continue;
      const Word drawn = arguments.before[k].front()->words.front();
      auto difference = with_small_integer(run, arguments, k, drawn);
      if (!difference) continue;
      difference->integers = integers_of(arguments.before);
      Validation found = out_;
      out_.answer = Answer::undecided;
      confirm(*difference, seed, draw, extents);
      if (out_.answer == Answer::wrong) continue;
      out_ = std::move(found);
      small_integers_.erase(k);
      arguments.set(k, drawn);
    }
  }
  /// The first of 0, -1, 1, -2, .. that shows a difference; none if that is the one that was drawn.
  [[nodiscard]] std::optional<Difference> with_small_integer(Run<Field>& run,
                                                             Arguments<Field>& arguments,
                                                             std::size_t k, Word drawn) {
    constexpr Word most = 16;
    for (Word step = 0; step <= 2 * most; ++step) {
      const Word integer = step % 2 == 0 ? step / 2 : -(step / 2 + 1);
      if (integer == drawn) break;
      arguments.set(k, integer);
      small_integers_[k] = integer;
      if (auto out = run.difference(arguments)) return out;
    }
    small_integers_.erase(k);
    arguments.set(k, drawn);
    return std::nullopt;
  }
  /// The same integers must tell the two apart in floating point as well, with some numbers.
  void confirm(const Difference& difference, std::uint64_t seed, Size draw,
               const std::vector<Size>& extents) {
    // Some numbers are compared with more than 1, and where none is below 0 other loops end soon.
    constexpr std::uint64_t each = 4;
    const std::array<std::pair<double, double>, 3> ranges = {{{1, -1}, {4, -1}, {1, 0}}};
    try {
      for (std::uint64_t k = 0; k < each * ranges.size() && out_.answer != Answer::wrong; ++k) {
        const auto [largest, least] = ranges[k / each];
        const Real real(seed, largest, 0, least);
        Run<Real> run(before_, after_, matching_, real, limits_, in_after_);
        Arguments<Real> arguments(real, matching_, limits_, seed, draw, extents, k);
        arguments.make();
        for (const auto& [argument, integer] : small_integers_) arguments.set(argument, integer);
        std::optional<Difference> confirmed = run.difference(arguments);
        if (!confirmed) continue;
        confirmed->draw = draw;
        confirmed->integers = difference.integers;
        out_.difference = std::move(confirmed);
        out_.answer = Answer::wrong;
      }
    } catch (const NotEvaluated& refused) {
      undecided(
          "it differs in exact arithmetic, and cannot be tried in floating point: " + refused.what,
          refused.place.line);
    }
    if (out_.answer == Answer::wrong && matching_.may_miscount) {
      out_.answer = Answer::undecided;
      out_.why = "with smaller extents it differs, but a constant may count elements";
    }
    if (out_.answer == Answer::wrong) return;
    if (out_.why.empty()) out_.why = "it differs in exact arithmetic, not in floating point";
    out_.difference = difference;
  }
  /// Whether integers that lie inside of what they may index do not tell the two apart.
  [[nodiscard]] bool is_right_inside(std::uint64_t seed, const std::vector<Size>& extents) {
    constexpr Size draws = 3;
    for (Size draw = 0; draw < draws; ++draw) {
      const std::uint64_t other = seed + 77 + static_cast<std::uint64_t>(draw);
      const Field field(other, order_of_roots(), literals());
      Run<Field> run(before_, after_, matching_, field, limits_, in_after_);
      Arguments<Field> arguments(field, matching_, limits_, other, 0, extents);
      arguments.make();
      if (run.difference(arguments)) return false;
    }
    return true;
  }
  [[nodiscard]] std::vector<ArgumentValue> integers_of(const std::vector<Held>& arguments) const {
    constexpr Size most = 8;
    std::vector<ArgumentValue> out;
    const Computation& main = before_.main();
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      const Value& value = main.values[main.parameters[k]];
      const bool is_short = retile::whole::count_of(value.type) <= most;
      if (!value.type.kind.is_number() || !is_short) continue;
      out.push_back({.name = value.name, .numbers = arguments[k].front()->words});
    }
    return out;
  }
  void note_unknown(const Counts& counts) {
    out_.unknown.clear();
    for (const auto& [name, number] : counts.unknown_by_name)
      out_.unknown.emplace_back(name, number);
  }

  const Module& before_;
  const Module& after_;
  const Matching& matching_;
  const ValidateOptions& options_;
  Limits limits_;
  Validation out_;
  bool in_after_ = false;
  std::set<std::pair<const Instruction*, Word>> branches_;  // that were taken before the pass
  Rounds rounds_;
  std::map<std::size_t, Word>
      small_integers_;            // of arguments, in the place of those that were drawn
  std::set<std::size_t> finite_;  // results that were numbers in some draw
};

/// What each device holds of arguments or results; nothing where it holds all of them.
Boxes boxes_of(const Matching& matching, const std::vector<Cut>& cuts) {
  Boxes out;
  if (!matching.is_partitioned) return out;
  for (const Cut& cut : cuts) out.push_back(cut.boxes);
  return out;
}

/// Two texts and how they go together.
struct Pair {
  Module before;
  Module after;
  Matching matching;
  std::vector<std::pair<Size, Size>>
      reduced;  ///< extents that were divided, and what became of them
};

/// Texts with other extents go together as those that they were made of.
Result<Pair> remade(const Pair& pair, const std::string& before_name, Divided texts,
                    bool may_miscount) {
  auto matching = matching_of(texts.before, texts.after, before_name);
  if (!matching) return refuse(matching.error());
  matching->beside_itself = pair.matching.beside_itself;
  matching->beside_largest = pair.matching.beside_largest;
  matching->may_miscount = may_miscount;
  return Pair{std::move(texts.before), std::move(texts.after), *std::move(matching),
              std::move(texts.extents)};
}

/// The same two with smaller extents, where these take long and something can be divided, and with
/// extents that are smaller in another way; none where nothing is divided.
Result<std::vector<Pair>> smaller_of(const Pair& pair, const std::string& before_name,
                                     Extents extents) {
  std::vector<Pair> out;
  const bool is_asked = extents == Extents::reduced;
  const double work = work_of(pair.before) + work_of(pair.after);
  if (extents == Extents::full || (!is_asked && work <= much_work)) return out;
  auto small = smaller(pair.before, pair.after, boxes_of(pair.matching, pair.matching.starts),
                       boxes_of(pair.matching, pair.matching.ends), is_asked ? 0 : much_work);
  if (!small) return out;
  auto first = remade(pair, before_name, std::move(small->texts), small->may_miscount);
  if (!first) return refuse(first.error());
  out.push_back(*std::move(first));
  if (!small->others) return out;
  auto second = remade(pair, before_name, *std::move(small->others), small->may_miscount);
  if (!second) return refuse(second.error());
  second->matching.is_again = true;
  out.push_back(*std::move(second));
  return out;
}

Validation validation_of(const Pair& pair, const ValidateOptions& options) {
  Validation out = Validator(pair.before, pair.after, pair.matching, options).validation();
  out.reduced = pair.reduced;
  return out;
}

/// At the extents that are asked for. A difference of the smaller ones that may be one of counting is
/// looked at with all elements in the time that is left.
Result<Validation> validation_of(const Pair& pair, const std::string& before_name,
                                 const ValidateOptions& options) {
  const Deadline deadline = Deadline::in(options.timeout_seconds);
  const auto small = smaller_of(pair, before_name, options.extents);
  if (!small) return refuse(small.error());
  if (small->empty()) return validation_of(pair, options);
  Validation out = validation_of(small->front(), options);
  ValidateOptions left = options;
  if (out.answer == Answer::right && small->size() > 1) {
    left.timeout_seconds = deadline.seconds_left();
    Validation again = validation_of(small->back(), left);
    if (again.difference) out = std::move(again);
  }
  const bool may_miscount = small->front().matching.may_miscount;
  if (out.answer != Answer::undecided || !out.difference || !may_miscount) return out;
  left.timeout_seconds = deadline.seconds_left();
  Validation whole = validation_of(pair, left);
  return whole.answer == Answer::undecided ? std::move(out) : std::move(whole);
}

/// \error syntax (no text: empty, or bytes that no text has)
Result<void> is_text(const text::Input& input) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  if (input.text.find_first_not_of(blanks) == std::string_view::npos) {
    return refuse({.code = Code::syntax, .message = "the file is empty", .source = input.source});
  }
  constexpr std::size_t looked_at = 4096;
  const std::string_view start = input.text.substr(0, looked_at);
  const bool has_bytes = std::any_of(start.begin(), start.end(), [&](char c) {
    return static_cast<unsigned char>(c) < ' ' && blanks.find(c) == std::string_view::npos;
  });
  if (!has_bytes) return {};
  return refuse({.code = Code::syntax,
                 .message = "this is a protobuf or another binary, not a text",
                 .source = input.source,
                 .notes = {"XLA dumps texts without xla_dump_hlo_as_proto"}});
}

bool is_mlir(const text::Input& input) {
  return foreign::language_of(input.text) == foreign::Language::mlir;
}

/// \param beside  the other text of a pair, which may have formulas for functions of this one
Result<Module> read_any(const text::Input& input, const text::Input* beside = nullptr) {
  if (auto read = is_text(input); !read) return refuse(read.error());
  if (!is_mlir(input)) return read_hlo(input);
  std::optional<std::string_view> lowered;
  if (beside != nullptr && !is_mlir(*beside)) lowered = beside->text;
  return read_stablehlo(input, lowered);
}

/// Gives ends without a sharding that of the option.
/// \error bad_argument (another number of them)
Result<void> give(std::vector<End>& ends, const std::vector<std::string>& shardings,
                  const std::optional<PlacedMesh>& mesh, std::string_view what) {
  if (shardings.empty()) return {};
  if (shardings.size() != ends.size()) {
    return refuse(Code::bad_argument,
                  fmt::format("{} for {}", counted(shardings.size(), "sharding"),
                              counted(ends.size(), what)));
  }
  for (std::size_t k = 0; k < ends.size(); ++k) {
    if (ends[k].sharding || shardings[k].empty()) continue;
    ends[k].sharding = shardings[k];
    ends[k].mesh = mesh;
  }
  return {};
}

/// Two texts as they were read, and what was done to them since.
struct ReadPair {
  Pair pair;
  std::size_t count_before = 0;  ///< instructions of the texts
  std::size_t count_after = 0;
  Size computed = 0;  ///< operations on constants that became constants
  Size reciprocals = 0;
  std::map<std::string, Size> formulas = {};
};

Result<ReadPair> read_pair(const text::Input& before, const text::Input& after,
                           const ValidateOptions& options) {
  auto a = read_any(before, &after);
  if (!a) return refuse(a.error());
  auto b = read_any(after, &before);
  if (!b) return refuse(b.error());
  if (auto given = give(a->starts, options.from, options.mesh, "argument"); !given) {
    return refuse(given.error());
  }
  if (auto given = give(a->ends, options.to, options.mesh, "result"); !given) {
    return refuse(given.error());
  }
  auto matching = matching_of(*a, *b, before.source);
  if (!matching) return refuse(matching.error());
  // A computed constant was rounded as its type is, which 64 bits see.
  if (has_computed_constants(*a, *b)) {
    matching->beside_itself = 1e-5;
    matching->beside_largest = 1e-6;
  }
  // Another release may write another formula for the same function.
  if (!a->formulas.empty() || !b->formulas.empty()) {
    matching->beside_itself = std::max(matching->beside_itself, 1e-4);
    matching->beside_largest = std::max(matching->beside_largest, 1e-5);
  }
  ReadPair out;
  out.count_before = count_of(*a);
  out.count_after = count_of(*b);
  out.computed = with_computed_constants(*a, *b);
  out.reciprocals = with_whole_reciprocals(*a, *b);
  out.formulas = a->formulas;
  out.formulas.merge(std::map(b->formulas));
  out.pair = Pair{*std::move(a), *std::move(b), *std::move(matching), {}};
  return out;
}

}  // namespace

Result<Alike> alike(std::string_view before, std::string_view after, const ValidateOptions& options,
                    bool finds_meant) {
  const Deadline deadline = Deadline::in(options.timeout_seconds);
  const auto read = read_pair({before, "", true}, {after, "", true}, options);
  if (!read) return refuse(read.error());
  const auto small = smaller_of(read->pair, "", options.extents);
  if (!small) return refuse(small.error());
  const Pair& pair = small->empty() ? read->pair : small->front();
  ValidateOptions left = options;
  left.timeout_seconds = deadline.seconds_left();
  return Validator(pair.before, pair.after, pair.matching, left).alike(finds_meant);
}

Result<Validation> validate(std::string_view before, const std::string& before_name,
                            std::string_view after, const std::string& after_name,
                            const ValidateOptions& options) {
  const Deadline deadline = Deadline::in(options.timeout_seconds);
  auto read = read_pair({before, before_name, true}, {after, after_name, true}, options);
  if (!read) return refuse(read.error());
  const auto& [pair, count_before, count_after, computed, reciprocals, formulas] = *read;
  auto validation = validation_of(pair, before_name, options);
  if (!validation) return refuse(validation.error());
  Validation out = *std::move(validation);
  if (options.explains) {  // at all extents, as bytes are told
    ValidateOptions left = options;
    left.timeout_seconds = deadline.seconds_left();
    Validator(pair.before, pair.after, pair.matching, left).explain(out);
  }
  out.instructions_before = count_before;
  out.instructions_after = count_after;
  const auto note = [&](Size count, std::string_view one, std::string_view several) {
    if (count == 1) out.notes.push_back(fmt::format("1 {}", one));
    if (count > 1) out.notes.push_back(fmt::format("{} {}", count, several));
  };
  note(computed, "operation on constants was taken as the constant after it",
       "operations on constants were taken as the constants after them");
  note(reciprocals, "constant after the pass was read as the exact quotient that it rounds",
       "constants after the pass were read as the exact quotients that they round");
  for (const auto& [function, count] : formulas) {
    note(count, function + " was read as the formula that XLA writes for it",
         function + " were read as the formula that XLA writes for it");
  }
  return out;
}

Result<void> readable(std::string_view text, const std::string& name) {
  const text::Input input{text, name, true};
  const auto module = read_any(input);
  if (!module) return refuse(module.error());
  return {};
}

}  // namespace retile::whole
