// The bridge for Programs and verdicts: values of src as values of spec, and when both say the
// same. Tables cross as listed rows, tile maps as listed base offsets, so that no text stands in
// between.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <variant>

#include "retile/check/check.h"
#include "retile/program/program.h"
#include "spec/program/check.h"
#include "spec/program/program.h"
#include "support/bridge.h"

namespace support {

/// One row per device, also for arrays of rank 0, where the rows are empty.
inline spec::Rows device_rows(const std::vector<retile::Size>& flat, std::size_t rank,
                              retile::Size devices) {
  spec::Rows rows;
  for (std::size_t d = 0; d < static_cast<std::size_t>(devices); ++d) {
    const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(d * rank);
    rows.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(rank));
  }
  return rows;
}

inline spec::Tiling to_tiling(const retile::Layout& map) {
  return {map.tile(), map.global(), {}, device_rows(map.base_offsets(), map.rank(), map.devices())};
}

inline spec::Table to_table(const retile::DeviceTable& table) {
  return {table.to_rows(), {}, 0, 0};
}

inline spec::Step to_spec(const retile::Step& step, std::size_t rank, retile::Size devices) {
  spec::Step p;
  if (const auto* dynslice = std::get_if<retile::Dynslice>(&step.op)) {
    p.p = spec::Op::dynslice;
    p.split = dynslice->dim;
    if (const auto* parts = std::get_if<retile::PartList>(&dynslice->pieces)) {
      p.parts = parts->parts;
      p.table = to_table(parts->part);
    } else {
      p.table = to_table(std::get<retile::DeviceTable>(dynslice->pieces));
    }
  } else if (const auto* allgather = std::get_if<retile::Allgather>(&step.op)) {
    p.p = spec::Op::allgather;
    p.concat = allgather->dim;
    p.table = to_table(allgather->groups);
  } else if (const auto* alltoall = std::get_if<retile::Alltoall>(&step.op)) {
    p.p = spec::Op::alltoall;
    p.split = alltoall->split;
    p.concat = alltoall->concat;
    p.table = to_table(alltoall->groups);
  } else if (const auto* exchange = std::get_if<retile::Exchange>(&step.op)) {
    p.p = spec::Op::allpermute;
    p.transfers.emplace();
    for (const retile::Transfer& transfer : exchange->transfers) {
      p.transfers->push_back(retile::row_of(transfer));
    }
  } else {
    p.p = spec::Op::allpermute;
    const auto& source = std::get<retile::Allpermute>(step.op).source;
    if (const auto* table = std::get_if<retile::DeviceTable>(&source)) {
      p.table = to_table(*table);
    } else {
      p.pairs.emplace();
      for (const auto& pair : std::get<retile::PairList>(source)) {
        p.pairs->push_back({pair[0], pair[1]});
      }
    }
  }
  p.tile = step.claims.tile;
  if (step.claims.map) p.map = to_tiling(*step.claims.map);
  if (step.claims.at) p.at = device_rows(*step.claims.at, rank, devices);
  return p;
}

inline spec::Program to_spec(const retile::Program& program) {
  spec::Program out;
  out.devices = program.devices;
  out.names = program.numbers.list();
  out.from = to_tiling(program.from);
  out.to = to_tiling(program.to);
  for (const retile::Step& step : program.steps) {
    out.steps.push_back(to_spec(step, program.from.rank(), program.devices));
  }
  return out;
}

/// Whether two tilings put every device's tile in the same place, in whatever form.
inline bool same_tiling(const spec::Tiling& a, const spec::Tiling& b, spec::Size devices) {
  if (a.tile != b.tile || a.global != b.global) return false;
  for (spec::Size d = 0; d < devices; ++d) {
    if (spec::base_offset(a, d) != spec::base_offset(b, d)) return false;
  }
  return true;
}

inline bool same_step(const spec::Step& a, const spec::Step& b, spec::Size devices) {
  if (a.p != b.p || a.parts != b.parts || a.pairs != b.pairs || a.tile != b.tile || a.at != b.at ||
      a.transfers != b.transfers)
    return false;
  if (spec::splits(a) && a.split != b.split) return false;
  if (spec::joins(a) && a.concat != b.concat) return false;
  if (a.map.has_value() != b.map.has_value()) return false;
  if (a.map && !same_tiling(*a.map, *b.map, devices)) return false;
  if (a.pairs) return true;
  if (spec::row_count(a.table) != spec::row_count(b.table)) return false;
  for (spec::Size r = 0; r < spec::row_count(a.table); ++r) {
    if (spec::row(a.table, r) != spec::row(b.table, r)) return false;
  }
  return true;
}

/// Whether both say the same, number by number.
inline bool same_program(const spec::Program& a, const spec::Program& b) {
  if (a.devices != b.devices || a.names != b.names || a.steps.size() != b.steps.size())
    return false;
  if (!same_tiling(a.from, b.from, a.devices) || !same_tiling(a.to, b.to, a.devices)) return false;
  for (std::size_t k = 0; k < a.steps.size(); ++k) {
    if (!same_step(a.steps[k], b.steps[k], a.devices)) return false;
  }
  return true;
}

/// Whether both checkers judge alike: right or wrong, where and why first, height, bound and cost.
/// The witness is not compared: several elements may show the same fault.
/// Precondition: both have decided.
inline bool same_judgement(const retile::Verdict& got, const spec::Verdict& want) {
  if ((got.answer == retile::Answer::right) != want.right) return false;
  if (got.within_bound != want.within_bound || got.height != want.height ||
      got.bound != want.bound || got.cost != want.cost || got.steps != want.steps)
    return false;
  if (!want.wrong || !got.wrong) return !want.wrong && !got.wrong;
  return got.wrong->step == want.wrong->first_wrong_step &&
         retile::reason_name(got.wrong->reason) == want.wrong->reason;
}

}  // namespace support
