#include "retile/operations/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "page.h"

namespace retile::operations {
namespace table_test {

TEST(Operations, stand_in_the_order_of_their_ids) {
  ASSERT_EQ(rows().size(), id_count);
  for (std::size_t k = 0; k < id_count; ++k) {
    EXPECT_EQ(static_cast<std::size_t>(rows()[k].id), k);
    EXPECT_EQ(&row_of(rows()[k].id), &rows()[k]);
  }
}

TEST(Operations, have_names_of_their_own) {
  std::set<std::string_view> hlo;
  std::set<std::string_view> stablehlo;
  for (const Row& row : rows()) {
    EXPECT_FALSE(row.hlo.empty());
    EXPECT_TRUE(hlo.insert(row.hlo).second) << row.hlo;
    EXPECT_EQ(find_hlo(row.hlo), &row);
    if (row.stablehlo.empty()) continue;
    EXPECT_TRUE(stablehlo.insert(row.stablehlo).second) << row.stablehlo;
    EXPECT_EQ(find_stablehlo(row.stablehlo), &row);
  }
  EXPECT_EQ(find_hlo("stochastic-convert"), nullptr);
  EXPECT_EQ(find_hlo(""), nullptr);
  EXPECT_EQ(find_stablehlo(""), nullptr);
  EXPECT_EQ(find_stablehlo("shift-left"), nullptr);
}

TEST(Operations, have_names_of_other_dialects) {
  std::set<std::string> all;
  for (const Row& row : rows()) {
    std::vector<std::string> names(row.others.begin(), row.others.end());
    if (!row.stablehlo.empty()) names.push_back(fmt::format("stablehlo.{}", row.stablehlo));
    for (const std::string& name : names) {
      EXPECT_TRUE(all.insert(name).second) << name;
      EXPECT_EQ(find_mlir(name), &row) << name;
    }
  }
  EXPECT_EQ(find_mlir("stablehlo.if"), &row_of(Id::conditional));
  EXPECT_EQ(find_stablehlo("if"), nullptr);
  for (const std::string name : {"", "stablehlo.", "add", "chlo.add", "stablehlo.chlo.erf"}) {
    EXPECT_EQ(find_mlir(name), nullptr) << name;
  }
}

TEST(Operations, of_whole_programs_stand_behind_those_of_moves) {
  EXPECT_EQ(static_cast<std::size_t>(Id::collective_broadcast), moved_count);
  for (std::size_t k = 0; k < id_count; ++k) {
    const Row& row = rows()[k];
    const bool moves = k < moved_count;
    EXPECT_EQ(row.scope, moves ? Scope::moves : Scope::computes) << row.hlo;
    EXPECT_EQ(find_hlo(row.hlo, Scope::moves), moves ? &row : nullptr) << row.hlo;
    EXPECT_EQ(find_hlo(row.hlo, Scope::computes), &row);
    if (row.stablehlo.empty()) continue;
    EXPECT_EQ(find_stablehlo(row.stablehlo, Scope::moves), moves ? &row : nullptr) << row.hlo;
    EXPECT_EQ(find_stablehlo(row.stablehlo, Scope::computes), &row);
  }
}

TEST(Operations, of_whole_programs_are_described_like_the_others) {
  for (const Row& row : rows().subspan(moved_count)) {
    EXPECT_FALSE(row.arithmetic) << row.hlo;
    EXPECT_TRUE(row.effect == Effect::computes || row.effect == Effect::moves) << row.hlo;
    EXPECT_FALSE(row.operands.empty()) << row.hlo;
    EXPECT_FALSE(row.semantics.empty()) << row.hlo;
    // Fusions are made behind StableHLO.
    EXPECT_EQ(row.spec.empty(), row.id == Id::fusion) << row.hlo;
    EXPECT_EQ(row.stablehlo.empty() && row.others.empty(), row.id == Id::fusion) << row.hlo;
    // What it is to numbers with a point is said of all that take some, and make others.
    const bool is_said = row.effect == Effect::computes && row.id != Id::after_all;
    EXPECT_EQ(row.in_field != InField::nothing, is_said) << row.hlo;
  }
  for (const Row& row : rows().first(moved_count))
    EXPECT_NE(row.effect, Effect::computes) << row.hlo;
}

TEST(Operations, are_exact_in_a_field_where_it_has_sums_and_products) {
  std::set<std::string_view> exact;
  std::set<std::string_view> ordered;
  for (const Row& row : rows()) {
    if (row.in_field == InField::exact) exact.insert(row.hlo);
    if (row.in_field == InField::ordered) ordered.insert(row.hlo);
    // A function of the field's own has numbers with a point among its operands.
    if (row.in_field == InField::nothing || row.operands.empty()) continue;
    const bool is_of_bits = row.id == Id::rng_bit_generator;
    EXPECT_NE(row.operands.back().types.real, is_of_bits) << row.hlo;
  }
  EXPECT_EQ(exact, (std::set<std::string_view>{"add", "complex", "convolution", "divide", "dot",
                                               "fft", "imag", "multiply", "negate", "real",
                                               "subtract", "triangular-solve"}));
  EXPECT_EQ(ordered, (std::set<std::string_view>{"abs", "clamp", "compare", "is-finite", "maximum",
                                                 "minimum", "sign", "sort", "topk"}));
}

TEST(Operations, say_what_they_follow) {
  for (const Row& row : rows()) {
    EXPECT_FALSE(row.meaning.empty()) << row.hlo;
    EXPECT_FALSE(row.semantics.empty()) << row.hlo;
    EXPECT_TRUE(row.stablehlo.empty() || !row.spec.empty()) << row.hlo;
    for (const Attribute& attribute : row.attributes) {
      EXPECT_FALSE(attribute.meaning.empty()) << row.hlo;
      EXPECT_FALSE(attribute.hlo.empty() && attribute.stablehlo.empty()) << row.hlo;
    }
  }
}

TEST(Operations, of_numbers_have_one_row_each) {
  std::set<Arithmetic> seen;
  for (const Row& row : rows()) {
    if (!row.arithmetic) continue;
    EXPECT_TRUE(seen.insert(*row.arithmetic).second) << row.hlo;
    EXPECT_EQ(&row_of(*row.arithmetic), &row);
    EXPECT_EQ(row.operands.size(), is_unary(*row.arithmetic) ? 1U : 2U) << row.hlo;
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Arithmetic::shift_right_logical) + 1);
}

TEST(Operations, repeat_their_last_operand_alone) {
  for (const Row& row : rows()) {
    for (std::size_t k = 0; k + 1 < row.operands.size(); ++k) {
      EXPECT_FALSE(row.operands[k].is_repeated) << row.hlo;
    }
  }
  const Row& update = row_of(Id::dynamic_update_slice);
  EXPECT_EQ(operand_of(update, 1).role, Role::moved);
  EXPECT_EQ(operand_of(update, 2).role, Role::decides);
  EXPECT_EQ(operand_of(update, 7).role, Role::decides);
}

TEST(Operations, know_their_attributes) {
  const Row& compare = row_of(Id::compare);
  EXPECT_TRUE(has_hlo_attribute(compare, "type"));
  EXPECT_FALSE(has_hlo_attribute(compare, "compare_type"));
  EXPECT_TRUE(has_stablehlo_attribute(compare, "compare_type"));
  EXPECT_TRUE(has_stablehlo_attribute(row_of(Id::iota), "dim"));
  EXPECT_FALSE(has_stablehlo_attribute(row_of(Id::all_reduce), ""));
}

TEST(Operations, know_which_attributes_say_nothing) {
  const Row& custom = row_of(Id::custom_call);
  // What a custom call is told is part of its function, under whatever name it stands.
  for (const std::string name : {"custom_call_target", "backend_config", "called_computations",
                                 "operand_layout_constraints", "window", "literal"}) {
    EXPECT_TRUE(has_hlo_attribute(custom, name)) << name;
    EXPECT_TRUE(decides_in_hlo(custom, name)) << name;
  }
  EXPECT_FALSE(decides_in_hlo(custom, "api_version"));
  EXPECT_FALSE(decides_in_hlo(row_of(Id::fusion), "backend_config"));
  EXPECT_FALSE(decides_in_hlo(row_of(Id::fusion), "kind"));
  EXPECT_TRUE(decides_in_hlo(row_of(Id::fusion), "calls"));
  EXPECT_FALSE(decides_in_hlo(row_of(Id::dot), "operand_precision"));
  EXPECT_FALSE(decides_in_hlo(row_of(Id::dot), "metadata"));
  for (const std::string name : {"algorithm", "lhs_batch_dims", "sparsity_config", ""}) {
    EXPECT_TRUE(decides_in_hlo(row_of(Id::dot), name)) << name;
  }
  for (const Row& row : rows()) {
    for (const std::string_view name : {"dimensions", "to_apply", "window", "replica_groups",
                                        "channel_id", "use_global_device_ids", "direction"}) {
      EXPECT_TRUE(decides_in_hlo(row, name)) << row.hlo << " " << name;
    }
  }
}

/// What a release of JAX knows: of `*` the attributes of any instruction of HLO, of an opcode or an
/// operation of a dialect its own. peers/attributes.py wrote it.
std::map<std::string, std::set<std::string>> attributes_of_a_release() {
  std::map<std::string, std::set<std::string>> out;
  std::ifstream file(RETILE_OPERATIONS_ATTRIBUTES);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    auto& attributes = out[name];
    for (std::string one; words >> one;) attributes.insert(one);
  }
  return out;
}

TEST(Operations, have_the_attributes_of_a_release_but_what_is_refused) {
  const auto of_release = attributes_of_a_release();
  for (const std::string& name : of_release.at("*")) {
    EXPECT_FALSE(decides_in_hlo(row_of(Id::add), name)) << name;
  }
  std::map<std::string, std::set<std::string>> refused;
  for (const Row& row : rows()) {
    if (row.id == Id::tuple) continue;  // the release's parser ends the process
    const auto& known = of_release.at(std::string(row.hlo));
    for (const Attribute& one : row.attributes) {
      const std::string name(one.hlo);
      EXPECT_TRUE(name.empty() || known.count(name) > 0 || of_release.at("*").count(name) > 0)
          << row.hlo << " " << name;
    }
    for (const std::string& name : known) {
      if (!has_hlo_attribute(row, name)) refused[std::string(row.hlo)].insert(name);
    }
  }
  refused.erase("compare");  // its order, in newer texts
  const std::map<std::string, std::set<std::string>> want = {
      {"all-reduce", {"mode"}},
      {"collective-permute", {"slice_sizes"}},
      {"convolution", {"block_scaling_config", "convolution_kind", "sparsity_config"}},
      {"dot", {"block_scaling_config", "sparsity_config"}},
      {"reduce-scatter", {"mode"}},
      {"reshape", {"inferred_dimension"}}};
  EXPECT_EQ(refused, want);
}

TEST(Operations, have_the_attributes_of_a_release_in_stablehlo) {
  const auto of_release = attributes_of_a_release();
  for (const Row& row : rows()) {
    std::set<std::string> known;
    std::vector<std::string> names(row.others.begin(), row.others.end());
    if (!row.stablehlo.empty()) names.push_back(fmt::format("stablehlo.{}", row.stablehlo));
    for (const std::string& name : names) {
      if (!name.starts_with("stablehlo.") && !name.starts_with("chlo.")) continue;
      ASSERT_EQ(of_release.count(name), 1U) << name;
      known.insert(of_release.at(name).begin(), of_release.at(name).end());
    }
    std::set<std::string> ours;
    for (const Attribute& one : row.attributes) ours.emplace(one.stablehlo);
    ours.erase("");
    if (row.id == Id::get_tuple_element) ours.insert("index");  // of HLO alone in the table
    EXPECT_EQ(ours, known) << row.hlo;
  }
}

TEST(Operations, page_is_that_of_the_table) {
  const std::string want = page();
  if (std::getenv("RETILE_WRITE_PAGE") != nullptr) std::ofstream(RETILE_OPERATIONS_PAGE) << want;
  std::ifstream file(RETILE_OPERATIONS_PAGE);
  std::ostringstream is;
  is << file.rdbuf();
  EXPECT_EQ(is.str(), want) << "RETILE_WRITE_PAGE=1 test_operations writes it";
}

}  // namespace table_test
}  // namespace retile::operations
