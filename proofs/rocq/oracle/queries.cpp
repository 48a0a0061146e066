// Questions for kernel_oracle, and what spec/ answers.
//
// usage: queries MODE SEED COUNT QUERIES ANSWERS
//        queries certificates FILE.. QUERIES ANSWERS
//        queries texts SEED COUNT TEXTS ANSWERS
//
// MODE is
//   definitions   random meshes, types, sequences of collectives, weak steps on tiles, costs
//   plans         certificates of random problems: of the optimum, which must be accepted, and of the optimum + 1,
//                 which must be refused; both as complete as can be
//   adversarial   the same, with numbers changed, lines left out, doubled, exchanged, and detours
//   texts         adversarial certificates as texts, with a Program that is right, each behind a line with the number of
//                 its bytes; no answers
// QUERIES and ANSWERS are files, a line for each question (kernel_oracle.ml says which). Standard output says how many
// questions of which kind and answer there are, and how long spec/program/certify.h took for its own.
//
// The certificates come from the search below, which is written for this and shares nothing with the planner.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <queue>
#include <random>
#include <set>
#include <sstream>

#include "spec/paper/def4_sequences.h"
#include "spec/paper/sec7_low_level.h"
#include "spec/program/certify_text.h"

namespace {

using namespace spec;

std::mt19937_64 engine;
Size draw(Size least, Size most) {
  return least + static_cast<Size>(engine() % static_cast<std::uint64_t>(most - least + 1));
}
template <class List>
auto& any_of(List& list) {
  return list[static_cast<Index>(draw(0, static_cast<Size>(list.size()) - 1))];
}

std::ofstream queries, answers;
std::map<std::string, Size> counts;

// ---- Writing: a list is its length and its elements ----

void put(std::ostream& out, Size n) { out << ' ' << n; }
void put(std::ostream& out, const Sizes& list) {
  put(out, static_cast<Size>(list.size()));
  for (const Size n : list) put(out, n);
}
void put_name(std::ostream& out, const Name& x) { out << ' ' << x; }  // names are numbers here
void put(std::ostream& out, const Names& xs) {
  put(out, static_cast<Size>(xs.size()));
  for (const Name& x : xs) put_name(out, x);
}
void put(std::ostream& out, const Mesh& H) {
  put(out, static_cast<Size>(H.size()));
  for (const Axis& alpha : H) put_name(out, alpha.x), put(out, alpha.k);
}
void put(std::ostream& out, const Type& tau) {
  put(out, static_cast<Size>(tau.size()));
  for (const Dim& d : tau) put(out, d.c), put(out, d.xs), put(out, d.s);
}
void put_ops(std::ostream& out, const std::vector<Op>& ops) {
  put(out, static_cast<Size>(ops.size()));
  for (const Op p : ops) put(out, static_cast<Size>(p));
}

// ---- Definitions ----

bool is_prime(Size n) {
  for (Size d = 2; d <= n / d; ++d) {
    if (n % d == 0) return false;
  }
  return n >= 2;
}

/// Now and then an axis of size 1, or a name that stands twice.
Mesh draw_mesh() {
  Mesh H;
  const Size axes = draw(0, 4);
  for (Size a = 0; a < axes; ++a) {
    const Size wrong = draw(0, 40);
    H.push_back({std::to_string(wrong == 0 ? draw(0, a) : a), wrong == 1 ? 1 : draw(2, 5)});
  }
  std::shuffle(H.begin(), H.end(), engine);
  return H;
}

/// Mostly well-formed; a name that is not in H, twice the same one, and a wrong size are drawn, too.
Type draw_type(const Mesh& H, const Sizes* global = nullptr) {
  std::vector<Axis> unused = H;
  std::shuffle(unused.begin(), unused.end(), engine);
  Type tau(global ? global->size() : static_cast<Index>(draw(0, 4)));
  for (Index i = 0; i < tau.size(); ++i) {
    Dim& d = tau[i];
    Size n = 1;
    for (auto x = unused.begin(); x != unused.end();) {
      if (draw(0, 2) == 0 && (!global || (*global)[i] % (n * x->k) == 0)) {
        n *= x->k;
        d.xs.push_back(x->x);
        x = unused.erase(x);
      } else {
        ++x;
      }
    }
    if (draw(0, 60) == 0) d.xs.push_back(std::to_string(draw(0, 5)));
    d.c = global ? (*global)[i] / n : draw(draw(0, 20) == 0 ? 0 : 1, 12);
    d.s = global ? (*global)[i] : d.c * n;
    if (draw(0, 60) == 0) d.s += draw(0, 2);
  }
  return tau;
}

Collective draw_collective(const Mesh& H, const Type& tau) {
  const Size r = static_cast<Size>(tau.size());
  Collective p;
  p.p = static_cast<Op>(draw(0, 3));
  p.i = static_cast<Index>(draw(0, draw(0, 9) == 0 ? r : std::max<Size>(r - 1, 0)));
  p.j = static_cast<Index>(draw(0, draw(0, 9) == 0 ? r : std::max<Size>(r - 1, 0)));
  p.x = H.empty() || draw(0, 20) == 0
            ? "9"
            : H[static_cast<Index>(draw(0, static_cast<Size>(H.size()) - 1))].x;
  if (p.p == Op::allpermute) {
    const Sizes g = globaltype(tau);
    for (int attempt = 0; attempt < 6; ++attempt) {
      p.to = draw_type(H, &g);
      if (localtype(p.to) == localtype(tau)) break;
    }
  }
  return p;
}

void describe(const Mesh& H, const Type& tau) {
  queries << 0;
  put(queries, H), put(queries, tau);
  queries << '\n';
  const bool wf_H = wf_mesh(H), wf_tau = wf_type(H, tau);
  put(answers, wf_H), put(answers, wf_tau);
  if (wf_H && wf_tau) {
    put(answers,
        std::all_of(H.begin(), H.end(), [](const Axis& alpha) { return is_prime(alpha.k); }));
    put(answers, *device_count(H));
    put(answers, globaltype(tau)), put(answers, localtype(tau));
    put(answers, globalsize(tau)), put(answers, localsize(tau));
    put(answers, axes(tau));
    const auto beta = base_offset_map(H, tau);
    for (const Offset& offset : *beta) {
      for (const Size o : offset) put(answers, o);
    }
  }
  answers << '\n';
  ++counts[wf_H && wf_tau ? "types" : "types_ill_formed"];
}

void summary(const std::vector<Op>& ops, const Sizes& sizes) {
  put(answers, *cost(ops, sizes)), put(answers, height(sizes)), put(answers, valley(sizes));
  put(answers, is_memory_constrained(sizes)), put(answers, is_normal_form(ops));
}

/// A walk: most of its steps can be taken, the last one often cannot.
void follow(const Mesh& H, const Type& tau) {
  std::vector<Collective> steps;
  std::optional<Sequence> so_far = sequence(H, tau, {});
  const Size length = draw(1, 6);
  while (static_cast<Size>(steps.size()) < length) {
    std::optional<Sequence> next;
    Collective p;
    for (int attempt = 0; attempt < 12 && !next; ++attempt) {
      p = draw_collective(H, so_far->sigma.back());
      steps.push_back(p);
      next = sequence(H, tau, steps);
      if (!next && attempt < 11 && draw(0, 15) > 0)
        steps.pop_back();
      else
        break;
    }
    if (!next) break;
    so_far = next;
  }
  const auto s = sequence(H, tau, steps);
  queries << 1;
  put(queries, H), put(queries, tau), put(queries, static_cast<Size>(steps.size()));
  for (const Collective& p : steps) {
    put(queries, static_cast<Size>(p.p));
    if (p.p == Op::allpermute) {
      put(queries, p.to);
      continue;
    }
    put(queries, static_cast<Size>(p.i));
    if (p.p == Op::dynslice) put_name(queries, p.x);
    if (p.p == Op::alltoall) put(queries, static_cast<Size>(p.j));
  }
  queries << '\n';
  if (s) {
    put(answers, s->sigma.back());
    summary(s->p, localsizes(*s));
    ++counts["sequences"];
  } else {
    answers << " none";
    ++counts["sequences_refused"];
  }
  answers << '\n';
}

/// A weak step, and what it does on the tiles of every device in a random order.
void weak(const Mesh& H, const Type& tau) {
  if (!wf_mesh(H) || !wf_type(H, tau) || tau.empty()) return;
  const Size r = static_cast<Size>(tau.size()), delta = *device_count(H);
  TypedAssignment a = {{}, tau};
  for (Size d = 0; d < delta; ++d) a.phi.push_back(d);
  std::shuffle(a.phi.begin(), a.phi.end(), engine);
  const TileMap f = *physical(H, a);
  Sizes c = f.c;
  const bool other = draw(0, 9) == 0;
  if (other) any_of(c) = draw(1, 12);
  WeakCollective q = {static_cast<Op>(draw(0, 2)), static_cast<Index>(draw(0, r)),
                      static_cast<Index>(draw(0, r)), draw(0, 6)};
  if (const auto steps = weak_steps(delta, f.g, c); !steps.empty() && draw(0, 3) > 0)
    q = steps[static_cast<Index>(draw(0, static_cast<Size>(steps.size()) - 1))];
  const auto next = weak_step(delta, f.g, q, c);
  queries << 2;
  put(queries, delta), put(queries, f.g), put(queries, static_cast<Size>(q.p));
  put(queries, static_cast<Size>(q.i)), put(queries, static_cast<Size>(q.j)), put(queries, q.n),
      put(queries, c);
  // Digits of a slice, each equally often on each tile, in the order of the devices.
  Sizes digits(f.t.size(), 0);
  if (q.p == Op::dynslice && next) {
    std::map<Sizes, Size> seen;
    for (Index d = 0; d < f.t.size(); ++d) digits[d] = seen[f.t[d]]++ % q.n;
  }
  put(queries, static_cast<Size>(other ? 0 : f.t.size()));
  if (!other) {
    for (Index d = 0; d < f.t.size(); ++d) put(queries, digits[d]), put(queries, f.t[d]);
  }
  queries << '\n';
  put(answers, is_localtype(delta, f.g, c));
  if (next) {
    put(answers, *next);
    if (!other) {
      const auto moved = q.p == Op::allgather  ? allgather(f, q.i, q.n)
                         : q.p == Op::dynslice ? dynslice(f, q.i, q.n, digits)
                                               : alltoall(f, q.i, q.j, q.n);
      if (!moved || moved->c != *next) throw std::logic_error("spec/ disagrees with itself");
      for (const Sizes& t : moved->t) {
        for (const Size t_i : t) put(answers, t_i);
      }
    }
    ++counts["weak_steps"];
  } else {
    answers << " none";
    ++counts["weak_steps_refused"];
  }
  answers << '\n';
}

/// The points by device.
void put_map(const Mesh& H, const DeviceMap& phi) {
  const std::vector<Point> all = points(H);
  std::vector<Point> by_device(phi.size());
  for (Index k = 0; k < phi.size(); ++k) by_device[static_cast<Index>(phi[k])] = all[k];
  put(queries, static_cast<Size>(phi.size()));
  for (const Point& point : by_device) put(queries, point);
}

/// A φ' with β' ∘ φ'⁻¹ = f, any of them; of another tile map where there is none.
DeviceMap represent(const Mesh& H, const Type& tau, const std::vector<Offset>& f) {
  const auto beta = base_offset_map(H, tau);
  std::vector<Index> at(f.size()), of(f.size());
  for (Index k = 0; k < f.size(); ++k) at[k] = of[k] = k;
  std::shuffle(of.begin(), of.end(), engine);
  if (!beta) return DeviceMap(of.begin(), of.end());
  std::sort(at.begin(), at.end(), [&](Index k, Index l) { return (*beta)[k] < (*beta)[l]; });
  std::stable_sort(of.begin(), of.end(), [&](Index d, Index e) { return f[d] < f[e]; });
  DeviceMap phi(f.size());
  for (Index k = 0; k < f.size(); ++k) phi[at[k]] = static_cast<Size>(of[k]);
  return phi;
}

/// A step of Fig. 10 between two assignments: two of five are right, some wrong in one place. The tiles are made
/// so large that axes can be sliced and moved, and dimensions that have axes are preferred.
void literal(const Mesh& H, Type tau) {
  if (!wf_mesh(H) || !wf_type(H, tau) || tau.empty()) return;
  const Size r = static_cast<Size>(tau.size());
  const Size delta = *device_count(H);
  for (Dim& d : tau) {  // below 12^4 delta^5 in all, and delta is at most 5^4
    const Size n = draw(0, 5) == 0 ? 1 : delta;
    d.c *= n, d.s *= n;
  }
  TypedAssignment from = {{}, tau};
  for (Size d = 0; d < delta; ++d) from.phi.push_back(d);
  std::shuffle(from.phi.begin(), from.phi.end(), engine);
  const auto f = *tile_map(H, from);
  TypedAssignment to = from;
  Op p = static_cast<Op>(draw(0, 3));
  Index i = 0, j = 0;
  for (int attempt = 0; attempt < 8; ++attempt) {
    i = static_cast<Index>(draw(0, draw(0, 20) == 0 ? r : r - 1));
    j = static_cast<Index>(draw(0, draw(0, 20) == 0 ? r : r - 1));
    const bool found = p == Op::dynslice || i >= tau.size() || !tau[i].xs.empty();
    if (found && (p != Op::alltoall || i != j)) break;
  }
  Names x;
  if (p == Op::allpermute) {
    const Sizes g = globaltype(tau);
    for (int attempt = 0; attempt < 6; ++attempt) {
      to.tau = draw_type(H, &g);
      if (localtype(to.tau) == localtype(tau)) break;
    }
    std::shuffle(to.phi.begin(), to.phi.end(), engine);
  } else if (p == Op::dynslice) {
    std::vector<Axis> axes_of_H = H;
    std::shuffle(axes_of_H.begin(), axes_of_H.end(), engine);
    const Names used = axes(tau);
    for (const Axis& alpha : axes_of_H) {
      const bool free = std::find(used.begin(), used.end(), alpha.x) == used.end();
      if ((free && (x.empty() || draw(0, 1) == 0)) || draw(0, 30) == 0) x.push_back(alpha.x);
    }
    const auto n = lookup(H, x);
    if (i < tau.size() && n) {
      to.tau[i].c /= *n;
      to.tau[i].xs.insert(to.tau[i].xs.begin(), x.begin(), x.end());
    }
  } else if (i < tau.size() && !tau[i].xs.empty()) {
    const Names& xs = tau[i].xs;
    const Index first = static_cast<Index>(draw(0, static_cast<Size>(xs.size()) - 1));
    const Index last =
        static_cast<Index>(draw(static_cast<Size>(first), static_cast<Size>(xs.size()) - 1));
    x.assign(xs.begin() + static_cast<std::ptrdiff_t>(first),
             xs.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    if (draw(0, 20) == 0) std::shuffle(x.begin(), x.end(), engine);
    const auto front = to_front(x, tau[i]);
    const auto n = lookup(H, x);
    if (front && n) {
      Type e_1 = tau;
      e_1[i] = *front;
      to.phi = represent(H, e_1, f);
      to.tau[i] = {tau[i].c * *n, *after(x, front->xs), tau[i].s};
      if (p == Op::alltoall && j < tau.size()) {  // for i = j what the printed rule says (E4)
        to.tau[j] = {tau[j].c / *n, append(x, tau[j].xs), tau[j].s};
      }
    }
  }
  const Size wrong = draw(0, 9);
  if (wrong == 0) std::swap(any_of(to.phi), any_of(to.phi));
  if (wrong == 1) any_of(to.tau).c += draw(0, 1);
  if (wrong == 2 && !any_of(to.tau).xs.empty())
    std::shuffle(to.tau[0].xs.begin(), to.tau[0].xs.end(), engine);
  if (Dim& d = any_of(to.tau); wrong == 3 && d.xs.empty())
    d.c *= 2, d.s *= 2;  // the same offsets (E5)
  queries << 5;
  put(queries, H), put(queries, static_cast<Size>(p));
  if (p != Op::allpermute) put(queries, static_cast<Size>(i));
  if (p == Op::alltoall) put(queries, static_cast<Size>(j));
  if (p != Op::allpermute) put(queries, x);
  put_map(H, from.phi), put(queries, from.tau), put_map(H, to.phi), put(queries, to.tau);
  queries << '\n';
  const bool yes = p == Op::allgather  ? low_level_allgather(H, i, x, from, to)
                   : p == Op::dynslice ? low_level_dynslice(H, i, x, from, to)
                   : p == Op::alltoall ? low_level_alltoall(H, i, j, x, from, to)
                                       : low_level_allpermute(H, from, to);
  put(answers, yes);
  answers << '\n';
  static const char* const names[] = {"allgather", "dynslice", "alltoall", "allpermute"};
  ++counts[std::string("fig10_") + names[static_cast<Index>(p)] + (yes ? "" : "_refused")];
  if (yes && x.size() > 1)
    ++counts[std::string("fig10_several_axes_") + names[static_cast<Index>(p)]];
}

void costs() {
  std::vector<Op> ops;
  Sizes sizes = {draw(0, 50)};
  const Size length = draw(0, 7);
  for (Size k = 0; k < length; ++k)
    ops.push_back(static_cast<Op>(draw(0, 3))), sizes.push_back(draw(0, 50));
  if (draw(0, 1) == 0) {
    std::sort(ops.begin(), ops.end(), [](Op p, Op q) {
      const auto phase = [](Op o) { return o == Op::dynslice ? 0 : o == Op::allgather ? 2 : 1; };
      return phase(p) < phase(q);
    });
  }
  queries << 3;
  put_ops(queries, ops), put(queries, sizes);
  queries << '\n';
  summary(ops, sizes);
  answers << '\n';
  ++counts[is_normal_form(ops) ? "normal_forms" : "other_labels"];
}

// ---- Certificates ----

double certifier_seconds = 0;

void put(std::ostream& out, const Tiling& tiling) {
  put(out, tiling.tile), put(out, tiling.global);
  put(out, static_cast<Size>(tiling.digits.size()));
  for (const auto& digits : tiling.digits) {
    put(out, static_cast<Size>(digits.size()));
    for (const Digit& x : digits) put(out, x.stride), put(out, x.size);
  }
}

using Lines = std::vector<std::pair<Sizes, Sizes>>;  // the potentials in the order of the text

std::string text_of(const Sizes& list) {
  std::string out;
  for (const Size n : list) out += (out.empty() ? "" : ",") + std::to_string(n);
  return "[" + out + "]";
}
std::string text_of(const Rows& rows) {
  std::string out;
  for (const Sizes& row : rows) out += (out.empty() ? "" : ",") + text_of(row);
  return "[" + out + "]";
}
std::string text_of(const Tiling& tiling) {
  std::string out;
  for (Index i = 0; i < tiling.tile.size(); ++i) {
    out += (i > 0 ? ", " : "") + std::to_string(tiling.tile[i]) + "{";
    for (const Digit& x : tiling.digits[i]) {
      out +=
          (out.back() == '{' ? "" : ",") + std::to_string(x.stride) + ":" + std::to_string(x.size);
    }
    out += "}" + std::to_string(tiling.global[i]);
  }
  return "[" + out + "]";
}

/// The number of the tile that device d holds, in each dimension.
Sizes tile_numbers(const Tiling& tiling, Size d) {
  Sizes out = base_offset(tiling, d);
  for (Index i = 0; i < out.size(); ++i) out[i] /= tiling.tile[i];
  return out;
}

/// Steps that are right: all is gathered, one dimension after the other, and cut again.
std::string gathered_and_cut(const Program& program) {
  std::string out;
  for (Index i = 0; i < program.from.tile.size(); ++i) {
    if (program.from.tile[i] == program.from.global[i]) continue;
    std::map<Sizes, std::map<Size, Sizes>> holders;  // by what is not gathered, and by tile number
    for (Size d = 0; d < program.devices; ++d) {
      Sizes t = tile_numbers(program.from, d);
      const Size number = t[i];
      t.erase(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      holders[t][number].push_back(d);
    }
    Rows groups;
    for (const auto& entry : holders) {
      for (Index replica = 0; replica < entry.second.begin()->second.size(); ++replica) {
        groups.emplace_back();
        for (const auto& tile : entry.second) groups.back().push_back(tile.second[replica]);
      }
    }
    out += "allgather dim=" + std::to_string(i) + " groups=" + text_of(groups) + "\n";
  }
  for (Index i = 0; i < program.to.tile.size(); ++i) {
    const Size parts = program.to.global[i] / program.to.tile[i];
    if (parts == 1) continue;
    Sizes part;
    for (Size d = 0; d < program.devices; ++d) part.push_back(tile_numbers(program.to, d)[i]);
    out += "dynslice dim=" + std::to_string(i) + " parts=" + std::to_string(parts) +
           " part=" + text_of(part) + "\n";
  }
  return out;
}

bool as_texts = false;
void write_text(const Program& program, const spec::Certificate& lines, const Lines& potentials) {
  std::string out = "retile.program/1\ndevices " + std::to_string(program.devices) + "\nfrom " +
                    text_of(program.from) + "\nto " + text_of(program.to) + "\n" +
                    gathered_and_cut(program) + "lower_bound " + std::to_string(lines.C) + "\n";
  for (const auto& [c, pi] : potentials) {
    out += "potential " + text_of(c) + " " + std::to_string(pi[0]) + " " + std::to_string(pi[1]) +
           "\n";
  }
  for (const auto& [b, p] : lines.refuted) {
    out += "refuted " + text_of(b) + " " + text_of(p) + "\n";
  }
  out += "end\n";
  queries << out.size() << '\n' << out;
}

/// Asks both; nothing where spec/ gives up, and where a text is written instead.
std::optional<bool> ask(const Program& program, const spec::Certificate& lines,
                        const Lines& potentials, const char* kind) {
  if (as_texts) {
    write_text(program, lines, potentials);
    ++counts["texts"];
    return {};
  }
  bool yes = true;
  std::string reason = "certified";
  const auto start = std::chrono::steady_clock::now();
  try {
    Certifier(program, lines).run();
  } catch (const Unproved& why) {
    yes = false;
    reason = why.reason;
  } catch (const TooLarge&) {
    ++counts["undecided"];
    return {};
  }
  certifier_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  queries << 4;
  put(queries, program.devices), put(queries, program.from), put(queries, program.to),
      put(queries, lines.C);
  put(queries, static_cast<Size>(potentials.size()));
  for (const auto& [c, pi] : potentials) put(queries, c), put(queries, pi[0]), put(queries, pi[1]);
  put(queries, static_cast<Size>(lines.refuted.size()));
  for (const auto& [b, p] : lines.refuted) {
    put(queries, b), put(queries, static_cast<Size>(p.size()));
    for (const Sizes& ijn : p) {
      for (const Size n : ijn) put(queries, n);
    }
  }
  queries << '\n';
  put(answers, yes);
  answers << '\n';
  ++counts[std::string(kind) + "_" + reason];
  return yes;
}

struct Problem {
  Program program;
  Mesh H;
};

/// Two types of one globaltype.
Problem draw_problem() {
  static const std::vector<Sizes> meshes = {
      {2, 2},       {2, 2, 2}, {2, 3}, {3, 2, 2}, {2, 3, 5},    {4, 2}, {4, 6},
      {2, 2, 3, 3}, {6, 5},    {8, 9}, {3, 3, 3}, {2, 2, 2, 2}, {7, 2}};
  Problem out;
  Size delta = 1;
  for (const Size k : any_of(meshes))
    out.H.push_back({std::to_string(out.H.size()), k}), delta *= k;
  const Index r = static_cast<Index>(draw(1, 3));
  Sizes g(r, 1);
  for (Size& g_i : g) {
    g_i = draw(1, 3);
    for (const Axis& alpha : out.H) {
      if (draw(0, 2) > 0) g_i *= alpha.k;
    }
  }
  out.program.devices = delta;
  for (Tiling* tiling : {&out.program.from, &out.program.to}) {
    std::vector<Index> order(out.H.size());
    Sizes strides(out.H.size(), 1);
    for (Index a = out.H.size(); a-- > 0;)
      order[a] = a, strides[a] = a + 1 < out.H.size() ? strides[a + 1] * out.H[a + 1].k : 1;
    std::shuffle(order.begin(), order.end(), engine);
    *tiling = {g, g, std::vector<std::vector<Digit>>(r), {}};
    for (const Index a : order) {
      const Index i = static_cast<Index>(draw(0, static_cast<Size>(r) + 1));
      const Size k = out.H[a].k;
      if (i >= r || tiling->tile[i] % k != 0) continue;
      tiling->tile[i] /= k;
      tiling->digits[i].push_back({strides[a], k});
    }
  }
  return out;
}

/// The search. Potentials by relaxation, states by cost; what is found out about the problem on the way.
struct Search {
  const Program& program;
  Sizes g, c_1, c_2;
  Size delta, bound;
  std::map<Sizes, Sizes> pi;  // without and with an allpermute, from c to c_2
  Rows ends;                  // the offsets of each device in f_1 and f_2, sorted

  explicit Search(const Program& P)
      : program(P),
        g(P.from.global),
        c_1(P.from.tile),
        c_2(P.to.tile),
        delta(P.devices),
        bound(std::max(size_of(c_1), size_of(c_2))) {
    localtypes({});
    relax();
    for (Size d = 0; d < delta; ++d) {
      Sizes row = base_offset(P.from, d);
      const Sizes v = base_offset(P.to, d);
      row.insert(row.end(), v.begin(), v.end());
      ends.push_back(row);
    }
    std::sort(ends.begin(), ends.end());
  }

  static constexpr Size never = Size{1} << 60;

  void localtypes(const Sizes& c) {
    if (c.size() == g.size()) {
      if (is_localtype(delta, g, c) && size_of(c) <= bound) pi[c] = {c == c_2 ? 0 : never, never};
      return;
    }
    for (Size n = 1; n <= g[c.size()]; ++n) {
      if (g[c.size()] % n != 0) continue;
      Sizes longer = c;
      longer.push_back(n);
      localtypes(longer);
    }
  }
  void relax() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [c, pi_c] : pi) {
        Sizes best = pi_c;
        best[1] = std::min(best[1], size_of(c) + best[0]);
        for (const WeakCollective& q : weak_steps(delta, g, c)) {
          const Sizes next = *weak_step(delta, g, q, c);
          const auto there = pi.find(next);
          if (there == pi.end()) continue;
          const Size price = cost(q.p, size_of(c), size_of(next));
          for (const Index k : {Index{0}, Index{1}})
            best[k] = std::min(best[k], price + there->second[k]);
        }
        if (best != pi_c) pi_c = best, changed = true;
      }
    }
  }

  struct State {
    Sizes c;
    Size cost;
    Rows s, p;
  };
  /// All states that cost less than C with what must follow, and the least cost at which one ends in f_2.
  struct Found {
    std::vector<std::pair<Sizes, State>> states;
    Size exact = never;
    bool too_many = false;
  };
  /// With a detour every bottom is left and entered again first, which changes the cost only.
  Found states(Size C, Index most, bool detour = false) const {
    Found out;
    for (const auto& [b, pi_b] : pi) {
      bool divides = pi_b[0] < C;
      for (Index i = 0; i < g.size() && divides; ++i) divides = c_1[i] % b[i] == 0;
      if (!divides) continue;
      Rows o = {{}};
      for (Index i = 0; i < g.size(); ++i) {
        Rows longer;
        for (const Sizes& t : o) {
          for (Size t_i = 0; t_i < g[i] / b[i]; ++t_i)
            longer.push_back(t), longer.back().push_back(t_i);
        }
        o = longer;
      }
      std::map<Rows, State> best;
      using Entry = std::pair<Size, Rows>;
      std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
      best[o] = {b, 0, o, {}};
      for (const WeakCollective& q : weak_steps(delta, g, b)) {
        if (!detour || q.p != Op::alltoall || 2 * size_of(b) >= C || !best[o].p.empty()) continue;
        const Size i = static_cast<Size>(q.i), j = static_cast<Size>(q.j);
        best[o] = {b, 2 * size_of(b), o, {{i, j, q.n}, {j, i, q.n}}};
      }
      open.emplace(best[o].cost, o);
      while (!open.empty()) {
        const auto [spent, s] = open.top();
        open.pop();
        const State f = best.at(s);
        if (f.cost != spent) continue;
        for (const WeakCollective& q : weak_steps(delta, g, f.c)) {
          if (q.p == Op::dynslice) continue;
          const Sizes next = *weak_step(delta, g, q, f.c);
          const auto there = pi.find(next);
          const Size price = cost(q.p, size_of(f.c), size_of(next));
          if (there == pi.end() || there->second[0] >= C - spent - price) continue;
          State after = {next, spent + price, s, f.p};
          for (Sizes& t : after.s) {
            if (q.p == Op::alltoall) t[q.j] = t[q.j] * q.n + t[q.i] % q.n;
            t[q.i] /= q.n;
          }
          after.p.push_back({static_cast<Size>(q.i),
                             static_cast<Size>(q.p == Op::alltoall ? q.j : g.size()), q.n});
          const auto known = best.find(after.s);
          if (known != best.end() && known->second.cost <= after.cost) continue;
          open.emplace(after.cost, after.s);
          best[after.s] = after;
          if (best.size() + out.states.size() > most) return out.too_many = true, out;
        }
      }
      for (const auto& [s, f] : best) {
        if (f.c == c_2 && exact(b, o, s)) out.exact = std::min(out.exact, f.cost);
        out.states.emplace_back(b, f);
      }
    }
    return out;
  }
  bool exact(const Sizes& b, const Rows& o, const Rows& s) const {
    Rows made;
    for (Index k = 0; k < o.size(); ++k) {
      Sizes row;
      for (Index i = 0; i < g.size(); ++i) row.push_back(o[k][i] * b[i] / c_1[i] * c_1[i]);
      for (Index i = 0; i < g.size(); ++i) row.push_back(s[k][i] * c_2[i]);
      made.insert(made.end(), ends.size() / o.size(), row);
    }
    std::sort(made.begin(), made.end());
    return made == ends;
  }

  /// The lines for this claim, whether it is true or not.
  std::pair<spec::Certificate, bool> lines(Size C, Index most, bool detour = false) const {
    spec::Certificate out;
    out.C = C;
    for (const auto& [c, pi_c] : pi) {
      if (pi_c[0] < C) out.pi[c] = {pi_c[0], std::min(pi_c[1], C)};
    }
    const Found found = states(C, most, detour);
    for (const auto& [b, f] : found.states) out.refuted.emplace_back(b, f.p);
    std::shuffle(out.refuted.begin(), out.refuted.end(), engine);
    return {out, !found.too_many};
  }
};

Lines listed(const spec::Certificate& lines) { return Lines(lines.pi.begin(), lines.pi.end()); }

/// A problem with the certificate of its optimum; another one where that is too large.
struct Solved {
  Problem problem;
  Size opt;
  spec::Certificate lines;
};
Solved solve(Index most) {
  while (true) {
    Solved out = {draw_problem(), 0, {}};
    const Search search(out.problem.program);
    const Size permuted = search.pi.at(search.c_1)[1];  // with an allpermute it costs this
    const auto found = search.states(permuted, most);
    if (found.too_many) continue;
    out.opt = std::min(found.exact, permuted);
    bool complete;
    std::tie(out.lines, complete) = search.lines(out.opt, most);
    if (complete) return out;
  }
}

void plan() {
  const Solved solved = solve(600);
  const auto& program = solved.problem.program;
  if (ask(program, solved.lines, listed(solved.lines), "optimum") == false)
    throw std::logic_error("an optimum is refused");
  auto [above, complete] = Search(program).lines(solved.opt + 1, 600);
  if (complete && ask(program, above, listed(above), "above") == true)
    throw std::logic_error("more than the optimum is accepted");
}

void change(Size& n, Size least) {
  const Size kind = draw(0, 4);
  n = kind == 0   ? n + 1
      : kind == 1 ? n * 2
      : kind == 2 ? n - 1
      : kind == 3 ? draw(0, 30)
                  : n + draw(-6, 6);
  n = std::max(n, least);
}

/// Wrong in one or several ways, and sometimes right all the same.
void adversarial(Size count) {
  Solved solved = solve(80);
  // As a text its Program holds the whole array on each device.
  constexpr Size most_elements = 4096;
  const auto& ends = solved.problem.program;
  while (as_texts && size_of(ends.from.global) * ends.devices > most_elements) solved = solve(80);
  const auto& program = solved.problem.program;
  Size C = solved.opt;
  spec::Certificate base = solved.lines;
  if (draw(0, 1) == 0) {
    const Search search(program);
    C = draw(0, 1) == 0 ? C + draw(1, 3) : std::max(C + 1, search.pi.at(search.c_1)[1]);
    auto [above, complete] = search.lines(C, 160, draw(0, 1) == 0);
    if (complete) base = above;
    // An allpermute that costs more than it does: all else is as it must be for this claim.
    if (const auto source = base.pi.find(program.from.tile);
        source != base.pi.end() && draw(0, 1) == 0) {
      const Size more = base.C - source->second[1];
      for (auto& [c, pi_c] : base.pi) pi_c[1] = std::min(pi_c[1] + more, base.C);
    }
  }
  for (Size k = 0; k < count; ++k) {
    spec::Certificate lines = base;
    Lines pi = listed(base);
    auto& refuted = lines.refuted;
    for (Size changes = draw(0, 3); changes > 0; --changes) {
      const Size kind = draw(0, 13);
      if (kind == 0) change(lines.C, 0);
      if (kind == 1 && !pi.empty()) change(any_of(pi).second[0], 0);
      if (kind == 2 && !pi.empty()) change(any_of(pi).second[1], 0);
      if (kind == 3 && !pi.empty()) change(any_of(any_of(pi).first), 1);
      if (kind == 4 && !pi.empty())
        pi.erase(pi.begin() + draw(0, static_cast<Size>(pi.size()) - 1));
      if (kind == 5 && !pi.empty()) {  // the last line counts
        auto again = any_of(pi);
        change(again.second[static_cast<Index>(draw(0, 1))], 0);
        pi.insert(pi.begin() + draw(0, static_cast<Size>(pi.size())), again);
      }
      if (kind == 6 && !refuted.empty())
        refuted.erase(refuted.begin() + draw(0, static_cast<Size>(refuted.size()) - 1));
      if (kind == 7 && !refuted.empty()) change(any_of(any_of(refuted).first), 1);
      if (kind >= 8 && kind <= 9 && !refuted.empty()) {
        auto& p = any_of(refuted).second;
        if (!p.empty()) change(any_of(any_of(p)), 0);
      }
      if (kind == 10 && !refuted.empty()) {
        auto& p = any_of(refuted).second;
        if (!p.empty()) p.pop_back();
      }
      if (kind >= 11 &&
          !refuted.empty()) {  // a detour there and back: the same tiles at a higher cost
        auto again = any_of(refuted);
        const Size r = static_cast<Size>(program.from.global.size());
        const Size i = draw(0, r - 1), j = draw(0, r - 1), n = draw(2, 4);
        again.second.push_back({i, j, n}), again.second.push_back({j, i, n});
        refuted.insert(refuted.begin() + draw(0, static_cast<Size>(refuted.size())), again);
      }
      if (kind == 13 && !pi.empty()) {  // every bound a little higher
        lines.C += 1;
        for (auto& [c, pi_c] : pi) pi_c[1] += draw(0, 3) > 0 ? 1 : 0;
      }
    }
    lines.pi.clear();
    for (const auto& [c, pi_c] : pi) lines.pi[c] = pi_c;
    if (ask(program, lines, pi, "line") == true && lines.C > solved.opt) {
      throw std::logic_error("more than the optimum is accepted");
    }
  }
}

/// The text of the lines keeps its order, which std::map does not.
void from_file(const std::string& path) {
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  CertificateReader reader(text);
  const auto programs = reader.programs();
  if (reader.has_lines) ask(programs.front(), reader.lines, listed(reader.lines), "file");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 3) {
    std::cerr << "usage: queries MODE SEED COUNT QUERIES ANSWERS\n";
    return 2;
  }
  queries.open(words[words.size() - 2]);
  answers.open(words[words.size() - 1]);
  if (words[0] == "certificates") {
    for (Index k = 1; k + 2 < words.size(); ++k) from_file(words[k]);
  } else {
    engine.seed(std::stoull(words.at(1)));
    as_texts = words[0] == "texts";
    const Size count = std::stoll(words.at(2));
    for (Size k = 0; k < count; ++k) {
      if (words[0] == "definitions") {
        const Mesh H = draw_mesh();
        const Type tau = draw_type(H);
        describe(H, tau);
        follow(H, tau);
        weak(H, tau);
        literal(H, tau);
        costs();
      } else if (words[0] == "plans") {
        plan();
      } else {
        adversarial(std::min<Size>(count - k, 40));
        k += 39;
      }
    }
  }
  for (const auto& [what, count] : counts) std::cout << what << ' ' << count << '\n';
  std::cout << "spec_seconds " << certifier_seconds << '\n';
  queries.close();
  answers.close();
  return queries && answers ? 0 : 1;
}
