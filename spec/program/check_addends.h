/// Decides whether a Program with addends does what it says, by adding formal sums.
///
/// Right means: every step applies, every claim holds, and in the end the devices hold what `to` says
/// (formal_sums.h). Steps move sums as they move elements (check_layouts.h); here is what the steps
/// do that add, or make zeros.
#pragma once

#include "formal_sums.h"

namespace spec {

class AddendsReplay : public SumsReplay {
 public:
  using SumsReplay::SumsReplay;

 private:
  Wrong stuck(Size step, const char* reason, Size d) const override { return {step, reason, d}; }
  std::optional<Wrong> adds_otherwise(const Step& step, Size k) const override {
    if (step.add == Addition::none || step.add == O_) return std::nullopt;
    return Wrong{k, "addends"};
  }
  void look_for_limits() const override {
    if (!counts_fit_) throw count_too_large;
  }
  void look_at_boxes(Size) override {}  // no step is to blame for a wrong end

  /// In an exchange that adds, a place where nothing is put is zero.
  Size nothing(const Step& step) override {
    return step.add == Addition::none ? LayoutReplay::nothing(step) : number({});
  }
  Size put(const Step& step, Size there, Size tag) override {
    if (step.add == Addition::none) return LayoutReplay::put(step, there, tag);
    return sum_of({there, tag});
  }

  std::optional<Wrong> add(const Step& step, Size k, State& made) override {
    Rows rows;
    for (Size r = 0; r < row_count(step.table); ++r) rows.push_back(row(step.table, r));
    for (const Sizes& members : rows) {
      const Tile& first = state_[static_cast<Index>(members.front())];
      for (const Size d : members) {
        const bool is_alike = state_[static_cast<Index>(d)].shape == first.shape;
        if (!is_alike && step.adding != Adding::unreduce) return Wrong{k, "ragged", d};
      }
    }
    if (step.adding == Adding::embed) hold_embedded(step);
    for (const Sizes& members : rows) give_sums(step, members, made);
    return std::nullopt;
  }
  void hold_embedded(const Step& step) {
    Rows shapes;
    for (const Tile& a : state_) {
      shapes.push_back(a.shape);
      const auto n_m = times(a.shape[step.concat], pieces(step));
      shapes.back()[step.concat] = n_m ? *n_m : throw too_many_tags;
    }
    hold(shapes);
  }
  /// What each member of a row holds afterwards.
  void give_sums(const Step& step, const Sizes& members, State& made) {
    const bool sums_up = step.adding == Adding::reducescatter || step.adding == Adding::allreduce;
    Tile total = state_[static_cast<Index>(members.front())];
    for (Index at = 0; sums_up && at < total.tags.size(); ++at) {
      Sizes tags;
      for (const Size d : members) tags.push_back(state_[static_cast<Index>(d)].tags[at]);
      total.tags[at] = sum_of(tags);
    }
    for (Index q = 0; q < members.size(); ++q) {
      const Tile& own = state_[static_cast<Index>(members[q])];
      Tile& out = made[static_cast<Index>(members[q])];
      const Tile none = zeros(own.shape, own.tags.size());
      if (step.adding == Adding::allreduce) out = total;
      if (step.adding == Adding::unreduce) out = q == 0 ? own : none;
      if (step.adding == Adding::embed) {
        std::vector<Tile> parts(members.size(), none);
        parts[q] = own;
        out = concatenated(parts, step.concat);
      }
      if (step.adding == Adding::reducescatter) out = piece_of_sum(step, total, q);
      work(elements_of(total) + elements_of(out));
    }
  }

  static Tile piece_of_sum(const Step& step, const Tile& total, Index q) {
    if (is_empty(total)) return total;
    return cut_along(step, total, static_cast<Size>(q));
  }

  Size price(const Step& step, Size before, Size after) const override {
    if (step.adding == Adding::reducescatter) return before;
    if (step.adding == Adding::allreduce) return 2 * before;
    if (step.adding != Adding::none) return 0;
    if (step.add == Addition::none) return LayoutReplay::price(step, before, after);
    std::map<Size, Size> written;  // to each device
    for (const Sizes& row : *step.transfers) {
      const auto extents = row.begin() + 2 + 2 * static_cast<std::ptrdiff_t>(g_.size());
      written[row[0]] += *product(Sizes(extents, row.end()));
    }
    Size most = 0;
    for (const auto& [d, elements] : written) most = std::max(most, elements);
    return most;
  }
};

}  // namespace spec
