/// The file of problems that the planner cannot decide: lines `mesh | from | to | cost | lower bound
/// | OPT`, the last by counting (S4), `-` where that is too much work. `#` begins a comment.
#pragma once

#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "retile/core/problem.h"
#include "retile/notation/paper/problem.h"

namespace optimum {

struct Undecided {
  std::string mesh, from, to;
  retile::Size cost = 0;
  retile::Size lower_bound = 0;
  std::optional<retile::Size> optimum = {};

  [[nodiscard]] retile::Problem problem() const {
    auto read = retile::parse_problem(mesh, from, to);
    if (!read) throw std::runtime_error(retile::render(read.error()));
    return std::move(*read);
  }
};

inline std::string to_text(const Undecided& line) {
  std::ostringstream out;
  out << line.mesh << " | " << line.from << " | " << line.to << " | " << line.cost << " | "
      << line.lower_bound << " | ";
  if (line.optimum) {
    out << *line.optimum;
  } else {
    out << '-';
  }
  return out.str();
}

/// Throws std::runtime_error where the file cannot be read, or a line is none.
inline std::vector<Undecided> read_undecided(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<Undecided> out;
  for (std::string text; std::getline(in, text);) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream parts(text);
    std::vector<std::string> part;
    for (std::string word; std::getline(parts, word, '|');) {
      const auto first = word.find_first_not_of(' ');
      const auto last = word.find_last_not_of(' ');
      part.push_back(first == std::string::npos ? "" : word.substr(first, last - first + 1));
    }
    if (part.size() != 6) throw std::runtime_error("no six parts: " + text);
    Undecided line{part[0], part[1], part[2], std::stoll(part[3]), std::stoll(part[4]), {}};
    if (part[5] != "-") line.optimum = std::stoll(part[5]);
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace optimum
