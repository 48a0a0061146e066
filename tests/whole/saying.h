// What an operation says, in other words, and something that it does not say.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <string>

#include "tests/whole/answers.h"

namespace retile::whole::tests {

struct Said {
  std::string name;
  std::string parameters;  ///< what all three begin with
  std::string operation;
  std::string otherwise;  ///< the same in other words
  std::string wrong;      ///< something else
  std::string more = "";  ///< computations
};

/// The same in other words is right, something else is wrong, whatever is drawn.
inline void expect_said(const Said& said) {
  const std::string module = module_of(said.parameters + said.operation, said.more);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    EXPECT_EQ(answer(module, module_of(said.parameters + said.otherwise, said.more), seed),
              "right");
    EXPECT_EQ(answer(module, module_of(said.parameters + said.wrong, said.more), seed), "wrong");
  }
}

inline std::string name_of(const testing::TestParamInfo<Said>& info) {
  std::string out;
  for (const char c : info.param.name) {
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return out;
}

}  // namespace retile::whole::tests
