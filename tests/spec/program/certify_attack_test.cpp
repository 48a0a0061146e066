// The certifier under attack: the best certificates of false claims, on random small problems whose
// optimum brute force knows (certificate_writer.h). No false bound and no false line may be
// certified, and every true certificate must be.
//
// RETILE_ATTACK_SEED and RETILE_ATTACK_COUNT in the environment choose other draws, and how many.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>

#include "certificate_writer.h"
#include "spec/oracle/certify.h"
#include "spec/search/program.h"

namespace spec::certify_attack_test {
namespace {

using namespace certificates;

#ifdef RETILE_SLOW_TESTS
constexpr Size attacks = 10'000'000;
constexpr Size least_true = 100'000;
#else
constexpr Size attacks = 100'000;
constexpr Size least_true = 10'000;
#endif
constexpr Index most_states = 40;   // of a bottom; more make a certificate slow, and none better
constexpr Size most_looks = 20000;  // of brute force, for one problem

Size from_environment(const char* name, Size otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoll(text);
}

// ---- Problems

/// A problem, what is true of it, and the writer who knows that.
struct Solved {
  Ends ends;
  Program program;
  Size opt = 0;
  Writer truth;
};

/// Problems over one mesh and globaltype.
std::vector<Solved> draw_problems(Dice& dice, Index count) {
  static const std::vector<Sizes> meshes = {
      {2},       {3},    {2, 2},    {2, 3},    {3, 2},       {5, 2},   {2, 2, 2},
      {2, 3, 2}, {3, 3}, {2, 2, 3}, {2, 2, 2}, {2, 2},       {2, 5},   {3, 2, 2},
      {7},       {4, 2}, {2, 6},    {4, 3},    {2, 2, 2, 2}, {3, 3, 2}};
  Mesh H;
  for (const Size k : meshes[dice.index(meshes)])
    H.push_back({std::string(1, static_cast<char>('a' + H.size())), k});
  Sizes g;
  for (Size r = dice.between(1, 3); r > 0; --r) {
    g.push_back(dice.one_in(3) ? dice.between(1, 3) : 1);
    for (const Axis& alpha : H) g.back() *= dice.below(3) > 0 ? alpha.k : 1;
  }
  std::vector<Solved> out;
  for (Index k = 0; k < count; ++k) {
    const Ends ends = {H, draw_type(dice, H, g), draw_type(dice, H, g)};
    const auto opt = optimum_of(ends, most_looks);
    if (!opt) continue;
    out.push_back({ends, program(ends), *opt, Writer(program(ends), {})});
  }
  return out;
}

// ---- What the certifier says, and whether it may

std::string judge(const Program& program, const Certificate& lines) {
  try {
    Certifier(program, lines).run();
    return "certified";
  } catch (const Unproved& why) {
    return why.reason;
  } catch (const TooLarge&) {
    return "undecided";
  }
}

/// Whether each line says something true of this problem.
bool lines_are_true(const Solved& solved, const Certificate& lines) {
  for (const auto& [c, pi] : lines.pi) {
    const auto a = solved.truth.find(c);
    if (!a || pi[0] > solved.truth.pi(0, *a) || pi[1] > solved.truth.pi(1, *a)) return false;
  }
  for (const auto& [b, p] : lines.refuted) {
    const auto bottom = solved.truth.find(b);
    if (!bottom || !solved.truth.slices(*bottom)) return false;
    Size cost = 0;
    Index at = *bottom;
    for (const Sizes& ijn : p) {
      const auto& moves = solved.truth.moves(at);
      const auto move = std::find_if(moves.begin(), moves.end(), [&](const Writer::Move& known) {
        return Sizes{static_cast<Size>(known.i), static_cast<Size>(known.j), known.n} == ijn &&
               known.i < solved.truth.rank();
      });
      if (move == moves.end()) return false;
      cost += move->price;
      at = move->to;
    }
    if (cost > 0 && cost >= lines.C) return false;
  }
  return true;
}

std::string text_of(const Certificate& lines) {
  std::string out = "lower_bound " + std::to_string(lines.C) + "\n";
  for (const auto& [c, pi] : lines.pi) {
    out += "potential " + to_text(c) + " " + std::to_string(pi[0]) + " " + std::to_string(pi[1]) +
           "\n";
  }
  for (const auto& [b, p] : lines.refuted) {
    out += "refuted " + to_text(b) + " [";
    for (const Sizes& ijn : p) out += (&ijn == &p.front() ? "" : ",") + to_text(ijn);
    out += "]\n";
  }
  return out;
}
std::string text(const Solved& solved, const Certificate& lines) {
  return "mesh " + to_text(solved.ends.H) + "\nfrom " + to_text(solved.ends.tau_1) + "\nto " +
         to_text(solved.ends.tau_2) + "\n# optimum " + std::to_string(solved.opt) + "\n" +
         text_of(lines);
}

class Tally {
 public:
  explicit Tally(Size wanted) : wanted_(wanted), start_(std::chrono::steady_clock::now()) {}

  /// A certificate that need not be false, but must not be certified where it is.
  void attack(const std::string& kind, const Solved& solved, const Certificate& lines) {
    const std::string said = judge(solved.program, lines);
    ++kinds_[kind], ++reasons_[said], ++tried_;
    false_claims_ += lines.C > solved.opt;
    if (said == "certified" && (lines.C > solved.opt || !lines_are_true(solved, lines))) {
      ++certified_falsely_;
      ADD_FAILURE() << kind << ": certified, but false\n" << text(solved, lines);
    }
    progress();
  }
  /// A certificate that must be refused, for this reason if there is one.
  void refuse(const std::string& kind, const Solved& solved, const Certificate& lines,
              const std::string& reason) {
    attack(kind, solved, lines);
    const std::string said = judge(solved.program, lines);
    EXPECT_TRUE(reason.empty() ? said != "certified" : said == reason)
        << kind << ": " << said << "\n"
        << text(solved, lines);
  }
  void accept(const Solved& solved, const Certificate& lines) {
    ++true_ones_;
    const std::string said = judge(solved.program, lines);
    true_optima_ += lines.C == solved.opt;
    EXPECT_EQ(said, "certified") << text(solved, lines);
    EXPECT_TRUE(lines_are_true(solved, lines)) << text(solved, lines);
  }

  bool goes_on() const { return tried_ < wanted_ && !::testing::Test::HasFailure(); }
  Size true_ones() const { return true_ones_; }
  Size false_claims() const { return false_claims_; }
  const std::map<std::string, Size>& reasons() const { return reasons_; }
  const std::map<std::string, Size>& kinds() const { return kinds_; }

  void print(Size problems) const {
    std::cout << tried_ << " adversarial certificates of " << kinds_.size() << " kinds on "
              << problems << " problems, " << false_claims_
              << " above the optimum: " << certified_falsely_ << " certified falsely; "
              << true_ones_ << " true certificates, " << true_optima_
              << " of optima: all certified\n";
    for (const auto& [reason, count] : reasons_)
      std::cout << "  " << reason << " " << count << "\n";
    for (const auto& [kind, count] : kinds_) std::cout << "  " << kind << ": " << count << "\n";
  }

 private:
  void progress() {
    if (tried_ % 1'000'000 != 0) return;
    const auto now = std::chrono::steady_clock::now();
    std::cerr << tried_ << " of " << wanted_ << " certificates, "
              << std::chrono::duration_cast<std::chrono::seconds>(now - start_).count() << " s\n";
  }

  Size wanted_;
  std::chrono::steady_clock::time_point start_;
  std::map<std::string, Size> kinds_, reasons_;
  Size tried_ = 0, false_claims_ = 0, certified_falsely_ = 0, true_ones_ = 0, true_optima_ = 0;
};

// ---- True certificates

/// The certificate of a true claim, in any order, with more than is needed now and then.
std::optional<Certificate> true_certificate(Dice& dice, const Solved& solved, Size C) {
  const auto states = solved.truth.states(C, most_states);
  if (!states) return std::nullopt;
  Certificate out = solved.truth.potentials(C);
  for (const Writer::State& f : *states) out.refuted.push_back(solved.truth.line(f));
  for (const Sizes& c : solved.truth.localtypes()) {
    if (out.pi.count(c) == 0 && dice.one_in(4)) out.pi[c] = {C, C};
  }
  dice.shuffle(out.refuted);
  return out;
}

// ---- False ones

using Beliefs = std::vector<std::pair<const char*, Belief>>;

Beliefs beliefs(Dice& dice, const Solved& solved) {
  const Size more = dice.one_in(2) ? 1 : dice.between(1, 8);
  const Index i = dice.index(solved.program.from.global);
  const Size n = dice.one_in(2) ? 2 : 3;
  return {{"the truth", {}},
          {"c_2 is farther than 0", {.target = more}},
          {"an allpermute is dearer", {.permute = more}},
          {"an alltoall is dearer", {.alltoall = more}},
          {"an allgather is dearer", {.gather = more}},
          {"a dynslice costs something", {.slice = more}},
          {"there is no allpermute", {.permutes = false}},
          {"nothing follows an allpermute", {.permuted_moves = false}},
          {"all but c_2 is farther", {.lift = more}},
          {"the bound is the smaller end", {.small_bound = true}},
          {"there is no alltoall", {.missing = Op::alltoall}},
          {"there is no allgather", {.missing = Op::allgather}},
          {"there is no dynslice", {.missing = Op::dynslice}},
          {"only one factor moves", {.only_factor = n}},
          {"a dimension is never made finer", {.fixed = i}}};
}

/// How the source comes to its π' = C.
enum class Source { as_it_is, alone, everywhere };

/// What this writer says for the claim C. The states that are f_2 are listed with the others.
Certificate claimed(const Writer& writer, Size C, const std::vector<Writer::State>& states,
                    Source source) {
  Certificate out = writer.potentials(C);
  const Size missing = C - std::min(C, writer.permuted());
  for (auto& [c, pi] : out.pi) {
    const bool is_source = c == writer.localtypes()[writer.source()];
    if (source == Source::everywhere || (source == Source::alone && is_source)) {
      pi[1] = std::min(C, pi[1] + missing);
    }
  }
  for (const Writer::State& f : states) out.refuted.push_back(writer.line(f));
  return out;
}

/// Lines of the states for which `keep` holds.
template <class Keep>
std::vector<std::pair<Sizes, Rows>> kept(const Writer& writer,
                                         const std::vector<Writer::State>& states, Keep keep) {
  std::vector<std::pair<Sizes, Rows>> out;
  for (const Writer::State& f : states) {
    if (keep(f)) out.push_back(writer.line(f));
  }
  return out;
}

/// The certificates for one claim of one writer.
void claim(Dice& dice, Tally& tally, const Solved& solved, const std::string& belief,
           const Writer& writer, Size C) {
  const auto states = writer.states(C, most_states);
  if (!states || states->size() > 3 * most_states) return;
  const Certificate plain = claimed(writer, C, *states, Source::as_it_is);
  tally.attack(belief, solved, plain);
  if (writer.permuted() < C) {
    tally.attack(belief + ", the source is raised", solved,
                 claimed(writer, C, *states, Source::alone));
  }
  const Certificate base = claimed(writer, C, *states, Source::everywhere);
  if (writer.permuted() < C) tally.attack(belief + ", all π' are raised", solved, base);

  Certificate lines = base;
  lines.refuted = kept(writer, *states, [](const Writer::State& f) { return !f.ends; });
  if (lines.refuted.size() < states->size()) {
    tally.attack("states that are f_2 are left out", solved, lines);
  }
  if (states->empty()) return;
  const Size near = C - dice.between(1, 2);
  lines.refuted = kept(writer, *states, [&](const Writer::State& f) { return f.cost < near; });
  tally.attack("the dearest states are left out", solved, lines);
  lines.refuted = kept(writer, *states, [](const Writer::State& f) { return f.p.empty(); });
  tally.attack("nothing but bottoms", solved, lines);
  lines.refuted.clear();
  tally.attack("no states", solved, lines);
  lines.refuted = base.refuted;
  lines.refuted.erase(lines.refuted.begin() +
                      static_cast<std::ptrdiff_t>(dice.index(lines.refuted)));
  tally.attack("a state is left out", solved, lines);
  if (const auto dearer = writer.states(C, most_states, true)) {
    lines.refuted = claimed(writer, C, *dearer, Source::everywhere).refuted;
    tally.attack("detours there and back", solved, lines);
    const auto more = base.refuted;
    lines.refuted.insert(dice.one_in(2) ? lines.refuted.begin() : lines.refuted.end(), more.begin(),
                         more.end());
    tally.attack("states with and without a detour", solved, lines);
  }
}

void change(Dice& dice, Size& n, Size least) {
  const std::array<Size, 5> others = {n + 1, n - 1, 2 * n, dice.below(12), n + dice.between(-4, 4)};
  n = std::max(least, others[dice.index(others)]);
}

/// Changes of potentials and lines that need no state to be found anew.
void spoil(Dice& dice, Tally& tally, const Solved& solved, const Certificate& base) {
  Certificate lines = base;
  for (auto& [c, pi] : lines.pi) std::swap(pi[0], pi[1]);
  tally.attack("π and π' change places", solved, lines);
  lines = base;
  for (auto at = lines.pi.begin(); at != lines.pi.end();)
    at = dice.one_in(2) ? lines.pi.erase(at) : std::next(at);
  tally.attack("half of the potentials", solved, lines);
  lines = base;
  if (!lines.pi.empty()) {
    lines.pi.erase(std::next(lines.pi.begin(), static_cast<std::ptrdiff_t>(dice.index(lines.pi))));
    tally.attack("a potential is left out", solved, lines);
    lines = base;
    auto& pi =
        std::next(lines.pi.begin(), static_cast<std::ptrdiff_t>(dice.index(lines.pi)))->second;
    change(dice, dice.any(pi), 0);
    tally.attack("a potential is changed", solved, lines);
  }
  lines = base;
  lines.C += dice.between(1, 3);
  for (auto& [c, pi] : lines.pi) pi[1] = std::min(lines.C, pi[1] + lines.C - base.C);
  tally.attack("the claim and all π' are raised", solved, lines);
  if (base.refuted.empty()) return;
  lines = base;
  Rows& p = dice.any(lines.refuted).second;
  if (!p.empty() && dice.one_in(2))
    p.pop_back();
  else if (!p.empty())
    change(dice, dice.any(dice.any(p)), 0);
  tally.attack("a list of steps is changed", solved, lines);
}

/// A true certificate with one potential more that says nothing, or what is false.
void with_a_bad_potential(Dice& dice, Tally& tally, const Solved& solved, const Certificate& base) {
  const Sizes c_1 = solved.program.from.tile, g = solved.program.from.global;
  const Size C = base.C;
  const auto add = [&](const std::string& kind, const Sizes& c, Size pi, Size pi_permuted,
                       const std::string& reason) {
    Certificate lines = base;
    if (!lines.pi.emplace(c, Sizes{pi, pi_permuted}).second) return;
    tally.refuse(kind, solved, lines, reason);
  };
  Sizes c = c_1;
  c.push_back(1);
  add("a localtype with a dimension too many", c, C, C, "localtype");
  c.resize(c_1.size() - 1);
  add("a localtype with a dimension too few", c, C, C, "localtype");
  c = g;
  c[dice.index(c)] += 1;
  add("a localtype that does not divide", c, C, C, "localtype");
  if (!solved.truth.find(g)) add("a localtype over the bound", g, C, C, "localtype");
  const auto& all = solved.truth.localtypes();
  c = all[dice.index(all)];
  if (c == c_1 || c == solved.program.to.tile) return;
  add("a π above the claim", c, C + 1, C, "");
  add("a π' above the claim", c, C, C + 1, "");
}

/// Steps there and back that cost C or more together; nothing where no alltoall applies.
Rows steps_of_cost(const Solved& solved, Size C) {
  Rows p;
  for (const Writer::Move& move : solved.truth.moves(solved.truth.source())) {
    if (move.i == solved.truth.rank() || move.j == solved.truth.rank()) continue;
    const Size i = static_cast<Size>(move.i), j = static_cast<Size>(move.j);
    Size spent = 0;
    do {
      p.push_back(p.size() % 2 == 0 ? Sizes{i, j, move.n} : Sizes{j, i, move.n});
      spent += move.price;
    } while (spent < C);
    break;
  }
  return p;
}

/// A true certificate with one state more that is none.
void with_a_bad_state(Dice& dice, Tally& tally, const Solved& solved, const Certificate& base) {
  const Sizes c_1 = solved.program.from.tile;
  const Size r = static_cast<Size>(c_1.size());
  const auto add = [&](const std::string& kind, const Sizes& b, const Rows& p,
                       const std::string& reason) {
    Certificate lines = base;
    lines.refuted.insert(dice.one_in(2) ? lines.refuted.begin() : lines.refuted.end(), {b, p});
    tally.refuse(kind, solved, lines, reason);
  };
  Sizes b = c_1;
  b.push_back(1);
  add("a bottom with a dimension too many", b, {}, "bottom");
  b.resize(c_1.size() - 1);
  add("a bottom with a dimension too few", b, {}, "bottom");
  b = c_1;
  b[dice.index(b)] *= 2;
  add("a bottom that is no slice", b, {}, "bottom");
  const Rows none = {{r, 0, 2}, {r + 1, 0, 2}, {0, r + 1, 2},    {0, r, 0},
                     {0, r, 1}, {0, 0, 2},     {0, r, 1'000'003}};
  for (const Sizes& ijn : none) add("a step that is none", c_1, {ijn}, "step");
  const Rows p = steps_of_cost(solved, base.C);
  if (!p.empty()) add("steps that cost the claim or more", c_1, p, "step");
}

/// Ends that are no tiling of a type are no ends of the paper's.
void without_types(Dice& dice, Tally& tally, const Solved& solved, const Certificate& base) {
  Solved listed = solved;
  Tiling& end = dice.one_in(2) ? listed.program.from : listed.program.to;
  Rows at;
  for (Size d = 0; d < solved.program.devices; ++d) at.push_back(base_offset(end, d));
  end.at = at;
  tally.refuse("an end is a list of offsets", listed, base, "tiling");
}

void attack_one(Dice& dice, Tally& tally, const Solved& solved, const Certificate& base) {
  with_a_bad_potential(dice, tally, solved, base);
  with_a_bad_state(dice, tally, solved, base);
  without_types(dice, tally, solved, base);
  spoil(dice, tally, solved, base);
  const Beliefs all = beliefs(dice, solved);
  for (Index k = 0; k < 6; ++k) {
    const auto& [name, belief] = k == 0 ? all[0] : all[dice.index(all)];
    const Writer writer(solved.program, belief);
    // The most this writer takes for true, the least that is false, and something between.
    std::vector<Size> claims = {solved.opt + 1};
    if (writer.permuted() < never) claims.push_back(writer.permuted());
    if (const auto found = writer.states(solved.opt + 40, most_states)) {
      const Size exact = Writer::exact(*found);
      if (exact < never) claims.push_back(exact), claims.push_back(exact + 1);
      if (exact < never) claims.push_back(std::min(exact, writer.permuted()));
    }
    std::sort(claims.begin(), claims.end());
    claims.erase(std::unique(claims.begin(), claims.end()), claims.end());
    for (const Size C : claims) {
      if (C > solved.opt) claim(dice, tally, solved, name, writer, C);
    }
  }
}

// ---- Tests

TEST(CertifierUnderAttack, certifies_no_false_bound) {
  Dice dice(static_cast<std::uint64_t>(from_environment("RETILE_ATTACK_SEED", 1)));
  Tally tally(from_environment("RETILE_ATTACK_COUNT", attacks));
  Size problems = 0;
  while (tally.goes_on()) {
    const std::vector<Solved> group = draw_problems(dice, 3);
    std::vector<Certificate> proofs;
    for (const Solved& solved : group) {
      ++problems;
      const auto proof = true_certificate(dice, solved, solved.opt);
      if (!proof) continue;
      attack_one(dice, tally, solved, *proof);
      proofs.push_back(*proof);
    }
    for (const Solved& solved : group) {
      for (const Certificate& proof : proofs) {
        tally.attack("the proof of another problem", solved, proof);
      }
    }
  }
  tally.print(problems);
  if (HasFailure()) return;
  EXPECT_GT(tally.false_claims(), attacks / 2);
  // A control: each check has refused something, so no belief and no damage was in vain.
  for (const char* reason : {"target", "source", "localtype", "allpermute", "potential", "bottom",
                             "step", "open", "exact", "tiling"}) {
    EXPECT_GT(tally.reasons().count(reason), 0U) << reason;
  }
  EXPECT_GT(tally.kinds().size(), 60U);
}

TEST(CertifierUnderAttack, certifies_every_true_bound) {
  Dice dice(static_cast<std::uint64_t>(from_environment("RETILE_ATTACK_SEED", 1)));
  Tally tally(0);
  Size problems = 0;
  while (tally.true_ones() < least_true && !HasFailure()) {
    for (const Solved& solved : draw_problems(dice, 3)) {
      ++problems;
      const auto proof = true_certificate(dice, solved, solved.opt);
      if (proof) tally.accept(solved, *proof);
      if (solved.opt == 0 || !dice.one_in(4)) continue;
      const auto less = true_certificate(dice, solved, dice.below(solved.opt));
      if (less) tally.accept(solved, *less);
    }
  }
  tally.print(problems);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line + "\n");
  return out;
}
std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

/// The exit code of `retile-oracle certify --optimal`.
int exit_code(const std::string& text) {
  std::ostringstream out;
  try {
    return oracle::certify_text(text, true, out);
  } catch (const ParseError&) {
    return oracle::refused;
  }
}

TEST(CertifierUnderAttack, calls_no_text_optimal_that_was_cut_or_repeated) {
  Dice dice(3);
  Size whole = 0, cut = 0, repeated = 0;
  while (whole < 400 && !HasFailure()) {
    for (const Solved& solved : draw_problems(dice, 2)) {
      const auto proof = true_certificate(dice, solved, solved.opt);
      if (!proof || solved.opt == 0) continue;
      const auto& [H, tau_1, tau_2] = solved.ends;
      const std::string all =
          to_text(H, tau_1, tau_2, *optimum(H, tau_1, tau_2)) + text_of(*proof) + "end\n";
      EXPECT_EQ(exit_code(all), oracle::yes) << all;
      ++whole;
      const std::vector<std::string> lines = lines_of(all);
      for (Index k = 0; k < lines.size(); ++k) {
        std::vector<std::string> others = lines;
        others.resize(k);
        EXPECT_NE(exit_code(joined(others)), oracle::yes) << joined(others);
        ++cut;
        others = lines;
        others.insert(others.begin() + static_cast<std::ptrdiff_t>(k), lines[k]);
        const std::string word = lines[k].substr(0, lines[k].find(' '));
        const bool means_the_same = word == "mesh" || word == "potential" || word == "refuted";
        EXPECT_EQ(exit_code(joined(others)) == oracle::yes, means_the_same) << joined(others);
        ++repeated;
      }
    }
  }
  std::cout << whole << " texts of optima accepted, " << cut << " cut at a line refused, "
            << repeated << " with a line twice\n";
}

/// A text with facts that hold is not looked at any less: each line of its lower bound must hold,
/// too, and the other way round.
TEST(CertifierUnderAttack, neither_facts_nor_a_lower_bound_excuse_the_other) {
  const std::string program =
      "retile.program/1\nmesh x:2\nfrom [2{x}4]\nto [4]\nallgather dim=0 groups=[[0,1]]\n";
  const std::string inside = "fact groups [0,1,2]\nfact inside [0]\nfact end [4]\n";
  const std::vector<std::string> facts = {inside + "fact bound [4,4]\nfact cost [4]\n",
                                          inside + "fact bound [4,4]\nfact cost [3]\n",
                                          inside + "fact bound [3,4]\nfact cost [4]\n"};
  const std::vector<std::string> bounds = {"lower_bound 4\npotential [4] 0 4\n",
                                           "lower_bound 4\npotential [4] 1 4\n", "lower_bound 4\n",
                                           "lower_bound 5\npotential [4] 0 4\n"};
  for (Index a = 0; a < facts.size(); ++a) {
    for (Index b = 0; b < bounds.size(); ++b) {
      const int expected = a == 0 && b == 0 ? oracle::yes : oracle::no;
      for (const std::string& lines : {facts[a] + bounds[b], bounds[b] + facts[a]}) {
        EXPECT_EQ(exit_code(program + lines + "end\n"), expected) << lines;
        std::ostringstream out;
        EXPECT_EQ(oracle::certify_text(program + lines + "end\n", false, out), expected) << lines;
      }
    }
  }
}

/// What the writer takes for true, spec/search finds, too.
TEST(CertifierUnderAttack, the_writer_knows_the_truth) {
  Dice dice(2);
  Size seen = 0;
  while (seen < 500) {
    for (const Solved& solved : draw_problems(dice, 1)) {
      const Writer& truth = solved.truth;
      const Sizes g = solved.program.from.global, c_2 = solved.program.to.tile;
      const Size bound = std::max(size_of(solved.program.from.tile), size_of(c_2));
      Size count = 0;
      for (const Sizes& c : all_localtypes(solved.program.devices, g)) {
        if (size_of(c) > bound) continue;
        ++count;
        const auto known = truth.find(c);
        ASSERT_TRUE(known);
        if (size_of(c) == bound) {
          EXPECT_EQ(truth.pi(0, *known), cheapest_weak(solved.program.devices, g, c, c_2)->cost);
        }
      }
      EXPECT_EQ(count, static_cast<Size>(truth.localtypes().size()));
      const auto states = truth.states(truth.permuted(), 1000);
      if (states) {
        EXPECT_EQ(std::min(truth.permuted(), Writer::exact(*states)), solved.opt);
      }
      ++seen;
    }
  }
}

}  // namespace
}  // namespace spec::certify_attack_test
