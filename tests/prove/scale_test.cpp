// `prove` on the paper's examples, on problems drawn as in its evaluation, and on 65,536 and 2^20
// devices; and mutants on 8 and on 65,536 devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "check/judge.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/prove/prove.h"
#include "retile/prove/solver.h"
#include "spec/paper/examples.h"
#include "support/mutants.h"
#include "support/section8.h"

namespace retile::scale_test {
namespace {

/// What a proof may take at the median, from text to verdict, on one core.
constexpr double limit_seconds = 2;

class Times {
 public:
  void add(double seconds) { all_.push_back(seconds); }

  [[nodiscard]] double median() {
    std::sort(all_.begin(), all_.end());
    return all_[all_.size() / 2];
  }

  /// Prints the times, and keeps them for the document.
  void report(const std::string& what) {
    const double middle = median();
    std::cout << what << ": " << all_.size() << " proved by Z3 " << z3_version() << ", median "
              << middle << " s, slowest " << all_.back() << " s\n";
    static nlohmann::ordered_json rows;
    rows.push_back({{"what", what},
                    {"programs", all_.size()},
                    {"z3", z3_version()},
                    {"median_seconds", middle},
                    {"slowest_seconds", all_.back()}});
    const std::filesystem::path file = RETILE_PROVE_RESULTS;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << rows.dump(2) << '\n';
  }

 private:
  std::vector<double> all_;
};

/// Plans, lowers and proves; how long that took is added to `times`.
void prove_plan(const Problem& problem, Times& times) {
  SCOPED_TRACE(to_text(problem.spelling->mesh) + " " + problem.spelling->from + " " +
               problem.spelling->to);
  const auto start = std::chrono::steady_clock::now();
  const auto made = plan(problem);
  ASSERT_TRUE(made.has_value()) << render(made.error());
  const Program program = lower(*made);
  const auto proof = prove(program);
  times.add(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  ASSERT_TRUE(proof.has_value()) << render(proof.error());
  ASSERT_TRUE(proof->proved()) << to_text(program) << check_tests::show(proof->verdict) << ' '
                               << proof->undecided;
  ASSERT_EQ(proof->method, ProofMethod::symbolic);
  ASSERT_EQ(proof->verdict.cost, made->cost);
  ASSERT_EQ(proof->verdict.height, made->height);
  // Claims are helpful, not needed.
  const auto silent = prove(support::without_claims(program));
  ASSERT_TRUE(silent.has_value() && silent->proved()) << to_text(program);
}

TEST(ProveScale, all_examples_of_the_paper) {
  Times times;
  for (const spec::Example& example : spec::examples()) {
    SCOPED_TRACE(example.name);
    prove_plan(parse_problem(example.mesh, example.from, example.to).value(), times);
  }
  times.report("examples of the paper");
  EXPECT_LT(times.median(), limit_seconds);
}

TEST(ProveScale, two_hundred_problems_as_in_section_8) {
  std::mt19937_64 random(20211221);
  const std::vector<Mesh> meshes{
      parse_mesh("a:2,b:2,c:2").value(), parse_mesh("a:4,b:2,c:4").value(),
      parse_mesh("a:2,b:3,c:2").value(), parse_mesh("a:6,b:4,c:5").value()};
  Times times;
  for (std::size_t k = 0; k < 200 && !HasFatalFailure(); ++k) {
    prove_plan(support::draw_sample(random, meshes[k % meshes.size()]).problem, times);
  }
  times.report("problems drawn as in Sec. 8, three axes, up to six dimensions");
  EXPECT_LT(times.median(), limit_seconds);
}

/// A type of this global shape; an axis goes only where it divides what is left.
DistType large_type(std::mt19937_64& random, const Mesh& mesh, const Shape& global) {
  std::vector<DistDim> dims;
  for (const Size extent : global) dims.push_back({extent, {}, extent});
  for (const Axis& axis : mesh.axes()) {
    const auto dim =
        static_cast<std::size_t>(support::draw(random, 0, static_cast<Size>(dims.size())));
    if (dim == dims.size() || dims[dim].tile % axis.size != 0) continue;
    dims[dim].axes.insert(dims[dim].axes.begin(), axis.name);
    dims[dim].tile /= axis.size;
  }
  return DistType::make(mesh, dims).value();
}

void prove_large(const std::vector<std::string>& meshes, Size devices, std::size_t count) {
  std::mt19937_64 random(7);
  const Shape global = {3 * 16384, 16384, 1024, 5 * 512};
  Times times;
  for (std::size_t k = 0; k < count && !testing::Test::HasFatalFailure(); ++k) {
    const Mesh mesh = parse_mesh(meshes[k % meshes.size()]).value();
    ASSERT_EQ(mesh.device_count(), devices);
    const DistType from = large_type(random, mesh, global);
    const DistType to = large_type(random, mesh, global);
    prove_plan(make_problem(mesh, from, to).value(), times);
  }
  times.report("problems on " + std::to_string(devices) + " devices, rank 4, three to ten axes");
  EXPECT_LT(times.median(), limit_seconds);
}

TEST(ProveScale, sixty_five_thousand_devices) {
  prove_large({"x:16,y:16,z:16,w:16", "x:64,y:32,z:32", "a:4,b:4,c:4,d:4,e:4,f:4,g:4,h:4",
               "x:256,y:16,z:16"},
              65536, 40);
}

TEST(ProveScale, a_million_devices) {
  prove_large({"x:32,y:32,z:32,w:32", "x:64,y:128,z:128", "a:4,b:4,c:4,d:4,e:4,f:4,g:4,h:4,i:4,j:4",
               "x:256,y:64,z:64"},
              1048576, 40);
}

// ---- Mutants ------------------------------------------------------------------------------------

struct MutantTally {
  struct Row {
    int mutants = 0, refuted = 0, symbolic = 0;
  };
  std::map<support::Mutation, Row> rows;

  void print(Size devices) const {
    for (const auto& [mutation, row] : rows) {
      std::cout << devices << " devices, " << support::name(mutation) << ": " << row.mutants
                << " mutants, " << row.refuted
                << " wrong and refuted with a device and an element, " << row.symbolic
                << " symbolically\n";
    }
  }
};

/// What an explicit replay says against a witness, where it is not too large for one.
std::string naive_fault(const Program& program, const Verdict& verdict) {
  return program.devices > 1000 ? "" : naive::witness_fault(program, verdict);
}

/// A mutant that `check` calls wrong is refuted, with the device and element that `check` names.
void try_mutant(const support::Mutant& mutant, MutantTally& tally) {
  auto& row = tally.rows[mutant.mutation];
  for (const Program& program : {mutant.program, support::without_claims(mutant.program)}) {
    const Verdict expected = check(program);
    const auto proof = prove(program);
    ASSERT_TRUE(proof.has_value());
    ++row.mutants;
    ASSERT_EQ(proof->verdict.answer, expected.answer) << support::name(mutant.mutation);
    const auto fields = support::fields_of(expected);
    ASSERT_TRUE(support::fields_of(proof->verdict) == fields)
        << check_tests::show(proof->verdict) << '\n'
        << check_tests::show(expected);
    if (expected.answer == Answer::right) continue;  // two replicas swapped, for instance
    ++row.refuted;
    ASSERT_TRUE(fields.device && (fields.element || fields.found))
        << support::name(mutant.mutation) << ": " << check_tests::show(expected);
    ASSERT_EQ(naive_fault(program, expected), "");
    if (proof->method == ProofMethod::symbolic) ++row.symbolic;
  }
}

/// Together these have all four collectives, and so all kinds of mutants.
std::vector<Program> programs_of(const std::vector<std::array<std::string, 3>>& problems) {
  std::vector<Program> out;
  for (const auto& [mesh, from, to] : problems) {
    out.push_back(lower(plan(parse_problem(mesh, from, to).value()).value()));
  }
  return out;
}

void expect_all_kinds(const MutantTally& tally) {
  for (const support::Mutation mutation : support::all_mutations) {
    if (!support::changes_plans(mutation)) continue;
    const auto row = tally.rows.find(mutation);
    ASSERT_NE(row, tally.rows.end()) << support::name(mutation);
    EXPECT_GT(row->second.refuted, 0) << support::name(mutation);
  }
}

TEST(ProveScale, mutants_on_8_devices) {
  MutantTally tally;
  for (const Program& program : programs_of({
           {"a:2,b:2,c:2", "[4, 1{a,b}4]", "[1{a,c}4, 4]"},
           {"a:2,b:2,c:2", "[4{a}8, 8]", "[2{b,c}8, 8]"},
           {"a:2,b:4", "[4{a}8, 2{b}8]", "[2{b}8, 4{a}8]"},
       })) {
    for (const support::Mutation mutation : support::all_mutations) {
      // All choices up to a number; they come in order.
      int left = 40;
      support::for_each_mutant(program, mutation, [&](const support::Mutant& mutant) {
        if (left-- > 0 && !HasFatalFailure()) try_mutant(mutant, tally);
      });
    }
  }
  tally.print(8);
  expect_all_kinds(tally);
}

TEST(ProveScale, mutants_on_65536_devices) {
  MutantTally tally;
  std::uint64_t seed = 1;
  for (const Program& program : programs_of({
           {"x:16,y:16,z:16,w:16", "[64{x,y}16384, 1024{z}16384, 64{w}1024, 512]",
            "[1024{w}16384, 16384, 4{x,z}1024, 32{y}512]"},
           {"x:64,y:32,z:32", "[64, 1{x,y}2048, 64]", "[1{x}64, 2048, 2{z}64]"},
       })) {
    for (const support::Mutation mutation : support::all_mutations) {
      for (int left = 3, tries = 20; left > 0 && tries > 0 && !HasFatalFailure(); --tries) {
        const auto mutant = support::mutate(program, mutation, support::random_choices(seed++));
        if (!mutant) continue;
        --left;
        try_mutant(*mutant, tally);
      }
    }
  }
  tally.print(65536);
  expect_all_kinds(tally);
}

/// The table of a step, if it is an iota.
DeviceTable* iota_of(Step& step) {
  DeviceTable* table = support::detail::groups_of(step);
  if (auto* allpermute = std::get_if<Allpermute>(&step.op)) {
    table = std::get_if<DeviceTable>(&allpermute->source);
  }
  return table != nullptr && table->chain() != nullptr ? table : nullptr;
}

/// The same Program with one table in another order that is an iota, too: other groups, another
/// order of parts, another permutation.
std::vector<Program> with_other_iotas(const Program& program) {
  const Size devices = program.devices;
  const std::vector<IotaStage> stages = {
      {{devices / 2, 2}, {1, 0}},       {{2, devices / 2}, {1, 0}},
      {{devices / 4, 2, 2}, {0, 2, 1}}, {{2, devices / 4, 2}, {2, 1, 0}},
      {{2, 2, devices / 4}, {1, 0, 2}},
  };
  std::vector<Program> out;
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    for (const IotaStage& stage : stages) {
      Program mutant = program;
      DeviceTable* const table = iota_of(mutant.steps[k]);
      if (table == nullptr) continue;
      IotaChain chain = *table->chain();
      chain.append(stage);
      *table = DeviceTable::iota(std::move(chain), table->columns());
      out.push_back(std::move(mutant));
    }
  }
  return out;
}

TEST(ProveScale, other_iotas_are_refuted_symbolically) {
  for (const auto& [mesh, from, to] : std::vector<std::array<std::string, 3>>{
           {"a:2,b:2,c:2", "[4, 1{a,b}4]", "[1{a,c}4, 4]"},
           {"a:2,b:4", "[4{a}8, 2{b}8]", "[2{b}8, 4{a}8]"},
           {"x:16,y:16,z:16,w:16", "[64{x,y}16384, 1024{z}16384, 64{w}1024, 512]",
            "[1024{w}16384, 16384, 4{x,z}1024, 32{y}512]"},
           {"x:64,y:32,z:32", "[64, 1{x,y}2048, 64]", "[1{x}64, 2048, 2{z}64]"},
       }) {
    int mutants = 0, refuted = 0, with_element = 0;
    const Program right = programs_of({{mesh, from, to}}).front();
    for (const Program& claiming : with_other_iotas(right)) {
      // Without claims the replay of `check` goes on with arrays in many pieces, for seconds each.
      std::vector<Program> programs = {claiming};
      if (right.devices < 1000 || mutants % 8 == 0) {
        programs.push_back(support::without_claims(claiming));
      }
      for (const Program& program : programs) {
        const Verdict expected = check(program);
        const auto proof = prove(program);
        ASSERT_TRUE(proof.has_value());
        ASSERT_EQ(proof->method, ProofMethod::symbolic);
        ASSERT_EQ(check_tests::show(proof->verdict), check_tests::show(expected));
        ++mutants;
        if (expected.answer != Answer::wrong) continue;  // replicas in another order
        ++refuted;
        if (support::fields_of(expected).element) ++with_element;
      }
    }
    std::cout << right.devices << " devices: " << mutants << " other iotas, " << refuted
              << " wrong and refuted, " << with_element << " of them with an element\n";
    EXPECT_GT(with_element, 5) << mesh;
    EXPECT_EQ(with_element, refuted) << mesh;
  }
}

}  // namespace
}  // namespace retile::scale_test
