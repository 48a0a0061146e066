// Plans, lowers, checks and runs Example 3.1 through the installed headers and libraries, and
// prints the Program.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <utility>

#include "retile/check/check.h"
#include "retile/exec/sim/sim.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"

int main() {
  const auto problem = retile::parse_problem("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]");
  if (!problem) return 1;
  const auto plan = retile::plan(*problem);
  if (!plan) return 2;
  const retile::Program program = retile::lower(*plan);
  const auto read_back = retile::parse_programs(retile::to_text(program));
  if (!read_back || read_back->size() != 1) return 3;
  if (retile::check(read_back->front()).answer != retile::Answer::right) return 4;

  // Device d = 6x + y holds rows 3x.. and columns 2y..; every element's byte is its number in the
  // 12 x 12 array.
  retile::sim::Tiles tiles(24);
  for (std::size_t device = 0; device < tiles.size(); ++device) {
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 2; ++column) {
        const std::size_t element = (3 * (device / 6) + row) * 12 + 2 * (device % 6) + column;
        tiles[device].push_back(static_cast<std::byte>(element));
      }
    }
  }
  const auto outcome = retile::sim::run(program, std::move(tiles), 1);
  if (!outcome || outcome->tiles.size() != 24) return 5;
  for (std::size_t device = 0; device < 24; ++device) {
    for (std::size_t row = 0; row < 2; ++row) {
      for (std::size_t column = 0; column < 3; ++column) {
        const std::size_t element = (2 * (device % 6) + row) * 12 + 3 * (device / 6) + column;
        if (outcome->tiles[device][3 * row + column] != static_cast<std::byte>(element)) return 6;
      }
    }
  }
  std::cout << retile::to_text(program);
  return 0;
}
