// Facts: what `prove` proved is checked again by the oracle's code (spec/program/facts.h), device by
// device, and what is corrupted is refused.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <sstream>

#include "check/judge.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "retile/prove/prove.h"
#include "spec/program/certify_text.h"
#include "support/random_problems.h"

namespace retile::facts_test {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string text_of(const Lines& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

/// Whether the oracle accepts a Program and all its facts.
bool is_accepted(const std::string& text) {
  spec::CertificateReader reader(text);
  try {
    const spec::Program program = reader.program();
    const spec::Verdict verdict = spec::check(program);
    return verdict.decided && verdict.right && !reader.facts.empty() &&
           !spec::no_fact(program, verdict, reader.facts);
  } catch (const spec::ParseError&) {
    return false;
  }
}

/// The certificate of a Program that has to be proved.
Lines certificate(const Program& program) {
  const Proof proof = prove(program).value();
  EXPECT_TRUE(proof.proved());
  const Lines facts_of = lines_of(facts(program, proof.verdict));
  if (proof.method == ProofMethod::symbolic && !program.from.tile().empty()) {
    // Each question has its line; the bound and the cost are plain arithmetic.
    EXPECT_EQ(facts_of.size(), proof.queries.size() + 2);
  }
  return lines_of(certificate_text(program, facts(program, proof.verdict)));
}

Program random_program(support::Random& random, const char* mesh) {
  return lower(plan(support::draw_problem(random, parse_mesh(mesh).value())).value());
}

constexpr const char* meshes[] = {"a:2,b:2,c:5", "a:4,b:4", "a:6,b:4", "a:2,b:3,c:5"};

TEST(Facts, every_question_has_a_line_and_the_oracle_accepts_it) {
  support::Random random(1);
  std::size_t programs = 0, count = 0;
  for (const char* mesh : meshes) {
    for (int k = 0; k < 40; ++k) {
      const Lines lines = certificate(random_program(random, mesh));
      ASSERT_TRUE(is_accepted(text_of(lines))) << text_of(lines);
      ++programs;
      for (const std::string& line : lines) count += line.rfind("fact ", 0) == 0 ? 1U : 0U;
    }
  }
  std::cout << programs << " certificates with " << count << " facts accepted\n";
}

TEST(Facts, evaluation_writes_the_same_lines) {
  const std::string text =
      "retile.program/1\ndevices 4\nfrom tile=[1] global=[4] at=[[0],[1],[2],[3]]\nto [2{2:2}4]\n"
      "allpermute pairs=[[0,1],[1,0]] at=[[1],[0],[2],[3]]\n"
      "allpermute source=[1,0,2,3]\nallgather dim=0 groups=[[0,1],[2,3]] tile=[2]\n";
  EXPECT_EQ(text_of(certificate(check_tests::program(text))),
            to_text(check_tests::program(text)) +
                "fact bijection [0]\nfact inside [0]\nfact map [0,1]\nfact bijection [1]\n"
                "fact inside [1]\nfact groups [2,2,2]\nfact inside [2]\nfact end [2]\n"
                "fact bound [2,2]\nfact cost [4]\nend\n");
  EXPECT_TRUE(is_accepted(text_of(certificate(check_tests::program(text)))));
}

// Corruptions. Each says whether there was something of its kind to change.

struct Corruption {
  const char* what;
  std::function<bool(Lines&)> change;
};

/// Replaces in the first line that starts so.
std::function<bool(Lines&)> replaced(const std::string& start, const std::string& part,
                                     const std::string& by) {
  return [=](Lines& lines) {
    for (std::string& line : lines) {
      if (line.rfind(start, 0) != 0) continue;
      const std::size_t at = line.find(part);
      if (at == std::string::npos) return false;
      line.replace(at, part.size(), by);
      return true;
    }
    return false;
  };
}

std::function<bool(Lines&)> with_line(const std::string& start,
                                      const std::function<void(Lines&, std::size_t)>& change) {
  return [=](Lines& lines) {
    for (std::size_t k = 0; k < lines.size(); ++k) {
      if (lines[k].rfind(start, 0) != 0) continue;
      change(lines, k);
      return true;
    }
    return false;
  };
}

std::ptrdiff_t place(std::size_t k) { return static_cast<std::ptrdiff_t>(k); }
void erase(Lines& lines, std::size_t k) { lines.erase(lines.begin() + place(k)); }
void twice(Lines& lines, std::size_t k) { lines.insert(lines.begin() + place(k), lines[k]); }

const std::vector<Corruption>& corruptions() {
  static const std::vector<Corruption> all = {
      {"groups of another step", replaced("fact groups", "[", "[1")},
      {"longer groups", replaced("fact groups", "]", "0]")},
      {"groups without their length", replaced("fact groups", ",", "]#")},
      {"groups are called a bijection", replaced("fact groups", "groups", "bijection")},
      {"a bijection is called groups", replaced("fact bijection", "bijection", "groups")},
      {"a bijection of another step", replaced("fact bijection", "[", "[1")},
      {"another step reads inside", replaced("fact inside", "[", "[1")},
      {"another tile in a map", replaced("fact map", "]", "0]")},
      {"a map of another step", replaced("fact map", "[", "[1")},
      {"a map that the step does not claim",
       [](Lines& lines) {
         for (std::string& line : lines) {
           const std::size_t at = line.find(" map=");
           if (at == std::string::npos) continue;
           line.resize(at);
           return true;
         }
         return false;
       }},
      {"another tile in the end", replaced("fact end", "]", "0]")},
      {"a larger height", replaced("fact bound", "[", "[1")},
      {"a larger bound", replaced("fact bound", "]", "0]")},
      {"another cost", replaced("fact cost", "[", "[1")},
      {"an unknown fact", replaced("fact end", "end", "optimal")},
      {"a number too many", replaced("fact cost", "]", ",0]")},
      {"a fact that is no list", replaced("fact cost", "[", "")},
      {"a negative number", replaced("fact cost", "[", "[-")},
      {"the end is missing", with_line("fact end", erase)},
      {"a step's fact is missing", with_line("fact inside", erase)},
      {"a map is missing", with_line("fact map", erase)},
      {"the cost is missing", with_line("fact cost", erase)},
      {"a fact stands twice", with_line("fact inside", twice)},
      {"facts in another order",
       with_line("fact end",
                 [](Lines& lines, std::size_t k) { std::swap(lines[k], lines[k + 1]); })},
      {"a step is missing in the Program", with_line("allgather", erase)},
      {"a permutation is missing in the Program", with_line("allpermute", erase)},
      {"all facts are missing",
       [](Lines& lines) {
         std::erase_if(lines, [](const std::string& line) { return line.rfind("fact", 0) == 0; });
         return true;
       }},
  };
  return all;
}

TEST(Facts, corrupted_ones_are_refused) {
  support::Random random(2);
  std::vector<std::size_t> refused(corruptions().size());
  for (const char* mesh : meshes) {
    for (int k = 0; k < 10; ++k) {
      const Lines lines = certificate(random_program(random, mesh));
      for (std::size_t c = 0; c < refused.size(); ++c) {
        Lines changed = lines;
        if (!corruptions()[c].change(changed)) continue;
        ASSERT_NE(changed, lines) << corruptions()[c].what;
        EXPECT_FALSE(is_accepted(text_of(changed))) << corruptions()[c].what << "\n"
                                                    << text_of(changed);
        ++refused[c];
      }
    }
  }
  for (std::size_t c = 0; c < refused.size(); ++c) {
    std::cout << corruptions()[c].what << ": " << refused[c] << " refused\n";
    EXPECT_GT(refused[c], 0U) << corruptions()[c].what;
  }
}

}  // namespace
}  // namespace retile::facts_test
