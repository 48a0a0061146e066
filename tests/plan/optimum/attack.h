/// The attack: so many problems of all kinds, what is known of each, and whether it contradicts what
/// the planner says.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/optimum/examine.h"
#include "plan/optimum/undecided.h"

namespace optimum {

/// What the planner says is falsified so before it is held against what is known: the attack must
/// find it.
enum class Control { none, optimal, bound, cost, certificate };
inline constexpr std::array<std::string_view, 5> controls = {"", "optimal", "bound", "cost",
                                                             "certificate"};

struct Options {
  std::uint64_t problems = 2000;
  std::uint64_t seed = 1;
  Size near = 5;               ///< of 1,000 problems, how many are drawn near known ones
  std::string known = {};      ///< the file of these
  std::string save = {};       ///< a folder for contradictions, if any
  std::string undecided = {};  ///< a file for what is not called optimal, if any
  Control control = Control::none;
  std::ostream* log = nullptr;  ///< for progress and the first contradictions, if anybody reads it
};

/// What decided a problem, the strongest first. `undecided`: the planner does not say optimal.
enum class Decided { brute_force, counting, certificate, undecided, open };
inline constexpr std::array<std::string_view, 5> decided_names = {
    "brute_force", "counting", "certificate", "undecided", "open"};

struct Counts {
  std::array<std::uint64_t, 5> decided = {};  // every problem once
  std::uint64_t searched = 0, counted = 0, certified = 0, replayed = 0;
  std::uint64_t undecided_known = 0;  // OPT is known, of those
  std::uint64_t undecided_below = 0;  // and is below the cost
  std::uint64_t free = 0;             // drawn, but cost nothing
  std::uint64_t contradictions = 0;
  Size most_devices = 0, most_undecided_devices = 0, least_undecided_devices = 0;
  std::array<std::uint64_t, 7> ranks = {};
};

/// Of 1,000 problems, how many have few devices, and many; and how many at most are near known ones.
constexpr Size of_small = 350;
constexpr Size of_large = 15;
constexpr Size most_near = 1000 - of_small - of_large;

/// So many lines of the file are started from, however many are added to it: a seed draws the same.
constexpr std::size_t first_known = 16;

/// Where a problem came from decides what can be known of it.
enum class Kind { small, middle, large, near };

class Attack {
 public:
  explicit Attack(Options options) : options_(std::move(options)), random_(options_.seed) {
    for (const Undecided& line : read_undecided(options_.known)) {
      if (near_.size() < first_known) near_.push_back(spelled(line.problem()));
    }
    if (!options_.undecided.empty()) file_.open(options_.undecided);
  }

  void run() {
    for (std::uint64_t k = 0; k < options_.problems; ++k) {
      if (k > 0 && k % 1024 == 0) report_progress(k);
      const Size share = draw(random_, 0, 999);
      examine(share < of_small                              ? Kind::small
              : share < of_small + of_large                 ? Kind::large
              : share < of_small + of_large + options_.near ? Kind::near
                                                            : Kind::middle);
    }
  }

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  void examine(Kind kind) {
    const auto [problem, plan] = draw_problem(kind);
    const Claim claim = falsified(claim_of(plan));
    const Known known = find_out(kind, problem, plan, claim);
    count(problem, claim, known);
    if (!claim.optimal) keep(problem, claim, known);
    const std::string why = contradiction(claim, known);
    if (!why.empty()) save(problem, claim, known, why);
  }

  /// A plan that costs something.
  std::pair<Problem, retile::Plan> draw_problem(Kind kind) {
    while (true) {
      Problem problem = kind == Kind::near    ? draw_near(random_, near_)
                        : kind == Kind::small ? draw_moving(random_, small_source())
                        : kind == Kind::large ? draw_moving(random_, large_source())
                                              : draw_moving(random_, middle_source());
      retile::Plan plan = retile::plan(problem).value();
      if (plan.cost > 0) return {std::move(problem), std::move(plan)};
      ++counts_.free;
    }
  }

  [[nodiscard]] Claim falsified(Claim claim) const {
    if (options_.control == Control::optimal) {
      claim.lower_bound = claim.cost;
      claim.optimal = true;
    } else if (options_.control == Control::bound) {
      claim.lower_bound = ++claim.cost;
    } else if (options_.control == Control::cost) {
      claim.lower_bound = --claim.cost;
    }
    return claim;
  }

  Known find_out(Kind kind, const Problem& problem, const retile::Plan& plan, const Claim& claim) {
    Known out;
    // Each takes longer than the one before it. Of all that is drawn some problems are looked at
    // more closely.
    const Size closely = draw(random_, 0, 63);
    if (kind == Kind::small || kind == Kind::near) {
      const Ends ends = ends_of(problem);
      const Size most_work = Size{1} << (kind == Kind::near ? 20 : 22);
      out.counted = ByCounting(ends.from, ends.to, most_work).optimum();
      if (closely < 8 && problem.from.devices() <= 60) out.searched = search(ends, 1 << 14);
    }
    if (kind == Kind::small && closely == 0) out.replayed = replay(plan);
    if (kind == Kind::small && closely >= 4) return out;
    Claim bound = claim;
    if (options_.control == Control::certificate) ++bound.lower_bound;
    // What the certificate is about are the planner's bounds; a falsified one has none.
    const bool honest =
        options_.control == Control::none || options_.control == Control::certificate;
    if (honest) out.certified = certify(plan, bound, Size{1} << 20);
    return out;
  }

  void count(const Problem& problem, const Claim& claim, const Known& known) {
    const Decided decided = !claim.optimal            ? Decided::undecided
                            : known.searched          ? Decided::brute_force
                            : known.counted           ? Decided::counting
                            : known.certified == true ? Decided::certificate
                                                      : Decided::open;
    ++counts_.decided[static_cast<std::size_t>(decided)];
    counts_.searched += known.searched ? 1U : 0U;
    counts_.counted += known.counted ? 1U : 0U;
    counts_.certified += known.certified == true ? 1U : 0U;
    counts_.replayed += known.replayed ? 1U : 0U;
    const Size devices = problem.from.devices();
    counts_.most_devices = std::max(counts_.most_devices, devices);
    ++counts_.ranks[problem.from.rank()];
    if (claim.optimal) return;
    counts_.undecided_known += known.optimum() ? 1U : 0U;
    counts_.undecided_below += known.optimum() && *known.optimum() < claim.cost ? 1U : 0U;
    counts_.most_undecided_devices = std::max(counts_.most_undecided_devices, devices);
    Size& least = counts_.least_undecided_devices;
    least = least == 0 ? devices : std::min(least, devices);
  }

  /// Writes what the planner cannot decide, once.
  void keep(const Problem& problem, const Claim& claim, const Known& known) {
    if (!file_.is_open() || !kept_.insert(name_of(spelled(problem))).second) return;
    const auto& spelling_of = *problem.spelling;
    file_ << to_text({to_text(spelling_of.mesh), spelling_of.from, spelling_of.to, claim.cost,
                      claim.lower_bound, known.optimum()})
          << std::endl;
  }

  void save(const Problem& problem, const Claim& claim, const Known& known,
            const std::string& why) {
    const auto& spelling = *problem.spelling;
    std::ostringstream text;
    text << why << "\nretile plan --mesh " << to_text(spelling.mesh) << " '" << spelling.from
         << "' '" << spelling.to << "'\ncost " << claim.cost << ", lower bound "
         << claim.lower_bound << ", W " << claim.weak_cost << ", "
         << (claim.optimal ? "optimal" : "not called optimal");
    if (known.searched) text << "\nOPT by brute force " << *known.searched;
    if (known.counted) text << "\nOPT by counting " << *known.counted;
    if (known.certified) text << "\ncertificate " << (*known.certified ? "accepted" : "refused");
    text << '\n';
    if (counts_.contradictions++ < 10 && options_.log != nullptr) *options_.log << text.str();
    if (options_.save.empty()) return;
    std::filesystem::create_directories(options_.save);
    std::ofstream(std::filesystem::path(options_.save) /
                  ("contradiction_" + std::to_string(counts_.contradictions) + ".txt"))
        << text.str();
  }

  void report_progress(std::uint64_t done) const {
    if (options_.log == nullptr) return;
    *options_.log << done << " of " << options_.problems << " problems, "
                  << counts_.decided[static_cast<std::size_t>(Decided::undecided)] << " undecided, "
                  << counts_.contradictions << " contradictions, "
                  << static_cast<std::uint64_t>(seconds()) << " s\n";
  }

  const Options options_;
  Random random_;
  std::vector<Spelled> near_;
  std::set<std::string> kept_;
  std::ofstream file_;
  Counts counts_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace optimum
