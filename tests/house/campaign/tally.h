// What the campaign counts. A case is an input for which src computed a value and spec computed the
// same value with its own code. It counts once, however often it comes up, and only where both
// sides accept the input; what both refuse, and what is trivial, is counted apart.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>

#include "house/campaign/cases.h"

namespace campaign {

enum class Kind {
  rule,             ///< type after a collective: Sec. 7.1
  rule_fig8,        ///< the same against Fig. 8 itself, for collectives over one axis
  well_formedness,  ///< whether dimensions are a type: Fig. 7b
  offset,           ///< base offsets of all devices of a type: Fig. 7a
  step_offset,      ///< base offsets of all devices after pops and pushes: Fig. 10, physical form
  weak,             ///< least cost of a weak sequence: Sec. 7.2
  opt,              ///< least cost of a sequence: Sec. 6.2
  bound,            ///< the lower bound of a plan
  optimal,          ///< that a plan is optimal
  certificate,      ///< the proof of the lower bound
  verdict,          ///< whole verdict on a Program: right or wrong, step, reason, height, cost
  exchange,         ///< the Program of `lower --direct`
  moved,            ///< what bytes lie where after a Program, and how many were received
  prove,            ///< proof or refutation of a Program for all devices, and the facts proved
  text              ///< a text and everything that was read from it
};

struct KindName {
  std::string_view name;
  std::string_view compares;
  Strata strata = 0;  ///< those in which it is to have cases
};

inline constexpr std::array<KindName, 15> kinds = {
    {{"rule", "type after a collective (Sec. 7.1)", of_space},
     {"rule-fig8", "the same, collectives over one axis (Fig. 8)", of_space},
     {"well-formedness", "dimensions are a type (Fig. 7b)", of_space},
     {"offset", "base offsets of a type (Fig. 7a)", of_space},
     {"step-offset", "base offsets after steps (Fig. 10)", of_space | of_moves},
     {"weak", "least cost of a weak sequence (Sec. 7.2)", of_plans},
     {"opt", "cost of an optimal plan, and the optimum (Sec. 6.2)", of_plans},
     {"bound", "lower bound of a plan, and the optimum", of_plans},
     {"optimal", "a plan is called optimal, and is", of_plans},
     {"certificate", "a certificate, and the bound it proves", of_plans},
     {"verdict", "verdict on a Program", of_plans | only(Stratum::wrong)},
     {"exchange", "verdict on the one exchange of a Program's ends", of_plans},
     {"moved", "bytes after a Program, and those received", of_plans},
     {"prove", "proof or refutation of a Program, and its facts", of_plans | only(Stratum::wrong)},
     {"text", "a text and all that was read from it", of_space}}};

using Kinds = std::array<bool, kinds.size()>;

/// Where an input comes from: an enumeration that is complete within its bounds, or a seed.
enum class Source { enumerated, drawn };

struct Count {
  std::array<std::uint64_t, 2> cases = {0, 0};  ///< distinct, accepted, not trivial; by Source
  std::array<std::uint64_t, strata_names.size()> strata = {};  ///< of these
  std::uint64_t trivial = 0;                                   ///< distinct and accepted
  std::uint64_t repeated = 0;  ///< accepted comparisons of a case that had come up
  std::uint64_t refused = 0;   ///< comparisons where both sides refuse
  std::uint64_t open = 0;      ///< one side decides nothing: not compared
  std::uint64_t differences = 0;
  [[nodiscard]] std::uint64_t total() const { return cases[0] + cases[1]; }
};

class Tally {
 public:
  struct Limits {
    std::uint64_t cases = std::numeric_limits<std::uint64_t>::max();  ///< of each kind, and
    std::uint64_t each = 0;                                           ///< in each of its strata
    double seconds = std::numeric_limits<double>::infinity();
  };

  /// `selected` kinds are compared, all others are not even computed where that can be avoided.
  /// With `control` the first accepted value of src in every selected kind is falsified.
  Tally(Limits limits, const Kinds& selected, bool control, std::filesystem::path save)
      : limits_(limits), selected_(selected), save_(std::move(save)) {
    if (control) falsify_ = selected;
  }

  /// Whether more cases of this kind are asked for.
  [[nodiscard]] bool wants(Kind kind) const { return selected_[index(kind)] && !is_full(kind); }
  /// Whether a case with these strata is asked for.
  [[nodiscard]] bool wants(Kind kind, Strata strata) const {
    if (!selected_[index(kind)]) return false;
    return count(kind).total() < limits_.cases || (strata & missing(kind)) != 0;
  }
  /// The strata in which a kind has too few cases.
  [[nodiscard]] Strata missing(Kind kind) const {
    Strata out = 0;
    for (std::size_t s = 0; s < strata_names.size(); ++s) {
      if (count(kind).strata[s] < limits_.each) out |= only(static_cast<Stratum>(s));
    }
    return out & kinds[index(kind)].strata;
  }
  [[nodiscard]] bool has_seen(Kind kind, std::uint64_t hash) const {
    return seen_[index(kind)].holds(hash);
  }
  void set_source(Source source) { source_ = source; }

  /// Whether the value at hand is to be falsified; true once per kind in a control run.
  [[nodiscard]] bool falsifies(Kind kind) {
    const bool now = falsify_[index(kind)];
    falsify_[index(kind)] = false;
    return now;
  }

  /// Both sides accept, and agree.
  void accept(Kind kind, const Case& what) {
    Count& count = counts_[index(kind)];
    if (!seen_[index(kind)].insert(what.hash)) {
      ++count.repeated;
      return;
    }
    if (what.trivial) {
      ++count.trivial;
      return;
    }
    ++count.cases[static_cast<std::size_t>(source_)];
    const Strata strata = what.strata & (kinds[index(kind)].strata | only(Stratum::counted));
    for (std::size_t s = 0; s < strata_names.size(); ++s) count.strata[s] += strata >> s & 1U;
    ++total_;
  }
  void refuse(Kind kind) { ++counts_[index(kind)].refused; }
  void leave_open(Kind kind) { ++counts_[index(kind)].open; }

  /// Counts a difference; `text` is the case in the paper's notation.
  void differ(Kind kind, const std::string& text) {
    const std::uint64_t number = ++counts_[index(kind)].differences;
    ++differences_;
    if (number > 10) return;
    std::cerr << "DIFFERENCE (" << kinds[index(kind)].name << ") " << text << std::endl;
    if (save_.empty()) return;
    std::filesystem::create_directories(save_);
    const std::string name =
        std::string(kinds[index(kind)].name) + "-" + std::to_string(number) + ".txt";
    std::ofstream(save_ / name) << text << '\n';
  }

  /// Whether every kind has enough, or the time is up. Also prints the progress.
  [[nodiscard]] bool done() {
    if (++asked_ % 64 != 0 && !expired_) return expired_;
    const double now = elapsed();
    expired_ = now >= limits_.seconds || !wants_any();
    if (now >= next_progress_) {
      next_progress_ = now + 10;
      std::cerr << static_cast<std::uint64_t>(now) << " s: " << total_ << " cases, " << differences_
                << " differences;";
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        if (selected_[k]) std::cerr << ' ' << kinds[k].name << ' ' << counts_[k].total();
      }
      std::cerr << std::endl;
    }
    return expired_;
  }

  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  [[nodiscard]] static double processor_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  }
  [[nodiscard]] const Count& count(Kind kind) const { return counts_[index(kind)]; }
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::uint64_t differences() const { return differences_; }

 private:
  static std::size_t index(Kind kind) { return static_cast<std::size_t>(kind); }
  [[nodiscard]] bool is_full(Kind kind) const {
    return count(kind).total() >= limits_.cases && missing(kind) == 0;
  }
  [[nodiscard]] bool wants_any() const {
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (wants(static_cast<Kind>(k))) return true;
    }
    return false;
  }

  Limits limits_;
  Kinds selected_;
  Kinds falsify_ = {};
  std::filesystem::path save_;
  std::array<Count, kinds.size()> counts_;
  std::array<HashSet, kinds.size()> seen_;
  Source source_ = Source::enumerated;
  std::uint64_t total_ = 0;
  std::uint64_t differences_ = 0;
  std::uint64_t asked_ = 0;
  bool expired_ = false;
  double next_progress_ = 10;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace campaign
