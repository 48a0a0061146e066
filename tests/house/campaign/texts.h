// Comparisons about texts: whether both read them, and all that they read.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "house/campaign/strata.h"
#include "house/campaign/tally.h"
#include "house/campaign/types.h"
#include "retile/program/forms/text.h"
#include "spec/program/text.h"
#include "spec/program/type_text.h"
#include "support/program_bridge.h"
#include "support/program_generators.h"

namespace campaign {

/// What both sides made of a text.
struct Reading {
  bool accepted = false;  ///< by src
  bool same = false;
  Strata strata = 0;
  bool trivial = false;
};

/// A text is one case in one spelling.
inline void hold_text(Tally& tally, std::string_view what, const std::string& text,
                      const Reading& reading) {
  if (!reading.same || (reading.accepted && tally.falsifies(Kind::text))) {
    return tally.differ(Kind::text, std::string(what) + " " +
                                        (reading.accepted ? "accepted" : "refused") +
                                        " by src, not so by spec:\n" + text);
  }
  if (!reading.accepted) return tally.refuse(Kind::text);
  tally.accept(Kind::text, {Hash().add(what).add(std::string_view(text)).value(), reading.strata,
                            reading.trivial});
}

/// Whether some Program was read as one of version 2, whose tilings spec writes in another way: that
/// damage makes a 2 of the 1 in a header is rare.
inline bool is_of_version_2(const spec::Programs& read) {
  return std::any_of(read.programs.begin(), read.programs.end(),
                     [](const spec::Program& program) { return program.from.layout.has_value(); });
}

/// Programs: whether both read the text, and then every number. Trivial: the first has no step.
inline void compare_program_text(Tally& tally, const std::string& text) {
  const auto got = retile::parse_programs(text);
  const auto want = spec::parse_programs(text);
  Reading reading = {.accepted = got.has_value()};
  reading.same = reading.accepted == !want.error.has_value();
  if (reading.same && is_of_version_2(want)) return tally.leave_open(Kind::text);
  if (reading.same && got) {
    reading.same = got->size() == want.programs.size();
    for (std::size_t k = 0; reading.same && k < got->size(); ++k) {
      const bool small = (*got)[k].devices <= 4096;  // more would have to be listed
      reading.same = !small || support::same_program(support::to_spec((*got)[k]), want.programs[k]);
    }
    reading.trivial = got->empty() || got->front().steps.empty();
    if (!got->empty()) {
      reading.strata = strata_of_space(got->front().devices, got->front().from.rank());
    }
  }
  hold_text(tally, "Programs", text, reading);
}

/// Whether a text has a comment or a line end outside quotes. spec reads a mesh or a type as one
/// line of a Program, where both are allowed; src reads it as an argument, where neither is.
inline bool is_more_than_a_line(const std::string& text) {
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == '\n' || c == '\r' || (c == '#' && !quoted)) return true;
  }
  return false;
}

/// Meshes: names distinct, at most 2^31 devices, and then every axis. Trivial: one device.
inline void compare_mesh_text(Tally& tally, const std::string& text) {
  if (is_more_than_a_line(text)) return;
  const auto got = retile::parse_mesh(text);
  auto want = spec::parse_mesh(text);
  if (want) {
    spec::Names xs;
    for (const spec::Axis& alpha : *want) xs.push_back(alpha.x);
    const auto devices = spec::device_count(*want);
    if (!spec::pairwise_distinct(xs) || !devices || *devices > retile::max_devices)
      want = std::nullopt;
  }
  Reading reading = {.accepted = got.has_value()};
  reading.same = reading.accepted == want.has_value();
  if (reading.same && got) {
    reading.same = support::to_spec(*got) == spec::without_unit_axes(*want);
    reading.strata = strata_of_space(got->device_count(), 0);
    reading.trivial = got->device_count() == 1;
  }
  hold_text(tally, "mesh", text, reading);
}

/// Types over a mesh: syntax, well-formedness, and then every dimension. Trivial: nothing is split.
inline void compare_type_text(Tally& tally, const retile::Mesh& mesh, const std::string& text) {
  if (is_more_than_a_line(text)) return;
  spec::Mesh H;  // with axes of size 1, which a type may name
  for (const retile::Axis& axis : mesh.axes()) H.push_back({axis.name, axis.size});
  const auto got = retile::parse_type(text, mesh);
  auto want = spec::parse_type(H, text);
  if (want) {
    want = spec::without_unit_axes(H, *want);
    if (!spec::wf_type(spec::without_unit_axes(H), *want)) want = std::nullopt;
  }
  Reading reading = {.accepted = got.has_value(), .same = same_type(got, want)};
  if (reading.same && want) {
    reading.strata = strata_of_space(mesh.device_count(), want->size());
    reading.trivial = splits_nothing(*want);
  }
  hold_text(tally, "type over " + to_text(mesh), text, reading);
}

/// A mesh, types over it and Programs; a quarter of them damaged.
inline void compare_texts(Tally& tally, const Choose& choose) {
  const support::Bounds bounds = {
      .max_devices = 1 << 10, .max_rank = 5, .large_tiles = choose(4) == 0};
  const retile::Mesh mesh = support::choose_mesh(choose, bounds);
  const auto spoilt = [&](std::string text) {
    if (choose(4) == 0) text = support::choose_damage(choose, std::move(text));
    return text;
  };
  compare_mesh_text(tally, spoilt(to_text(mesh)));
  for (int k = 0; k < 8; ++k) {
    compare_type_text(tally, mesh, spoilt(to_text(support::choose_type(choose, mesh, bounds))));
  }
  const support::ProgramBounds sizes = {.max_devices = choose(4) == 0 ? 48 : 12};
  std::string text = to_text(support::choose_program(choose, sizes));
  if (choose(4) == 0) text = support::choose_spelling(choose, text);
  compare_program_text(tally, spoilt(std::move(text)));
}

}  // namespace campaign
