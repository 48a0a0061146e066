// Meshes, types and problems in the paper's notation: src's reader against spec's.
//
// An input is lines: a mesh, then types over it; the first two types also make a problem.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "fuzz/refusal.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "spec/program/type_text.h"
#include "support/bridge.h"
#include "support/generators.h"
#include "support/values.h"

const fuzz::Target fuzz::target = {"notation", 0.3};

namespace {

/// Comments and CR before a line end belong to spec's Program text, whose tokens it reads meshes
/// and types with; src's notation has neither.
bool is_notation(std::string_view line) {
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == '#' && !quoted) return false;
  }
  return line.empty() || line.back() != '\r';
}

/// What spec says is a mesh: distinct names (Fig. 6), at most 2^31 devices as in a Program.
std::optional<spec::Mesh> spec_mesh(std::string_view text) {
  auto H = spec::parse_mesh(text);
  if (!H) return std::nullopt;
  spec::Names names;
  spec::Sizes sizes;
  for (const spec::Axis& alpha : *H) {
    names.push_back(alpha.x);
    sizes.push_back(alpha.k);
  }
  const auto delta = spec::product(sizes);
  if (!spec::pairwise_distinct(names) || !delta || *delta > retile::max_devices) {
    return std::nullopt;
  }
  return H;
}

/// What spec says is a type over H: WF-TYPE after axes of size 1 are dropped.
std::optional<spec::Type> spec_type(const spec::Mesh& H, std::string_view text) {
  const auto written = spec::parse_type(H, text);
  if (!written) return std::nullopt;
  for (const spec::Dim& d : *written) {  // axes of size 1 are dropped, but they must exist
    for (const spec::Name& x : d.xs) {
      if (!spec::lookup(H, x)) return std::nullopt;
    }
  }
  spec::Type tau = spec::without_unit_axes(H, *written);
  if (!spec::wf_type(spec::without_unit_axes(H), tau)) return std::nullopt;
  if (!spec::product(spec::globaltype(tau))) return std::nullopt;
  if (fuzz::control()) {  // reads axes major to minor
    for (spec::Dim& d : tau) std::reverse(d.xs.begin(), d.xs.end());
  }
  return tau;
}

void check_refusal(const retile::Diagnostic& diagnostic, const std::string& text,
                   const std::string& notation) {
  fuzz::check_refusal(diagnostic, notation);
  fuzz::require(diagnostic.input == (text.empty() ? "\"\"" : text),
                "a refusal points into another text", notation);
  const std::string rendered = retile::render(diagnostic);
  fuzz::require(rendered.find('^') != std::string::npos && rendered.back() == '\n',
                "a refusal is not rendered", notation);
}

/// Whether both accept the type; all else that must hold is required.
bool check_type(const retile::Mesh& mesh, const spec::Mesh& H, const std::string& line,
                const std::string& notation) {
  const auto ours = retile::parse_type(line, mesh);
  const auto theirs = spec_type(H, line);
  fuzz::require(ours.has_value() == theirs.has_value(),
                "src " + std::string(ours ? "accepts" : "refuses") + " the type, spec does not",
                notation);
  if (!ours) {
    fuzz::tally("types refused by both");
    check_refusal(ours.error(), line, notation);
    return false;
  }
  fuzz::tally("types accepted by both");
  fuzz::require(support::to_spec(*ours) == *theirs, "another type: " + to_text(*ours), notation);
  const std::string printed = to_text(*ours);
  const auto again = retile::parse_type(printed, mesh);
  fuzz::require(again.has_value() && *again == *ours,
                "the printed type reads otherwise: " + printed, notation);
  fuzz::require(to_text(*again) == printed, "printing is no fixpoint: " + printed, notation);
  fuzz::require(spec::to_text(support::to_spec(*ours)) == printed, "spec prints the type otherwise",
                notation);
  fuzz::require(spec_type(H, printed) == theirs,
                "spec reads the printed type otherwise: " + printed, notation);
  const retile::Layout map = layout_of(mesh, *ours);
  fuzz::require(to_text(map, &mesh) == printed,
                "the tile map prints otherwise: " + to_text(map, &mesh), notation);
  if (mesh.device_count() > 64) return true;
  fuzz::tally("base offset maps compared");
  fuzz::require(support::to_spec(map) == spec::base_offset_map(support::to_spec(mesh), *theirs),
                "other base offsets", notation);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::input(data, size);
  const auto lines = support::lines_of(text);
  if (lines.empty()) return 0;
  const auto mesh = retile::parse_mesh(lines.front());
  std::string notation = "retile plan --mesh " + fuzz::shell_quoted(lines.front());
  if (!is_notation(lines.front())) return 0;
  const auto H = spec_mesh(lines.front());
  fuzz::require(mesh.has_value() == H.has_value(),
                "src " + std::string(mesh ? "accepts" : "refuses") + " the mesh, spec does not",
                notation);
  if (!mesh) {
    fuzz::tally("meshes refused by both");
    check_refusal(mesh.error(), lines.front(), notation);
    return 0;
  }
  fuzz::tally("meshes accepted by both");
  fuzz::require(support::to_spec(*mesh) == spec::without_unit_axes(*H), "another mesh", notation);
  const auto again = retile::parse_mesh(to_text(*mesh));
  fuzz::require(again.has_value() && *again == *mesh, "the printed mesh reads otherwise", notation);
  fuzz::require(to_text(*again) == to_text(*mesh), "printing is no fixpoint", notation);
  fuzz::require(spec::to_text(*H) == to_text(*mesh), "spec prints the mesh otherwise", notation);
  bool any_type = false;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (!is_notation(lines[i])) continue;
    const bool is_type =
        check_type(*mesh, *H, lines[i], notation + " " + fuzz::shell_quoted(lines[i]));
    any_type = any_type || is_type;
  }
  if (any_type) fuzz::reached();
  if (lines.size() < 3 || !is_notation(lines[1]) || !is_notation(lines[2])) return 0;
  notation += " " + fuzz::shell_quoted(lines[1]) + " " + fuzz::shell_quoted(lines[2]);
  const auto problem = retile::parse_problem(lines[0], lines[1], lines[2]);
  const auto tau_1 = spec_type(*H, lines[1]);
  const auto tau_2 = spec_type(*H, lines[2]);
  const bool is_problem =
      tau_1 && tau_2 && spec::globaltype(*tau_1) == spec::globaltype(*tau_2);  // Sec. 2.5
  fuzz::require(
      problem.has_value() == is_problem,
      "src " + std::string(problem ? "accepts" : "refuses") + " the problem, spec does not",
      notation);
  if (!problem) {
    fuzz::require(!retile::render(problem.error()).empty(), "a refusal is not rendered", notation);
    return 0;
  }
  fuzz::tally("problems accepted by both");
  const retile::DistType from = support::from_type(*problem);
  const retile::DistType to = support::to_type(*problem);
  fuzz::require(support::to_spec(from) == *tau_1 && support::to_spec(to) == *tau_2 &&
                    problem->from == layout_of(*mesh, from) && problem->to == layout_of(*mesh, to),
                "another problem", notation);
  return 0;
}

static const std::vector<std::string> vocabulary = {
    "x",  "y",   "z",    "x:2",    "y:3",  "u:1",   "\"x\"",  "\"a b\"",  "\"\"", "{",    "}",
    "{}", "[",   "]",    ",",      ":",    "-1",    "{x}",    "{x,y}",    "#",    "\t",   " ",
    "[]", "1:2", "x:2,", "3{x}12", ", 12", "\"#\"", "_v.1-a", "\xC3\xA9", "\"",   "1{}1", "\r"};

static std::string fresh(std::uint64_t seed) {
  const auto problem = support::choose_problem(
      support::seeded_choices(seed),
      {.max_devices = retile::max_devices, .max_axes = 6, .max_rank = 6, .large_tiles = true});
  return to_text(problem.spelling->mesh) + "\n" + problem.spelling->from + "\n" +
         problem.spelling->to + "\n";
}
RETILE_FUZZ_TEXT_MUTATORS(vocabulary, fresh)
