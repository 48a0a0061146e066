/// The literal rules of Fig. 10 and of Sec. 7.1 against the physical form, step by step.
#include "spec/paper/sec7_low_level.h"

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <set>
#include <tuple>

#include "spec/search/search.h"
#include "tests/spec/values.h"

namespace spec::sec7_low_level_test {
namespace {

/// Every device map of H.
std::vector<DeviceMap> device_maps(const Mesh& H) {
  std::vector<DeviceMap> out;
  DeviceMap phi = identity(H);
  do {
    out.push_back(phi);
  } while (std::next_permutation(phi.begin(), phi.end()));
  return out;
}

/// The next list of numbers from `first` to below `last`; false after the last.
bool next_digits(Sizes& e, Size first, Size last) {
  for (Size& digit : e) {
    if (++digit < last) return true;
    digit = first;
  }
  return false;
}

bool contains(const Names& xs, const Name& x) {
  return std::find(xs.begin(), xs.end(), x) != xs.end();
}
bool has_block(const Names& xs, const Names& block) {
  return !block.empty() &&
         std::search(xs.begin(), xs.end(), block.begin(), block.end()) != xs.end();
}
Names minus(const Names& xs, const Names& removed) {
  Names out;
  for (const Name& x : xs) {
    if (!contains(removed, x)) out.push_back(x);
  }
  return out;
}

/// What Sec. 6 says of the types: x̄' leaves dimension i, and it comes to stand in front of j.
Type without(Type tau, Index i, const Names& x, Size n) {
  tau[i] = {tau[i].c * n, minus(tau[i].xs, x), tau[i].s};
  return tau;
}
Type with(Type tau, Index j, const Names& x, Size n) {
  tau[j] = {tau[j].c / n, append(x, tau[j].xs), tau[j].s};
  return tau;
}
Type moved(const Type& tau, Index i, Index j, const Names& x, Size n) {
  return with(i == j ? tau : without(tau, i, x, n), j, x, n);  // E4: i = j keeps the last line only
}

/// The rules that are looked at: literal over lists of axes, and physical.
struct Rules {
  using OneDimension = bool(const Mesh&, Index, const Names&, const TypedAssignment&,
                            const TypedAssignment&);
  using TwoDimensions = bool(const Mesh&, Index, Index, const Names&, const TypedAssignment&,
                             const TypedAssignment&);
  std::function<OneDimension> allgather, dynslice;
  std::function<TwoDimensions> alltoall;
  std::function<bool(const Mesh&, const TypedAssignment&, const TypedAssignment&)> allpermute =
      low_level_allpermute;
  std::function<std::optional<TileMap>(TileMap, Index, Size)> physical_allgather = spec::allgather;
  std::function<std::optional<TileMap>(TileMap, Index, Index, Size)> physical_alltoall =
      spec::alltoall;
  std::function<std::optional<TileMap>(TileMap, Index, Size, const Sizes&)> physical_dynslice =
      spec::dynslice;
  std::function<std::optional<TileMap>(const TileMap&, const Sizes&)> physical_allpermute =
      spec::allpermute;
};

/// Fig. 10, which knows no lists but those of one axis.
Rules rules_of_fig_10() {
  Rules out;
  out.allgather = [](const Mesh& H, Index i, const Names& x, const TypedAssignment& from,
                     const TypedAssignment& to) {
    return x.size() == 1 && low_level_allgather(H, i, x.front(), from, to);
  };
  out.alltoall = [](const Mesh& H, Index i, Index j, const Names& x, const TypedAssignment& from,
                    const TypedAssignment& to) {
    return x.size() == 1 && low_level_alltoall(H, i, j, x.front(), from, to);
  };
  out.dynslice = [](const Mesh& H, Index i, const Names& x, const TypedAssignment& from,
                    const TypedAssignment& to) {
    return x.size() == 1 && low_level_dynslice(H, i, x.front(), from, to);
  };
  return out;
}

Rules rules_of_sec_7_1() {
  Rules out;
  out.allgather = [](const Mesh& H, Index i, const Names& x, const TypedAssignment& from,
                     const TypedAssignment& to) { return low_level_allgather(H, i, x, from, to); };
  out.alltoall = [](const Mesh& H, Index i, Index j, const Names& x, const TypedAssignment& from,
                    const TypedAssignment& to) { return low_level_alltoall(H, i, j, x, from, to); };
  out.dynslice = [](const Mesh& H, Index i, const Names& x, const TypedAssignment& from,
                    const TypedAssignment& to) { return low_level_dynslice(H, i, x, from, to); };
  return out;
}

struct RuleCounts {
  std::size_t gathers = 0, moves = 0, slices = 0, permutes = 0, several = 0, composite = 0;
  std::size_t rejections = 0, equal_dimensions = 0;
};

/// A type of which all steps are looked at. From ⟨id, T⟦τ⟧⟩, which by symmetry is enough.
struct Start {
  Mesh H;
  Type tau;
  std::vector<Names> lists;     // the x̄' to be tried
  std::vector<Type> ends;       // the types to be tried besides the right one
  std::vector<DeviceMap> maps;  // all
  std::vector<DeviceMap> few;   // some of them, for what must not be
  TypedAssignment from = {identity(H), tau};
  TileMap f = physical(H, from).value();
};

/// Each of these says what is wrong with a rule at a start; empty when nothing is. A literal rule
/// applies for some φ' exactly when its premises hold, and leads to the tile map of the physical
/// form (S1), and to one type only.
std::string flaw_of_allgather(const Start& s, const Rules& rules, RuleCounts& counts) {
  for (const Names& x : s.lists) {
    const Size n = lookup(s.H, x).value_or(1);
    for (Index i = 0; i < rank(s.tau); ++i) {
      const bool may = has_block(s.tau[i].xs, x);
      const auto f_1 = rules.physical_allgather(s.f, i, n);
      const Type end = without(s.tau, i, x, n);
      std::vector<DeviceMap> solutions = {s.from.phi};
      for (const DeviceMap& phi : may ? s.maps : s.few) {
        if (!rules.allgather(s.H, i, x, s.from, {phi, end})) continue;
        if (!may) return "an allgather too many";
        if (!wf_type(s.H, end)) return "allgather to an ill-formed type";
        if (physical(s.H, {phi, end}) != f_1) return "allgather to other tiles";
        solutions.push_back(phi);
      }
      if (may && solutions.size() == 1) return "no allgather";
      for (const Type& other : s.ends) {
        if (may && other == end) continue;
        for (const DeviceMap& phi : solutions) {
          if (rules.allgather(s.H, i, x, s.from, {phi, other})) return "allgather to another type";
        }
      }
      ++(may ? counts.gathers : counts.rejections);
      counts.several += solutions.size() > 2 ? 1U : 0U;
      counts.composite += may && x.size() > 1 ? 1U : 0U;
    }
  }
  return "";
}

std::string flaw_of_alltoall(const Start& s, const Rules& rules, RuleCounts& counts) {
  for (const Names& x : s.lists) {
    const Size n = lookup(s.H, x).value_or(1);
    for (Index i = 0; i < rank(s.tau); ++i) {
      for (Index j = 0; j < rank(s.tau); ++j) {
        const bool may = has_block(s.tau[i].xs, x) && i != j && s.tau[j].c % n == 0;
        const auto f_1 = rules.physical_alltoall(s.f, i, j, n);
        const Type end = moved(s.tau, i, j, x, n);
        std::vector<DeviceMap> solutions = {s.from.phi};
        for (const DeviceMap& phi : may ? s.maps : s.few) {
          const bool does = rules.alltoall(s.H, i, j, x, s.from, {phi, end});
          if (does && !may) return "an alltoall too many";
          if (!may) continue;
          if (!wf_type(s.H, end)) return "alltoall to an ill-formed type";
          if (does != (physical(s.H, {phi, end}) == f_1)) return "alltoall to other tiles";
          if (does) solutions.push_back(phi);
        }
        if (may && solutions.size() == 1) return "no alltoall";
        for (const Type& other : s.ends) {
          if (may && other == end) continue;
          for (const DeviceMap& phi : solutions) {
            if (rules.alltoall(s.H, i, j, x, s.from, {phi, other}))
              return "alltoall to another type";
          }
        }
        ++(may ? counts.moves : counts.rejections);
        counts.composite += may && x.size() > 1 ? 1U : 0U;
        counts.equal_dimensions += i == j && has_block(s.tau[i].xs, x) ? 1U : 0U;
      }
    }
  }
  return "";
}

std::string flaw_of_dynslice(const Start& s, const Rules& rules, RuleCounts& counts) {
  for (const Names& x : s.lists) {
    const Size n = lookup(s.H, x).value_or(1);
    for (Index i = 0; i < rank(s.tau); ++i) {
      const bool may =
          lookup(s.H, x) && pairwise_distinct(append(x, axes(s.tau))) && s.tau[i].c % n == 0;
      const Type end = with(s.tau, i, x, n);
      for (const DeviceMap& phi : s.few) {
        const bool does = rules.dynslice(s.H, i, x, s.from, {phi, end});
        if (does != (may && phi == s.from.phi)) return does ? "a dynslice too many" : "no dynslice";
      }
      for (const Type& other : s.ends) {
        if (may && other == end) continue;
        if (rules.dynslice(s.H, i, x, s.from, {s.from.phi, other}))
          return "dynslice to another type";
      }
      ++(may ? counts.slices : counts.rejections);
      if (!may) continue;
      counts.composite += x.size() > 1 ? 1U : 0U;
      if (!wf_type(s.H, end)) return "dynslice to an ill-formed type";
      const TileMap f_1 = physical(s.H, {s.from.phi, end}).value();
      Sizes e;  // the digit of each device
      for (const Sizes& t : f_1.t) e.push_back(t[i] % n);
      if (rules.physical_dynslice(s.f, i, n, e) != f_1) return "dynslice to other tiles";
    }
  }
  return "";
}

std::string flaw_of_allpermute(const Start& s, const Rules& rules, RuleCounts& counts) {
  std::set<std::vector<Sizes>> permuted;
  for (const DeviceMap& pi : s.maps) {
    const auto f_1 = rules.physical_allpermute(s.f, pi);
    if (!f_1) return "no physical allpermute";
    permuted.insert(f_1->t);
  }
  for (const Type& other : s.ends) {
    for (const DeviceMap& phi : s.few) {
      const TileMap f_1 = physical(s.H, {phi, other}).value();
      const bool may = f_1.g == s.f.g && f_1.c == s.f.c && permuted.count(f_1.t) > 0;
      if (may != (globaltype(other) == s.f.g && localtype(other) == s.f.c)) return "Lemma 5.1";
      const bool does = rules.allpermute(s.H, s.from, {phi, other});
      if (does != may) return does ? "an allpermute too many" : "no allpermute";
      ++(may ? counts.permutes : counts.rejections);
    }
  }
  return "";
}

/// Whether n is the product of some of the axes.
bool is_product(const Mesh& H, const Names& xs, Size n) {
  std::set<Size> products = {1};
  for (const Name& x : xs) {
    std::set<Size> more = products;
    for (const Size m : products) more.insert(m * *lookup(H, x));
    products = more;
  }
  return products.count(n) > 0;
}

/// The digit takes each value equally often on each tile.
bool is_even(const TileMap& f, Size n, const Sizes& e) {
  std::map<Sizes, std::map<Size, Size>> taken;
  for (Index d = 0; d < e.size(); ++d) {
    if (e[d] < 0 || e[d] >= n) return false;
    ++taken[f.t[d]][e[d]];
  }
  for (const auto& [t, count_of] : taken) {
    if (static_cast<Size>(count_of.size()) != n) return false;
    for (const auto& [value, count] : count_of) {
      if (count != count_of.begin()->second) return false;
    }
  }
  return true;
}

/// Premises of the physical form with any factor n, any digits and any π, four devices at most.
std::string flaw_of_the_physical_form(const Start& s, const Rules& rules, RuleCounts& counts) {
  const Size delta = static_cast<Size>(s.f.t.size());
  for (Size n = 1; n <= delta + 1; ++n) {
    for (Index i = 0; i < rank(s.tau); ++i) {
      const bool splits = n >= 2 && is_product(s.H, s.tau[i].xs, n);
      if (rules.physical_allgather(s.f, i, n).has_value() != splits) return "physical allgather";
      ++(splits ? counts.gathers : counts.rejections);
      for (Index j = 0; j < rank(s.tau); ++j) {
        const bool may = splits && i != j && s.tau[j].c % n == 0;
        if (rules.physical_alltoall(s.f, i, j, n).has_value() != may) return "physical alltoall";
        ++(may ? counts.moves : counts.rejections);
      }
      if (delta > 4 || n > 3) continue;
      Sizes e(s.f.t.size(), -1);
      do {
        const bool may = n >= 2 && s.tau[i].c % n == 0 && is_even(s.f, n, e);
        if (rules.physical_dynslice(s.f, i, n, e).has_value() != may) return "physical dynslice";
        ++(may ? counts.slices : counts.rejections);
      } while (next_digits(e, -1, n + 1));
    }
  }
  if (delta > 4) return "";
  Sizes pi(s.f.t.size());
  do {
    const auto f_1 = rules.physical_allpermute(s.f, pi);
    if (f_1.has_value() != (std::count(s.maps.begin(), s.maps.end(), pi) > 0))
      return "physical allpermute";
    for (Index d = 0; f_1 && d < pi.size(); ++d) {
      if (f_1->t[d] != s.f.t[static_cast<Index>(pi[d])]) return "physical allpermute by another pi";
    }
    ++(f_1 ? counts.permutes : counts.rejections);
  } while (next_digits(pi, 0, delta));
  return "";
}

using Flaw = std::string (*)(const Start&, const Rules&, RuleCounts&);

/// A wrong copy of a rule, with the check that has to see it.
struct Mutant {
  std::string name;
  Rules rules;
  Flaw flaw;
};

/// The literal rules without the premise that has this name; with none of them the right rules.
/// x : n ∈ H is a premise of its own in DYNSLICE only: where x stands in e_i, H ⊢ ē says it.
Rules rules_without(std::string_view dropped) {
  const auto keeps = [dropped](std::string_view premise) { return premise != dropped; };
  // ⟨φ', T⟦ē'⟧⟩ of ALLGATHER and ALLTOALL has the tiles of ⟨φ, T⟦ē⟧⟩, x̄' in front of e'_i.
  const auto comes_to_front = [keeps](const Mesh& H, Index i, const Names& x,
                                      const TypedAssignment& from, const TypedAssignment& to) {
    const Names& xs = from.tau[i].xs;
    const Names rest = minus(xs, x);
    const bool is_block = has_block(xs, x), stands = rest.size() + x.size() == xs.size();
    if (x.empty() || !lookup(H, x)) return false;
    if (!is_block && keeps("x stands in e_i") && (!stands || keeps("x is a block"))) return false;
    Type e_1 = from.tau;
    if (stands) {
      const Names turned(x.rbegin(), x.rend());
      e_1[i].xs = append(keeps("x is not turned around") ? x : turned, rest);
    }
    if (!keeps("x is in front")) e_1 = from.tau;
    return !keeps("the tiles are the same") || same_tile_map(H, {to.phi, e_1}, from);
  };
  Rules out;
  out.allgather = [=](const Mesh& H, Index i, const Names& x, const TypedAssignment& from,
                      const TypedAssignment& to) {
    return comes_to_front(H, i, x, from, to) &&
           (!keeps("e''") || to.tau == without(from.tau, i, x, *lookup(H, x)));
  };
  out.alltoall = [=](const Mesh& H, Index i, Index j, const Names& x, const TypedAssignment& from,
                     const TypedAssignment& to) {
    return comes_to_front(H, i, x, from, to) && (i != j || !keeps("i != j (E4)")) &&
           (from.tau[j].c % *lookup(H, x) == 0 || !keeps("c_j mod n = 0")) &&
           (!keeps("e''") || to.tau == moved(from.tau, i, j, x, *lookup(H, x)));
  };
  out.dynslice = [=](const Mesh& H, Index i, const Names& x, const TypedAssignment& from,
                     const TypedAssignment& to) {
    if (x.empty() || (!lookup(H, x) && keeps("x : n in H"))) return false;
    const Size n = lookup(H, x).value_or(1);
    return (pairwise_distinct(append(x, axes(from.tau))) || !keeps("x is unused")) &&
           (from.tau[i].c % n == 0 || !keeps("e_i is c_i n")) &&
           (to.tau == with(from.tau, i, x, n) || !keeps("e'")) &&
           (to.phi == from.phi || !keeps("phi' = phi"));
  };
  out.allpermute = [=](const Mesh& H, const TypedAssignment& from, const TypedAssignment& to) {
    return (globaltype(from.tau) == globaltype(to.tau) || !keeps("globaltypes (E12)")) &&
           (!keeps("some pi") || equivalent(*tile_map(H, from), *tile_map(H, to)));
  };
  return out;
}

std::vector<Mutant> literal_mutants(bool of_lists) {
  std::vector<Mutant> out;
  const auto add = [&](const char* rule, Flaw flaw, const std::vector<const char*>& premises) {
    for (const char* premise : premises) {
      out.push_back({std::string(rule) + " without: " + premise, rules_without(premise), flaw});
    }
  };
  const char *stands = "x stands in e_i", *front = "x is in front";
  const char *same = "the tiles are the same", *e_2 = "e''";
  add("ALLGATHER", flaw_of_allgather, {stands, front, same, e_2});
  add("ALLTOALL", flaw_of_alltoall, {stands, front, same, e_2, "c_j mod n = 0", "i != j (E4)"});
  add("DYNSLICE", flaw_of_dynslice,
      {"x : n in H", "x is unused", "e_i is c_i n", "e'", "phi' = phi"});
  add("PERMUTE", flaw_of_allpermute, {"globaltypes (E12)", "some pi"});
  if (of_lists) {
    // An allgather forgets the order within the block; an alltoall does not.
    add("ALLGATHER", flaw_of_allgather, {"x is a block"});
    add("ALLTOALL", flaw_of_alltoall, {"x is a block", "x is not turned around"});
  }
  return out;
}

/// The physical form without a premise. Its n | c_i in dynslice follows from balance: otherwise
/// there would be more tiles than t_i · n + e reaches.
std::vector<Mutant> physical_mutants() {
  std::vector<Mutant> out;
  const auto add = [&](const char* name) -> Rules& {
    out.push_back({name, Rules(), flaw_of_the_physical_form});
    return out.back().rules;
  };
  add("allgather without: n | N_i").physical_allgather = [](TileMap f, Index i, Size n) {
    f.c[i] *= n;
    for (Sizes& t : f.t) t[i] /= n;
    return n < 2 ? std::nullopt : std::optional(f);
  };
  add("allgather without: n >= 2").physical_allgather = [](const TileMap& f, Index i, Size n) {
    return n == 1 ? std::optional(f) : allgather(f, i, n);
  };
  const auto move = [](TileMap f, Index i, Index j, Size n) {
    f.c[i] *= n;
    f.c[j] /= n;
    for (Sizes& t : f.t) {
      t[j] = t[j] * n + t[i] % n;
      t[i] /= n;
    }
    return std::optional(f);
  };
  add("alltoall without: n >= 2").physical_alltoall = [](const TileMap& f, Index i, Index j,
                                                         Size n) {
    return n == 1 && i != j ? std::optional(f) : alltoall(f, i, j, n);
  };
  add("alltoall without: i != j").physical_alltoall = [move](const TileMap& f, Index i, Index j,
                                                             Size n) {
    return i == j && allgather(f, i, n) && f.c[i] % n == 0 ? move(f, i, j, n)
                                                           : alltoall(f, i, j, n);
  };
  add("alltoall without: n | N_i").physical_alltoall = [move](const TileMap& f, Index i, Index j,
                                                              Size n) {
    return n >= 2 && i != j && f.c[j] % n == 0 ? move(f, i, j, n) : std::nullopt;
  };
  add("alltoall without: n | c_j").physical_alltoall = [move](const TileMap& f, Index i, Index j,
                                                              Size n) {
    return i != j && allgather(f, i, n) ? move(f, i, j, n) : std::nullopt;
  };
  const auto slice = [](TileMap f, Index i, Size n, const Sizes& e) -> std::optional<TileMap> {
    if (n < 2 || f.c[i] % n != 0) return std::nullopt;
    f.c[i] /= n;
    for (Index d = 0; d < e.size(); ++d) f.t[d][i] = f.t[d][i] * n + e[d];
    return f;
  };
  add("dynslice without: balance").physical_dynslice = [slice](const TileMap& f, Index i, Size n,
                                                               const Sizes& e) {
    for (const Size digit : e) {
      if (digit < 0 || digit >= n) return std::optional<TileMap>();
    }
    return slice(f, i, n, e);
  };
  add("dynslice without: digits below n").physical_dynslice = [slice](const TileMap& f, Index i,
                                                                      Size n, const Sizes& e) {
    const auto f_1 = slice(f, i, n, e);
    return f_1 && is_balanced(*f_1) ? f_1 : std::nullopt;
  };
  add("dynslice without: n >= 2").physical_dynslice = [](const TileMap& f, Index i, Size n,
                                                         const Sizes& e) {
    return n == 1 && e == Sizes(e.size()) ? std::optional(f) : dynslice(f, i, n, e);
  };
  add("allpermute without: bijective").physical_allpermute = [](TileMap f, const Sizes& pi) {
    const auto t = f.t;
    for (Index d = 0; d < pi.size(); ++d) f.t[d] = t[static_cast<Index>(pi[d])];
    return std::optional(f);
  };
  add("allpermute by the inverse").physical_allpermute = [](TileMap f, const Sizes& pi) {
    const auto t = f.t;
    if (!is_device_map(pi)) return std::optional<TileMap>();
    for (Index d = 0; d < pi.size(); ++d) f.t[static_cast<Index>(pi[d])] = t[d];
    return std::optional(f);
  };
  return out;
}

std::vector<Names> distinct_lists(const Mesh& H) {
  std::vector<Names> out, last = {Names()};
  for (Index length = 1; length <= H.size(); ++length) {
    std::vector<Names> longer;
    for (const Names& xs : last) {
      for (const Axis& alpha : H) {
        if (!contains(xs, alpha.x)) longer.push_back(cons(alpha.x, xs));
      }
    }
    out.insert(out.end(), longer.begin(), longer.end());
    last = longer;
  }
  return out;
}

/// Both halves agree over the meshes 2x2 and 2x3, and every mutant is caught over 2x2. Allpermutes
/// to all types of the globaltype, over 2x2 also of the one with twice the sizes. What must not be
/// is tried with every device map over 2x2, with every 37th over 2x3.
void enumerate(const Rules& rules, bool of_lists, std::map<std::string, RuleCounts>& counts_of) {
  std::map<std::string, std::map<std::string, std::size_t>> caught;
  std::vector<Mutant> mutants = literal_mutants(of_lists);
  if (!of_lists) {
    for (Mutant& mutant : physical_mutants()) mutants.push_back(std::move(mutant));
  }
  RuleCounts ignored;
  for (const auto& [H, g] : spaces(2, 6)) {
    std::vector<Names> lists = {{}, {"w"}};  // no list, and an axis that is not in H
    for (const Names& x : distinct_lists(H)) {
      if (of_lists || x.size() == 1) lists.push_back(x);
    }
    if (of_lists) lists.push_back({"x", "x"});
    const auto maps = device_maps(H);
    const bool is_small = maps.size() <= 24;
    std::vector<DeviceMap> few;
    for (Index k = 0; k < maps.size(); k += is_small ? 1 : 37) few.push_back(maps[k]);
    const auto types = all_types(H, g);
    auto ends = types;
    Sizes twice = g;
    for (Size& s : twice) s *= 2;
    if (is_small) {
      for (const Type& tau : all_types(H, twice)) ends.push_back(tau);
    }
    RuleCounts& counts = counts_of[to_text(H)];
    for (const Type& tau : types) {
      const Start s = {H, tau, lists, ends, maps, few};
      for (const Flaw flaw : {flaw_of_allgather, flaw_of_alltoall, flaw_of_dynslice,
                              flaw_of_allpermute, flaw_of_the_physical_form}) {
        RuleCounts& of_flaw = flaw == Flaw(flaw_of_the_physical_form) ? ignored : counts;
        ASSERT_EQ(flaw(s, rules, of_flaw), "") << to_text(H) << to_text(tau);
        if (!is_small) continue;
        if (of_lists) {
          ASSERT_EQ(flaw(s, rules_without("nothing"), ignored), "") << to_text(tau);
        }
      }
      for (const Mutant& mutant : mutants) {
        if (!is_small) break;
        const std::string reason = mutant.flaw(s, mutant.rules, ignored);
        if (reason != "") ++caught[mutant.name][reason];
      }
    }
  }
  for (const auto& [H, counts] : counts_of) {
    std::cout << H << ": " << counts.gathers << " allgathers, " << counts.several
              << " with several device maps, " << counts.moves << " alltoalls, " << counts.slices
              << " dynslices, " << counts.permutes << " allpermutes, " << counts.composite
              << " steps over several axes, " << counts.rejections << " rejections, "
              << counts.equal_dimensions << " of them with i = j\n";
  }
  std::cout << ignored.gathers << " allgathers, " << ignored.moves << " alltoalls, "
            << ignored.slices << " dynslices and " << ignored.permutes
            << " allpermutes of the physical form and of mutants\n";
  for (const Mutant& mutant : mutants) {
    EXPECT_EQ(caught.count(mutant.name), 1U) << mutant.name;
    for (const auto& [reason, count] : caught[mutant.name]) {
      std::cout << "  " << count << " caught: " << mutant.name << ": " << reason << "\n";
    }
  }
}

TEST(Fig10, literal_rules_are_the_physical_rules) {
  std::map<std::string, RuleCounts> counts_of;
  enumerate(rules_of_fig_10(), false, counts_of);
  ASSERT_EQ(counts_of.size(), 2U);
  for (const auto& [H, counts] : counts_of) {
    EXPECT_GT(counts.gathers, 50U) << H;
    EXPECT_GT(counts.several, 10U) << H;  // E14
    EXPECT_GT(counts.moves, 20U) << H;
    EXPECT_GT(counts.slices, 40U) << H;
    EXPECT_GT(counts.permutes, 1000U) << H;
    EXPECT_GT(counts.equal_dimensions, 50U) << H;  // E4
    EXPECT_GT(counts.rejections, 500U) << H;
  }
}

TEST(Sec_7_1, literal_rules_over_lists_are_the_physical_rules_of_the_product) {
  std::map<std::string, RuleCounts> counts_of;
  enumerate(rules_of_sec_7_1(), true, counts_of);
  ASSERT_EQ(counts_of.size(), 2U);
  for (const auto& [H, counts] : counts_of) EXPECT_GT(counts.composite, 20U) << H;
}

/// DYNSLICE modulo Def. 6.2: the tile maps reached from f over all representations ⟨φ, T⟦τ⟧⟩ = f
/// are those that some balanced digit e reaches.
TEST(Fig10, dynslice_reaches_every_balanced_refinement) {
  std::size_t maps = 0;
  for (const auto& [text, shapes] :
       {std::tuple<const char*, std::vector<Sizes>>("x:2,y:2", {{4}, {2, 4}, {4, 4}}),
        {"x:2,y:3", {{6}, {6, 2}}}}) {
    const Mesh H = mesh(text);
    for (const Sizes& g : shapes) {
      for (const Type& tau : all_types(H, g)) {
        const TypedAssignment start = {identity(H), tau};
        const TileMap f = physical(H, start).value();
        for (Index i = 0; i < g.size(); ++i) {
          std::map<Size, std::set<std::vector<Sizes>>> literal, by_digit;  // for each n
          DeviceMap phi = identity(H);
          do {
            for (const Type& other : all_types(H, g)) {
              if (!same_tile_map(H, {phi, other}, start) || localtype(other) != localtype(tau))
                continue;
              for (const Axis& alpha : H) {
                const auto next = t_dynslice(H, i, alpha.x, other);
                if (!next) continue;
                ASSERT_TRUE(low_level_dynslice(H, i, alpha.x, {phi, other}, {phi, *next}));
                literal[alpha.k].insert(physical(H, {phi, *next})->t);
              }
            }
          } while (std::next_permutation(phi.begin(), phi.end()));
          for (const Axis& alpha : H) {
            Sizes e(f.t.size());
            do {
              const auto next = dynslice(f, i, alpha.k, e);
              if (next) by_digit[alpha.k].insert(next->t);
            } while (next_digits(e, 0, alpha.k));
          }
          ASSERT_EQ(literal, by_digit) << to_text(tau);
          for (const auto& [n, reached] : by_digit) maps += reached.size();
        }
      }
    }
  }
  std::cout << maps << " refinements\n";
  EXPECT_GT(maps, 20U);
}

/// H ⊢ ē, and φ is a device map. The copies without that premise relate what is ill-formed.
TEST(Fig10, ill_formed_assignments_are_related_to_nothing) {
  const Mesh H = mesh("x:2,y:2"), twice = {{"x", 2}, {"x", 2}};
  const DeviceMap id = identity(H), other = {0, 1};
  const auto each = [&](const Rules& rules, const Mesh& M, const DeviceMap& phi, const Type& e) {
    const TypedAssignment from = {phi, e};
    return std::vector<bool>{rules.allgather(M, 0, {"x"}, from, {phi, without(e, 0, {"x"}, 2)}),
                             rules.alltoall(M, 0, 1, {"x"}, from, {phi, moved(e, 0, 1, {"x"}, 2)}),
                             rules.dynslice(M, 1, {"y"}, from, {phi, with(e, 1, {"y"}, 2)}),
                             rules.allpermute(M, from, from)};
  };
  const Type right = type(H, "[2{x}4, 4]"), wrong = type(H, "[2{x}5, 4]");
  const std::vector<bool> all(4, true), none(4, false);
  for (const Rules& rules : {rules_of_fig_10(), rules_of_sec_7_1()}) {
    EXPECT_EQ(each(rules, H, id, right), all);
    EXPECT_EQ(each(rules, H, id, wrong), none);
    EXPECT_EQ(each(rules, H, {0, 1, 2, 2}, right), none);
    EXPECT_EQ(each(rules, H, other, right), none);
    EXPECT_EQ(each(rules, twice, id, right), none);
    // The type that is reached must be well-formed, too.
    EXPECT_FALSE(rules.allpermute(H, {id, type(H, "[2{x}4]")}, {id, {{2, {"x", "x"}, 4}}}));
    EXPECT_FALSE(rules.allpermute(H, {id, type(H, "[4]")}, {id, {{4, {"x"}, 4}}}));
    EXPECT_FALSE(rules.allpermute(H, {id, type(H, "[4]")}, {{0, 1, 2, 2}, type(H, "[4]")}));
  }
  const Rules copies = rules_without("H |- e");
  EXPECT_EQ(each(copies, H, id, right), all);
  EXPECT_EQ(each(copies, H, id, wrong), all);
  EXPECT_EQ(each(copies, twice, id, {{2, {"x"}, 4}, {4, {}, 4}})[0], true);
}

/// The first `most` device maps φ' with β' ∘ φ'⁻¹ = f, by trying for each point the devices that
/// hold its tile.
std::vector<DeviceMap> device_maps_with(const BaseOffsetMap& beta, const std::vector<Offset>& f,
                                        std::size_t most) {
  std::vector<DeviceMap> out;
  DeviceMap phi;
  std::vector<bool> is_taken(f.size());
  const auto extend = [&](const auto& self) -> void {
    if (out.size() == most) return;
    if (phi.size() == beta.size()) return out.push_back(phi);
    for (Index d = 0; d < f.size(); ++d) {
      if (is_taken[d] || f[d] != beta[phi.size()]) continue;
      is_taken[d] = true;
      phi.push_back(static_cast<Size>(d));
      self(self);
      phi.pop_back();
      is_taken[d] = false;
    }
  };
  extend(extend);
  return out;
}

/// Sec. 7.1 against Fig. 10, also over 2x2x2. Once x̄' stands in front, an allgather over it is
/// those over its axes from the first to the last, a dynslice those from the last to the first, and
/// an alltoall over several axes is not those over its axes (E20): they turn the block around.
TEST(Sec_7_1, steps_over_a_list_are_sequences_over_its_axes_but_for_alltoall) {
  std::size_t gathers = 0, moves = 0, slices = 0, turned = 0, several = 0;
  for (const auto& [H, g] : spaces(2, 8)) {
    const auto lists = distinct_lists(H);
    for (const Type& tau : all_types(H, g)) {
      const TypedAssignment from = {identity(H), tau};
      const TileMap f = physical(H, from).value();
      for (Index i = 0; i < g.size(); ++i) {
        for (const Names& x : lists) {
          const Size n = lookup(H, x).value();
          if (pairwise_distinct(append(x, axes(tau))) && tau[i].c % n == 0) {
            TypedAssignment at = from;
            for (Index k = x.size(); k-- > 0;) {
              const Type next = with(at.tau, i, {x[k]}, *lookup(H, x[k]));
              ASSERT_TRUE(low_level_dynslice(H, i, x[k], at, {at.phi, next}));
              at.tau = next;
            }
            ASSERT_TRUE(low_level_dynslice(H, i, x, from, at)) << to_text(tau);
            ++slices;
          }
          if (!has_block(tau[i].xs, x)) continue;
          Type e_1 = tau;
          e_1[i].xs = append(x, minus(tau[i].xs, x));
          const auto maps = device_maps_with(*base_offset_map(H, e_1), *tile_map(H, from), 8);
          ASSERT_FALSE(maps.empty()) << to_text(tau);
          for (const DeviceMap& phi : maps) {
            TypedAssignment at = {phi, e_1};
            for (const Name& x_k : x) {
              const Type next = without(at.tau, i, {x_k}, *lookup(H, x_k));
              ASSERT_TRUE(low_level_allgather(H, i, x_k, at, {phi, next}));
              at.tau = next;
            }
            ASSERT_TRUE(low_level_allgather(H, i, x, from, at)) << to_text(tau);
            ASSERT_EQ(physical(H, at), allgather(f, i, n)) << to_text(tau);
            for (Index j = 0; j < g.size(); ++j) {
              if (i == j || tau[j].c % n != 0) continue;
              const TypedAssignment to = {phi, moved(tau, i, j, x, n)};
              ASSERT_TRUE(low_level_alltoall(H, i, j, x, from, to)) << to_text(tau);
              ASSERT_EQ(physical(H, to), alltoall(f, i, j, n)) << to_text(tau);
              at.tau = e_1;
              for (const Name& x_k : x) {
                const Type next = moved(at.tau, i, j, {x_k}, *lookup(H, x_k));
                ASSERT_TRUE(low_level_alltoall(H, i, j, x_k, at, {phi, next}));
                at.tau = next;
              }
              ASSERT_EQ(physical(H, at) == physical(H, to), x.size() == 1) << to_text(tau);
              ASSERT_EQ(low_level_alltoall(H, i, j, x, from, at), x.size() == 1) << to_text(tau);
              moves += phi == maps.front() ? 1U : 0U;
              turned += phi == maps.front() && x.size() > 1 ? 1U : 0U;
            }
          }
          ++gathers;
          several += x.size() > 1 ? 1U : 0U;
        }
      }
    }
  }
  std::cout << gathers << " allgathers, " << several << " over several axes, " << moves
            << " alltoalls, " << turned << " over several axes, " << slices << " dynslices\n";
  EXPECT_GT(several, 300U);
  EXPECT_GT(moves, 600U);
  EXPECT_GT(turned, 100U);
  EXPECT_GT(slices, 800U);
}

}  // namespace
}  // namespace spec::sec7_low_level_test
