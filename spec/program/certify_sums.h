/// Certificates of Programs with addends: no sequence within the bound (4) costs less than C.
///
///   lower_bound C
///   addends [c_0,..] K π        where each device holds a tile of localtype c of one of K addends, the
///                               cost is at least π; what is not listed costs at least C
///
/// A sequence has the steps of Fig. 10, reducescatters and allreduces. After each of them a tile of
/// each addend is on as many devices, and addends may be named anew. So K falls by the factor of a
/// step that adds, and each step costs what Fig. 11 says, a reducescatter its tile and an allreduce
/// twice that. An allpermute changes neither c nor K. So π is a lower bound if no step lowers it by
/// more than its cost.
///
/// No line is needed where C is at most the new tile: what is not slices alone costs as much (PS5).
/// Then slices alone must not lead to the end. They do if each device holds its new tile already, and
/// who holds one addend of a new tile before holds one after; there are as many before and after.
#pragma once

#include "../layout/addends.h"
#include "certify.h"
#include "verdict.h"

namespace spec {

/// The localtype of a tiling, or nullopt where its tiles are not all alike.
inline std::optional<Sizes> even_localtype(const Tiling& f, Size D) {
  const Layout& L = *f.layout;
  Sizes c;
  for (const LayoutDim& dim : L.dims) {
    const auto N = tile_count(dim.xs);
    const bool is_even = !dim.C.o && dim.C.sections.empty() && dim.C.L.empty() && dim.C.lo == 0 &&
                         dim.C.hi == 0 && N && times(dim.C.c, *N) == dim.n;
    if (!is_even || L.at || L.root || L.positions != D) return std::nullopt;
    c.push_back(dim.C.c);
  }
  return c;
}

class SumsCertifier {
 public:
  /// `pi` has π by (c, K), in one row. Throws Unproved where tiles are not all alike.
  SumsCertifier(const Program& program, Size C, const std::map<Sizes, Size>& pi,
                Size most = most_units)
      : program_(program),
        C_(C),
        pi_(pi),
        g_(program.from.global),
        delta_(program.devices),
        r_(g_.size()),
        work_left_(most) {
    s_1_ = state(program.from);
    s_2_ = state(program.to);
    bound_ = std::max(localsize(s_1_), localsize(s_2_));
  }

  void run() {  // throws Unproved, TooLarge
    if (C_ <= localsize(s_2_) && !are_slices()) return;
    require(pi(s_2_) == 0, "target", s_2_);
    require(pi(s_1_) == C_, "source", s_1_);
    for (const auto& [s, pi_s] : pi_) potential(s, pi_s);
  }

 private:
  static void require(bool holds, const char* reason, const Sizes& s) {
    if (!holds) throw Unproved{reason, s};
  }
  Sizes state(const Tiling& f) const {
    std::optional<Sizes> s = even_localtype(f, delta_);
    require(s.has_value(), "tiling", g_);
    s->push_back(addend_count(*f.layout));
    return *s;
  }
  Size localsize(const Sizes& s) const {
    return product(Sizes(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(r_))).value();
  }
  Size pi(const Sizes& s) const {
    const auto listed = pi_.find(s);
    return listed == pi_.end() ? C_ : listed->second;
  }
  /// c_i | g_i, K_2 | K | K_1, N K | δ, ∏ c_i ≤ bound  (4).
  bool allowed(const Sizes& s) const {
    if (s.size() != r_ + 1) return false;
    for (Index i = 0; i < r_; ++i) {
      if (s[i] < 1 || g_[i] % s[i] != 0) return false;
    }
    const Size K = s[r_];
    if (K < 1 || s_1_[r_] % K != 0 || K % s_2_[r_] != 0) return false;
    const auto N_K = times(product(g_).value() / localsize(s), K);
    return N_K && delta_ % *N_K == 0 && localsize(s) <= bound_;
  }
  /// Whether slices alone lead from f_1 to f_2.
  bool are_slices() const {
    if (s_1_[r_] != s_2_[r_]) return false;
    const Layout &L_1 = *program_.from.layout, &L_2 = *program_.to.layout;
    const std::vector<Box> before = boxes(L_1, delta_), after = boxes(L_2, delta_);
    const auto old = shares(L_1, delta_), now = shares(L_2, delta_);
    std::map<std::pair<Sizes, Size>, Size> kappa_2;  // by new tile and old κ
    for (Index d = 0; d < before.size(); ++d) {
      for (Index i = 0; i < r_; ++i) {
        const Sizes &a = before[d][i], &b = after[d][i];
        if (!std::includes(a.begin(), a.end(), b.begin(), b.end())) return false;
      }
      const Size k_1 = old[d]->kappa, k_2 = now[d]->kappa;
      if (L_1.addition == Addition::stack && k_1 != k_2) return false;
      if (kappa_2.emplace(std::pair(now[d]->t, k_1), k_2).first->second != k_2) return false;
    }
    return true;
  }

  static bool multiply(Size& a, Size n) {
    const auto a_n = times(a, n);
    a = a_n.value_or(a);
    return a_n.has_value();
  }
  /// The state before a factor n went from i to j: from the tiles of dimension i < r, from replicas
  /// (i = r, a dynslice) or from addends (i = r + 1); to the tiles of j < r, or to replicas (j = r).
  std::optional<Sizes> before(Index i, Index j, Size n, Sizes s) const {
    if (i == j || (i < r_ && s[i] % n != 0)) return std::nullopt;
    if (i < r_) s[i] /= n;                                        // c_i was c_i / n
    if (j < r_ && !multiply(s[j], n)) return std::nullopt;        // c_j was c_j n
    if (i == r_ + 1 && !multiply(s[r_], n)) return std::nullopt;  // K was K n
    return allowed(s) ? std::optional(s) : std::nullopt;
  }
  /// What is 2^63 or more is more than C.
  Size price(Index i, Index j, const Sizes& before, const Sizes& after) const {
    if (i == r_ + 1 && j == r_) return times(2, localsize(before)).value_or(C_);  // allreduce
    const Op p = i == r_ ? Op::dynslice : j == r_ ? Op::allgather : Op::alltoall;
    return spec::cost(p, localsize(before), localsize(after));  // reducescatter: as an alltoall
  }
  /// Units: a number that could divide δ, and a state to be looked at, for each of its numbers.
  void work(Size units) {
    work_left_ -= units;
    if (work_left_ < 0) throw too_much_work;
  }
  /// No step that leads to s lowers the potential by more than its cost.
  void potential(const Sizes& s, Size pi_s) {
    require(allowed(s) && pi_s <= C_, "localtype", s);
    work(delta_);
    for (Size n = 2; n <= delta_; ++n) {
      if (delta_ % n != 0) continue;
      work(static_cast<Size>((r_ + 2) * (r_ + 1) * (r_ + 1)));
      for (Index i = 0; i <= r_ + 1; ++i) {
        for (Index j = 0; j <= r_; ++j) {
          const auto u = before(i, j, n, s);
          require(!u || pi(*u) - pi_s <= price(i, j, *u, s), "potential", s);
        }
      }
    }
  }

  const Program& program_;
  const Size C_;
  const std::map<Sizes, Size>& pi_;
  const Sizes g_;
  const Size delta_;
  const Index r_;
  Sizes s_1_, s_2_;
  Size bound_ = 0, work_left_;
};

}  // namespace spec
