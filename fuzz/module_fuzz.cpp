// Modules: what both readers take has the same verdict, and what is lowered is read again and judged
// alike.
//
// An input is a text: examples/spmd/*.spmd.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "fuzz/refusal.h"
#include "retile/spmd/judge.h"
#include "spec/programs/spmd_judge.h"
#include "spec/programs/spmd_text.h"

const fuzz::Target fuzz::target = {"module", 0.3};

namespace {

using retile::Answer;
using retile::Size;

/// What is judged: more is left to the tests.
constexpr Size most_devices = 32;
constexpr Size most_elements = 1024;

bool is_small(const retile::spmd::Module& module) {
  return module.devices <= most_devices &&
         std::all_of(module.values.begin(), module.values.end(), [](const auto& value) {
           return value.type.layout().global_size() <= most_elements;
         });
}

/// `right`, a reason and a statement, or nothing where it was not decided.
std::string words(const retile::spmd::Module& module, const retile::spmd::ModuleVerdict& verdict) {
  if (verdict.answer == Answer::undecided) return "";
  if (verdict.answer == Answer::right) return fuzz::control() ? "wrong" : "right";
  const auto statement = verdict.wrong->statement;
  return verdict.wrong->reason + " " +
         (statement ? module.values[module.body[*statement].value].name : "return");
}
std::string oracles(const std::string& text) {
  try {
    const auto verdict = spec::spmd::judge(spec::spmd::parse_module(text));
    if (!verdict.decided) return "";
    if (verdict.right) return "right";
    return verdict.wrong->reason + " " + verdict.wrong->statement.value_or("return");
  } catch (const spec::ParseError&) {
    return "";  // what is refused, and where, is not compared
  }
}

/// At smaller extents a module is right, or wrong for the same reason, as at its own.
void compare_divided(const retile::spmd::Module& module, const retile::spmd::ModuleVerdict& full,
                     const std::string& text) {
  const auto verdict = judge(module, {.timeout_seconds = 5});
  if (!verdict || verdict->answer == Answer::undecided || full.answer == Answer::undecided) return;
  const auto reason = [](const auto& of) { return of.wrong ? of.wrong->reason : "right"; };
  if (reason(*verdict) == reason(full)) return;
  fuzz::differs("at smaller extents: " + reason(*verdict) + ", not " + reason(full), text);
}

/// The module with its steps has the same verdict.
void compare_lowered(const retile::spmd::Module& module, const std::string& text,
                     const std::string& verdict) {
  const auto steps = lowered(module, text);
  if (!steps) return;
  const retile::text::Input input{.text = *steps, .source = "steps", .numbered = true};
  const auto again = retile::spmd::read_module(input);
  fuzz::require(again.has_value(), "what is lowered is not read", text);
  const auto judged = judge(*again);
  fuzz::require(judged.has_value(), "what is lowered is refused", text);
  const bool has_fused = again->body.size() != module.body.size();
  if (!has_fused) {
    fuzz::require(words(*again, *judged) == verdict, "what is lowered has another verdict", text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::input(data, size));
  const retile::text::Input input{.text = text, .source = "input", .numbered = true};
  const auto module = retile::spmd::read_module(input);
  if (!module) {
    fuzz::check_refusal(module.error(), text);
    return 0;
  }
  if (!is_small(*module)) return 0;
  const auto verdict = judge(*module, {.timeout_seconds = 5, .full_extents = true});
  if (!verdict) {
    fuzz::check_refusal(verdict.error(), text);
    return 0;
  }
  const std::string ours = words(*module, *verdict);
  compare_divided(*module, *verdict, text);
  // Steps in blocks are not in the oracle's language.
  const std::string wanted = text.find("] {\n") == std::string::npos ? oracles(text) : "";
  if (ours.empty()) return 0;
  compare_lowered(*module, text, ours);
  if (wanted.empty()) return 0;
  fuzz::reached();
  fuzz::tally(ours.substr(0, ours.find(' ')));
  // Each finds numbers of its own that tell maxima and functions apart, and so perhaps another place.
  const bool are_wrong = ours != "right" && wanted != "right";
  const bool has_variables = verdict->has_maxima || verdict->has_functions;
  if (has_variables && are_wrong && !fuzz::control()) return 0;
  if (ours != wanted) fuzz::differs("the verdict: " + ours + ", the oracle's: " + wanted, text);
  return 0;
}

static const std::vector<std::string> vocabulary = {
    "retile.spmd/1\n",
    "mesh d:2,e:3\n",
    "fn main(x : [2{d}4, 3]) -> [4, 3]\n",
    "y = spmd x { einsum \"ij,ij->j\" x x } as sum{d}[3]\n",
    "z = redistribute y as [3]\n",
    "return z\n",
    "denotes reduce_sum 0 (mul x x)\n",
    "exp ",
    "div x x",
    "sqrt ",
    "min x x",
    "einsum \"2i->i\" ",
    " as ",
    "sum{d}",
    "max{e}",
    "[2{d}3]",
    "[4]@1",
    "<1,0>",
    "add x x",
    "sub x x",
    "neg x",
    "relu x",
    "scale -2 x",
    "fill 1 x",
    "reduce_sum 0 x",
    "reduce_max 0 x",
    "transpose [1,0] x",
    "trim 0 1 0 x",
    "take 0 x x",
    " below 3",
    "\"i+k,k->i\"",
    "tile=[2] global=[3] at=[[0],[1]]",
    " shapes=[[2],[1]]",
    " order=[1,0]",
    " {\n",
    "}\n",
    "(",
    ")",
    "#",
    "0",
    "1",
    "9223372036854775807",
};

static std::string fresh(std::uint64_t seed) {
  const std::string wide = seed % 2 == 0 ? "4" : "5";
  return "retile.spmd/1\nmesh d:2\nfn main(x : [3, " + wide + "], w : [" + wide +
         ", 2]) -> [3, 2]\na = redistribute x as [3, 3{d}" + wide +
         "]\nb = redistribute w as [3{d}" + wide +
         ", 2]\ny = spmd a b { einsum \"ik,kj->ij\" } as sum{d}[3, 2]\nz = redistribute y as [3, "
         "2]\nreturn z\ndenotes einsum \"ik,kj->ij\"\n";
}
RETILE_FUZZ_TEXT_MUTATORS(vocabulary, fresh)
