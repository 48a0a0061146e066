// Random modules: two evaluators hold the same of every value on every device.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "functions.h"
#include "naive.h"
#include "random_modules.h"
#include "support/samples.h"

namespace retile::foreign {
namespace random_test {

Layout from_of(const testing::RandomModule& module) {
  Layout out;
  std::vector<Cuts> cuts;
  std::vector<std::vector<Digit>> digits;
  for (const Size extent : module.tile()) {
    const bool first = cuts.empty();
    cuts.push_back(Cuts::even(extent, first ? module.devices() : 1));
    digits.push_back(first && module.devices() > 1 ? std::vector<Digit>{{1, module.devices()}}
                                                   : std::vector<Digit>{});
  }
  auto made = Layout::numbered(module.devices(), std::move(cuts), std::move(digits));
  EXPECT_TRUE(made.has_value()) << (made ? "" : render(made.error()));
  return made ? *std::move(made) : Layout();
}

/// How many of so many random modules are evaluated otherwise.
int differences(int count, naive::Fault fault, std::map<std::string, int>* ops = nullptr) {
  int out = 0;
  for (int seed = 0; seed < count; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    testing::RandomModule module([&](Size bound) {
      return static_cast<Size>(random() % static_cast<std::uint64_t>(bound));
    });
    const std::string text = module.text();
    const Function function = testing::function_of(text);
    const std::string what = naive::difference(function, from_of(module), fault);
    if (what.empty()) {
      if (ops == nullptr) continue;
      for (const Operation& operation : function.operations) ++(*ops)[operation.name];
      continue;
    }
    ++out;
    if (fault == naive::Fault::none) ADD_FAILURE() << what << "\nseed " << seed << "\n" << text;
  }
  return out;
}

TEST(RandomModules, two_evaluators_hold_the_same) {
  std::map<std::string, int> ops;
  EXPECT_EQ(differences(support::samples(3'000), naive::Fault::none, &ops), 0);
  for (const char* op : {"all-gather", "all-to-all", "all-reduce", "reduce-scatter",
                         "collective-permute", "dynamic-slice", "dynamic-update-slice", "pad",
                         "slice", "transpose", "concatenate", "broadcast", "select"}) {
    EXPECT_GT(ops[op], support::samples(100)) << op;
  }
}

TEST(RandomModules, a_mistake_is_noticed) {
  EXPECT_GT(differences(300, naive::Fault::gather_backwards), 5);
  EXPECT_GT(differences(300, naive::Fault::no_clamp), 5);
}

}  // namespace random_test
}  // namespace retile::foreign
