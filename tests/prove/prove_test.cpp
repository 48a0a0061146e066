// What `prove` says of single Programs, and that it cannot say yes for want of an answer.
#include "retile/prove/prove.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "check/judge.h"
#include "retile/prove/solver.h"

namespace retile::prove_test {
namespace {

using check_tests::program;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

Proof proof_of(const Program& program, const ProveOptions& options = {}) {
  auto proof = prove(program, options);
  EXPECT_TRUE(proof.has_value()) << render(proof.error());
  return proof ? *std::move(proof) : Proof{};
}

/// Puts a script in the place of cvc5 for as long as it lives.
class FalseCvc5 {
 public:
  explicit FalseCvc5(const std::string& says) : path_(testing::TempDir() + "false_cvc5") {
    std::ofstream(path_) << "#!/bin/sh\ncase \"$1\" in --version) echo This is cvc5 version 0.0 ;; "
                            "*) "
                         << says << " ;; esac\n";
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    set(path_);
  }
  FalseCvc5(const FalseCvc5&) = delete;
  FalseCvc5& operator=(const FalseCvc5&) = delete;
  ~FalseCvc5() { unsetenv("RETILE_CVC5"); }

  static void set(const std::string& path) { setenv("RETILE_CVC5", path.c_str(), 1); }

 private:
  std::string path_;
};

TEST(Prove, Example_3_1_for_all_devices) {
  const Proof proof = proof_of(program(check_tests::example_3_1));
  EXPECT_TRUE(proof.proved());
  EXPECT_EQ(proof.method, ProofMethod::symbolic);
  EXPECT_EQ(proof.solvers, "Z3 " + z3_version());
  EXPECT_EQ(proof.verdict.cost, 18);
  EXPECT_EQ(proof.verdict.height, 6);
  std::vector<std::string> names;
  for (const ProofQuery& query : proof.queries) {
    EXPECT_TRUE(query.proved) << query.name;
    names.push_back(query.name);
  }
  EXPECT_THAT(names,
              testing::ElementsAre(
                  "step 0: groups partition the devices", "step 0: no read outside a tile",
                  "step 0: the tiles lie as its map says", "step 1: the permutation is a bijection",
                  "step 1: no read outside a tile", "step 1: the tiles lie as its map says",
                  "step 2: groups partition the devices", "step 2: no read outside a tile",
                  "step 2: the tiles lie as its map says", "the end is the target"));
}

TEST(Prove, factors_popped_across_digits) {
  const Proof proof = proof_of(program(check_tests::unequal_sizes));
  EXPECT_TRUE(proof.proved());
  EXPECT_EQ(proof.method, ProofMethod::symbolic);
  EXPECT_EQ(proof.verdict.cost, 99);
}

TEST(Prove, claims_in_another_order_than_the_device_numbers) {
  // Popping 3 off digits 2,3 leaves a map that digits of the device number cannot say.
  Program claiming = program(check_tests::unequal_sizes);
  Layout map = claiming.from;
  const std::vector<Digit> digits = map.pop(0, 3);
  map.push(1, digits);
  ASSERT_FALSE(map.is_compact());
  claiming.steps[0].claims.map = map;
  const Proof proof = proof_of(claiming);
  EXPECT_TRUE(proof.proved());
  EXPECT_EQ(proof.method, ProofMethod::symbolic);
  EXPECT_EQ(proof.queries[2].name, "step 0: the tiles lie as its map says");
  // Twin: other groups.
  std::get<Alltoall>(claiming.steps[0].op).groups = DeviceTable::iota(IotaChain(30), 3);
  const Proof refuted = proof_of(claiming);
  const Verdict checked = check(claiming);
  EXPECT_EQ(refuted.verdict.answer, Answer::wrong);
  EXPECT_EQ(check_tests::show(refuted.verdict), check_tests::show(checked));
}

TEST(Prove, tables_as_rows_are_decided_by_evaluation) {
  const Program rows = program(check_tests::replication);
  const Proof proof = proof_of(rows);
  EXPECT_TRUE(proof.proved());
  EXPECT_EQ(proof.method, ProofMethod::evaluation);
  EXPECT_THAT(proof.queries, IsEmpty());
  const Proof limited = proof_of(rows, {.piece_limit = 1});
  EXPECT_EQ(limited.verdict.answer, Answer::undecided);
  EXPECT_THAT(limited.undecided, HasSubstr("memory"));
}

TEST(Prove, parts_listed_by_an_iota) {
  const std::string text =
      "retile.program/1\ndevices 4\nfrom [8]\nto [2{2:2,1:2}8]\n"
      "dynslice dim=0 parts=4 part=[4]<=[2,2]T(1,0)\n";
  const Proof proof = proof_of(program(text));
  EXPECT_TRUE(proof.proved());
  EXPECT_EQ(proof.method, ProofMethod::symbolic);
  // Twin: without the transpose the parts are others.
  std::string other = text;
  other.replace(other.find("[4]<=[2,2]T(1,0)"), 16, "[4]<=[4]");
  EXPECT_EQ(proof_of(program(other)).verdict.answer, Answer::wrong);
}

TEST(Prove, a_right_program_over_the_bound_is_not_proved) {
  const Proof proof =
      proof_of(program("retile.program/1\nmesh a:2\nfrom [2{a}4, 4]\n"
                       "to [4, 2{a}4]\nallgather dim=0 groups=[1,2]<=[2]\n"
                       "dynslice dim=1 groups=[1,2]<=[2]\n"));
  EXPECT_EQ(proof.verdict.answer, Answer::right);
  EXPECT_FALSE(proof.proved());
}

TEST(Prove, one_element_and_one_device) {
  EXPECT_TRUE(proof_of(program("retile.program/1\nmesh x:1\nfrom []\nto []\n")).proved());
  EXPECT_TRUE(proof_of(program("retile.program/1\nmesh x:3\nfrom []\nto []\n"
                               "allpermute source=[3]<=[3]\n"))
                  .proved());
  EXPECT_TRUE(proof_of(program("retile.program/1\nmesh x:1\nfrom [5, 7]\nto [5, 7]\n")).proved());
}

TEST(Prove, two_to_the_31_devices) {
  const std::string head = "retile.program/1\nmesh x:65536,y:32768\nfrom [1{x}65536, 32768]\nto ";
  const std::string step = "alltoall split=1 concat=0 groups=[65536,32768]<=[65536,32768]\n";
  EXPECT_EQ(proof_of(program(head + "[65536, 1{y}32768]\n" + step)).verdict.answer, Answer::wrong);
  const Proof proof = proof_of(program(head + "[1{x}65536, 1{y}32768]\ndynslice dim=1 "
                                              "groups=[65536,32768]<=[65536,32768]\n"));
  EXPECT_TRUE(proof.proved());
}

TEST(Prove, queries_are_written_and_any_solver_reads_them) {
  const std::string folder = testing::TempDir() + "retile_queries";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Proof proof =
      proof_of(program(check_tests::unequal_sizes), {.smt2_prefix = folder + "/q."});
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    // And nothing behind it: a solver that says `unsat` has no values to give.
    EXPECT_THAT(text.str(), EndsWith("(check-sat)\n"));
    EXPECT_EQ(text.str().substr(0, 2), "; ");
    ++files;
  }
  EXPECT_EQ(files, proof.queries.size());
  const auto refused =
      prove(program(check_tests::unequal_sizes), {.smt2_prefix = folder + "/no/such/folder/"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::file_error);
}

TEST(Prove, progress_is_told_of_every_query) {
  std::size_t told = 0;
  const Proof proof =
      proof_of(program(check_tests::example_3_1), {.progress = [&](const ProofQuery&) { ++told; }});
  EXPECT_EQ(told, proof.queries.size());
}

TEST(Prove, no_answer_is_no_proof) {
  const FalseCvc5 silent("echo unknown");
  const Proof proof = proof_of(program(check_tests::example_3_1), {.solver = SolverChoice::cvc5});
  EXPECT_EQ(proof.verdict.answer, Answer::undecided);
  EXPECT_THAT(proof.undecided, HasSubstr("no answer in time"));
  EXPECT_FALSE(proof.proved());
  // With Z3 beside it the questions are answered.
  EXPECT_TRUE(proof_of(program(check_tests::example_3_1), {.solver = SolverChoice::both}).proved());
}

TEST(Prove, a_solver_that_denies_everything_is_no_proof) {
  // A question that contradicts itself has no counterexample either.
  const FalseCvc5 denier("echo unsat");
  const Proof proof = proof_of(program(check_tests::example_3_1), {.solver = SolverChoice::cvc5});
  EXPECT_EQ(proof.verdict.answer, Answer::undecided);
  EXPECT_THAT(proof.undecided, HasSubstr("free of contradictions"));
}

TEST(Prove, a_solver_that_crashes_is_no_proof) {
  const FalseCvc5 broken("echo unsatisfying; exit 1");
  EXPECT_EQ(
      proof_of(program(check_tests::example_3_1), {.solver = SolverChoice::cvc5}).verdict.answer,
      Answer::undecided);
}

TEST(Prove, solvers_that_contradict_each_other_are_no_proof) {
  const FalseCvc5 liar("echo sat; echo '((device 0))'");
  const Proof proof = proof_of(program(check_tests::example_3_1), {.solver = SolverChoice::both});
  EXPECT_EQ(proof.verdict.answer, Answer::undecided);
  EXPECT_THAT(proof.undecided, HasSubstr("contradict"));
}

/// Answers the questions about tables and reads truly, and those about elements as it likes.
std::string lies_about_elements(const std::string& says) {
  return "for file; do :; done; if grep -q found_0 $file; then " + says +
         "; elif grep -q '(not' $file; then echo unsat; else echo sat; fi";
}

TEST(Prove, a_solver_that_names_no_element_is_no_refutation) {
  for (const std::string values :
       {"", "((device 3))", "((device 3) (at_0 1) (at_1 1))", "((device 24) (at_0 0) (at_1 0))",
        "((device (- 3)) (at_0 0) (at_1 0))", "((device 0) (at_0 500) (at_1 0))",
        "((device 0) (at_0 0) (at_1 9223372036854775808))"}) {
    const FalseCvc5 liar(lies_about_elements("echo sat; echo '" + values + "'"));
    const Proof proof = proof_of(program(check_tests::example_3_1), {.solver = SolverChoice::cvc5});
    EXPECT_EQ(proof.verdict.answer, Answer::undecided) << values;
    EXPECT_THAT(proof.undecided, HasSubstr("is no element")) << values;
  }
  const FalseCvc5 liar(
      lies_about_elements("echo sat; echo '((device 0) (at_0 0) (at_1 0))'"));  // a right one
  EXPECT_THAT(proof_of(program(check_tests::example_3_1), {.solver = SolverChoice::cvc5}).undecided,
              HasSubstr("the replay does not confirm"));
}

TEST(Prove, a_solver_that_hangs_or_babbles_is_ended) {
  for (const std::string says : {"sleep 100", "exec yes sat"}) {
    const FalseCvc5 endless(says);
    const auto start = std::chrono::steady_clock::now();
    const Proof proof = proof_of(program(check_tests::example_3_1),
                                 {.solver = SolverChoice::cvc5, .timeout_seconds = 0.1});
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(proof.verdict.answer, Answer::undecided) << says;
    EXPECT_LT(spent.count(), 30) << says;
  }
}

TEST(Prove, the_time_limit_is_for_all_questions_together) {
  // Each step is two questions that take a millisecond.
  Program identities = program("retile.program/1\ndevices 24\nfrom [4]\nto [4]\n");
  const Step identity = {Allpermute{DeviceTable::iota(IotaChain(24), 24)}, {}};
  identities.steps.assign(30000, identity);
  const auto start = std::chrono::steady_clock::now();
  const Proof late = proof_of(identities, {.timeout_seconds = 0.5});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(late.verdict.answer, Answer::undecided);
  EXPECT_TRUE(late.verdict.out_of_time);
  EXPECT_THAT(late.undecided, HasSubstr("no answer in time"));
  EXPECT_LT(spent.count(), 10);
  identities.steps.resize(20);
  EXPECT_TRUE(proof_of(identities).proved());
}

TEST(Prove, dimensions_of_one_index_are_not_asked_about_where_there_are_many) {
  std::string ends = "[4{x}8";
  for (Size k = 1; k < 3000; ++k) ends += ",1";
  ends += "]\n";
  const std::string head = "retile.program/1\nmesh x:2\nfrom " + ends + "to " + ends;
  EXPECT_TRUE(proof_of(program(head)).proved());
  EXPECT_TRUE(proof_of(program(head + "allpermute source=[2]<=[2]\n")).proved());
  // Twins: the same with a wrong end, and with an array that is no box.
  const std::string moved = head + "alltoall split=0 concat=0 groups=[1,2]<=[2]\n";
  for (const Program& wrong :
       {program(moved), program(moved + "allgather dim=5 groups=[1,2]<=[2]\n")}) {
    const Proof refuted = proof_of(wrong);
    const Verdict checked = check(wrong);
    EXPECT_EQ(refuted.method, ProofMethod::symbolic);
    EXPECT_EQ(checked.answer, Answer::wrong);
    EXPECT_EQ(check_tests::show(refuted.verdict), check_tests::show(checked));
  }
}

TEST(Prove, an_evaluation_has_the_same_time_limit) {
  // Groups across all devices leave arrays in many pieces, more with every step.
  std::string text =
      "retile.program/1\nmesh x:16,y:16\nfrom [1{x}16, 1{y}16, 16]\n"
      "to [1{x}16, 1{y}16, 16]\n";
  for (Size k = 0; k < 8; ++k) {
    std::string rows;
    for (Size row = 0; row < 16; ++row) {
      rows += row == 0 ? "[" : ",[";
      for (Size q = 0; q < 16; ++q) {
        rows += (q == 0 ? "" : ",") + std::to_string((row * 16 + q) * (2 * k + 37) % 256);
      }
      rows += "]";
    }
    text +=
        (k % 2 == 0 ? "alltoall split=2 concat=0 groups=[" : "alltoall split=0 concat=2 groups=[") +
        rows + "]\n";
  }
  const Program scattered = program(text);
  const Proof decided = proof_of(scattered);
  EXPECT_EQ(decided.method, ProofMethod::evaluation);
  EXPECT_EQ(decided.verdict.answer, Answer::wrong);
  const Proof late = proof_of(scattered, {.timeout_seconds = 1e-6});
  EXPECT_EQ(late.verdict.answer, Answer::undecided);
  EXPECT_THAT(late.undecided, HasSubstr("no answer in time"));
}

TEST(Prove, a_solver_that_is_not_there_is_refused) {
  FalseCvc5::set("/nowhere/cvc5");
  const auto refused = prove(program(check_tests::example_3_1), {.solver = SolverChoice::both});
  unsetenv("RETILE_CVC5");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::unsupported);
}

TEST(Prove, cvc5_alone_finds_the_same_witness) {
  if (cvc5_version(cvc5_path()).empty()) GTEST_SKIP() << "cvc5 is not installed";
  Program wrong = program(check_tests::example_3_1);
  wrong.steps.erase(wrong.steps.begin() + 1);
  const Proof by_z3 = proof_of(wrong);
  const Proof by_cvc5 = proof_of(wrong, {.solver = SolverChoice::cvc5});
  EXPECT_EQ(by_cvc5.verdict.answer, Answer::wrong);
  EXPECT_EQ(check_tests::show(by_cvc5.verdict), check_tests::show(by_z3.verdict));
  EXPECT_THAT(by_cvc5.solvers, HasSubstr("cvc5"));
}

}  // namespace
}  // namespace retile::prove_test
