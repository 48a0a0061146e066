// What a verdict says of a wrong Program, field by field, as docs/reference/program.md lists them and as the oracle has
// them: there is no field where nothing is known.
#pragma once

#include <optional>
#include <variant>

#include "retile/check/check.h"

namespace support {

struct VerdictFields {
  std::optional<retile::Size> first_wrong_step = {};
  std::optional<retile::Reason> reason = {};  ///< limit: it is undecided
  std::optional<retile::Size> device = {};
  std::optional<retile::Shape> at = {};
  std::optional<retile::Shape> element = {};
  std::optional<retile::Shape> found = {};
  std::optional<retile::Size> addend = {};
  std::optional<retile::Size> times = {};
  std::optional<retile::Size> replica = {};
  std::optional<retile::Size> replica_times = {};
  bool operator==(const VerdictFields&) const = default;
};

inline VerdictFields fields_of(const retile::Verdict& verdict) {
  VerdictFields out;
  if (verdict.answer == retile::Answer::undecided) out.reason = retile::Reason::limit;
  if (!verdict.wrong) return out;
  out.first_wrong_step = verdict.wrong->step;
  out.reason = verdict.wrong->reason;
  out.device = verdict.wrong->witness.device;
  std::visit(
      [&out](const auto& sign) {
        if constexpr (requires { sign.at; }) out.at = sign.at;
        if constexpr (requires { sign.element; }) out.element = sign.element;
        if constexpr (requires { sign.found; }) out.found = sign.found;
        if constexpr (requires { sign.addend; }) {
          out.addend = sign.addend;
          out.times = sign.times;
          if (!sign.replica) return;
          out.replica = sign.replica->device;
          out.replica_times = sign.replica->times;
        }
      },
      verdict.wrong->witness.sign);
  return out;
}

}  // namespace support
