/// Certificates: no sequence within the bound (4) from f_1 to f_2 costs less than C.
///
/// Certificate lines stand with a Program, which says f_1, f_2 and δ:
///
///   lower_bound C
///   potential [c_0,..] π π'     from localtype c the cost is at least π, and at least π' with an
///                               allpermute on the way; what is not listed costs at least C
///   refuted [b_0,..] [p,..]     slicing τ_1 to localtype b and then doing p̄ does not lead to f_2
///                               for less than C without an allpermute, whatever follows; p is
///                               [i,j,n], an alltoall(i,j) of the factor n, or, if j = r, an
///                               allgather(i)
///
/// What is checked is local: a potential against the steps that lead there, a refutation against
/// the steps that lead on. Nothing is searched. Nor is anything decided above 2^32 units of work,
/// or when the devices and the tiles of all `refuted` lines take more than 2^29 numbers.
///
/// Why it is enough. Every step has a weak step of the same cost (6.4). So π and π' are lower
/// bounds if no step lowers them by more than its cost, and an allpermute not π' to less than π.
/// Without an allpermute it is enough to look at dynslices before all else: in the place of every
/// other pattern there is a normal form that is cheaper by an allpermute (6.5 as in S3). Alltoall
/// and allgather are then functions of tiles (S1), and whether the slices can be chosen so that the
/// end is f_2 is a matter of counting (S4).
#pragma once

#include <map>

#include "../paper/fig11_cost.h"
#include "blocks.h"

namespace spec {

/// What the lines say. A list p̄ is kept as rows.
struct Certificate {
  Size C = 0;
  std::map<Sizes, Sizes> pi;  // π and π' by localtype
  std::vector<std::pair<Sizes, Rows>> refuted;
};

/// Why the lines prove nothing, and the localtype at which that shows.
struct Unproved {
  std::string reason;
  Sizes c;
};

class Certifier {
 public:
  static constexpr Size most_work = Size{1} << 32, most_numbers = Size{1} << 29;

  Certifier(const Program& program, const Certificate& lines, Size most = most_work,
            Size most_kept = most_numbers)
      : lines_(lines),
        g_(program.from.global),
        delta_(program.devices),
        r_(g_.size()),
        work_left_(most),
        room_(most_kept) {
    c_1_ = program.from.tile;
    c_2_ = program.to.tile;
    bound_ = std::max(localsize(c_1_), localsize(c_2_));
    require(!program.from.at && !program.to.at, "tiling", c_1_);  // f_1, f_2 are T⟦τ⟧ ∘ φ⁻¹
    hold(delta_, 2 * r_);
    for (Size d = 0; d < delta_; ++d) {
      f_1_f_2_.push_back(joined(base_offset(program.from, d), base_offset(program.to, d)));
    }
    std::sort(f_1_f_2_.begin(), f_1_f_2_.end());
  }

  void run() {  // throws Unproved, TooLarge
    require(pi(0, c_2_) == 0, "target", c_2_);
    require(pi(1, c_1_) == lines_.C, "source", c_1_);
    for (const auto& [c, pi_c] : lines_.pi) potential(c, pi_c);
    for (const auto& [b, p] : lines_.refuted) {
      const State f = after(b, p);
      hold(static_cast<Size>(f.s.size()), r_);
      refuted_[{b, f.s}] = {f.c, f.cost};
    }
    for (const auto& [b, pi_b] : lines_.pi) {
      if (divides(b, c_1_)) refuted(start(b));
    }
    for (const auto& [bs, f] : refuted_) refutation({bs.first, f.first, f.second, bs.second});
  }

 private:
  /// Sliced to localtype b, and after steps of this cost: the localtype c, the tiles s.
  struct State {
    Sizes b, c;
    Size cost = 0;
    Rows s;
  };

  /// Units of work: one for each n that could divide δ, and each number written or compared.
  void work(Size rows, Index numbers) {
    const auto units = times(rows, static_cast<Size>(numbers) + 1);
    if (!units || *units > work_left_) throw TooLarge{"more than 2^32 units of work"};
    work_left_ -= *units;
  }
  /// A row that is kept takes its numbers, and room for 4 more.
  void hold(Size rows, Index numbers) {
    work(rows, numbers);
    const auto taken = times(rows, static_cast<Size>(numbers) + 4);
    if (!taken || *taken > room_) throw TooLarge{"more than 2^29 numbers in tiles to be kept"};
    room_ -= *taken;
  }
  static void require(bool holds, const char* reason, const Sizes& c) {
    if (!holds) throw Unproved{reason, c};
  }
  static Size localsize(const Sizes& c) { return product(c).value(); }
  static bool divides(const Sizes& b, const Sizes& c) {
    return std::equal(b.begin(), b.end(), c.begin(), [](Size m, Size n) { return n % m == 0; });
  }
  static Sizes joined(Sizes u, const Sizes& v) {
    u.insert(u.end(), v.begin(), v.end());
    return u;
  }

  /// π (k = 0) or π' of c
  Size pi(Index k, const Sizes& c) const {
    const auto listed = lines_.pi.find(c);
    return listed == lines_.pi.end() ? lines_.C : listed->second[k];
  }
  /// c is a localtype within the bound: c_i | g_i, ∏ N_i | δ, ∏ c_i ≤ bound  (4).
  bool allowed(const Sizes& c) const {
    if (c.size() != r_ || !divides(c, g_)) return false;
    return delta_ % (localsize(g_) / localsize(c)) == 0 && localsize(c) <= bound_;
  }
  /// c ▶ (Def. 5.3, Sec. 7.1): a factor n goes from dimension i to j. No j (j = r) is an
  /// allgather(i), no i a dynslice(j). Backwards it is the step with i and j exchanged.
  std::optional<Sizes> step(Index i, Index j, Size n, Sizes c) const {
    if (i == j || (i < r_ && g_[i] / c[i] % n != 0) || (j < r_ && c[j] % n != 0)) return {};
    if (i < r_) c[i] *= n;
    if (j < r_) c[j] /= n;
    return allowed(c) ? std::optional(c) : std::nullopt;
  }
  Size price(Index i, Index j, const Sizes& c, const Sizes& next) const {
    const Op p = i == r_ ? Op::dynslice : j == r_ ? Op::allgather : Op::alltoall;
    return spec::cost(p, localsize(c), localsize(next));
  }
  template <class Visit>
  void for_each_step(const Sizes& c, const Visit& visit) {
    work(delta_, 0);
    for (Size n = 2; n <= delta_; ++n) {
      if (delta_ % n != 0) continue;
      work(static_cast<Size>((r_ + 1) * (r_ + 1)), r_);
      for (Index i = 0; i <= r_; ++i) {
        for (Index j = 0; j <= r_; ++j) {
          if (const auto next = step(i, j, n, c)) visit(i, j, n, *next);
        }
      }
    }
  }

  /// No step c' ▶ c, and no allpermute at c, lowers the potential by more than its cost.
  void potential(const Sizes& c, const Sizes& pi_c) {
    require(allowed(c) && pi_c[0] <= lines_.C && pi_c[1] <= lines_.C, "localtype", c);
    require(pi_c[1] - pi_c[0] <= localsize(c), "allpermute", c);
    for_each_step(c, [&](Index j, Index i, Size, const Sizes& before) {
      const Size cost = price(i, j, before, c);
      require(pi(0, before) - pi_c[0] <= cost && pi(1, before) - pi_c[1] <= cost, "potential", c);
    });
  }

  State start(const Sizes& b) {
    Rows o = {Sizes()};
    for (Index i = 0; i < r_; ++i) {
      Rows longer;
      for (const Sizes& tile : o) {
        for (Size o_i = 0; o_i < g_[i] / b[i]; ++o_i) longer.push_back(joined(tile, {o_i}));
      }
      o = longer;
      work(static_cast<Size>(o.size()), i);
    }
    return {b, b, 0, o};
  }
  State after(const Sizes& b, const Rows& p) {
    require(allowed(b) && divides(b, c_1_), "bottom", b);
    State f = start(b);
    for (const Sizes& ijn : p) {
      const Index i = static_cast<Index>(ijn[0]), j = static_cast<Index>(ijn[1]);
      const auto next = i < r_ && j <= r_ && ijn[2] > 1 ? step(i, j, ijn[2], f.c) : std::nullopt;
      require(next && price(i, j, f.c, *next) < lines_.C - f.cost, "step", f.c);
      f = then(f, i, j, ijn[2], *next);
    }
    return f;
  }
  State then(State f, Index i, Index j, Size n, const Sizes& next) {
    work(static_cast<Size>(f.s.size()), r_);
    f.cost += price(i, j, f.c, next);
    f.c = next;
    for (Sizes& t : f.s) {
      if (j < r_) t[j] = t[j] * n + t[i] % n;
      t[i] /= n;
    }
    return f;
  }

  /// There is a line for f, unless what must follow makes it C or more.
  void refuted(const State& f) const {
    if (pi(0, f.c) >= lines_.C - f.cost) return;
    const auto known = refuted_.find({f.b, f.s});
    require(known != refuted_.end() && known->second.second <= f.cost, "open", f.c);
  }
  /// f is not f_2, however the slices are chosen, and every way on is refuted.
  void refutation(const State& f) {
    const bool ends = f.c == c_2_;
    Rows o, made;  // u in f_1 and v in f_2 of the devices that hold tile o of b
    if (ends) work(delta_, 2 * r_), o = start(f.b).s;
    for (Index k = 0; k < o.size(); ++k) {
      Sizes u = o[k], v = f.s[k];
      for (Index i = 0; i < r_; ++i) u[i] = u[i] * f.b[i] / c_1_[i] * c_1_[i];
      for (Index i = 0; i < r_; ++i) v[i] *= c_2_[i];
      made.insert(made.end(), f_1_f_2_.size() / o.size(), joined(u, v));
    }
    std::sort(made.begin(), made.end());
    require(made != f_1_f_2_, "exact", f.b);
    for_each_step(f.c, [&](Index i, Index j, Size n, const Sizes& next) {
      if (i == r_ || price(i, j, f.c, next) >= lines_.C - f.cost) return;
      refuted(then(f, i, j, n, next));
    });
  }

  const Certificate& lines_;
  const Sizes g_;
  const Size delta_;
  const Index r_;
  Sizes c_1_, c_2_;
  Size bound_ = 0;
  Rows f_1_f_2_;  // the base offsets of each device before and after
  std::map<std::pair<Sizes, Rows>, std::pair<Sizes, Size>> refuted_;  // b and s: c and cost
  Size work_left_, room_;
};

}  // namespace spec
