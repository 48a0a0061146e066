// `optimal` under attack: random problems, and whether what the planner says of each can be true.
// docs/ledger/statements.md, "How close the planner comes", has what it has counted.
//
// Exit status: 0 no contradiction, 1 contradictions, 2 wrong use.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/optimum/attack.h"

namespace optimum {
namespace {

constexpr std::string_view usage =
    R"(usage: retile-optimum --known FILE [--problems N] [--seed S] [--near N] [--save DIR]
                      [--undecided FILE] [--control WHAT] [--json]

Draws problems in which two primes move and a plan costs something, and holds what the planner says
of each against OPT by brute force, OPT by counting (S4), and the oracle's certifier.

  --known FILE      problems that the planner cannot decide; some others are drawn near them
  --problems N      how many (default 2000; 1e6 is a number)
  --seed S          seed of all that is drawn (default 1)
  --near N          how many of 1,000 are drawn near known ones (default 5, at most 635)
  --save DIR        writes each contradiction to a file of DIR
  --undecided FILE  writes those that are not called optimal to FILE, each once
  --control WHAT    falsifies what the planner says, and must find it: optimal, bound, cost,
                    certificate
  --json            prints one JSON object in place of the table
)";

bool read_number(const std::string& text, std::uint64_t& out) {
  std::istringstream in(text);
  double number = 0;
  if (!(in >> number) || !in.eof() || !(number >= 0) || number > 1e15) return false;
  out = static_cast<std::uint64_t>(number);
  return true;
}

struct Arguments {
  Options options;
  bool json = false;
};

/// Nothing when the arguments mean nothing.
std::optional<Arguments> read(const std::vector<std::string>& arguments) {
  Arguments all;
  Options& out = all.options;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const std::string& key = arguments[k];
    if (key == "--json") {
      all.json = true;
      continue;
    }
    if (++k == arguments.size()) return std::nullopt;
    const std::string& text = arguments[k];
    if (key == "--known") {
      out.known = text;
    } else if (key == "--save") {
      out.save = text;
    } else if (key == "--undecided") {
      out.undecided = text;
    } else if (key == "--control") {
      const auto at = std::find(controls.begin() + 1, controls.end(), text);
      if (at == controls.end()) return std::nullopt;
      out.control = static_cast<Control>(at - controls.begin());
    } else if (std::uint64_t number = 0; !read_number(text, number)) {
      return std::nullopt;
    } else if (key == "--problems") {
      out.problems = number;
    } else if (key == "--seed") {
      out.seed = number;
    } else if (key == "--near" && number <= most_near) {
      out.near = static_cast<Size>(number);
    } else {
      return std::nullopt;
    }
  }
  return out.known.empty() ? std::nullopt : std::optional(all);
}

/// Names and numbers, in the order in which they are printed.
std::vector<std::pair<std::string, std::uint64_t>> rows(const Attack& attack,
                                                        const Options& options) {
  const Counts& counts = attack.counts();
  std::vector<std::pair<std::string, std::uint64_t>> out = {{"seed", options.seed},
                                                            {"problems", options.problems}};
  for (std::size_t k = 0; k < decided_names.size(); ++k) {
    out.emplace_back(decided_names[k], counts.decided[k]);
  }
  const auto number = [](Size size) { return static_cast<std::uint64_t>(size); };
  for (const auto& row : {std::pair{"brute_force_in_all", counts.searched},
                          {"counting_in_all", counts.counted},
                          {"certificates_accepted", counts.certified},
                          {"programs_replayed", counts.replayed},
                          {"undecided_with_known_optimum", counts.undecided_known},
                          {"undecided_above_the_optimum", counts.undecided_below},
                          {"least_devices_of_undecided", number(counts.least_undecided_devices)},
                          {"most_devices_of_undecided", number(counts.most_undecided_devices)},
                          {"most_devices", number(counts.most_devices)},
                          {"free_ones_left_out", counts.free},
                          {"contradictions", counts.contradictions}}) {
    out.emplace_back(row);
  }
  for (std::size_t rank = 1; rank < counts.ranks.size(); ++rank) {
    out.emplace_back("rank_" + std::to_string(rank), counts.ranks[rank]);
  }
  return out;
}

void print(const Attack& attack, const Arguments& arguments) {
  const bool json = arguments.json;
  if (json) std::cout << R"({"schema":"retile.optimum/1")";
  for (const auto& [name, number] : rows(attack, arguments.options)) {
    if (json) {
      std::cout << ",\"" << name << "\":" << number;
    } else {
      std::cout << name << ' ' << number << '\n';
    }
  }
  const auto seconds = static_cast<std::uint64_t>(attack.seconds());
  if (json) {
    std::cout << ",\"seconds\":" << seconds << "}\n";
  } else {
    std::cout << "seconds " << seconds << '\n';
  }
}

}  // namespace
}  // namespace optimum

int main(int count, char** values) {
  auto arguments = optimum::read(std::vector<std::string>(values + 1, values + count));
  if (!arguments) {
    std::cerr << optimum::usage;
    return 2;
  }
  try {
    arguments->options.log = &std::cerr;
    optimum::Attack attack(arguments->options);
    attack.run();
    optimum::print(attack, *arguments);
    return attack.counts().contradictions == 0 ? 0 : 1;
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 2;
  }
}
