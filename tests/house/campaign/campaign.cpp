// The differential campaign: src against spec, on everything that both can compute, for as long as
// one likes. docs/campaign.md says how to run it and what it has counted.
//
// Exit status: 0 no disagreement, 1 disagreements, 2 wrong use.
#include <cmath>
#include <cstdint>
#include <deque>
#include <iomanip>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "house/campaign/programs.h"
#include "house/campaign/tally.h"
#include "house/campaign/types.h"
#include "retile/notation/paper/notation.h"
#include "spec/search/search.h"
#include "support/generators.h"
#include "support/values.h"

namespace campaign {
namespace {

// ---- Complete enumerations

/// All lists of at most `longest` names, repetitions included.
std::vector<Names> all_lists(const Names& names, std::size_t longest) {
  std::vector<Names> out = {{}};
  for (std::size_t begin = 0, length = 1; length <= longest; ++length) {
    for (const std::size_t end = out.size(); begin < end; ++begin) {
      for (const std::string& name : names) {
        out.push_back(out[begin]);
        out.back().push_back(name);
      }
    }
  }
  return out;
}

Names names_of(const retile::Mesh& mesh) {
  Names names = {support::no_axis};
  for (const retile::Axis& axis : mesh.axes()) names.push_back(axis.name);
  return names;
}

retile::DistType to_type(const retile::Mesh& mesh, const spec::Type& tau) {
  std::vector<retile::DistDim> dims;
  for (const spec::Dim& d : tau) dims.push_back({d.c, d.xs, d.s});
  return support::value(retile::DistType::make(mesh, std::move(dims)));
}

/// All types of one global shape over one mesh.
struct Shelf {
  std::size_t setting = 0;
  retile::Shape global;
};

/// What is enumerated completely: all global shapes of rank 0-2 with extents up to the number of
/// devices, of rank 3 with extents that divide it; in order of rank.
class Enumeration {
 public:
  Enumeration() {
    for (const char* text : {"x:2,y:2", "x:2,y:3", "x:2,y:2,z:2", "x:2,y:2,z:3", "x:3,y:3",
                             "x:4,y:2", "x:6,y:4", "x:2,y:3,z:5", "x:4,y:1,z:3"}) {
      Setting& setting = settings_.emplace_back(support::mesh(text));
      setting.slices = all_lists(names_of(setting.mesh), 3);
    }
    for (std::size_t rank = 0; rank <= 3; ++rank) {
      for (std::size_t s = 0; s < settings_.size(); ++s) {
        add_shapes(s, rank, {});
      }
    }
  }

  [[nodiscard]] bool finished() const { return shelves_.empty(); }

  /// Compares everything about the types of the next shape, up to the tally's limits.
  void next(Tally& tally) {
    const Shelf shelf = shelves_.front();
    shelves_.pop_front();
    tally.set_source(Source::enumerated);
    const Setting& setting = settings_[shelf.setting];
    std::vector<Subject> subjects;
    for (const spec::Type& tau : spec::all_types(setting.H, shelf.global)) {
      subjects.emplace_back(to_type(setting.mesh, tau));
    }
    for (const Subject& subject : subjects) {
      if (tally.done()) return;
      if (tally.selected(Kind::offset)) compare_offsets(tally, setting, subject);
      if (tally.selected(Kind::step_offset)) compare_all_steps(tally, setting, subject);
      if (!tally.selected(Kind::rule) && !tally.selected(Kind::rule_fig8)) continue;
      compare_rules(tally, setting, subject);
      for (const Subject& to : subjects) {
        compare_rule(tally, setting, subject, retile::AllpermuteRule{to.type});
      }
    }
  }

 private:
  void add_shapes(std::size_t s, std::size_t rank, const retile::Shape& begun) {
    if (begun.size() == rank) {
      shelves_.push_back({s, begun});
      return;
    }
    const retile::Size devices = settings_[s].mesh.device_count();
    for (retile::Size extent = 1; extent <= devices; ++extent) {
      if (rank == 3 && devices % extent != 0) continue;
      retile::Shape longer = begun;
      longer.push_back(extent);
      add_shapes(s, rank, longer);
    }
  }

  std::vector<Setting> settings_;
  std::deque<Shelf> shelves_;
};

// ---- Drawn cases

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

void draw_types(Tally& tally, const Choose& choose) {
  support::Bounds bounds;
  bounds.max_devices = choose(8) == 0 ? 512 : 64;
  bounds.quoted_names = false;
  Setting setting(support::choose_mesh(choose, bounds));
  setting.slices = choose_slices(choose, setting.mesh);
  for (int k = 0; k < 12; ++k) {
    if (tally.done()) return;
    // Factors of the axes, so that there is something to slice, and one that no axis divides.
    std::vector<retile::DistDim> dims = support::choose_type(choose, setting.mesh, bounds).dims();
    for (retile::DistDim& dim : dims) {
      if (choose(2) == 0) continue;
      const retile::Size factor = support::detail::pick(choose, setting.mesh.axes()).size;
      dim.tile *= factor;
      dim.global *= factor;
    }
    auto type = retile::DistType::make(setting.mesh, std::move(dims));
    if (!type) continue;
    const Subject subject(std::move(*type));
    if (tally.selected(Kind::rule) || tally.selected(Kind::rule_fig8)) {
      compare_rules(tally, setting, subject);
      for (int to = 0; to < 4; ++to) {
        compare_rule(
            tally, setting, subject,
            retile::AllpermuteRule{
                to < 2    ? support::choose_permuted(choose, setting.mesh, subject.type)
                : to == 2 ? support::choose_type_of(choose, setting.mesh, subject.type.globaltype())
                          : support::choose_type(choose, setting.mesh, bounds)});
      }
    }
    if (tally.selected(Kind::well_formedness)) {
      for (int n = 0; n < 24; ++n) {
        compare_wellformedness(tally, setting, choose_nearby(choose, setting, subject.type.dims()));
      }
    }
    if (tally.selected(Kind::offset)) {
      compare_offsets(tally, setting, subject);
      for (int n = 0; n < 6; ++n) {  // types are cheap where nothing else is asked about them
        compare_offsets(
            tally, setting,
            Subject(support::choose_type_of(choose, setting.mesh, subject.type.globaltype())));
      }
    }
    if (tally.selected(Kind::step_offset)) {
      compare_random_walk(tally, choose, setting, subject, 8);
    }
  }
}

void draw(Tally& tally, const Choose& choose) {
  tally.set_source(Source::drawn);
  if (tally.selected(Kind::rule) || tally.selected(Kind::rule_fig8) ||
      tally.selected(Kind::well_formedness) || tally.selected(Kind::offset) ||
      tally.selected(Kind::step_offset)) {
    draw_types(tally, choose);
  }
  if (tally.selected(Kind::weak) || tally.selected(Kind::verdict)) {
    support::Bounds bounds;
    bounds.max_devices = 24;
    bounds.max_rank = 3;
    for (int k = 0; k < 3; ++k) {
      compare_planned(tally, choose, support::choose_problem(choose, bounds));
    }
  }
  if (tally.selected(Kind::verdict)) {
    for (int k = 0; k < 4; ++k) compare_foreign(tally, choose);
  }
  if (tally.selected(Kind::text)) {
    for (int k = 0; k < 6; ++k) compare_texts(tally, choose);
  }
}

// ---- The program

constexpr std::string_view usage =
    R"(usage: retile-campaign [--comparisons N] [--seconds S] [--seed N]
                       [--kind KIND].. [--drawn] [--control] [--save DIR] [--json]

Holds every value that src computes against the same value that spec computes with its own code.

  --comparisons N  stop after N comparisons (1e9 is a number)
  --seconds S      stop after S seconds; without either: 10 seconds
  --seed N         seed of the drawn cases (default 1)
  --kind KIND      only this kind, may be repeated: rule, rule-fig8, well-formedness, offset,
                   step-offset, weak, verdict, text
  --drawn          leave out the enumerations, which are the same for every seed
  --control        falsify one value of src per kind: the run must find each
  --save DIR       write each disagreement to a file of DIR
  --json           print one JSON object in place of the table
)";

struct Options {
  Tally::Limits limits;
  std::uint64_t seed = 1;
  std::array<bool, kinds.size()> selected = {};
  bool drawn_only = false;
  bool control = false;
  bool json = false;
  std::string save;
};

/// Nothing when the arguments mean nothing.
std::optional<Options> read(const std::vector<std::string>& arguments) {
  Options out;
  bool limited = false;
  bool any_kind = false;
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
    } else if (key == "--kind") {
      bool known = false;
      for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        if (kinds[kind].name != text) continue;
        known = any_kind = out.selected[kind] = true;
      }
      if (!known) return std::nullopt;
    } else {
      std::istringstream in(text);
      double number = 0;
      if (!(in >> number) || !in.eof() || !(number >= 0) || number > 1e18) return std::nullopt;
      if (key == "--comparisons") {
        out.limits.comparisons = static_cast<std::uint64_t>(number);
        limited = true;
      } else if (key == "--seconds") {
        out.limits.seconds = number;
        limited = true;
      } else if (key == "--seed") {
        out.seed = static_cast<std::uint64_t>(number);
      } else {
        return std::nullopt;
      }
    }
  }
  if (!limited) out.limits.seconds = 10;
  if (!any_kind) out.selected.fill(true);
  return out;
}

void print_table(const Tally& tally, const Options& options) {
  std::cout << std::left << std::setw(16) << "kind" << std::right << std::setw(15) << "enumerated"
            << std::setw(15) << "drawn" << std::setw(15) << "comparisons" << std::setw(15)
            << "disagreements"
            << "  what is compared\n";
  Count all;
  const auto row = [](std::string_view name, const Count& count, std::string_view compares) {
    std::cout << std::left << std::setw(16) << name << std::right << std::setw(15)
              << count.compared[0] << std::setw(15) << count.compared[1] << std::setw(15)
              << count.total() << std::setw(15) << count.disagreements
              << (compares.empty() ? "" : "  ") << compares << '\n';
  };
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (!options.selected[kind]) continue;
    const Count& count = tally.count(static_cast<Kind>(kind));
    row(kinds[kind].name, count, kinds[kind].compares);
    for (std::size_t s = 0; s < 2; ++s) all.compared[s] += count.compared[s];
    all.disagreements += count.disagreements;
  }
  row("total", all, "");
  std::cout << "seed " << options.seed << ", " << static_cast<std::uint64_t>(tally.elapsed())
            << " seconds\n";
}

void print_json(const Tally& tally, const Options& options) {
  std::cout << "{\"schema\":\"retile.campaign/1\",\"seed\":" << options.seed
            << ",\"seconds\":" << static_cast<std::uint64_t>(tally.elapsed()) << ",\"kinds\":{";
  bool first = true;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (!options.selected[kind]) continue;
    const Count& count = tally.count(static_cast<Kind>(kind));
    std::cout << (first ? "" : ",") << '"' << kinds[kind].name
              << "\":{\"enumerated\":" << count.compared[0] << ",\"drawn\":" << count.compared[1]
              << ",\"disagreements\":" << count.disagreements << '}';
    first = false;
  }
  std::cout << "},\"comparisons\":" << tally.total()
            << ",\"disagreements\":" << tally.disagreements() << "}\n";
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
  if (options.json) {
    print_json(tally, options);
  } else {
    print_table(tally, options);
  }
  return tally.disagreements() == 0 ? 0 : 1;
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
