// The differential campaign: src against spec, on everything that both can compute, for as long as
// one likes. docs/ledger/campaign.md says how to run it and what it has counted.
//
// Exit status: 0 no difference, 1 differences, 2 wrong use.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "house/campaign/enumeration.h"
#include "house/campaign/plans.h"
#include "house/campaign/programs.h"
#include "house/campaign/tally.h"
#include "house/campaign/texts.h"
#include "house/campaign/types.h"
#include "support/generators.h"

namespace campaign {
namespace {

/// Lists of axes to slice by: none, each, some pairs and triples; also axes that do not exist.
std::vector<Names> choose_slices(const Choose& choose, const retile::Mesh& mesh) {
  const Names names = names_of(mesh);
  std::vector<Names> out = {{}};
  for (const std::string& name : names) out.push_back({name});
  for (int k = 0; k < 12; ++k) {
    Names& list = out.emplace_back();
    for (std::size_t length = 2 + support::detail::pick_index(choose, 2); length > 0; --length) {
      list.push_back(support::detail::pick(choose, names));
    }
  }
  return out;
}

// ---- Drawn types

/// Factors of the axes, so that there is something to slice, and one that no axis divides.
std::optional<Subject> choose_subject(const Choose& choose, const retile::Mesh& mesh,
                                      const support::Bounds& bounds) {
  std::vector<retile::DistDim> dims = support::choose_type(choose, mesh, bounds).dims();
  for (retile::DistDim& dim : dims) {
    if (choose(2) == 0) continue;
    const retile::Size factor = support::detail::pick(choose, mesh.axes()).size;
    dim.tile *= factor;
    dim.global *= factor;
  }
  auto type = retile::DistType::make(mesh, std::move(dims));
  if (!type) return std::nullopt;
  return Subject(std::move(*type));
}

/// Mostly collectives that apply; now and then every argument up to one too many.
void draw_rules(Tally& tally, const Choose& choose, const Setting& setting,
                const Subject& subject) {
  choose(64) == 0 ? compare_rules(tally, setting, subject)
                  : compare_likely_rules(tally, setting, subject);
  for (int k = 0; k < 3; ++k) {
    compare_rule(
        tally, setting, subject,
        retile::AllpermuteRule{
            k < 2 ? support::choose_permuted(choose, setting.mesh, subject.type)
                  : support::choose_type_of(choose, setting.mesh, subject.type.globaltype())});
  }
}

/// The type itself, and dimensions that are nearly a type.
void draw_wellformedness(Tally& tally, const Choose& choose, const Setting& setting,
                         const Subject& subject) {
  const retile::Shape global = subject.type.globaltype();
  compare_wellformedness(tally, setting, subject.type.dims());
  for (int k = 0; k < 4; ++k) {
    const auto dims = support::choose_type_of(choose, setting.mesh, global).dims();
    compare_wellformedness(tally, setting, dims);
    if (k == 0) compare_wellformedness(tally, setting, choose_nearby(choose, setting, dims));
  }
}

void draw_types(Tally& tally, const Choose& choose) {
  support::Bounds bounds;
  bounds.max_devices = choose(16) == 0 ? 512 : 64;
  bounds.max_axes = 5;
  bounds.max_rank = 5;
  bounds.quoted_names = false;
  Setting setting(support::choose_mesh(choose, bounds));
  setting.slices = choose_slices(choose, setting.mesh);
  for (int k = 0; k < 24; ++k) {
    if (tally.done()) return;
    const auto subject = choose_subject(choose, setting.mesh, bounds);
    if (!subject) continue;
    if (tally.wants(Kind::rule) || tally.wants(Kind::rule_fig8)) {
      draw_rules(tally, choose, setting, *subject);
    }
    if (tally.wants(Kind::well_formedness)) {
      draw_wellformedness(tally, choose, setting, *subject);
    }
    if (tally.wants(Kind::offset)) {
      compare_offsets(tally, setting, *subject);
      for (int n = 0; n < 2; ++n) {  // types are cheap where nothing else is asked about them
        compare_offsets(
            tally, setting,
            Subject(support::choose_type_of(choose, setting.mesh, subject->type.globaltype())));
      }
    }
    if (tally.wants(Kind::step_offset)) {
      compare_random_walk(tally, choose, setting, *subject, 8);
    }
  }
}

/// Whether one of these kinds is asked for.
template <class Selected>
bool wants_any(const Tally& tally, const Selected& selected) {
  return std::any_of(selected.begin(), selected.end(),
                     [&](Kind kind) { return tally.wants(kind); });
}

void draw(Tally& tally, const Choose& choose) {
  constexpr std::array<Kind, 5> type_kinds = {Kind::rule, Kind::rule_fig8, Kind::well_formedness,
                                              Kind::offset, Kind::step_offset};
  tally.set_source(Source::drawn);
  if (wants_any(tally, type_kinds)) draw_types(tally, choose);
  if (wants_any(tally, plan_kinds)) draw_plans(tally, choose);
  if (wants_any(tally, program_kinds)) draw_programs(tally, choose);
  if (tally.wants(Kind::text)) {
    for (int k = 0; k < 6 && !tally.done(); ++k) compare_texts(tally, choose);
  }
}

// ---- The program

constexpr std::string_view usage =
    R"(usage: retile-campaign [--cases N] [--each N] [--seconds S] [--seed N] [--kind KIND]..
                       [--drawn] [--control] [--save DIR] [--json]

Holds every value that src computes against the same value that spec computes with its own code.

  --cases N    go on until every kind has N cases (1e6 is a number): inputs that both sides accept,
               each counted once
  --each N     and until each stratum of every kind has N
  --seconds S  stop after S seconds; without any of the three: 10 seconds
  --seed N     seed of the drawn cases (default 1)
  --kind KIND  only this kind, may be repeated: rule, rule-fig8, well-formedness, offset,
               step-offset, weak, opt, bound, optimal, certificate, verdict, exchange, moved, prove,
               text
  --drawn      leave out the enumerations, which are the same for every seed
  --control    falsify one value of src per kind: the run must find each
  --save DIR   write each difference to a file of DIR
  --json       print one JSON object in place of the table
)";

struct Options {
  Tally::Limits limits;
  std::uint64_t seed = 1;
  Kinds selected = {};
  bool drawn_only = false;
  bool control = false;
  bool json = false;
  std::string save;
};

bool select(std::string_view name, Options& out) {
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (kinds[kind].name == name) return out.selected[kind] = true;
  }
  return false;
}

/// False when the option and its value mean nothing.
bool read_number(const std::string& key, const std::string& text, Options& out) {
  std::istringstream in(text);
  double number = 0;
  if (!(in >> number) || !in.eof() || !(number >= 0) || number > 1e18) return false;
  const auto whole = static_cast<std::uint64_t>(number);
  if (key == "--cases") {
    out.limits.cases = whole;
  } else if (key == "--each") {
    out.limits.each = whole;
  } else if (key == "--seconds") {
    out.limits.seconds = number;
  } else if (key == "--seed") {
    out.seed = whole;
  } else {
    return false;
  }
  return true;
}

/// Nothing when the arguments mean nothing.
std::optional<Options> read(const std::vector<std::string>& arguments) {
  Options out;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const std::string& key = arguments[k];
    if (key == "--drawn") {
      out.drawn_only = true;
    } else if (key == "--control") {
      out.control = true;
    } else if (key == "--json") {
      out.json = true;
    } else if (k + 1 == arguments.size()) {
      return std::nullopt;
    } else if (const std::string& text = arguments[++k]; key == "--save") {
      out.save = text;
    } else if (key == "--kind" ? !select(text, out) : !read_number(key, text, out)) {
      return std::nullopt;
    }
  }
  const Tally::Limits unlimited;
  if (out.limits.cases == unlimited.cases && out.limits.seconds == unlimited.seconds) {
    if (out.limits.each > 0) {
      out.limits.cases = 0;
    } else {
      out.limits.seconds = 10;
    }
  }
  if (out.selected == Kinds{}) out.selected.fill(true);
  if (!retile::solver_is_built()) out.selected[static_cast<std::size_t>(Kind::prove)] = false;
  return out;
}

void print_table(const Tally& tally, const Options& options) {
  const auto cell = [](const auto& text, int width) { std::cout << std::setw(width) << text; };
  std::cout << std::left;
  cell("kind", 16);
  std::cout << std::right;
  for (const std::string_view head : {"cases", "trivial", "repeated", "refused", "open"}) {
    cell(head, 12);
  }
  cell("differences", 13);
  std::cout << "  what is compared\n";
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (!options.selected[kind]) continue;
    const Count& count = tally.count(static_cast<Kind>(kind));
    std::cout << std::left;
    cell(kinds[kind].name, 16);
    std::cout << std::right;
    for (const std::uint64_t number :
         {count.total(), count.trivial, count.repeated, count.refused, count.open}) {
      cell(number, 12);
    }
    cell(count.differences, 13);
    std::cout << "  " << kinds[kind].compares << '\n';
    for (std::size_t s = 0; s < strata_names.size(); ++s) {
      if (count.strata[s] == 0 && !contains(kinds[kind].strata, static_cast<Stratum>(s))) continue;
      std::cout << "  " << strata_names[s] << ' ' << count.strata[s];
    }
    std::cout << '\n';
  }
  std::cout << tally.total() << " cases, " << tally.differences() << " differences, seed "
            << options.seed << ", " << static_cast<std::uint64_t>(tally.elapsed()) << " seconds\n";
}

void print_json(const Tally& tally, const Options& options) {
  std::cout << "{\"schema\":\"retile.campaign/2\",\"seed\":" << options.seed
            << ",\"seconds\":" << static_cast<std::uint64_t>(tally.elapsed())
            << ",\"processor_seconds\":" << static_cast<std::uint64_t>(Tally::processor_seconds())
            << ",\"kinds\":{";
  bool first = true;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (!options.selected[kind]) continue;
    const Count& count = tally.count(static_cast<Kind>(kind));
    std::cout << (first ? "" : ",") << '"' << kinds[kind].name << "\":{\"cases\":" << count.total()
              << ",\"enumerated\":" << count.cases[0] << ",\"drawn\":" << count.cases[1]
              << ",\"trivial\":" << count.trivial << ",\"repeated\":" << count.repeated
              << ",\"refused\":" << count.refused << ",\"open\":" << count.open
              << ",\"differences\":" << count.differences << ",\"strata\":{";
    first = true;
    for (std::size_t s = 0; s < strata_names.size(); ++s) {
      if (count.strata[s] == 0 && !contains(kinds[kind].strata, static_cast<Stratum>(s))) continue;
      std::cout << (first ? "" : ",") << '"' << strata_names[s] << "\":" << count.strata[s];
      first = false;
    }
    std::cout << "}}";
    first = false;
  }
  std::cout << "},\"cases\":" << tally.total() << ",\"differences\":" << tally.differences()
            << "}\n";
}

int run(const Options& options) {
  Tally tally(options.limits, options.selected, options.control, options.save);
  const Choose choose = support::seeded_choices(options.seed);
  std::optional<Enumeration> enumeration;
  if (!options.drawn_only) enumeration.emplace();
  // Both from the start, so that a short run also sees both.
  while (!tally.done()) {
    if (enumeration && !enumeration->finished()) enumeration->next(tally);
    draw(tally, choose);
  }
  options.json ? print_json(tally, options) : print_table(tally, options);
  return tally.differences() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace campaign

int main(int count, char** values) {
  const auto options = campaign::read(std::vector<std::string>(values + 1, values + count));
  if (!options) {
    std::cerr << campaign::usage;
    return 2;
  }
  return campaign::run(*options);
}
