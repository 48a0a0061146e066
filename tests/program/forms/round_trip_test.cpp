// parse(print(p)) == p for both forms, and the text form does not depend on how it was spelled.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "support/program_generators.h"

namespace round_trip_test {
namespace {

using retile::Program;

void tag(const Program& program) {
  bool iota = false;
  bool claims = false;
  for (const auto& step : program.steps) {
    const std::string line = to_text(step, nullptr);
    iota = iota || line.find("<=") != std::string::npos;
    claims = claims || step.claims.tile || step.claims.map || step.claims.at;
  }
  RC_TAG(std::to_string(program.steps.size()) + " steps");
  RC_CLASSIFY(iota, "iota");
  RC_CLASSIFY(claims, "claims");
  RC_CLASSIFY(program.mesh_to.has_value(), "second mesh");
  RC_CLASSIFY(program.from.is_listed(), "listed tiling");
}

RC_GTEST_PROP(RoundTrip, text, (const Program& program)) {
  tag(program);
  const std::string text = to_text(program);
  const auto back = retile::parse_programs(text);
  if (!back) RC_FAIL(render(back.error()));
  RC_ASSERT(back->size() == 1U);
  RC_ASSERT(back->front() == program);
  RC_ASSERT(to_text(back->front()) == text);
}

RC_GTEST_PROP(RoundTrip, json, (const Program& program)) {
  tag(program);
  const std::string json = to_json(program);
  RC_ASSERT(json.find('\n') == std::string::npos);
  const auto back = retile::parse_program_json(json);
  if (!back) RC_FAIL(render(back.error()) + json);
  RC_ASSERT(*back == program);
  RC_ASSERT(to_json(*back) == json);
}

RC_GTEST_PROP(RoundTrip, several_programs_in_either_form, (const std::vector<Program>& programs)) {
  RC_PRE(!programs.empty());
  std::string text;
  std::string json;
  for (const Program& program : programs) {
    text += to_text(program);
    json += to_json(program) + "\n";
  }
  const auto from_text = retile::parse_any(text);
  const auto from_json = retile::parse_any(json);
  RC_ASSERT(from_text.has_value());
  RC_ASSERT(from_json.has_value());
  RC_ASSERT(*from_text == programs);
  RC_ASSERT(*from_json == programs);
}

RC_GTEST_PROP(RoundTrip, spelling_means_nothing, (const Program& program, std::uint64_t seed)) {
  const std::string spelled = support::choose_spelling(support::seeded(seed), to_text(program));
  const auto back = retile::parse_programs(spelled);
  if (!back) RC_FAIL(render(back.error()));
  RC_ASSERT(back->size() == 1U);
  RC_ASSERT(back->front() == program);
}

// Control: equality of Programs sees a change of any number, so the properties above can fail.
TEST(RoundTrip, equality_sees_every_number) {
  std::size_t changed = 0;
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Program program = support::choose_program(support::seeded(seed));
    program.mesh.reset();  // names may hold digits
    program.mesh_to.reset();
    const std::string text = to_text(program);
    for (std::size_t at = text.find('\n'); at < text.size(); ++at) {
      if (text[at] < '0' || text[at] > '8') continue;
      std::string other_text = text;
      ++other_text[at];
      const auto other = retile::parse_programs(other_text);
      ++(other ? changed : refused);
      if (other) {
        EXPECT_NE(other->front(), program) << text << other_text;
      }
    }
  }
  std::cout << changed << " changed numbers gave another Program, " << refused << " none\n";
  EXPECT_GT(changed, 500U);
  EXPECT_GT(refused, 500U);
}

}  // namespace
}  // namespace round_trip_test
