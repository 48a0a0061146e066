#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "retile/program/op_facts.h"

namespace facts_test {
namespace {

using retile::CollectiveKind;
using retile::DeviceTable;
using retile::Op;
using retile::OpFacts;

template <typename... Steps>
std::vector<Op> every_step(const std::variant<Steps...>* /*table*/) {
  return {Op(Steps{})...};
}

TEST(Facts, every_step_has_facts_of_a_known_form) {
  for (const Op& op : every_step(static_cast<const Op*>(nullptr))) {
    EXPECT_TRUE(facts_of(op).is_known()) << info(op).name;
  }
}

// What rooms would take for something else, or not see at all: one that moves tiles in groups, for
// instance, costs a network nothing.
TEST(Facts, other_forms_are_not_known) {
  const DeviceTable groups;
  const retile::Sources sources;
  const retile::KeptPieces pieces;
  const std::vector<retile::Transfer> transfers;
  const retile::Shape counts;
  const std::vector<std::size_t> one = {0};
  const std::vector<std::size_t> two = {0, 1};
  const std::vector<OpFacts> all = {
      {},
      {.kind = CollectiveKind::gather, .joins = one},
      {.kind = CollectiveKind::permute, .groups = &groups},
      {.kind = CollectiveKind::gather, .groups = &groups},
      {.kind = CollectiveKind::permute, .joins = one, .groups = &groups},
      {.kind = CollectiveKind::gather, .cuts = one, .joins = one, .groups = &groups},
      {.kind = CollectiveKind::all_to_all, .cuts = two, .joins = one, .groups = &groups},
      {.kind = CollectiveKind::gather, .joins = two, .groups = &groups},
      {.kind = CollectiveKind::permute, .groups = &groups, .sources = &sources},
      {.kind = CollectiveKind::slice, .pieces = &pieces},
      {.kind = CollectiveKind::slice, .cuts = one, .joins = one, .pieces = &pieces},
      {.kind = CollectiveKind::gather, .cuts = one, .transfers = &transfers},
      {.kind = CollectiveKind::gather, .joins = two, .counts = &counts},
  };
  for (std::size_t k = 0; k < all.size(); ++k) EXPECT_FALSE(all[k].is_known()) << k;
}

}  // namespace
}  // namespace facts_test
