/// Certificates among steps along several dimensions: no sequence of these costs less than C.
///
/// A sequence leads from f_1 to f_2. There are no lines but
///
///   scope several_dims
///   lower_bound C
///
/// The steps are those of Fig. 10, and allgathers and alltoalls along several dimensions at once
/// (search/along_dims.h), between localtypes whose tiles are on equally many devices each, of any size.
/// One allgather costs the tile after it whatever it gathers, and one alltoall its tile. So little can
/// cost less than C (S13). Let L be the new tile, v the smallest one, δ the devices. What is not slices
/// alone costs at least
///
///   L        always
///   L + v    if no one step leads there: an allpermute of new tiles, an allgather, an alltoall
///   L + 2v   if, where v < L, no two steps do: an allpermute or an alltoall of tiles of v, an allgather
///   L + 3v   if more pairs of an old and a new tile are held than there are tiles of v, and no alltoall
///            leads from a localtype below c_1 to one below c_2, wherever the tiles lie; 3v if v = L
///
/// Slices come first, and all ways to slice are tried. What an alltoall and an allgather make of the
/// tiles is compared with f_1 and f_2 by counting (S4). It cannot be the same where there are fewer
/// tiles than pairs.
#pragma once

#include "certify_sums.h"

namespace spec {

class AlongCertifier {
 public:
  AlongCertifier(const Program& program, Size C, Size most = Certifier::most_work)
      : C_(C),
        g_(program.from.global),
        delta_(program.devices),
        r_(g_.size()),
        c_1_(localtype(program.from)),
        c_2_(localtype(program.to)),
        work_left_(most) {
    work(delta_, 2 * r_);
    const Rows u = offsets(program.from), v = offsets(program.to);
    for (Index d = 0; d < u.size(); ++d) {
      ++held_[joined(u[d], v[d])];
      for (Index i = 0; i < r_; ++i) {
        are_slices_ = are_slices_ && u[d][i] <= v[d][i] && v[d][i] + c_2_[i] <= u[d][i] + c_1_[i];
      }
    }
    for (Size n = 1; n <= delta_; ++n) {
      if (delta_ % n == 0) divisors_.push_back(n);
    }
    find_localtypes({}, delta_);
  }

  void run() {  // throws Unproved, TooLarge
    const Size L = size_of(c_2_);
    Size v = size_of(g_);
    for (const Sizes& c : all_) v = std::min(v, size_of(c));
    if (C_ == 0) return;
    require(!are_slices_, "slices", c_2_);
    if (C_ <= L) return;
    no_one_step(L);
    if (C_ - L <= v) return;
    if (v < L) {
      no_two_steps(v);
      if (C_ - L - v <= v) return;
    }
    no_alltoall_and_allpermute(v);
    require(C_ - L <= (v < L ? 3 : 2) * v, "source", c_1_);
  }

 private:
  /// One digit of an alltoall: of size n, off dimension i and onto j.
  struct Moved {
    Index i, j;
    Size n;
  };

  static void require(bool holds, const char* reason, const Sizes& c) {
    if (!holds) throw Unproved{reason, c};
  }
  /// A number takes eight units: what is searched must end within seconds.
  void work(Size rows, Index numbers) {
    const auto units = times(rows, 8 * (static_cast<Size>(numbers) + 1));
    if (!units || *units > work_left_) throw TooLarge{"more than 2^32 units of work"};
    work_left_ -= *units;
  }
  static Sizes joined(Sizes u, const Sizes& v) {
    u.insert(u.end(), v.begin(), v.end());
    return u;
  }
  static Size size_of(const Sizes& c) { return product(c).value(); }
  static bool divides(const Sizes& b, const Sizes& c) {
    return std::equal(b.begin(), b.end(), c.begin(), [](Size m, Size n) { return n % m == 0; });
  }
  Size tiles(const Sizes& c) const { return size_of(g_) / size_of(c); }

  Sizes localtype(const Tiling& f) const {
    require(!f.at, "tiling", g_);
    const auto c = f.layout ? even_localtype(f, delta_) : f.tile;
    require(c.has_value(), "tiling", g_);
    return *c;
  }
  Rows offsets(const Tiling& f) const {
    Rows out;
    if (f.layout) {
      for (const Box& box : boxes(*f.layout, delta_)) {
        out.emplace_back();
        for (const Sizes& side : box) out.back().push_back(side.front());
      }
      return out;
    }
    for (Size d = 0; d < delta_; ++d) out.push_back(base_offset(f, d));
    return out;
  }
  /// All localtypes c: c_i | g_i, ∏ N_i | δ.
  void find_localtypes(const Sizes& c, Size left) {
    if (c.size() == r_) return all_.push_back(c);
    work(static_cast<Size>(divisors_.size()), r_);
    for (const Size N : divisors_) {
      if (left % N == 0 && g_[c.size()] % N == 0) {
        find_localtypes(joined(c, {g_[c.size()] / N}), left / N);
      }
    }
  }

  /// The tiles of localtype c, in C order.
  Rows every_tile(const Sizes& c) {
    work(tiles(c), r_);
    Rows out = {Sizes()};
    for (Index i = 0; i < r_; ++i) {
      Rows longer;
      for (const Sizes& tile : out) {
        for (Size o = 0; o < g_[i] / c[i]; ++o) longer.push_back(joined(tile, {o}));
      }
      out = longer;
    }
    return out;
  }
  /// Whether f_2 comes out when tile o of b becomes tile `after[o]` of t, and all is gathered.
  bool is_exact(const Sizes& b, const Sizes& t, const Rows& after) {
    const Rows before = every_tile(b);
    std::map<Sizes, Size> made;
    for (Index o = 0; o < before.size(); ++o) {
      work(1, 8 * r_);
      Sizes u = before[o], v = after[o];
      for (Index i = 0; i < r_; ++i) {
        u[i] = u[i] * b[i] / c_1_[i] * c_1_[i];
        v[i] = v[i] * t[i] / c_2_[i] * c_2_[i];
      }
      const Sizes pair = joined(u, v);
      if (held_.count(pair) == 0) return false;
      made[pair] += delta_ / tiles(b);
    }
    return made == held_;
  }
  bool tells_pairs_apart(const Sizes& b) const {
    return tiles(b) >= static_cast<Size>(held_.size());
  }

  /// What is left to lose and to gain when b becomes t; nothing where a dimension would do both.
  std::optional<std::pair<Sizes, Sizes>> change(const Sizes& b, const Sizes& t) const {
    Sizes loses(r_, 1), gains(r_, 1);
    if (size_of(b) != size_of(t)) return std::nullopt;
    for (Index i = 0; i < r_; ++i) {
      if (t[i] % b[i] != 0 && b[i] % t[i] != 0) return std::nullopt;
      (t[i] > b[i] ? loses : gains)[i] = std::max(t[i] / b[i], b[i] / t[i]);
    }
    return std::pair(loses, gains);
  }
  /// Whether some alltoall from b to t, and an allgather where t is not c_2, lead to f_2.
  bool alltoall_leads(const Sizes& b, const Sizes& t) {
    const auto left = change(b, t);
    return left && tells_pairs_apart(b) && digits_lead(b, t, left->first, left->second, {});
  }
  /// After these digits, the slowest first. Neighbours of other dimensions stand in one order.
  bool digits_lead(const Sizes& b, const Sizes& t, const Sizes& loses, const Sizes& gains,
                   const std::vector<Moved>& moved) {
    work(static_cast<Size>(r_ * r_), r_);
    bool is_done = true;
    for (Index i = 0; i < r_; ++i) {
      for (Index j = 0; j < r_; ++j) {
        const Size both = std::gcd(loses[i], gains[j]);
        for (Size n = 2; n <= both; ++n) {
          if (both % n != 0 || !is_prime(n)) continue;
          is_done = false;
          const bool is_other = !moved.empty() && moved.back().i != i && moved.back().j != j &&
                                std::pair(i, j) < std::pair(moved.back().i, moved.back().j);
          if (is_other) continue;
          Sizes loses_then = loses, gains_then = gains;
          loses_then[i] /= n, gains_then[j] /= n;
          std::vector<Moved> longer = moved;
          longer.push_back({i, j, n});
          if (digits_lead(b, t, loses_then, gains_then, longer)) return true;
        }
      }
    }
    return is_done && is_exact(b, t, alltoall(b, moved));
  }
  static bool is_prime(Size n) {
    for (Size d = 2; d < n; ++d) {
      if (n % d == 0) return false;
    }
    return true;
  }
  /// Where the tiles of b are then. Off dimension i, t_i mod r_i is the number in its digits.
  Rows alltoall(const Sizes& b, const std::vector<Moved>& moved) {
    Sizes r(r_, 1);
    for (const Moved& q : moved) r[q.i] *= q.n;
    Rows out = every_tile(b);
    work(tiles(b), moved.size());
    for (Sizes& t : out) {
      const Sizes before = t;
      Sizes weight = r;
      for (Index i = 0; i < r_; ++i) t[i] /= r[i];
      for (const Moved& q : moved) {
        weight[q.i] /= q.n;
        t[q.j] = t[q.j] * q.n + before[q.i] / weight[q.i] % q.n;
      }
    }
    return out;
  }

  void no_one_step(Size L) {
    require(!divides(c_2_, c_1_), "allpermute", c_2_);
    for (const Sizes& b : all_) {
      if (!divides(b, c_1_)) continue;
      const bool gathers = divides(b, c_2_) && tells_pairs_apart(b);
      require(!gathers || !is_exact(b, b, every_tile(b)), "allgather", b);
      require(size_of(b) != L || !alltoall_leads(b, c_2_), "alltoall", b);
    }
  }
  void no_two_steps(Size v) {
    for (const Sizes& b : all_) {
      if (size_of(b) != v || !divides(b, c_1_)) continue;
      require(!divides(b, c_2_), "allpermute", b);
      if (!tells_pairs_apart(b)) continue;
      for (const Sizes& t : all_) {
        require(!divides(t, c_2_) || !alltoall_leads(b, t), "alltoall", b);
      }
    }
  }
  void no_alltoall_and_allpermute(Size v) {
    for (const Sizes& b : all_) {
      if (size_of(b) != v || !divides(b, c_1_)) continue;
      require(!tells_pairs_apart(b), "pairs", b);
      work(static_cast<Size>(all_.size()), r_);
      for (const Sizes& t : all_) {
        require(!divides(t, c_2_) || !change(b, t), "open", b);
      }
    }
  }

  const Size C_;
  const Sizes g_;
  const Size delta_;
  const Index r_;
  const Sizes c_1_, c_2_;
  Size work_left_;
  bool are_slices_ = true;
  std::map<Sizes, Size> held_;  // devices by base offsets before and after
  Sizes divisors_;
  Rows all_;  // localtypes
};

}  // namespace spec
