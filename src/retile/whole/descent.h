// The search for a small state that still goes wrong.
#pragma once

#include <set>
#include <utility>

#include "retile/whole/moves.h"

namespace retile::whole {

/// Goes from one state to smaller ones for as long as they are kept. Asks of none twice.
template <typename State>
class Descent {
 public:
  using Weight = std::function<std::vector<Size>(const State&)>;
  using Text = std::function<std::string(const State&)>;
  using Stands = std::function<bool(const State&)>;
  using Keeps = std::function<Result<bool>(const State&)>;

  /// \param weight  what each step makes smaller
  /// \param stands  whether a state is worth a question
  /// \param keeps   an error ends the search
  Descent(State& state, Weight weight, Text text, Stands stands, Keeps keeps, Size most_runs)
      : state_(state),
        weight_(std::move(weight)),
        text_(std::move(text)),
        stands_(std::move(stands)),
        keeps_(std::move(keeps)),
        most_runs_(most_runs) {}

  [[nodiscard]] Result<SearchEnd> end(const std::vector<Kind<State>>& kinds) {
    asked_.insert(text_(state_));
    bool goes_on = true;
    while (goes_on) {
      goes_on = false;
      for (const Kind<State>& kind : kinds) {
        const auto went = exhaust(kind);
        if (!went) return refuse(went.error());
        goes_on = goes_on || *went;
      }
    }
    return SearchEnd{.runs = runs_, .complete = !is_over_};
  }

 private:
  /// Makes all moves of a kind that are kept. Says whether there was one.
  [[nodiscard]] Result<bool> exhaust(const Kind<State>& kind) {
    std::set<std::string> failed;
    bool out = false;
    for (bool moved = true; moved;) {
      moved = false;
      for (const Move<State>& move : kind(state_)) {
        if (failed.contains(move.key)) continue;
        const auto kept = tried(move);
        if (!kept) return refuse(kept.error());
        if (*kept) {
          moved = true;
          break;
        }
        failed.insert(move.key);
      }
      out = out || moved;
    }
    return out;
  }
  [[nodiscard]] Result<bool> tried(const Move<State>& move) {
    State next = state_;
    if (!move.make(next) || !(weight_(next) < weight_(state_))) return false;
    if (!asked_.insert(text_(next)).second || !stands_(next)) return false;
    if (runs_ >= most_runs_) {
      is_over_ = true;
      return false;
    }
    ++runs_;
    const Result<bool> kept = keeps_(next);
    if (kept && *kept) state_ = std::move(next);
    return kept;
  }

  State& state_;
  Weight weight_;
  Text text_;
  Stands stands_;
  Keeps keeps_;
  Size most_runs_;
  Size runs_ = 0;
  bool is_over_ = false;
  std::set<std::string> asked_;
};

}  // namespace retile::whole
