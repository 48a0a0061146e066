/// judge_corpus RETILE PROBLEMS COUNT: so many problems of the corpus are resharded, and each program is judged.
///
/// Prints what `retile check` says of a wrong one. Exit status: 0 if all are right, 1 if not.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "resharder.h"

namespace {

using Json = nlohmann::json;

/// Axes by their numbers.
Cut cut_of(const Json& dims, const std::map<std::string, int>& axes) {
  Cut out;
  for (const Json& dim : dims) {
    out.emplace_back();
    for (const Json& axis : dim) out.back().push_back(axes.at(axis));
  }
  return out;
}

Problem problem_of(const Json& json) {
  Problem out;
  std::map<std::string, int> axes;
  for (const Json& axis : json["mesh"]) {
    axes[axis[0]] = static_cast<int>(out.mesh.size());
    out.mesh.push_back(axis[1]);
  }
  out.shape = json["shape"].get<std::vector<int>>();
  out.from = cut_of(json["from"], axes);
  out.to = cut_of(json["to"], axes);
  return out;
}

/// What this resharder cannot do: sums, other orders of devices, tiles that are not all alike.
bool is_supported(const std::string& family) {
  return family != "sums" && family != "orders" && family != "uneven";
}

std::string listed(const std::vector<int>& numbers) {
  std::string out;
  for (const int n : numbers) out += (out.empty() ? "" : ",") + std::to_string(n);
  return out;
}

/// No text of the corpus holds a quote.
std::string command(const std::string& retile, const Json& json, const std::string& file) {
  const Json& ends = json["as"]["hlo1"];
  std::string mesh;
  for (const Json& axis : json["mesh"]) {
    mesh += (mesh.empty() ? "" : ",") + axis[0].get<std::string>() + ":" +
            std::to_string(axis[1].get<int>());
  }
  return "'" + retile + "' check --mesh " + mesh + " --shape " + listed(json["shape"]) +
         " --from '" + ends["from"].get<std::string>() + "' --to '" +
         ends["to"].get<std::string>() + "' '" + file + "' 2>&1";
}

/// Whether it ends with 0, and what it says.
bool succeeds(const std::string& words, std::string& said) {
  std::FILE* const pipe = popen(words.c_str(), "r");
  if (pipe == nullptr) return false;
  char piece[4096];
  while (std::fgets(piece, sizeof piece, pipe) != nullptr) said += piece;
  return pclose(pipe) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: judge_corpus RETILE PROBLEMS COUNT\n";
    return 2;
  }
  std::ifstream problems(argv[2]);
  const std::string file = "program.txt";
  int left = std::atoi(argv[3]), judged = 0, wrong = 0;
  for (std::string line; left > 0 && std::getline(problems, line);) {
    const Json json = Json::parse(line);
    if (!is_supported(json["family"])) continue;
    --left;
    ++judged;
    std::ofstream(file) << reshard(problem_of(json));
    std::string said;
    if (succeeds(command(argv[1], json, file), said)) continue;
    ++wrong;
    std::cout << "problem " << json["id"] << ": " << said;
  }
  std::cout << judged << " programs, " << wrong << " wrong\n";
  return judged > 0 && wrong == 0 ? 0 : 1;
}
