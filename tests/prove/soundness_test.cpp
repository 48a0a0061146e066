// The encoding against explicit evaluation: on Programs of up to 64 devices `prove` gives the same
// verdict and the same witness. And wrong encodings are caught by exactly this comparison.
#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

#include "check/judge.h"
#include "check/random_programs.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/prove/encode.h"
#include "retile/prove/examination.h"
#include "retile/prove/prove.h"
#include "retile/prove/prover.h"
#include "retile/prove/solver.h"
#include "spec/paper/examples.h"
#include "support/mutants.h"

namespace retile::soundness_test {
namespace {

using support::Choose;
using symbolic::Element;
using symbolic::Encoder;
using symbolic::Number;
using symbolic::Place;
using symbolic::Rules;

Program planned(const std::string& mesh, const std::string& from, const std::string& to) {
  const auto problem = parse_problem(mesh, from, to);
  if (!problem) throw std::logic_error(render(problem.error()));
  const auto made = plan(*problem);
  if (!made) throw std::logic_error(render(made.error()));
  return lower(*made);
}

/// A step whose table is an iota.
Step regular_step(const Choose& choose, const Shape& tile, Size devices) {
  const auto rank = static_cast<Size>(tile.size());
  const auto chain = [&] { return check_tests::random_chain(choose, devices); };
  const Size kind = choose(5);
  if (kind == 0) return {Allpermute{DeviceTable::iota(chain(), devices)}, {}};
  const auto i = static_cast<std::size_t>(choose(rank));
  const auto j = static_cast<std::size_t>(choose(rank));
  const Size any = check_tests::random_divisor(choose, devices);
  if (kind <= 2) {
    const Size n = choose(8) == 0 ? any : std::gcd(any, tile[i]);
    return {Dynslice{i, DeviceTable::iota(chain(), n)}, {}};
  }
  if (kind == 3) return {Allgather{i, DeviceTable::iota(chain(), any)}, {}};
  const Size n = choose(8) == 0 ? any : std::gcd(any, tile[j]);
  return {Alltoall{j, i, DeviceTable::iota(chain(), n)}, {}};
}

Layout regular_map(const Choose& choose, Size devices, const Shape& global) {
  while (true) {
    Layout map = check_tests::random_tile_map(choose, devices, global);
    if (!map.is_listed()) return map;
  }
}

/// A Program of others: whatever its tables do, right or wrong; the target is often where it ends.
Program regular_program(const Choose& choose) {
  constexpr std::array<Size, 10> counts = {2, 3, 4, 6, 8, 12, 16, 24, 36, 64};
  Program program;
  program.devices = counts[static_cast<std::size_t>(choose(counts.size()))];
  Shape global;
  for (Size k = 1 + choose(3); k > 0; --k) {
    global.push_back(std::array<Size, 5>{1, 4, 6, 8, 12}[static_cast<std::size_t>(choose(5))]);
  }
  program.from = regular_map(choose, program.devices, global);
  Shape tile = program.from.tile();
  for (Size k = choose(4); k > 0; --k) {
    Step step = regular_step(choose, tile, program.devices);
    const auto after = shape_after(step, tile, program.devices);
    if (after && checked_product(*after).value_or(1 << 20) > 512) continue;
    if (after && choose(4) == 0) step.claims.tile = *after;
    if (choose(12) == 0) step.claims.map = regular_map(choose, program.devices, global);
    program.steps.push_back(std::move(step));
    if (!after) break;
    tile = *after;
  }
  program.to = regular_map(choose, program.devices, global);
  return program;
}

/// What is wrong with a verdict, or nothing.
std::string difference(const Proof& proof, const Verdict& expected) {
  const Verdict& got = proof.verdict;
  if (!naive::same_judgement(got, expected)) return "another verdict";
  return support::fields_of(got) == support::fields_of(expected) ? "" : "another witness";
}

struct Tally {
  std::map<std::string, int> outcomes;
  int programs = 0, symbolic = 0, skipped = 0;

  void print(std::string_view what) const {
    std::cout << what << ": " << programs << " Programs, " << symbolic << " of them symbolic;";
    for (const auto& [outcome, count] : outcomes) std::cout << ' ' << outcome << ' ' << count;
    std::cout << '\n';
  }
};

/// Proves one Program and compares with `check` and with explicit replay.
void compare(const Program& program, Tally& tally, SolverChoice solver = SolverChoice::z3) {
  ++tally.programs;
  const auto proof = prove(program, {.solver = solver});
  ASSERT_TRUE(proof.has_value()) << render(proof.error());
  const Verdict expected = check(program);
  ASSERT_EQ(difference(*proof, expected), "")
      << to_text(program) << "prove: " << check_tests::show(proof->verdict) << ' '
      << proof->undecided << "\ncheck: " << check_tests::show(expected);
  if (proof->method == ProofMethod::evaluation) return;
  ++tally.symbolic;
  ++tally.outcomes[check_tests::outcome(expected)];
  // Explicit replay, element by element, written for the tests of `check`.
  ASSERT_TRUE(naive::same_judgement(proof->verdict, naive::check(program))) << to_text(program);
  if (expected.answer == Answer::wrong) {
    ASSERT_EQ(naive::witness_fault(program, proof->verdict), "") << to_text(program);
  }
}

/// The Programs that are compared: of our planner, with and without claims, their mutants, and of
/// others.
template <typename Use>
void for_each_program(int random_count, const Use& use) {
  const auto with_mutants = [&](const Program& program, const Choose& choose) {
    use(program);
    use(support::without_claims(program));
    for (const support::Mutation mutation : support::all_mutations) {
      const auto mutant = support::mutate(program, mutation, choose);
      if (!mutant) continue;
      use(mutant->program);
      use(support::without_claims(mutant->program));
    }
  };
  const Choose choose = support::random_choices(5);
  with_mutants(planned("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]"), choose);
  with_mutants(planned("a:2,b:3,c:5", "[1{a,b}6, 3{c}15]", "[6, 15]"), choose);
  with_mutants(planned("a:2,b:2,c:2", "[4, 1{a,b}4]", "[1{a,c}4, 4]"), choose);
  with_mutants(planned("a:4,b:4,c:4", "[4{a}16, 2{b,c}32]", "[1{c,a}16, 8{b}32]"), choose);
  for (int k = 0; k < random_count; ++k) {
    const check_tests::ProblemText text = check_tests::random_problem(choose);
    with_mutants(planned(text.mesh, text.from, text.to), choose);
    for (int other = 0; other < 8; ++other) use(regular_program(choose));
  }
}

TEST(Soundness, the_same_verdict_and_witness_as_explicit_evaluation) {
  Tally tally;
  for_each_program(30, [&](const Program& program) {
    if (!testing::Test::HasFatalFailure()) compare(program, tally);
  });
  tally.print("up to 64 devices");
  EXPECT_GT(tally.symbolic, 250);
  for (const char* outcome :
       {"right", "end", "not_a_box", "map_claim", "tile_claim", "indivisible"}) {
    EXPECT_GT(tally.outcomes[outcome], 10) << outcome;
  }
}

TEST(Soundness, with_the_second_solver_beside_the_first) {
  if (!prove(check_tests::program(check_tests::example_3_1), {.solver = SolverChoice::both})) {
    GTEST_SKIP() << "cvc5 is not installed";
  }
  Tally tally;
  for_each_program(0, [&](const Program& program) {
    if (!testing::Test::HasFatalFailure()) compare(program, tally, SolverChoice::both);
  });
  tally.print("both solvers");
  EXPECT_GT(tally.symbolic, 10);
}

TEST(Soundness, every_mutant_of_the_examples_that_stays_regular) {
  Tally tally;
  for (const auto text : {check_tests::example_3_1, check_tests::unequal_sizes}) {
    for (const support::Mutation mutation :
         {support::Mutation::wrong_dimension, support::Mutation::step_left_out,
          support::Mutation::step_doubled, support::Mutation::wrong_final_type}) {
      support::for_each_mutant(check_tests::program(text), mutation,
                               [&](const support::Mutant& mutant) {
                                 if (mutant.program.to.is_listed()) return;
                                 compare(mutant.program, tally);
                                 compare(support::without_claims(mutant.program), tally);
                               });
    }
  }
  tally.print("mutants");
  EXPECT_GT(tally.symbolic, 40);
}

// ---- Wrong encodings ----------------------------------------------------------------------------

struct TransposeForgotten : Rules<TransposeForgotten> {
  Number entry(const IotaChain&, const Number& position) { return position; }
  Number position(const IotaChain&, const Number& entry) { return entry; }
};
struct TransposeBackwards : Rules<TransposeBackwards> {
  Number entry(const IotaChain& chain, const Number& position) {
    return Rules::position(chain, position);
  }
  Number position(const IotaChain& chain, const Number& entry) {
    return Rules::entry(chain, entry);
  }
};
struct OnlyTheFirstStage : Rules<OnlyTheFirstStage> {
  static IotaChain first_stage(const IotaChain& chain) {
    IotaChain out(chain.size());
    if (!chain.stages().empty()) out.append(chain.stages().front());
    return out;
  }
  Number entry(const IotaChain& chain, const Number& position) {
    return Rules::entry(first_stage(chain), position);
  }
  Number position(const IotaChain& chain, const Number& entry) {
    return Rules::position(first_stage(chain), entry);
  }
};
struct GroupsColumnByColumn : Rules<GroupsColumnByColumn> {
  Place place(const DeviceTable& groups, const Number& device) {
    auto [low, high] = digits_.split(position(*groups.chain(), device), groups.row_count());
    return {.row = low, .position = high};
  }
  Number member(const DeviceTable& groups, const Place& place) {
    return entry(*groups.chain(), symbolic::Digits::join(place.row, place.position));
  }
};
struct MembersOfAnotherOrder : Rules<MembersOfAnotherOrder> {
  // The member at the receiver's own position, whichever piece is wanted.
  Number member(const DeviceTable& groups, const Place& place) {
    return entry(*groups.chain(),
                 symbolic::Digits::join(digits_.zero(groups.columns()), place.row));
  }
};
struct TilesInterleaved : Rules<TilesInterleaved> {
  std::pair<Number, Number> sender(const Number& at, Size extent) {
    auto [from, within] = digits_.split(at, digits_.size(at) / extent);
    return {within, from};
  }
};
struct PiecesInterleaved : Rules<PiecesInterleaved> {
  Number whole(const Number& at, const Number& piece) { return symbolic::Digits::join(piece, at); }
};
struct FirstPieceForAll : Rules<FirstPieceForAll> {
  Number whole(const Number& at, const Number& piece) {
    return symbolic::Digits::join(at, digits_.zero(digits_.size(piece)));
  }
};
struct PermutesToTheSource : Rules<PermutesToTheSource> {
  Number permuted(const DeviceTable& source, const Number& device) {
    return position(*source.chain(), device);
  }
};
struct PermutesNothing : Rules<PermutesNothing> {
  Number permuted(const DeviceTable&, const Number& device) { return device; }
};
struct DigitsMajorToMinor : Rules<DigitsMajorToMinor> {
  Number tile_number(const std::vector<Digit>& digits, const Number& device) {
    return Rules::tile_number({digits.rbegin(), digits.rend()}, device);
  }
};
struct StridesForgotten : Rules<StridesForgotten> {
  Number tile_number(const std::vector<Digit>& digits, const Number& device) {
    Number out;
    for (const Digit& digit : digits) {
      out = symbolic::Digits::join(out, digits_.split(device, digit.size).first);
    }
    return out;
  }
};
struct OnlyDeviceZero : Rules<OnlyDeviceZero> {
  Element any(Size devices, const Shape& tile) {
    Element out = Rules::any(devices, tile);
    out.device = digits_.zero(devices);
    return out;
  }
};
struct OnlyTheFirstElement : Rules<OnlyTheFirstElement> {
  Element any(Size devices, const Shape& tile) { return first(digits_.any(devices), tile); }
};
struct OnlyTheFirstDimension : Rules<OnlyTheFirstDimension> {
  std::vector<std::size_t> compared(std::size_t) const { return {0}; }
};
struct NothingCompared : Rules<NothingCompared> {
  std::vector<std::size_t> compared(std::size_t) const { return {}; }
};

/// A proof by questions of an encoder.
template <typename Asking>
Result<Proof> proof_by(const Program& program) {
  const ProveOptions options;
  Examination examination(program, options, Solvers::make(options.solver).value());
  return examination.concluded(Prover<Asking>(examination).decide());
}

struct WrongEncoding {
  std::string name;
  Result<Proof> (*prove)(const Program&);
};
template <typename Wrong>
WrongEncoding wrong(std::string name) {
  return {std::move(name), &proof_by<Wrong>};
}

TEST(Soundness, wrong_encodings_are_caught) {
  const std::vector<WrongEncoding> encodings = {
      wrong<TransposeForgotten>("the transpose of an iota forgotten"),
      wrong<TransposeBackwards>("an iota backwards"),
      wrong<OnlyTheFirstStage>("only the first stage of an iota"),
      wrong<GroupsColumnByColumn>("groups read column by column"),
      wrong<MembersOfAnotherOrder>("every piece from the first member"),
      wrong<TilesInterleaved>("tiles interleaved, not concatenated"),
      wrong<PiecesInterleaved>("pieces interleaved, not contiguous"),
      wrong<FirstPieceForAll>("the first piece for all"),
      wrong<PermutesToTheSource>("a permutation backwards"),
      wrong<PermutesNothing>("a permutation that moves nothing"),
      wrong<DigitsMajorToMinor>("digits of a tiling major to minor"),
      wrong<StridesForgotten>("strides of a tiling forgotten"),
      wrong<OnlyDeviceZero>("only device 0"),
      wrong<OnlyTheFirstElement>("only the first element of a tile"),
      wrong<OnlyTheFirstDimension>("only the first dimension compared"),
      wrong<NothingCompared>("nothing compared"),
  };
  EXPECT_GE(encodings.size(), 10U);
  for (const WrongEncoding& encoding : encodings) {
    const std::string& name = encoding.name;
    int tried = 0;
    std::string caught;
    for_each_program(4, [&](const Program& program) {
      if (!caught.empty() || !symbolic::is_regular(program)) return;
      ++tried;
      const auto proof = encoding.prove(program);
      if (!proof) {
        caught = "refused";
      } else if (proof->verdict.answer == Answer::undecided) {
        caught = proof->undecided;
      } else {
        caught = difference(*proof, check(program));
      }
    });
    std::cout << name << ": " << (caught.empty() ? "NOT CAUGHT" : caught) << " by Program " << tried
              << '\n';
    EXPECT_NE(caught, "") << name;
  }
  // Control: the right encoding is not.
  for_each_program(1, [&](const Program& program) {
    if (!symbolic::is_regular(program)) return;
    const auto proof = proof_by<Encoder>(program);
    EXPECT_EQ(difference(proof.value(), check(program)), "") << to_text(program);
  });
}

TEST(Soundness, what_a_wrong_encoding_refutes_the_replay_does_not_confirm) {
  const auto proof = proof_by<PermutesNothing>(check_tests::program(check_tests::example_3_1));
  EXPECT_EQ(proof.value().verdict.answer, Answer::undecided);
  EXPECT_NE(proof.value().undecided.find("the replay does not confirm"), std::string::npos)
      << proof.value().undecided;
}

}  // namespace
}  // namespace retile::soundness_test
