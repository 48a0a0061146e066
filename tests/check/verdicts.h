// Verdicts in one form and as text: what tests and fuzz targets compare and print.
#pragma once

#include <cstddef>
#include <optional>
#include <sstream>
#include <string>

#include "retile/check/check.h"
#include "spec/program/check.h"
#include "support/verdict_fields.h"

namespace check_tests {

using retile::Answer;
using retile::Reason;
using retile::Shape;
using retile::Size;
using retile::Verdict;
using support::fields_of;

inline std::optional<Shape> to_shape(const std::optional<spec::Sizes>& sizes) {
  if (!sizes) return std::nullopt;
  return Shape(sizes->begin(), sizes->end());
}

inline std::optional<Size> to_size(const std::optional<spec::Size>& size) {
  if (!size) return std::nullopt;
  return static_cast<Size>(*size);
}

/// What shows the oracle that a Program is wrong, in `check`'s words.
inline retile::Witness witness_in_our_words(const spec::Wrong& wrong, Reason reason) {
  using retile::Witness;
  const auto at = to_shape(wrong.at).value_or(Shape());
  const auto element = to_shape(wrong.element).value_or(Shape());
  const auto found = to_shape(wrong.found).value_or(Shape());
  Witness out{.device = to_size(wrong.device)};
  if (wrong.addend) {
    Witness::OtherAddend sign{at, element, *to_size(wrong.addend), *to_size(wrong.times)};
    if (wrong.replica) sign.replica = {*to_size(wrong.replica), *to_size(wrong.replica_times)};
    out.sign = sign;
  } else if (wrong.element && wrong.found) {
    out.sign = Witness::OtherElement{at, element, found};
  } else if (wrong.element) {
    const bool is_shape =
        reason == Reason::tile_claim || reason == Reason::map_claim || reason == Reason::end;
    if (is_shape) {
      out.sign = Witness::MissingElement{at, element};
    } else {
      out.sign = Witness::StuckElement{at, element};
    }
  } else if (wrong.found) {
    out.sign = Witness::SpareElement{at, found};
  } else if (wrong.at) {
    out.sign = Witness::OtherPlace{at};
  }
  return out;
}

/// An oracle's verdict, in `check`'s words.
inline Verdict in_our_words(const spec::Verdict& verdict) {
  Verdict out;
  if (!verdict.decided) return out;
  out.answer = verdict.right ? Answer::right : Answer::wrong;
  out.within_bound = verdict.within_bound;
  out.height = static_cast<Size>(verdict.height);
  out.bound = static_cast<Size>(verdict.bound);
  out.cost = static_cast<Size>(verdict.cost);
  out.steps = static_cast<Size>(verdict.steps);
  if (!verdict.wrong) return out;
  for (const Reason reason :
       {Reason::groups, Reason::bijection, Reason::indivisible, Reason::ragged, Reason::transfers,
        Reason::tile_claim, Reason::map_claim, Reason::not_a_box, Reason::addends, Reason::replicas,
        Reason::end}) {
    if (retile::reason_name(reason) != verdict.wrong->reason) continue;
    out.wrong = {static_cast<Size>(verdict.wrong->first_wrong_step), reason,
                 witness_in_our_words(*verdict.wrong, reason)};
  }
  return out;
}

/// Why a Program is not right; limit: it is undecided.
inline std::string outcome(const Verdict& verdict) {
  if (verdict.answer == Answer::right) return "right";
  return std::string(retile::reason_name(fields_of(verdict).reason.value()));
}

inline std::string show(const std::optional<Shape>& shape) {
  if (!shape) return "null";
  std::ostringstream out;
  out << '[';
  for (std::size_t k = 0; k < shape->size(); ++k) out << (k == 0 ? "" : ",") << (*shape)[k];
  out << ']';
  return out.str();
}

inline std::string show(const Verdict& verdict) {
  std::ostringstream out;
  out << (verdict.answer == Answer::right   ? "right"
          : verdict.answer == Answer::wrong ? "wrong"
                                            : "undecided")
      << ", height " << verdict.height << ", bound " << verdict.bound << ", cost " << verdict.cost
      << ", steps " << verdict.steps;
  const support::VerdictFields fields = fields_of(verdict);
  if (fields.first_wrong_step) out << ", first wrong step " << *fields.first_wrong_step;
  if (fields.reason) out << ", " << retile::reason_name(*fields.reason);
  if (fields.device) out << ", device " << *fields.device;
  if (fields.at) {
    out << ", at " << show(fields.at) << ", element " << show(fields.element) << ", found "
        << show(fields.found);
  }
  if (fields.addend) {
    out << ", addend " << *fields.addend << " times " << fields.times.value_or(-1);
  }
  if (fields.replica) {
    out << ", replica " << *fields.replica << " times " << fields.replica_times.value_or(-1);
  }
  if (verdict.out_of_time) out << ", out of time";
  return out.str();
}

}  // namespace check_tests
