/// Programs with addends: formal sums in the places of elements, and whether they are the right ones.
///
/// Each local element is a formal sum: how often element g of the array v_k was added, for every k
/// and g. Devices hold what a tiling says when the sums are of the elements of their boxes, in order,
/// replicas hold equal sums, and all addends together hold every v_k once (of a maximum or minimum:
/// at least once). So nothing depends on what the numbers are.
///
/// Different sums are numbered, and the number is the tag that LayoutReplay moves. Above 2^23 terms
/// in all of them nothing is decided, nor when a count is not below 2^63.
#pragma once

#include "../layout/addends.h"
#include "check_layouts.h"

namespace spec {

constexpr Size most_terms = Size{1} << 23;
constexpr TooLarge too_many_terms = {"more than 2^23 terms in different formal sums"};
constexpr TooLarge count_too_large = {"how often an addend is added is not below 2^63"};

/// O: how a Program adds, or none where it has no addends. `from` says it, else `to`, else the first
/// claim that does, else the first step that adds.
inline Addition addition_of(const Program& program) {
  std::vector<Addition> all;
  const auto tiling = [&](const Tiling& f) {
    if (f.layout) all.push_back(f.layout->addition);
  };
  tiling(program.from);
  tiling(program.to);
  for (const Step& step : program.steps) {
    if (step.map) tiling(*step.map);
  }
  for (const Step& step : program.steps) all.push_back(step.add);
  for (const Addition O : all) {
    if (O != Addition::none) return O;
  }
  return Addition::none;
}

class SumsReplay : public LayoutReplay {
 public:
  explicit SumsReplay(const Program& program, Size limit = most_units)
      : LayoutReplay(program, limit),
        O_(addition_of(program)),
        K_(addend_count(*program.from.layout)) {}

 protected:
  // Formal sums.

  Size number(const FormalSum& sum) {
    const Size terms = static_cast<Size>(sum.size()) + 1;
    work(terms);
    const auto [at, is_new] = numbers_.emplace(sum, static_cast<Size>(sums_.size()));
    if (is_new) {
      terms_left_ -= terms;
      if (terms_left_ < 0) throw too_many_terms;
      sums_.push_back(&at->first);
    }
    return at->second;
  }
  const FormalSum& sum(Size tag) {
    const FormalSum& out = *sums_[static_cast<Index>(tag)];
    work(static_cast<Size>(out.size()) + 1);
    return out;
  }
  Size sum_of(const Sizes& tags) {
    FormalSum out;
    for (const Size tag : tags) counts_fit_ = spec::add(O_, out, sum(tag)) && counts_fit_;
    return number(out);
  }
  Tile zeros(const Sizes& shape, Index elements) { return {shape, Sizes(elements, number({}))}; }

  State start() override {
    State out = state_of(program_.from);
    const auto all = shares(*program_.from.layout, D_);
    for (Index d = 0; d < out.size(); ++d) {
      for (Size& tag : out[d].tags) tag = number({{{all[d]->kappa, tag}, 1}});
    }
    return out;
  }

  // Whether devices hold what they should. `expected` has the tags of elements, not those of sums.

  Sizes local(Index d, Index at) const {
    Sizes l = state_[d].shape;
    for (Index i = l.size(); i-- > 0;) {
      const Index c = static_cast<Index>(l[i]);
      l[i] = static_cast<Size>(at % c);
      at /= c;
    }
    return l;
  }
  Wrong at_element(const char* reason, Size step, Index d, Index at, Size element) const {
    return {step, reason, static_cast<Size>(d), local(d, at), index_of(element)};
  }

  std::optional<Wrong> differs(const State& expected, const Tiling& tiling, const char* reason,
                               Size step) override {
    std::optional<Wrong> wrong = other_shape(expected, step);
    if (!wrong) wrong = other_element(expected, step);
    const auto all = shares(*tiling.layout, D_);
    if (!wrong) wrong = other_replica(expected, all, step);
    if (!wrong) wrong = incomplete(expected, all, addend_count(*tiling.layout), step);
    if (wrong && reason != std::string("end")) wrong->reason = reason;
    return wrong;
  }
  /// (a) Tiles have the shapes that they should.
  std::optional<Wrong> other_shape(const State& expected, Size step) const {
    for (Index d = 0; d < state_.size(); ++d) {
      if (state_[d].shape != expected[d].shape) return Wrong{step, "end", static_cast<Size>(d)};
    }
    return std::nullopt;
  }
  /// (b) What is added stands in its place.
  std::optional<Wrong> other_element(const State& expected, Size step) {
    for (Index d = 0; d < state_.size(); ++d) {
      for (Index at = 0; at < state_[d].tags.size(); ++at) {
        const Size g = expected[d].tags[at];
        for (const auto& [term, count] : sum(state_[d].tags[at])) {
          if (term.second == g) continue;
          Wrong out = at_element("end", step, d, at, g);
          out.found = index_of(term.second);
          return out;
        }
      }
    }
    return std::nullopt;
  }
  /// (c) Devices that share a tile and an addend hold the same.
  std::optional<Wrong> other_replica(const State& expected,
                                     const std::vector<std::optional<Share>>& all, Size step) {
    std::map<std::pair<Sizes, Size>, Index> first;
    for (Index d = 0; d < state_.size(); ++d) {
      if (!all[d]) continue;
      const Index e = first.emplace(std::pair(all[d]->t, all[d]->kappa), d).first->second;
      for (Index at = 0; at < state_[d].tags.size(); ++at) {
        const FormalSum &own = sum(state_[d].tags[at]), &other = sum(state_[e].tags[at]);
        if (own == other) continue;
        const Size g = expected[d].tags[at];
        Wrong out = at_element("replicas", step, d, at, g);
        Size k = 0;
        while (count_of(own, k, g) == count_of(other, k, g)) ++k;
        out.addend = k;
        out.times = count_of(own, k, g);
        out.replica = static_cast<Size>(e);
        out.replica_times = count_of(other, k, g);
        return out;
      }
    }
    return std::nullopt;
  }
  /// (d) All K of one tile together have every addend once, or a maximum or minimum has it at all. Of
  /// a stack each has its own alone.
  std::optional<Wrong> incomplete(const State& expected,
                                  const std::vector<std::optional<Share>>& all, Size K, Size step) {
    std::map<Sizes, std::vector<std::optional<Index>>> firsts;  // by t, then by κ
    for (Index d = 0; d < all.size(); ++d) {
      if (!all[d]) continue;
      auto& of_tile = firsts[all[d]->t];
      of_tile.resize(static_cast<Index>(K));
      auto& first = of_tile[static_cast<Index>(all[d]->kappa)];
      if (!first) first = d;
    }
    const bool is_stack = O_ == Addition::stack;
    for (Index d = 0; d < all.size(); ++d) {
      if (!all[d]) continue;
      auto holders = firsts[all[d]->t];
      const Size kappa = all[d]->kappa;
      if (holders[static_cast<Index>(kappa)] != d || (!is_stack && kappa != 0)) continue;
      if (is_stack) holders = {d};
      for (Index at = 0; at < state_[d].tags.size(); ++at) {
        for (Size k = 0; k < K_; ++k) {
          const Size total = total_of(holders, at, k, expected[d].tags[at]);
          const bool is_set = O_ == Addition::max || O_ == Addition::min;
          const bool is_right = is_stack ? total == (k == kappa ? 1 : 0)
                                : is_set ? total >= 1
                                         : total == 1;
          if (is_right) continue;
          Wrong out = at_element("addends", step, d, at, expected[d].tags[at]);
          out.addend = k;
          out.times = total;
          return out;
        }
      }
    }
    return std::nullopt;
  }
  Size total_of(const std::vector<std::optional<Index>>& holders, Index at, Size k, Size g) {
    Size total = 0;
    work(static_cast<Size>(holders.size()));
    for (const auto& d : holders) {
      const Size count = count_of(*sums_[static_cast<Index>(state_[*d].tags[at])], k, g);
      if (__builtin_add_overflow(total, count, &total)) throw count_too_large;
    }
    return total;
  }

  /// A claim by base offsets says nothing of addends.
  std::optional<Wrong> wrong_places(const Step& step, Size number) override {
    for (Index d = 0; step.shapes && d < state_.size(); ++d) {
      if ((*step.shapes)[d] == state_[d].shape) continue;
      return Wrong{number, "map_claim", static_cast<Size>(d)};
    }
    for (Index d = 0; d < state_.size(); ++d) {
      for (Index at = 0; at < state_[d].tags.size(); ++at) {
        const Sizes l = local(d, at);
        for (const auto& [term, count] : sum(state_[d].tags[at])) {
          const Sizes found = index_of(term.second);
          Sizes base = found;
          for (Index i = 0; i < l.size(); ++i) base[i] -= l[i];
          if (base == (*step.at)[d]) continue;
          Wrong out = {number, "map_claim", static_cast<Size>(d), l, (*step.at)[d], found};
          for (Index i = 0; i < l.size() && out.element; ++i) {
            Size& here = (*out.element)[i];
            if (__builtin_add_overflow(here, l[i], &here)) out.element.reset();
          }
          return out;
        }
      }
    }
    return std::nullopt;
  }

  const Addition O_;
  const Size K_;  // of `from`
  std::map<FormalSum, Size> numbers_;
  std::vector<const FormalSum*> sums_;  // by number
  Size terms_left_ = most_terms;
  bool counts_fit_ = true;
};

}  // namespace spec
