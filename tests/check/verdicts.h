// Verdicts in one form and as text: what tests and fuzz targets compare and print.
#pragma once

#include <cstddef>
#include <optional>
#include <sstream>
#include <string>

#include "retile/check/check.h"
#include "spec/program/check.h"

namespace check_tests {

using retile::Answer;
using retile::Reason;
using retile::Shape;
using retile::Size;
using retile::Verdict;

inline std::optional<Shape> to_shape(const std::optional<spec::Sizes>& sizes) {
  if (!sizes) return std::nullopt;
  return Shape(sizes->begin(), sizes->end());
}

inline std::optional<Size> to_size(const std::optional<spec::Size>& size) {
  if (!size) return std::nullopt;
  return static_cast<Size>(*size);
}

/// An oracle's verdict, in `check`'s words.
inline Verdict in_our_words(const spec::Verdict& verdict) {
  Verdict out;
  if (!verdict.decided) {
    out.reason = Reason::limit;
    return out;
  }
  out.answer = verdict.right ? Answer::right : Answer::wrong;
  out.within_bound = verdict.within_bound;
  out.height = static_cast<Size>(verdict.height);
  out.bound = static_cast<Size>(verdict.bound);
  out.cost = static_cast<Size>(verdict.cost);
  out.steps = static_cast<Size>(verdict.steps);
  if (!verdict.wrong) return out;
  out.first_wrong_step = static_cast<Size>(verdict.wrong->first_wrong_step);
  for (const Reason reason :
       {Reason::groups, Reason::bijection, Reason::indivisible, Reason::ragged, Reason::transfers,
        Reason::tile_claim, Reason::map_claim, Reason::not_a_box, Reason::addends, Reason::replicas,
        Reason::end}) {
    if (retile::reason_name(reason) == verdict.wrong->reason) out.reason = reason;
  }
  if (verdict.wrong->device) out.device = static_cast<Size>(*verdict.wrong->device);
  out.at = to_shape(verdict.wrong->at);
  out.element = to_shape(verdict.wrong->element);
  out.found = to_shape(verdict.wrong->found);
  out.addend = to_size(verdict.wrong->addend);
  out.times = to_size(verdict.wrong->times);
  out.replica = to_size(verdict.wrong->replica);
  out.replica_times = to_size(verdict.wrong->replica_times);
  return out;
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
  if (verdict.first_wrong_step) out << ", first wrong step " << *verdict.first_wrong_step;
  if (verdict.reason) out << ", " << retile::reason_name(*verdict.reason);
  if (verdict.device) out << ", device " << *verdict.device;
  if (verdict.at) {
    out << ", at " << show(verdict.at) << ", element " << show(verdict.element) << ", found "
        << show(verdict.found);
  }
  if (verdict.addend) {
    out << ", addend " << *verdict.addend << " times " << verdict.times.value_or(-1);
  }
  if (verdict.replica) {
    out << ", replica " << *verdict.replica << " times " << verdict.replica_times.value_or(-1);
  }
  if (verdict.out_of_time) out << ", out of time";
  return out.str();
}

}  // namespace check_tests
