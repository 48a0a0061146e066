// Random problems drawn as in the paper's evaluation (Sec. 8): three mesh axes, up to six
// dimensions, 64-800 MB of 4-byte elements, every axis independently replicated or put on a
// dimension, for source and for target.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <string>

#include "retile/check/check.h"
#include "retile/core/notation.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/program/text.h"

namespace retile {
namespace {

/// A number in [low, high], the same on every platform (std::uniform_int_distribution is not).
Size draw(std::mt19937_64& random, Size low, Size high) {
  return low + static_cast<Size>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// A type of this global shape: every axis replicated or prepended to a dimension that it divides.
DistType draw_type(std::mt19937_64& random, const Mesh& mesh, const Shape& global) {
  std::vector<DistDim> dims;
  for (const Size extent : global) dims.push_back({extent, {}, extent});
  std::vector<Axis> axes = mesh.axes();
  for (std::size_t k = axes.size(); k-- > 1;) {
    std::swap(axes[k], axes[static_cast<std::size_t>(draw(random, 0, static_cast<Size>(k)))]);
  }
  for (const Axis& axis : axes) {
    const auto dim = static_cast<std::size_t>(draw(random, 0, static_cast<Size>(dims.size())));
    if (dim == dims.size()) continue;
    dims[dim].axes.insert(dims[dim].axes.begin(), axis.name);
    dims[dim].tile /= axis.size;
  }
  return DistType::make(mesh, dims).value();
}

struct Sample {
  std::string mesh;
  Problem problem;
};

Sample draw_problem(std::mt19937_64& random, const Mesh& mesh) {
  // Extents are multiples of the number of devices, as those of Fig. 13 are multiples of 8.
  while (true) {
    const auto rank = static_cast<std::size_t>(draw(random, 1, 6));
    Shape global(rank, mesh.device_count());
    Size bytes = 4;
    bool fits = true;
    for (Size& extent : global) {
      extent *= draw(random, 1, 64);
      fits = fits && !__builtin_mul_overflow(bytes, extent, &bytes);
    }
    if (!fits || bytes < 64'000'000 || bytes > 800'000'000) continue;
    const DistType from = draw_type(random, mesh, global);
    const DistType to = draw_type(random, mesh, global);
    return {to_text(mesh), Problem::make(mesh, from, to).value()};
  }
}

TEST(Section8, a_thousand_samples_plan_lower_and_check) {
  std::mt19937_64 random(20211221);
  const std::vector<Mesh> meshes{
      parse_mesh("a:2,b:2,c:2").value(), parse_mesh("a:4,b:2,c:4").value(),
      parse_mesh("a:2,b:3,c:2").value(), parse_mesh("a:6,b:4,c:5").value()};
  Size permuted = 0;
  Size optimal = 0;
  for (int k = 0; k < 1000; ++k) {
    const Sample sample = draw_problem(random, meshes[static_cast<std::size_t>(k) % meshes.size()]);
    SCOPED_TRACE(sample.mesh + " " + to_text(sample.problem.from_type) + " " +
                 to_text(sample.problem.to_type));
    const auto made = plan(sample.problem);
    ASSERT_TRUE(made.has_value()) << render(made.error());
    ASSERT_LE(made->height, made->bound);
    ASSERT_LE(made->permutes(), 1U);
    const Program program = lower(*made);
    const auto allpermutes =
        std::count_if(program.steps.begin(), program.steps.end(),
                      [](const Step& step) { return std::holds_alternative<Allpermute>(step.op); });
    ASSERT_LE(allpermutes, 1);
    const Verdict verdict = check(program);
    ASSERT_EQ(verdict.answer, Answer::right) << to_text(program);
    ASSERT_TRUE(verdict.within_bound);
    ASSERT_EQ(verdict.cost, made->cost);
    permuted += static_cast<Size>(made->permutes());
    optimal += made->optimal ? 1 : 0;
  }
  std::cout << "1000 problems: " << permuted << " with a permutation, " << optimal
            << " proved optimal\n";
}

}  // namespace
}  // namespace retile
