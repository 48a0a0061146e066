// Statements: whatever is printed for a text is a module that both readings take and call right.
//
// An input is a text: examples/array/*.array.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "fuzz/refusal.h"
#include "retile/array/gradient.h"
#include "retile/array/partition.h"
#include "retile/spmd/judge.h"
#include "spec/programs/spmd_judge.h"
#include "spec/programs/spmd_text.h"

const fuzz::Target fuzz::target = {"array", 0.3};

namespace {

using retile::Answer;
using retile::Size;

/// What is judged: more is left to the tests.
constexpr Size most_devices = 24;
constexpr Size most_elements = 256;

bool is_small(const retile::spmd::Module& module) {
  return module.devices <= most_devices &&
         std::all_of(module.values.begin(), module.values.end(), [](const auto& value) {
           return value.type.layout().global_size() <= most_elements;
         });
}

/// Of retile's room: empty where it was not decided.
std::string judged(const retile::spmd::Module& module) {
  const auto verdict = judge(module, {.timeout_seconds = 2});
  if (!verdict) {
    const bool is_limit = verdict.error().code == retile::Code::limit_reached;
    return is_limit ? "" : verdict.error().message;
  }
  if (verdict->answer == Answer::undecided) return "";
  return verdict->answer == Answer::right ? "right" : verdict->wrong->reason;
}
std::string oracles(const std::string& module) {
  try {
    spec::spmd::Polynomial::terms_left = spec::spmd::most_terms / 16;
    const auto verdict = spec::spmd::judge(spec::spmd::parse_module(module));
    if (!verdict.decided) return "";
    if (fuzz::control()) return "wrong";
    return verdict.right ? "right" : verdict.wrong->reason;
  } catch (const spec::ParseError& error) {
    return error.message;
  }
}

}  // namespace

/// What is printed as a gradient is read as statements.
void look_at_gradient(const retile::text::Input& input, const retile::array::Statements& statements,
                      const std::string& text) {
  const auto gradient = retile::array::gradient(input, statements, {});
  if (!gradient) return;
  const retile::text::Input lines{
      .text = gradient->program, .source = "gradient", .numbered = true};
  const auto read = retile::array::read_statements(lines);
  if (read || read.error().code == retile::Code::limit_reached) return;
  fuzz::differs("what is printed as a gradient are no statements: " + read.error().message, text);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::input(data, size));
  const retile::text::Input input{.text = text, .source = "input", .numbered = true};
  const auto statements = retile::array::read_statements(input);
  if (!statements) {
    fuzz::check_refusal(statements.error(), text);
    return 0;
  }
  look_at_gradient(input, *statements, text);
  const auto printed = partition(*statements);
  if (!printed) {
    fuzz::check_refusal(printed.error(), text);
    return 0;
  }
  const retile::text::Input lines{.text = *printed, .source = "module", .numbered = true};
  const auto module = retile::spmd::read_module(lines);
  if (!module) {
    const retile::Code code = module.error().code;
    if (code == retile::Code::limit_reached || code == retile::Code::size_overflow ||
        code == retile::Code::unsupported || code == retile::Code::too_many_devices) {
      return 0;
    }
    fuzz::differs("what is printed is no module: " + module.error().message, text);
  }
  if (!is_small(*module)) return 0;
  const std::string ours = judged(*module);
  const std::string theirs = oracles(*printed);
  if (ours.empty() || theirs.empty()) return 0;
  fuzz::reached();
  if (ours != "right") fuzz::differs("what is printed is " + ours, text);
  if (theirs != "right") fuzz::differs("the oracle says of what is printed: " + theirs, text);
  return 0;
}

static const std::vector<std::string> vocabulary = {
    "retile.array/1\n",
    "array x[4,6] w[6]\n",
    "y[i,j] += x[i,k] * w[k,j]\n",
    "r[i] = x[i] - 2x[i+1]\n",
    "r[i] += x[i+k] * w[k]\n",
    "r[] max= x[i]\n",
    "schedule y i:2,k:3\n",
    "tactic tile x 0 by r:2\n",
    "tactic propagate\n",
    "return y\n",
    " at root",
    " : [2{i}4]",
    " : tile=[2] global=[4] at=[[0],[2]]",
    "relu(",
    "neg(",
    "min=",
    "max=",
    "+=",
    "=",
    "[i+1]",
    "[i+k]",
    "[3-i]",
    "[2*i]",
    "[]",
    " + ",
    " - ",
    " * ",
    "(",
    ")",
    "i",
    "k",
    "#",
    "0",
    "1",
    "9223372036854775807",
};

static std::string fresh(std::uint64_t seed) {
  const std::string n = std::to_string(2 + seed % 5), p = std::to_string(1 + seed / 5 % 4);
  const bool neighbours = seed / 20 % 2 == 0;
  const std::string body = neighbours ? "x[i+1,k] - x[i,k]" : "x[i,k] * w[k,j]";
  return "retile.array/1\narray x[" + n + ",3] w[3,4]\ny[i] += " + body +
         "\nz[i] = y[i]\nschedule y i:" + p + ",k:2\nschedule z i:2\nreturn z\n";
}
RETILE_FUZZ_TEXT_MUTATORS(vocabulary, fresh)
