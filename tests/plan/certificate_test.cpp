// Certificates: what the planner proves is checked by the oracle's code (spec/program/certify.h), for
// random problems far beyond enumeration, and what is corrupted is refused.
#include "retile/plan/certificate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/program/forms/text.h"
#include "spec/program/certify.h"
#include "spec/program/certify_text.h"
#include "spec/program/check.h"
#include "support/random_problems.h"

namespace retile::certificate_test {
namespace {

/// What the oracle says about a text.
struct Answer {
  bool right = false;
  bool certified = false;
  std::string why;  // not
  Size cost = 0;
  Size lower_bound = 0;
  [[nodiscard]] bool optimal() const { return right && certified && cost == lower_bound; }
};

Answer ask(const std::string& text) {
  Answer out;
  spec::CertificateReader reader(text);
  try {
    const spec::Program program = reader.program();
    const spec::Verdict verdict = spec::check(program);
    out.right = verdict.decided && verdict.right && verdict.within_bound;
    out.cost = verdict.cost;
    out.lower_bound = reader.lines.C;
    if (!out.right) {
      out.why = "wrong";
      return out;
    }
    spec::Certifier(program, reader.lines).run();
    out.certified = true;
  } catch (const spec::ParseError&) {
    out.why = "text";
  } catch (const spec::Unproved& why) {
    out.why = why.reason;
  }
  return out;
}

/// A plan and its proof.
struct Proved {
  Plan plan;
  Program program;
  Certificate certificate;
  [[nodiscard]] std::string text() const { return certificate_text(program, to_text(certificate)); }
};

Proved prove(const Problem& problem) {
  Plan planned = plan(problem).value();
  Program program = lower(planned);
  Certificate certificate = certify(planned).value();
  return {std::move(planned), std::move(program), std::move(certificate)};
}

std::string name_of(const Problem& problem) {
  return "--mesh " + to_text(problem.spelling->mesh) + " '" + problem.spelling->from + "' '" +
         problem.spelling->to + "'";
}

TEST(Certificate, Example_3_1_is_proved_by_four_shapes_and_five_states) {
  const Proved proved =
      prove(parse_problem("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]").value());
  EXPECT_EQ(to_text(proved.certificate),
            "lower_bound 18\n"
            "potential [1,6] 6 12\n"
            "potential [2,3] 0 6\n"
            "potential [3,2] 12 18\n"
            "potential [6,1] 6 12\n"
            "refuted [3,2] []\n"
            "refuted [3,2] [[0,1,2]]\n"
            "refuted [3,2] [[1,0,3]]\n"
            "refuted [3,2] [[0,1,2],[1,0,3]]\n"
            "refuted [3,2] [[1,0,3],[0,1,2]]\n");
  EXPECT_TRUE(ask(proved.text()).optimal());
}

TEST(Certificate, nothing_to_do_needs_no_lines) {
  const Proved proved = prove(parse_problem("x:4", "[3{x}12]", "[3{x}12]").value());
  EXPECT_EQ(to_text(proved.certificate), "lower_bound 0\n");
  EXPECT_TRUE(ask(proved.text()).optimal());
}

/// What the oracle says of a bound among steps along several dimensions.
std::string ask_along(const Problem& problem, Size bound) {
  const auto read =
      spec::parse_programs("retile.program/1\nmesh " + to_text(problem.spelling->mesh) + "\nfrom " +
                           problem.spelling->from + "\nto " + problem.spelling->to + "\n");
  try {
    spec::AlongCertifier(read.programs.at(0), bound, Size{1} << 26).run();
    return "certified";
  } catch (const spec::Unproved& why) {
    return why.reason;
  } catch (const spec::TooLarge&) {
    return "undecided";
  }
}

TEST(Certificate, what_is_said_among_all_steps_is_certified) {
  support::Random random(1);
  Size claims = 0, undecided = 0;
  for (const char* const text : {"x:2,y:2,z:2", "x:4,y:2,z:4", "x:2,y:3,z:2", "x:6,y:4,z:5"}) {
    const Mesh mesh = parse_mesh(text).value();
    for (int k = 0; k < 60; ++k) {
      const Problem problem = support::draw_problem(random, mesh);
      const Plan made = plan(problem, {.steps = Scope::several_dims}).value();
      const Certificate certificate = certify(made).value();
      EXPECT_EQ(certificate.scope == Scope::one_dim, made.scope == Scope::one_dim);
      EXPECT_EQ(certificate.lower_bound, made.lower_bound);
      if (made.scope == Scope::one_dim) continue;
      EXPECT_TRUE(certificate.potentials.empty() && certificate.refutations.empty());
      const std::string said = ask_along(problem, made.lower_bound);
      ++claims;
      undecided += said == "undecided" ? 1 : 0;
      EXPECT_TRUE(said == "certified" || said == "undecided") << said << ": " << name_of(problem);
      EXPECT_NE(ask_along(problem, made.cost + 1), "certified") << name_of(problem);
    }
  }
  std::cout << claims << " bounds among all steps, " << undecided << " undecided\n";
  EXPECT_GT(claims, 200);
  EXPECT_LT(undecided, 10);
}

TEST(Certificate, one_gather_for_a_matrix_cut_both_ways_has_two_lines) {
  const Plan made = plan(parse_problem("x:2,y:2", "[2{x}4, 2{y}4]", "[4, 4]").value(),
                         {.steps = Scope::several_dims})
                        .value();
  EXPECT_EQ(to_text(certify(made).value()), "scope several_dims\nlower_bound 16\n");
}

TEST(Certificate, costs_in_bytes_and_memory_limits_have_none) {
  const Problem problem = parse_problem("x:4", "[3{x}12]", "[12]").value();
  EXPECT_EQ(certify(plan(problem, {.cost_model = CostModel::bytes}).value()).error().code,
            Code::unsupported);
  EXPECT_EQ(certify(plan(problem, {.memory_limit_bytes = 1 << 20}).value()).error().code,
            Code::unsupported);
}

TEST(Certificate, one_that_is_too_large_is_refused) {
  const Plan made =
      plan(parse_problem("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]").value()).value();
  ASSERT_TRUE(certify(made, {.most_lines = 9}).has_value());
  // Five lines with 24 tiles, each tile counted as 16, take the last one's whole limit.
  for (const CertificateOptions& options : {CertificateOptions{.most_lines = 3},
                                            {.most_lines = 8},
                                            {.search_limit = 9},
                                            {.search_limit = 16 * 24 * 5}}) {
    const auto got = certify(made, options);
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error().code, Code::limit_reached);
  }
}

TEST(Certificate, beyond_a_number_of_devices_there_is_none) {
  EXPECT_TRUE(
      certify(plan(parse_problem("x:1048576", "[1{x}1048576]", "[1{x}1048576]").value()).value())
          .has_value());
  const auto got = certify(
      plan(parse_problem("x:2147483647", "[1{x}2147483647]", "[2147483647]").value()).value());
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, Code::limit_reached);
}

TEST(Certificate, has_one_lower_bound) {
  const std::string text =
      "retile.program/1\ndevices 2\nfrom [2{1:2}4]\nto [2{1:2}4]\nlower_bound 0\n";
  EXPECT_TRUE(ask(text + "end\n").certified);
  EXPECT_EQ(ask(text + "lower_bound 0\nend\n").why, "text");
}

TEST(Certificate, tilings_that_are_no_types_are_refused) {
  const std::string rest =
      "to [4]\nallgather dim=0 groups=[[0,1]]\nlower_bound 4\npotential [4] 0 4\nend\n";
  const std::string start = "retile.program/1\ndevices 2\n";
  EXPECT_TRUE(ask(start + "from [2{1:2}4]\n" + rest).optimal());
  const Answer answer = ask(start + "from tile=[2] global=[4] at=[[0],[2]]\n" + rest);
  EXPECT_TRUE(answer.right);
  EXPECT_EQ(answer.why, "tiling");
}

TEST(Certificate, beyond_its_limits_the_oracle_decides_nothing) {
  const Proved proved =
      prove(parse_problem("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]").value());
  const std::string text = proved.text();
  spec::CertificateReader reader(text);
  const auto programs = reader.programs();
  const auto decides = [&](Size work, Size numbers) {
    try {
      spec::Certifier(programs[0], reader.lines, work, numbers).run();
      return true;
    } catch (const spec::TooLarge&) {
      return false;
    }
  };
  // 24 devices with 4 numbers, and five lines with 24 tiles of 2, and 4 more for each.
  EXPECT_TRUE(decides(spec::Certifier::most_work, 24 * 8 + 5 * 24 * 6));
  EXPECT_FALSE(decides(spec::Certifier::most_work, 24 * 8 + 5 * 24 * 6 - 1));
  Size least = 1;
  while (!decides(least, spec::Certifier::most_numbers)) ++least;
  std::cout << least << " units of work\n";
  EXPECT_GT(least, 24 * 4);
}

// Random problems.

constexpr const char* meshes[] = {"a:2,b:2,c:61", "a:4,b:4,c:4", "a:6,b:4,c:5", "a:8,b:9",
                                  "a:2,b:3,c:5,d:7"};
#ifdef RETILE_SLOW_TESTS
constexpr int problems_per_mesh = 1000;
constexpr int corrupted_per_mesh = 60;
#else
constexpr int problems_per_mesh = 60;
constexpr int corrupted_per_mesh = 12;
#endif

class RandomPairs : public ::testing::TestWithParam<const char*> {};

TEST_P(RandomPairs, are_proved_and_the_proof_is_accepted) {
  support::Random random(1);
  const Mesh mesh = parse_mesh(GetParam()).value();
  Size optimal = 0, permuted = 0, potentials = 0, refutations = 0;
  std::size_t most = 0;
  for (int k = 0; k < problems_per_mesh; ++k) {
    const Problem problem = support::draw_problem(random, mesh);
    const Proved proved = prove(problem);
    const Answer answer = ask(proved.text());
    ASSERT_TRUE(answer.right && answer.certified) << answer.why << ": " << name_of(problem);
    ASSERT_EQ(answer.cost, proved.plan.cost) << name_of(problem);
    ASSERT_EQ(answer.lower_bound, proved.plan.lower_bound) << name_of(problem);
    ASSERT_EQ(answer.optimal(), proved.plan.optimal) << name_of(problem);
    optimal += answer.optimal() ? 1 : 0;
    permuted += static_cast<Size>(proved.plan.permutes());
    potentials += static_cast<Size>(proved.certificate.potentials.size());
    refutations += static_cast<Size>(proved.certificate.refutations.size());
    most = std::max(most,
                    proved.certificate.potentials.size() + proved.certificate.refutations.size());
  }
  std::cout << "mesh " << GetParam() << ": " << problems_per_mesh << " certificates accepted, "
            << optimal << " of optimal plans, " << permuted << " with a permutation; " << potentials
            << " potentials and " << refutations << " refutations, at most " << most << " in one\n";
  EXPECT_EQ(optimal, problems_per_mesh);
  EXPECT_GT(permuted, 0);
}

INSTANTIATE_TEST_SUITE_P(FiveMeshes, RandomPairs, ::testing::ValuesIn(meshes));

// Corruptions. Each changes something; nothing when there is nothing of the kind to change. All are
// of proofs of optimal plans, so none may still be called one.

struct Corruption {
  const char* what;
  std::function<bool(Proved&, support::Random&)> change;
};

template <class List>
auto& any_of(List& list, support::Random& random) {
  return list[static_cast<std::size_t>(
      support::draw(random, 0, static_cast<Size>(list.size()) - 1))];
}
template <class List>
void erase_any(List& list, support::Random& random) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(
                                support::draw(random, 0, static_cast<Size>(list.size()) - 1)));
}
Certificate::Potential* potential_of(Proved& proved, const Shape& tile) {
  for (auto& line : proved.certificate.potentials) {
    if (line.tile == tile) return &line;
  }
  return nullptr;
}

Certificate::Refutation* with_steps(Proved& proved, support::Random& random) {
  std::vector<Certificate::Refutation*> lines;
  for (auto& line : proved.certificate.refutations) {
    if (!line.steps.empty()) lines.push_back(&line);
  }
  return lines.empty() ? nullptr : any_of(lines, random);
}

std::vector<Corruption> corruptions() {
  using P = Proved;
  using R = support::Random;
  return {
      {"the lower bound is raised", [](P& p, R&) { return ++p.certificate.lower_bound > 0; }},
      {"the lower bound is doubled", [](P& p, R&) { return (p.certificate.lower_bound *= 2) > 0; }},
      {"the lower bound is forgotten",
       [](P& p, R&) { return std::exchange(p.certificate.lower_bound, 0) > 0; }},
      {"a cost is raised",
       [](P& p, R& random) { return ++any_of(p.certificate.potentials, random).cost > 0; }},
      {"a cost with a permutation is raised",
       [](P& p, R& random) { return ++any_of(p.certificate.potentials, random).permuted > 0; }},
      {"the target costs something",
       [](P& p, R&) { return ++potential_of(p, p.plan.problem.to.tile())->cost > 0; }},
      {"the source is cheaper with a permutation",
       [](P& p, R&) {
         auto* line = potential_of(p, p.plan.problem.from.tile());
         if (line != nullptr) --line->permuted;
         return line != nullptr;
       }},
      {"a shape is forgotten",
       [](P& p, R& random) {
         erase_any(p.certificate.potentials, random);
         return true;
       }},
      {"half of the shapes are forgotten",
       [](P& p, R&) {
         p.certificate.potentials.resize(p.certificate.potentials.size() / 2);
         return true;
       }},
      {"a cost is above the lower bound",
       [](P& p, R& random) {
         any_of(p.certificate.potentials, random).permuted = p.certificate.lower_bound + 1;
         return true;
       }},
      {"two shapes exchange their costs",
       [](P& p, R& random) {
         auto& a = any_of(p.certificate.potentials, random);
         auto& b = any_of(p.certificate.potentials, random);
         std::swap(a.cost, b.cost);
         return a.cost != b.cost;
       }},
      {"a shape has a dimension too many",
       [](P& p, R& random) {
         any_of(p.certificate.potentials, random).tile.push_back(1);
         return true;
       }},
      {"a shape does not divide the array",
       [](P& p, R& random) {
         any_of(p.certificate.potentials, random).tile[0] = p.plan.problem.from.global()[0] + 1;
         return true;
       }},
      {"a state is forgotten",
       [](P& p, R& random) {
         if (p.certificate.refutations.empty()) return false;
         erase_any(p.certificate.refutations, random);
         return true;
       }},
      {"all states are forgotten",
       [](P& p, R&) {
         const bool some = !p.certificate.refutations.empty();
         p.certificate.refutations.clear();
         return some;
       }},
      {"a state loses its last step",
       [](P& p, R& random) {
         auto* line = with_steps(p, random);
         if (line != nullptr) line->steps.pop_back();
         return line != nullptr;
       }},
      {"a state moves a factor that does not fit",
       [](P& p, R& random) {
         auto* line = with_steps(p, random);
         if (line != nullptr) line->steps.back()[2] = 1'000'003;
         return line != nullptr;
       }},
      {"a state moves from a dimension that is not there",
       [](P& p, R& random) {
         auto* line = with_steps(p, random);
         if (line != nullptr) line->steps.back()[0] = static_cast<Size>(line->bottom.size());
         return line != nullptr;
       }},
      {"a state is sliced to what is no tile",
       [](P& p, R& random) {
         if (p.certificate.refutations.empty()) return false;
         any_of(p.certificate.refutations, random).bottom[0] *= 2;
         return true;
       }},
      {"the Program misses a step",
       [](P& p, R& random) {
         if (p.program.steps.empty()) return false;
         erase_any(p.program.steps, random);
         return true;
       }},
      {"the Program claims another tile",
       [](P& p, R& random) {
         if (p.program.steps.empty()) return false;
         ++any_of(p.program.steps, random).claims.tile->front();
         return true;
       }},
      {"the Program comes from elsewhere",
       [](P& p, R&) {
         std::swap(p.program.from, p.program.to);
         return !p.program.from.equivalent(p.program.to);
       }},
      {"the Program permutes twice more than it must",
       [](P& p, R&) {
         if (p.program.devices < 2 || p.program.steps.empty()) return false;
         const PairList swap = {{0, 1}, {1, 0}};
         p.program.steps.insert(p.program.steps.begin(), 2, Step{Allpermute{swap}, {}});
         return true;
       }},
  };
}

TEST(Certificate, corrupted_ones_are_refused) {
  support::Random random(2);
  const std::vector<Corruption> kinds = corruptions();
  std::vector<Size> tried(kinds.size(), 0);
  std::map<std::string, Size> reasons;
  for (const char* text : meshes) {
    const Mesh mesh = parse_mesh(text).value();
    for (int k = 0; k < corrupted_per_mesh; ++k) {
      const Proved proved = prove(support::draw_problem(random, mesh));
      if (!proved.plan.optimal || proved.certificate.potentials.empty()) continue;
      for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        Proved corrupted = proved;
        if (!kinds[kind].change(corrupted, random)) continue;
        const Answer answer = ask(corrupted.text());
        EXPECT_FALSE(answer.optimal()) << kinds[kind].what << ": " << name_of(proved.plan.problem);
        ++tried[kind];
        ++reasons[answer.certified ? "dearer" : answer.why];
      }
    }
  }
  Size sum = 0;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    EXPECT_GT(tried[kind], 3) << kinds[kind].what;
    sum += tried[kind];
  }
  std::cout << sum << " corrupted certificates of " << kinds.size() << " kinds refused:";
  for (const auto& [reason, count] : reasons) std::cout << " " << reason << " " << count;
  std::cout << "\n";
  EXPECT_GE(kinds.size(), 20U);
}

/// A proof says as much of another problem only if it is true there.
TEST(Certificate, proofs_of_other_problems_prove_nothing_false) {
  support::Random random(3);
  Size accepted = 0, refused = 0;
  const Mesh mesh = parse_mesh("a:4,b:4,c:4").value();
  for (int k = 0; k < problems_per_mesh; ++k) {
    const Shape global = support::draw_shape(random, mesh);
    std::vector<Proved> proved;
    for (int m = 0; m < 4; ++m) {
      const DistType from = support::draw_type(random, mesh, global);
      const DistType to = support::draw_type(random, mesh, global);
      proved.push_back(prove(make_problem(mesh, from, to).value()));
    }
    for (const Proved& one : proved) {
      for (const Proved& other : proved) {
        const Answer answer = ask(certificate_text(one.program, to_text(other.certificate)));
        (answer.certified ? accepted : refused) += 1;
        if (answer.certified) {
          EXPECT_LE(answer.lower_bound, one.plan.cost);
        }
      }
    }
  }
  std::cout << accepted << " accepted and true, " << refused << " refused\n";
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace retile::certificate_test
