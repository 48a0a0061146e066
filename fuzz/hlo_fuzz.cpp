// HLO text: what is read is evaluated as the second evaluator does, cell by cell, and judged.
//
// An input is a text.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foreign/naive.h"
#include "foreign/random_modules.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/judged.h"
#include "fuzz/refusal.h"
#include "retile/foreign/ends.h"
#include "retile/foreign/judge.h"
#include "retile/foreign/reader.h"
#include "retile/foreign/warning.h"

const fuzz::Target fuzz::target = {"hlo", 0.5};

namespace {

using retile::Layout;
using retile::Size;
using retile::foreign::Function;

/// Of all values and devices together.
constexpr Size most_cells = Size{1} << 16;

bool is_small(const Function& function) {
  Size cells = 0;
  for (const auto& value : function.values) {
    const auto size = retile::checked_product(value.type.extents);
    const auto all = size ? retile::checked_mul(*size, function.devices) : size;
    if (!all || *all > most_cells) return false;
    cells += *all;
  }
  return function.devices <= 32 && cells <= most_cells;
}

/// Every device holds another tile of as many as there are devices, one below the other.
Layout apart(const Function& function) {
  std::vector<retile::Cuts> cuts;
  std::vector<std::vector<retile::Digit>> digits;
  for (const Size extent : function.values[function.parameters.front()].type.extents) {
    const Size count = cuts.empty() ? function.devices : 1;
    cuts.push_back(retile::Cuts::even(extent, count));
    digits.push_back(count > 1 ? std::vector<retile::Digit>{{1, count}}
                               : std::vector<retile::Digit>{});
  }
  return *Layout::numbered(function.devices, std::move(cuts), std::move(digits));
}

bool has_elements(const Function& function) {
  for (const Size extent : function.values[function.parameters.front()].type.extents) {
    if (extent < 1) return false;
  }
  return true;
}

void compare(const Function& function, const std::string& text) {
  if (function.parameters.size() != 1 || !is_small(function) || !has_elements(function)) {
    fuzz::tally("not evaluated");
    return;
  }
  fuzz::reached();
  const auto fault = fuzz::control() ? retile::foreign::naive::Fault::gather_backwards
                                     : retile::foreign::naive::Fault::none;
  const Layout from = apart(function);
  const std::string what = retile::foreign::naive::difference(function, from, fault);
  fuzz::require(what.empty(), "the evaluators differ: " + what, text);
  const retile::text::Input input{.text = text, .source = "input", .numbered = true};
  const auto ends = retile::foreign::find_ends(function, {}, input);
  if (!ends) {
    fuzz::check_refusal(ends.error(), text);
    return;
  }
  const auto verdict = retile::foreign::judge(function, ends->from, ends->to);
  fuzz::tally(!verdict.right ? "undecided" : *verdict.right ? "right" : "wrong");
  fuzz::compare_strips(function, *ends, verdict, text);
  fuzz::require(verdict.right != false || (verdict.first_wrong && verdict.mismatch),
                "wrong without a witness", text);
}

/// A log with warnings of XLA: what they say of the array has the rank of its tiles.
void read_log(const std::string& text) {
  const auto warnings = retile::foreign::read_warnings(text, "log");
  if (!warnings) return;
  for (const auto& warning : *warnings) {
    if (!warning.tile) continue;
    const auto array = retile::foreign::array_of(warning);
    fuzz::require(!array || array->size() == warning.tile->size(), "an array of another rank",
                  text);
    fuzz::tally(array ? "warning" : "warning refused");
  }
}

std::string fresh(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return retile::foreign::testing::RandomModule([&](Size bound) {
           return static_cast<Size>(random() % static_cast<std::uint64_t>(bound));
         })
      .text();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::input(data, size));
  read_log(text);
  const retile::text::Input input{.text = text, .source = "input", .numbered = true};
  const auto functions = retile::foreign::read(input, retile::foreign::Language::hlo, {});
  if (!functions) {
    fuzz::check_refusal(functions.error(), text);
    return 0;
  }
  for (const Function& function : *functions) compare(function, text);
  return 0;
}

static const std::vector<std::string> vocabulary = {
    "HloModule m, num_partitions=4\n",
    "ENTRY e {\n",
    "}\n",
    " p = f32[2,3] parameter(0), sharding={devices=[4,1]<=[4]}\n",
    " ROOT r = f32[2,3] copy(p), sharding={devices=[4,1]<=[4]}\n",
    " c = s32[4] constant({0, 1, 2, 3})\n",
    " i = u32[] partition-id()\n",
    ", channel_id=1, replica_groups={{0,1},{2,3}}, dimensions={0}",
    ", replica_groups=[2,2]<=[4]",
    ", replica_groups=[2,2]<=[2,2]T(1,0)",
    ", replica_groups=mesh['x'=2,'y'=2] {'x'}",
    ", use_global_device_ids=true",
    ", source_target_pairs={{0,1},{1,0}}",
    ", dynamic_slice_sizes={1}",
    ", to_apply=%add",
    ", padding=1_0_1",
    ", slice={[0:1]}",
    ", direction=LT",
    "Involuntary full rematerialization. The compiler cannot go from sharding {devices=[4,1]<=[4]} "
    "to ",
    "{devices=[1,4]<=[4]} efficiently for HLO operation %p = f32[2,3]",
    "all-gather(",
    "all-to-all(",
    "reshape(",
    "f32[",
    "s32[]",
    "pred[]",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    "=",
    "0",
    "4",
    "-1",
    "9223372036854775807"};
RETILE_FUZZ_TEXT_MUTATORS(vocabulary, fresh)
