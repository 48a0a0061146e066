// The generators themselves: every value they draw is valid, every value it may shrink to is valid,
// and the hard cases come up often enough to be tested.
#include "support/generators.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "retile/program/apply.h"
#include "retile/program/forms/text.h"
#include "spec/paper/fig07_base_offsets.h"
#include "spec/paper/fig10_low_level.h"
#include "support/bridge.h"
#include "support/layout_generators.h"
#include "support/program_generators.h"
#include "support/samples.h"
#include "support/sequence_generators.h"
#include "support/shrinking.h"
#include "support/values.h"

namespace generators_test {
namespace {

using support::ShrinkWalk;

// ---- What a valid value is. spec has the say wherever it can.

std::string mesh_fault(const retile::Mesh& mesh) {
  if (mesh.axes().empty() || mesh.axes().size() > support::Bounds().max_axes + 1) return "axes";
  if (!spec::wf_mesh(support::to_spec(mesh))) return "not well formed";
  return mesh.device_count() <= support::Bounds().max_devices ? "" : "too many devices";
}

std::string type_fault(const support::TypeOverMesh& drawn) {
  if (const auto fault = mesh_fault(drawn.mesh); !fault.empty()) return fault;
  if (!spec::wf_type(support::to_spec(drawn.mesh), support::to_spec(drawn.type)))
    return "not well formed";
  return drawn.type.rank() <= support::Bounds().max_rank ? "" : "rank";
}

std::string problem_fault(const retile::Problem& problem) {
  for (const auto& type : {support::from_type(problem), support::to_type(problem)}) {
    const auto fault = type_fault({problem.spelling->mesh, type});
    if (!fault.empty()) return fault;
  }
  return problem.from.global() == problem.to.global() ? "" : "global sizes";
}

std::string sequence_fault(const support::TypedSequence& sequence) {
  if (const auto fault = type_fault({sequence.mesh, sequence.from}); !fault.empty()) return fault;
  const spec::Mesh H = support::to_spec(sequence.mesh);
  retile::DistType type = sequence.from;
  for (const retile::TypedCollective& step : sequence.steps) {
    const auto after =
        spec::apply(H, support::to_spec(sequence.mesh, type, step), support::to_spec(type));
    if (!after) return "a step that no rule allows";
    auto next = retile::apply(sequence.mesh, step, type);
    if (!next) return "a step that src refuses";
    type = std::move(*next);
  }
  return "";
}

std::string nearly_fault(const support::NearlyTyped& drawn) {
  const auto allowed = [](const support::TypedStep& step) {
    return spec::apply(support::to_spec(step.mesh),
                       support::to_spec(step.mesh, step.from, step.collective),
                       support::to_spec(step.from))
        .has_value();
  };
  if (!allowed(drawn.good)) return "the good twin is not allowed";
  return allowed(drawn.bad) ? "the bad twin is allowed" : "";
}

std::string map_fault(const support::DrawnMap& drawn) {
  const retile::Layout& map = drawn.map;
  if (map.is_listed() != (drawn.form == support::MapForm::explicit_)) return "form";
  if (map.is_compact() != (drawn.form == support::MapForm::compact)) return "form";
  const std::vector<retile::Size> at = map.base_offsets();
  for (std::size_t k = 0; k < at.size(); ++k) {
    const std::size_t i = k % map.rank();
    if (at[k] < 0 || at[k] + map.tile()[i] > map.global()[i]) return "a tile outside its array";
  }
  if (map.is_listed()) return "";
  return spec::is_balanced(support::to_physical(map)) ? "" : "not balanced";
}

std::string program_fault(const retile::Program& program) {
  const auto read = retile::parse_programs(to_text(program));
  if (!read || read->size() != 1) return "cannot be read back";
  for (const retile::Step& step : program.steps) {
    if (!retile::well_made(step, program.from.rank(), program.devices)) return "not well made";
  }
  return "";
}

// ---- Shrinking

template <typename T, typename Fault>
void expect_valid(const std::string& what, const rc::Gen<T>& gen, const Fault& fault,
                  std::size_t draws) {
  const ShrinkWalk walk = support::walk_shrinks(gen, draws, 17, fault);
  std::cout << what << ": " << draws << " drawn, " << walk.values << " values looked at\n";
  EXPECT_EQ(walk.fault, "") << what;
  EXPECT_GT(walk.values, 20 * draws) << what << " hardly shrink";
}

TEST(Shrinking, keeps_every_value_valid) {
  expect_valid("meshes", support::meshes(), mesh_fault, support::samples<std::size_t>(40));
  expect_valid("types", support::types(), type_fault, support::samples<std::size_t>(40));
  expect_valid("problems", support::problems(), problem_fault, support::samples<std::size_t>(40));
  expect_valid("sequences", support::sequences(), sequence_fault,
               support::samples<std::size_t>(20));
  expect_valid("nearly typed steps", support::nearly_typed(), nearly_fault,
               support::samples<std::size_t>(40));
  expect_valid("tile maps", support::tile_maps(), map_fault, support::samples<std::size_t>(20));
  expect_valid("Programs", support::programs(), program_fault, support::samples<std::size_t>(12));
}

TEST(Shrinking, ends_in_the_simplest_value) {
  rc::Random random(3);
  for (int n = 0; n < 20; ++n) {
    rc::Shrinkable<support::TypedSequence> current = support::sequences()(random.split(), 50);
    while (true) {  // always the first shrink: what RapidCheck does while the case goes on failing
      auto shrink = current.shrinks().next();
      if (!shrink) break;
      current = std::move(*shrink);
    }
    const support::TypedSequence simplest = current.value();
    EXPECT_EQ(to_text(simplest.mesh), "x:2");
    EXPECT_EQ(to_text(simplest.from), "[]");
    EXPECT_TRUE(simplest.steps.empty());
  }
}

/// Control: dimensions of which every number shrinks on its own do not add up for long.
TEST(ShrinkingControl, a_generator_that_shrinks_number_by_number_is_caught) {
  struct Dims {
    retile::Mesh mesh;
    std::vector<retile::DistDim> dims;
  };
  const rc::Gen<Dims> careless = rc::Gen<Dims>([](const rc::Random& random, int size) {
    const support::TypeOverMesh drawn = support::types()(random, size).value();
    return rc::shrinkable::shrinkRecur(Dims{drawn.mesh, drawn.type.dims()}, [](const Dims& from) {
      std::vector<Dims> smaller;
      for (std::size_t i = 0; i < from.dims.size(); ++i) {
        if (from.dims[i].tile <= 1) continue;
        smaller.push_back(from);
        --smaller.back().dims[i].tile;
      }
      return rc::seq::fromContainer(smaller);
    });
  });
  const ShrinkWalk walk = support::walk_shrinks(careless, 50, 17, [](const Dims& drawn) {
    const bool fine =
        spec::wf_type(support::to_spec(drawn.mesh), support::to_spec(drawn.mesh, drawn.dims));
    return std::string(fine ? "" : "not well formed");
  });
  std::cout << "caught after " << walk.values << " values\n";
  EXPECT_EQ(walk.fault, "not well formed");
}

// ---- Classification

constexpr std::size_t drawn_values = 2000;

/// In how many of the drawn values each case came up.
template <typename T, typename Cases>
std::map<std::string, std::size_t> shares(const rc::Gen<T>& gen, const Cases& cases) {
  std::map<std::string, std::size_t> out;
  rc::Random random(11);
  for (std::size_t n = 0; n < drawn_values; ++n) {
    const T value = gen(random.split(), static_cast<int>(n % 100)).value();
    for (const std::string& hard : cases(value)) ++out[hard];
  }
  return out;
}

/// Prints the shares; the cases that came up in less than 2 % of the values.
std::vector<std::string> rare(const std::string& what, const std::vector<std::string>& wanted,
                              const std::map<std::string, std::size_t>& counted) {
  std::vector<std::string> out;
  std::cout << drawn_values << ' ' << what << ':';
  for (const std::string& name : wanted) {
    const auto found = counted.find(name);
    const std::size_t count = found == counted.end() ? 0 : found->second;
    std::cout << ' ' << name << ' ' << std::fixed << std::setprecision(1)
              << 100.0 * static_cast<double>(count) / static_cast<double>(drawn_values) << " %,";
    if (count * 50 < drawn_values) out.push_back(name);
  }
  std::cout << '\n';
  return out;
}

const std::vector<std::string> of_types = {"replication", "mixed primes", "partial divisibility",
                                           "rank 0", "size-1 axes"};

std::vector<std::string> with(std::vector<std::string> names, const std::string& name) {
  names.push_back(name);
  return names;
}

TEST(Classification, hard_types_are_drawn) {
  const auto counted = shares(support::types(), [](const support::TypeOverMesh& drawn) {
    return support::hard_cases(drawn.mesh, drawn.type);
  });
  EXPECT_EQ(rare("types", of_types, counted), std::vector<std::string>());
}

TEST(Classification, hard_sequences_are_drawn) {
  const auto counted = shares(support::sequences(), [](const support::TypedSequence& drawn) {
    return support::hard_cases(drawn);
  });
  EXPECT_EQ(rare("sequences", with(of_types, "over-partitioning"), counted),
            std::vector<std::string>());
}

TEST(Classification, hard_problems_are_drawn) {
  const auto counted = shares(support::problems(), [](const retile::Problem& drawn) {
    const retile::DistType from = support::from_type(drawn);
    const retile::DistType to = support::to_type(drawn);
    std::set<std::string> out = support::hard_cases(drawn.spelling->mesh, from);
    // Both ends leave devices over, so a path may slice below both.
    const auto tiles = [&](const retile::DistType& type) {
      return type.globalsize() / type.localsize();
    };
    const retile::Size least = std::lcm(tiles(from), tiles(to));
    const bool room = least < drawn.from.devices() && from.localsize() > 1;
    if (room && from != to) out.insert("over-partitioning");
    return out;
  });
  EXPECT_EQ(rare("problems", with(of_types, "over-partitioning"), counted),
            std::vector<std::string>());
}

TEST(Classification, every_form_of_tile_maps_is_drawn) {
  const auto counted = shares(support::tile_maps(), [](const support::DrawnMap& drawn) {
    const char* const names[] = {"compact", "ordered", "explicit"};
    std::set<std::string> out = {names[static_cast<std::size_t>(drawn.form)]};
    if (drawn.map.rank() == 0) out.insert("rank 0");
    if (!drawn.map.is_listed() && !drawn.map.unused().empty()) out.insert("replication");
    return out;
  });
  EXPECT_EQ(rare("tile maps", {"compact", "ordered", "explicit", "rank 0", "replication"}, counted),
            std::vector<std::string>());
}

TEST(Classification, every_premise_is_broken) {
  std::vector<std::string> names;
  for (const support::PremiseFacts& facts : support::premises) names.emplace_back(facts.name);
  const auto counted = shares(support::nearly_typed(), [](const support::NearlyTyped& drawn) {
    return std::set<std::string>{std::string(support::facts(drawn.broken).name)};
  });
  EXPECT_EQ(rare("nearly typed steps", names, counted), std::vector<std::string>());
}

/// Control: with bounds that leave a case out, the case is reported as rare.
TEST(ClassificationControl, a_case_that_is_not_drawn_is_reported) {
  support::Bounds narrow;
  narrow.size_one_axes = false;
  narrow.max_devices = 4;  // 2, 3 and 4: one prime each
  const auto counted = shares(support::types(narrow), [](const support::TypeOverMesh& drawn) {
    return support::hard_cases(drawn.mesh, drawn.type);
  });
  EXPECT_EQ(rare("narrow types", of_types, counted),
            (std::vector<std::string>{"mixed primes", "size-1 axes"}));
}

}  // namespace
}  // namespace generators_test
