// What the campaign enumerates completely: types of small meshes, and all that is asked about them.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "house/campaign/types.h"
#include "spec/search/search.h"
#include "support/values.h"

namespace campaign {

/// All lists of at most `longest` names, repetitions included.
inline std::vector<Names> all_lists(const Names& names, std::size_t longest) {
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

inline Names names_of(const retile::Mesh& mesh) {
  Names names = {support::no_axis};
  for (const retile::Axis& axis : mesh.axes()) names.push_back(axis.name);
  return names;
}

inline retile::DistType to_type(const retile::Mesh& mesh, const spec::Type& tau) {
  std::vector<retile::DistDim> dims;
  for (const spec::Dim& d : tau) dims.push_back({d.c, d.xs, d.s});
  return support::value(retile::DistType::make(mesh, std::move(dims)));
}

/// All types of one global shape over one mesh.
struct ArrayTypes {
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

  [[nodiscard]] bool finished() const { return arrays_.empty(); }

  /// Compares everything about the types of the next shape, up to the tally's limits.
  void next(Tally& tally) {
    const ArrayTypes array = arrays_.front();
    arrays_.pop_front();
    tally.set_source(Source::enumerated);
    const Setting& setting = settings_[array.setting];
    std::vector<Subject> subjects;
    for (const spec::Type& tau : spec::all_types(setting.H, array.global)) {
      subjects.emplace_back(to_type(setting.mesh, tau));
    }
    for (const Subject& subject : subjects) {
      if (tally.done()) return;
      if (tally.wants(Kind::offset)) compare_offsets(tally, setting, subject);
      if (tally.wants(Kind::step_offset)) compare_all_steps(tally, setting, subject);
      if (!tally.wants(Kind::rule) && !tally.wants(Kind::rule_fig8)) continue;
      compare_rules(tally, setting, subject);
      for (const Subject& to : subjects) {
        compare_rule(tally, setting, subject, retile::AllpermuteRule{to.type});
      }
    }
  }

 private:
  void add_shapes(std::size_t s, std::size_t rank, const retile::Shape& begun) {
    if (begun.size() == rank) {
      arrays_.push_back({s, begun});
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
  std::deque<ArrayTypes> arrays_;
};

}  // namespace campaign
