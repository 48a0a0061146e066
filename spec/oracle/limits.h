/// Where retile-oracle gives up, in one place: --help prints this, and the answers quote it.
///
/// Beyond a limit a query is undecided, and the other queries are answered all the same.
#pragma once

#include "../program/certify.h"
#include "../program/check.h"
#include "../programs/partir_judge.h"
#include "../search/pairs.h"
#include "common.h"

namespace spec::oracle {

/// These verbs go up to `most` of something.
struct Limit {
  const char* verbs;
  Size most;
  const char* of_what;
};

constexpr Limit rank_limit = {"types", 64, "dimensions"};
constexpr Limit searched_rank_limit = {"optimum", 16, "dimensions"};
constexpr Limit types_limit = {"types", Size{1} << 20,
                               "dimensions in all types, by an upper bound"};
constexpr Limit run_limit = {"apply, height, cost, normalize", Size{1} << 22,
                             "dimensions and mesh axes, over the types of a sequence"};
constexpr Limit axis_limit = {"normalize", Size{1} << 31, "devices along an axis"};
constexpr Limit steps_limit = {"normalize", Size{1} << 18, "steps in all sequences together"};
constexpr Limit rewriting_limit = {"normalize", Size{1} << 22,
                                   "dimensions and mesh axes, over the types of all sequences"};
constexpr Limit devices_limit = {"optimum", most_searched_devices, "devices"};
constexpr Limit localtypes_limit = {"optimum", Size{1} << 12, "localtypes, by an upper bound"};
constexpr Limit tile_maps_limit = {"optimum", Size{1} << 22, "tile maps to look at"};
constexpr Limit tags_limit = {"check, certify, boxes", most_tags_in_all,
                              "tags on all devices together"};
constexpr Limit sides_limit = {"check, boxes", most_sides, "devices and sides of their boxes"};
constexpr Limit terms_limit = {"check", most_terms, "terms in different formal sums"};
constexpr Limit work_limit = {"check, certify", most_units, "units of work"};
constexpr Limit polynomials_limit = {"rewrite", partir::most_polynomials,
                                     "elements and products, of polynomials"};
constexpr Limit drawn_limit = {"rewrite", partir::most_drawn,
                               "elements and products, of drawn numbers"};
constexpr Limit numbers_limit = {"certify", Certifier::most_numbers, "numbers in tiles to be kept"};

constexpr Limit all_limits[] = {
    run_limit,         rank_limit,          types_limit,   axis_limit,       steps_limit,
    rewriting_limit,   searched_rank_limit, devices_limit, localtypes_limit, tile_maps_limit,
    tags_limit,        sides_limit,         terms_limit,   work_limit,       numbers_limit,
    polynomials_limit, drawn_limit};

/// 64 dimensions, 2^20 tags
inline std::string described(const Limit& limit) {
  Size power = 0;
  while (power < 62 && Size{1} << power < limit.most) ++power;
  const bool is_large_power = power >= 10 && Size{1} << power == limit.most;
  return (is_large_power ? "2^" + std::to_string(power) : std::to_string(limit.most)) + " " +
         limit.of_what;
}

/// An answer.
inline int beyond(const Limit& limit, std::ostream& out) {
  out << "undecided: more than " << described(limit) << "\n";
  return undecided;
}

}  // namespace spec::oracle
