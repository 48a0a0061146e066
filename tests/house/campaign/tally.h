// What the campaign counts. A comparison is one value that src computed, held against the same
// value that spec computed with its own code from the same input; nothing else is counted.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>

namespace campaign {

enum class Kind {
  rule,             ///< type after a collective, or that there is none: Sec. 7.1
  rule_fig8,        ///< the same against Fig. 8 itself, for collectives over one axis
  well_formedness,  ///< whether dimensions are a type: Fig. 7b
  offset,           ///< base offset of one device of a type: Fig. 7a
  step_offset,      ///< base offset of one device after pops and pushes: Fig. 10, physical form
  weak,             ///< least cost of a weak sequence: Sec. 7.2
  verdict,          ///< whole verdict on a Program: right or wrong, step, reason, height, cost
  text              ///< whether a text is read, and everything that was read
};

struct KindName {
  std::string_view name;
  std::string_view compares;
};

inline constexpr std::array<KindName, 8> kinds = {
    {{"rule", "type after a collective, or none (Sec. 7.1)"},
     {"rule-fig8", "the same, collectives over one axis (Fig. 8)"},
     {"well-formedness", "dimensions are a type, or not (Fig. 7b)"},
     {"offset", "base offset of one device of a type (Fig. 7a)"},
     {"step-offset", "base offset of one device after steps (Fig. 10)"},
     {"weak", "least cost of a weak sequence (Sec. 7.2)"},
     {"verdict", "verdict on a Program"},
     {"text", "a text and all that was read from it"}}};

/// Where an input comes from: an enumeration that is complete within its bounds, or a seed.
enum class Source { enumerated, drawn };

struct Count {
  std::array<std::uint64_t, 2> compared = {0, 0};  ///< by Source
  std::uint64_t disagreements = 0;
  [[nodiscard]] std::uint64_t total() const { return compared[0] + compared[1]; }
};

class Tally {
 public:
  struct Limits {
    std::uint64_t comparisons = std::numeric_limits<std::uint64_t>::max();
    double seconds = std::numeric_limits<double>::infinity();
  };

  /// `selected` kinds are compared, all others are not even computed where that can be avoided.
  /// With `control` the first value of src in every selected kind is falsified.
  Tally(Limits limits, std::array<bool, kinds.size()> selected, bool control,
        std::filesystem::path save)
      : limits_(limits), selected_(selected), save_(std::move(save)) {
    if (control) falsify_ = selected;
  }

  [[nodiscard]] bool selected(Kind kind) const { return selected_[index(kind)]; }
  void set_source(Source source) { source_ = source; }

  /// Whether the value at hand is to be falsified; true once per kind in a control run.
  [[nodiscard]] bool falsifies(Kind kind) {
    const bool now = falsify_[index(kind)];
    falsify_[index(kind)] = false;
    return now;
  }

  void compared(Kind kind, std::uint64_t count = 1) {
    counts_[index(kind)].compared[static_cast<std::size_t>(source_)] += count;
    total_ += count;
  }

  /// Counts a disagreement; `text` is the case in the paper's notation.
  void disagree(Kind kind, const std::string& text) {
    const std::uint64_t number = ++counts_[index(kind)].disagreements;
    ++disagreements_;
    if (number > 10) return;
    std::cerr << "DISAGREEMENT (" << kinds[index(kind)].name << ") " << text << std::endl;
    if (save_.empty()) return;
    std::filesystem::create_directories(save_);
    const std::string name =
        std::string(kinds[index(kind)].name) + "-" + std::to_string(number) + ".txt";
    std::ofstream(save_ / name) << text << '\n';
  }

  /// Whether enough was compared, or the time is up. Also prints the progress.
  [[nodiscard]] bool done() {
    if (total_ >= limits_.comparisons) return true;
    if (++asked_ % 64 != 0) return expired_;
    const double now = elapsed();
    expired_ = now >= limits_.seconds;
    if (now >= next_progress_) {
      next_progress_ = now + 5;
      std::cerr << static_cast<std::uint64_t>(now) << " s: " << total_ << " comparisons, "
                << static_cast<std::uint64_t>(static_cast<double>(total_) / now) << " per second, "
                << disagreements_ << " disagreements" << std::endl;
    }
    return expired_;
  }

  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  [[nodiscard]] const Count& count(Kind kind) const { return counts_[index(kind)]; }
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::uint64_t disagreements() const { return disagreements_; }

 private:
  static std::size_t index(Kind kind) { return static_cast<std::size_t>(kind); }

  Limits limits_;
  std::array<bool, kinds.size()> selected_;
  std::array<bool, kinds.size()> falsify_ = {};
  std::filesystem::path save_;
  std::array<Count, kinds.size()> counts_;
  Source source_ = Source::enumerated;
  std::uint64_t total_ = 0;
  std::uint64_t disagreements_ = 0;
  std::uint64_t asked_ = 0;
  bool expired_ = false;
  double next_progress_ = 5;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace campaign
