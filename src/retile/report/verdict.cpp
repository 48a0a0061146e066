#include "retile/report/verdict.h"

#include <fmt/format.h>

#include "retile/core/names.h"
#include "retile/report/sentences.h"

namespace retile::report {
namespace {

/// `lacks addend 1`, `has addend 0 2 times`
std::string addend_text(Size addend, Size times) {
  if (times == 0) return fmt::format("lacks addend {}", addend);
  return fmt::format("has addend {} {}", addend,
                     times == 1 ? "once" : fmt::format("{} times", times));
}

}  // namespace

std::optional<bool> is_right(Answer answer) {
  if (answer == Answer::undecided) return std::nullopt;
  return answer == Answer::right;
}

std::string text_of(const Verdict& verdict, bool must_be_within_bound) {
  if (verdict.answer == Answer::undecided) {
    if (verdict.out_of_time) return "undecided (limit): no verdict in time";
    return "undecided (limit): the replay needs more than its limit or a size beyond 63 bits";
  }
  if (verdict.answer == Answer::right) {
    return fmt::format("{}: {}, {}", right_text(must_be_within_bound && !verdict.within_bound),
                       figures_text(verdict.cost, verdict.height, verdict.bound),
                       counted(verdict.steps, "step"));
  }
  const Reason reason = verdict.reason.value_or(Reason::end);
  std::string text = fmt::format("wrong at step {} ({}): ", verdict.first_wrong_step.value_or(0),
                                 reason_name(reason));
  if (verdict.device && verdict.at && verdict.element && verdict.found) {
    return text + other_element_text(*verdict.device, "element " + index_text(*verdict.found),
                                     *verdict.at, *verdict.element);
  }
  if (verdict.addend && verdict.device && verdict.at && verdict.element) {
    const std::string place = element_text(*verdict.device, *verdict.element, *verdict.at);
    const std::string there = addend_text(*verdict.addend, verdict.times.value_or(0));
    if (!verdict.replica) return text + fmt::format("{} {}", place, there);
    return text + fmt::format("{} {}; its replica on device {} {}", place, there, *verdict.replica,
                              addend_text(*verdict.addend, verdict.replica_times.value_or(0)));
  }
  const std::string device = verdict.device ? fmt::format("device {}", *verdict.device) : "";
  // Either an element alone, of a step that cannot be applied, or one of a tile of another shape.
  std::string stuck;
  std::string shape;
  if (verdict.at && verdict.element) {
    const std::string element =
        fmt::format("element {} at {}", index_text(*verdict.element), index_text(*verdict.at));
    stuck = fmt::format("; after it {} of {} has no place, or several", element, device);
    shape = fmt::format("; {} lacks {}", device, element);
  } else if (verdict.at && verdict.found) {
    shape = fmt::format("; {} holds element {} at {}, where none is expected", device,
                        index_text(*verdict.found), index_text(*verdict.at));
  }
  switch (reason) {
    case Reason::groups:
      return text + (device.empty()
                         ? "the groups differ in length"
                         : device + " is missing or stands in more than one place" + stuck);
    case Reason::bijection:
      return text +
             (device.empty()
                  ? "not a permutation of the devices"
                  : device + " is missing or stands twice, so this is no permutation" + stuck);
    case Reason::indivisible:
      return text + "the tile does not divide into so many pieces" + stuck;
    case Reason::ragged:
      return text +
             fmt::format("{} holds a tile that does not fit those of its row{}", device, stuck);
    case Reason::transfers:
      return text + fmt::format(
                        "{} at {}: a box that begins here leaves the tile, or not exactly "
                        "one transfer writes this element",
                        device, verdict.at ? index_text(*verdict.at) : "");
    case Reason::tile_claim:
      return text + "the tile has another shape than claimed" + shape;
    case Reason::map_claim:
      return text + "the tiles have another shape than claimed" + shape;
    case Reason::not_a_box:
      return text + "a device does not hold one box in order";
    case Reason::addends:
      return text + "the step adds in another way than the Program";
    case Reason::replicas:
      return text + "two devices that must hold the same differ";
    case Reason::end:
      return text + "the tiles at the end have another shape than the target's" + shape;
    case Reason::limit:
      break;
  }
  return text + "undecided";
}

Json json_of(const Verdict& verdict) {
  Json json;
  json["schema"] = "retile.verdict/1";
  json["right"] = or_null(is_right(verdict.answer));
  json["within_bound"] = verdict.within_bound;
  json["height"] = verdict.height;
  json["bound"] = verdict.bound;
  json["cost"] = verdict.cost;
  json["steps"] = verdict.steps;
  if (verdict.answer == Answer::undecided) json["reason"] = reason_name(Reason::limit);
  if (verdict.answer == Answer::wrong) {
    json["first_wrong_step"] = or_null(verdict.first_wrong_step);
    json["reason"] = verdict.reason ? Json(reason_name(*verdict.reason)) : Json(nullptr);
    json["device"] = or_null(verdict.device);
    json["at"] = or_null(verdict.at);
    json["element"] = or_null(verdict.element);
    json["found"] = or_null(verdict.found);
    if (verdict.addend) json["addend"] = *verdict.addend;
    if (verdict.times) json["times"] = *verdict.times;
    if (verdict.replica) json["replica"] = *verdict.replica;
    if (verdict.replica_times) json["replica_times"] = *verdict.replica_times;
  }
  return json;
}

}  // namespace retile::report
