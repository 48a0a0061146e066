// Two texts run with one draw, and what is made of their results. Room-internal.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/walk.h"
#include "retile/whole/alike.h"
#include "retile/whole/arguments.h"
#include "retile/whole/array.h"
#include "retile/whole/blame.h"
#include "retile/whole/chance.h"
#include "retile/whole/evaluate.h"
#include "retile/whole/matching.h"
#include "retile/whole/repair.h"
#include "retile/whole/validate.h"

namespace retile::whole {

/// Whether two words of a result are the same.
struct Same {
  const ElementKind& kind;
  bool is_exact;
  double scale;  ///< of inexact ones: what is very small beside it is nothing
  const Matching& matching;

  [[nodiscard]] bool operator()(Word a, Word b) const {
    if (a == b) return true;
    if (is_exact || kind.is_number()) return false;
    const double x = operations::real_of(a);
    const double y = operations::real_of(b);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    if (std::isinf(x) || std::isinf(y)) return x == y;
    const double beside_itself = std::max(matching.beside_itself, matching.coarsest);
    return std::fabs(x - y) <= matching.beside_largest * scale + beside_itself * std::fabs(x);
  }
};

template <typename Domain>
std::string number_text(Word word, const ElementKind& kind) {
  if (kind.form == ElementKind::Form::truth) return word != 0 ? "true" : "false";
  if (kind.is_number()) {
    return kind.is_signed ? fmt::format("{}", word)
                          : fmt::format("{}", static_cast<std::uint64_t>(word));
  }
  if (!Domain::is_exact) return fmt::format("{:.7g}", operations::real_of(word));
  return "another number";
}

/// All values of two entries, where they are not too many.
struct AllValues {
  AllValues(const Computation& before, const std::vector<Held>& before_arguments,
            const Computation& after, const std::vector<Held>& after_arguments)
      : first(before.values.size()), second(after.values.size()) {
    for (std::size_t k = 0; k < before_arguments.size(); ++k) {
      keep_first(before.parameters[k], before_arguments[k]);
    }
    for (std::size_t k = 0; k < after_arguments.size(); ++k) {
      keep_second(after.parameters[k], after_arguments[k]);
    }
  }
  void keep_first(ValueId value, const Held& held) { keep(first, value, held); }
  void keep_second(ValueId value, const Held& held) { keep(second, value, held); }
  [[nodiscard]] bool are_kept() const { return words_ <= most_words; }

  std::vector<Held> first;
  std::vector<Held> second;

 private:
  static constexpr std::size_t most_words = std::size_t{1} << 25U;
  void keep(std::vector<Held>& values, ValueId value, const Held& held) {
    for (std::size_t d = 0; d < held.size(); ++d) {
      if (d == 0 || held[d] != held[d - 1]) words_ += held[d]->words.size();
    }
    if (are_kept()) {
      values[value] = held;
    } else {
      first.clear();
      second.clear();
    }
  }
  std::size_t words_ = 0;
};

/// Both texts, ready to be run with any draw in one kind of numbers.
template <typename Domain>
class Run {
 public:
  /// \param in_after  set while the second text is run
  /// \param other  the second text's numbers, where they are others
  Run(const Module& before, const Module& after, const Matching& matching, const Domain& domain,
      Limits& limits, bool& in_after, const Domain* other = nullptr)
      : matching_(matching),
        in_after_(in_after),
        is_large_(words_of_values(before.main()) >= least_shared),
        limits_beside_(limits, stops_),
        first_(before, domain, matching.devices, limits),
        second_(after, other == nullptr ? domain : *other, matching.devices, limits_beside_),
        domain_(domain),
        limits_(limits) {}

  [[nodiscard]] std::optional<Difference> difference(const Arguments<Domain>& arguments) {
    std::vector<Held> expected;
    std::vector<Held> found;
    in_after_ = false;
    const auto run_first = [&] { expected = first_.run(arguments.before); };
    const auto run_second = [&] { found = second_.run(arguments.after); };
    if (is_large_) {
      at_once(run_first, run_second);
    } else {
      run_first();
      in_after_ = true;
      run_second();
    }
    in_after_ = false;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const std::vector<Word>& words = expected[k].front()->words;
      if (std::any_of(words.begin(), words.end(), Domain::is_finite)) finite_.push_back(k);
      if (auto out = compared(k, expected[k], summed(matching_.ends[k], std::move(found[k])))) {
        return out;
      }
    }
    return std::nullopt;
  }
  /// Runs both once more, for what they have in common.
  /// \param finds_meant  whether what would make the first wrong result right is looked for
  [[nodiscard]] AlikeInDraw alike(const Arguments<Domain>& arguments, const Module& before,
                                  const Module& after, bool finds_meant) {
    Search search(before.main());
    AllValues all = values_of(arguments, before, after, search);
    if (!all.are_kept()) return {};
    AlikeInDraw out = alike_in(before.main(), all.first, after.main(), all.second,
                               matching_.is_partitioned, limits_);
    for (std::size_t k = 0; k < matching_.ends.size(); ++k) {
      const Held& expected = all.first[before.main().results[k]];
      const Held& found = all.second[after.main().results[k]];
      if (compared(k, expected, summed(matching_.ends[k], found))) out.wrong.push_back(k);
    }
    if (out.wrong.empty() || !finds_meant) return out;
    out.is_sought = true;
    constexpr std::size_t most = 6;
    const std::size_t result = out.wrong.front();
    const auto lost = search.lost(result);
    const auto repairs = repairs_of(before, after, std::move(all));
    auto found = repairs->likely_of(second_, wrong_result(result), most);
    if (found.empty()) {
      const auto first = repairs->first_of(second_, wrong_result(result),
                                           lost.value_or(before.main().results[result]));
      if (first) found.push_back(*first);
    }
    for (const Repair& repair : found) {
      const ValueId value = after.main().body[repair.instruction].results[repair.part];
      out.meant.push_back({repair.value, value, repair.boxes, 0});
    }
    return out;
  }
  [[nodiscard]] const Counts& counts() const { return second_.counts(); }
  /// Of the loops of both texts.
  [[nodiscard]] Rounds rounds() const {
    Rounds out = first_.counts().rounds;
    out.insert(second_.counts().rounds.begin(), second_.counts().rounds.end());
    return out;
  }
  [[nodiscard]] const std::set<std::pair<const Instruction*, Word>>& branches() const {
    return first_.counts().branches;
  }
  /// An exchange of the text before that some devices of a group do not come to.
  [[nodiscard]] const Instruction* parted_before() const { return first_.counts().parted; }
  [[nodiscard]] const Instruction* parted_after() const { return second_.counts().parted; }
  /// Results of the last comparison that have a finite number before the pass.
  [[nodiscard]] const std::vector<std::size_t>& finite_results() const { return finite_; }

  /// Runs both once more, and finds what was lost on the way to a result.
  [[nodiscard]] std::optional<Blame> blame(const Arguments<Domain>& arguments, const Module& before,
                                           const Module& after, std::size_t result) {
    const Computation& first = before.main();
    const Computation& second = after.main();
    Search search(first);
    AllValues all = values_of(arguments, before, after, search);
    const auto lost = search.lost(result);
    const auto repairs = repairs_of(before, after, std::move(all));
    const auto repair = repairs ? repairs->first_of(second_, wrong_result(result),
                                                    lost.value_or(first.results[result]))
                                : std::nullopt;
    if (!lost && !repair) return std::nullopt;
    Blame out{.lost = spot_making(first, lost ? *lost : repair->value)};
    if (const auto last = lost ? search.last_seen(*lost) : std::nullopt) {
      const Instruction& one = second.body[*last];
      out.last = spot_of(second, &one, one.results.front());
    }
    if (repair) {
      out.nearest = spot_or_copy(second, *repair);
      out.meant = spot_making(first, repair->value);
    }
    return out;
  }

 private:
  /// What both texts make, some elements of which are looked for.
  [[nodiscard]] AllValues values_of(const Arguments<Domain>& arguments, const Module& before,
                                    const Module& after, Search& search) {
    const Computation& first = before.main();
    const Computation& second = after.main();
    AllValues all(first, arguments.before, second, arguments.after);
    static_cast<void>(first_.run(
        arguments.before,
        [&](const Computation& in, const Instruction* one, ValueId value, const Held& held) {
          if (&in != &first || one == nullptr) return;
          search.look_for(value, held);
          all.keep_first(value, held);
        }));
    static_cast<void>(second_.run(
        arguments.after,
        [&](const Computation& in, const Instruction* one, ValueId value, const Held& held) {
          if (&in != &second) return;
          std::optional<std::size_t> index;
          if (one != nullptr) index = static_cast<std::size_t>(one - second.body.data());
          search.see(index, second.values[value].type, held);
          if (one != nullptr) all.keep_second(value, held);
        }));
    return all;
  }
  /// What mends wrong programs, where all values may be kept.
  [[nodiscard]] std::optional<Repairs> repairs_of(const Module& before, const Module& after,
                                                  AllValues all) {
    if (!all.are_kept()) return std::nullopt;
    std::optional<Repairs> out;
    out.emplace(before, after, std::move(all.first), std::move(all.second), limits_);
    for (const auto* cuts : {&matching_.starts, &matching_.ends}) {
      for (const Cut& cut : *cuts) out->note_cut(cut.global.extents, cut.boxes);
    }
    return out;
  }
  [[nodiscard]] WrongResult wrong_result(std::size_t number) const {
    return {.number = number, .boxes = matching_.ends[number].boxes};
  }
  /// From so many words of values on a thread is worth its while.
  static constexpr Size least_shared = Size{1} << 16U;

  [[nodiscard]] static Size words_of_values(const Computation& in) {
    Size out = 0;
    for (const Value& value : in.values) {
      const auto count = checked_product(value.type.extents);
      out = std::min(out + std::min(count.value_or(least_shared), least_shared), least_shared);
    }
    return out;
  }
  /// Runs both texts, the second one in a thread of its own. What goes wrong is what would have gone
  /// wrong first, had they been run one behind the other.
  template <typename First, typename Second>
  void at_once(const First& run_first, const Second& run_second) {
    std::exception_ptr fault;
    const auto guarded = [&] {
      try {
        run_second();
      } catch (...) {
        fault = std::current_exception();
      }
    };
    std::thread other;
    try {
      other = std::thread(guarded);
    } catch (const std::system_error&) {  // then one behind the other
    }
    try {
      run_first();
    } catch (...) {
      stops_ = true;
      if (other.joinable()) other.join();
      throw;
    }
    if (other.joinable()) {
      other.join();
    } else {
      guarded();
    }
    in_after_ = true;
    if (fault) std::rethrow_exception(fault);
  }
  /// What each device holds of the whole: its own addend, and with it one of every other.
  [[nodiscard]] Held summed(const Cut& cut, Held held) const {
    if (cut.addends.empty()) return held;
    Held out;
    for (std::size_t d = 0; d < held.size(); ++d) {
      auto sum = new_array(limits_, cut.tile);
      sum->words = held[d]->words;
      std::set<Size> seen = {cut.addends[d]};
      for (std::size_t e = 0; e < held.size(); ++e) {
        if (cut.boxes[e] != cut.boxes[d] || !seen.insert(cut.addends[e]).second) continue;
        for (std::size_t w = 0; w < sum->words.size(); ++w) {
          sum->words[w] =
              combined(domain_, cut.global.kind, sum->words[w], held[e]->words[w], false);
        }
      }
      out.push_back(std::move(sum));
    }
    return out;
  }
  [[nodiscard]] std::optional<Difference> compared(std::size_t k, const Held& expected,
                                                   const Held& found) const {
    const Cut& cut = matching_.ends[k];
    const std::size_t width = words_of(cut.global.kind);
    std::set<std::tuple<const Array*, const Array*, Shape, Shape>> seen;
    for (std::size_t d = 0; d < found.size(); ++d) {
      const Box& box = cut.boxes[d];
      if (!seen.emplace(expected[d].get(), found[d].get(), box.at, box.extent).second) continue;
      const Array& whole = *expected[d];
      if (begins_with_box(*found[d], cut.tile.extents, whole, cut.global.extents, box, width))
        continue;
      const Same same{cut.global.kind, Domain::is_exact, scale_of(whole, cut.global.kind),
                      matching_};
      const Shape wide = strides_of(cut.global.extents);
      const Shape narrow = strides_of(cut.tile.extents);
      std::optional<Difference> out;
      Size elements = 0;
      Size differing = 0;
      for_box(box.extent, [&](const Shape& at) {
        Shape element = at;
        for (std::size_t i = 0; i < at.size(); ++i) element[i] += box.at[i];
        const auto there = static_cast<std::size_t>(offset_of(element, wide)) * width;
        const auto here = static_cast<std::size_t>(offset_of(at, narrow)) * width;
        ++elements;
        for (std::size_t w = 0; w < width; ++w) {
          const Word a = whole.words[there + w];
          const Word b = found[d]->words[here + w];
          if (same(a, b)) continue;
          ++differing;
          if (!out) {
            out = Difference{.result = k,
                             .device = static_cast<Size>(d),
                             .at = at,
                             .element = element,
                             .expected = number_text<Domain>(a, cut.global.kind),
                             .found = number_text<Domain>(b, cut.global.kind),
                             .integers = {}};
          }
          break;
        }
        return true;
      });
      if (out) {
        out->differing = differing;
        out->elements = elements;
        return out;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] static double scale_of(const Array& array, const ElementKind& kind) {
    double out = 1;
    if (Domain::is_exact || kind.is_number()) return out;
    for (const Word word : array.words) {
      const double size = std::fabs(operations::real_of(word));
      if (std::isfinite(size)) out = std::max(out, size);
    }
    return out;
  }

  const Matching& matching_;
  bool& in_after_;
  bool is_large_;
  std::atomic<bool> stops_ = false;  // the second text need not be run any more
  Limits limits_beside_;
  Evaluator<Domain> first_;
  Evaluator<Domain> second_;
  const Domain& domain_;
  Limits& limits_;
  std::vector<std::size_t> finite_;
};

}  // namespace retile::whole
