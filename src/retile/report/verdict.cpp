#include "retile/report/verdict.h"

#include <fmt/format.h>

#include "retile/core/cases.h"
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

/// What is wrong with a step or with the end, whatever shows it.
std::string reason_text(Reason reason, const std::string& device) {
  switch (reason) {
    case Reason::groups:
      return device.empty() ? "the groups differ in length"
                            : device + " is missing or stands in more than one place";
    case Reason::bijection:
      return device.empty() ? "not a permutation of the devices"
                            : device + " is missing or stands twice, so this is no permutation";
    case Reason::indivisible:
      return "the tile does not divide into so many pieces";
    case Reason::ragged:
      return device + " holds a tile that does not fit those of its row";
    case Reason::transfers:
      return "a box leaves its tile, or an element is not written once";
    case Reason::tile_claim:
      return "the tile has another shape than claimed";
    case Reason::map_claim:
      return "the tiles have another shape than claimed";
    case Reason::not_a_box:
      return "a device does not hold one box in order";
    case Reason::addends:
      return "the step adds in another way than the Program";
    case Reason::replicas:
      return "two devices that must hold the same differ";
    case Reason::end:
      return "the tiles at the end have another shape than the target's";
    case Reason::limit:
      break;
  }
  return "undecided";
}

std::string wrong_text(const Wrong& wrong) {
  const Size number = wrong.witness.device.value_or(0);
  const std::string device =
      wrong.witness.device ? fmt::format("device {}", *wrong.witness.device) : "";
  const std::string reason = reason_text(wrong.reason, device);
  return match(
      wrong.witness.sign, [&](std::monostate) { return reason; },
      [&](const Witness::OtherElement& sign) {
        return other_element_text(number, "element " + index_text(sign.found), sign.at,
                                  sign.element);
      },
      [&](const Witness::StuckElement& sign) {
        return fmt::format("{}; after it element {} at {} of {} has no place, or several", reason,
                           index_text(sign.element), index_text(sign.at), device);
      },
      [&](const Witness::MissingElement& sign) {
        return fmt::format("{}; {} lacks element {} at {}", reason, device,
                           index_text(sign.element), index_text(sign.at));
      },
      [&](const Witness::SpareElement& sign) {
        return fmt::format("{}; {} holds element {} at {}, where none is expected", reason, device,
                           index_text(sign.found), index_text(sign.at));
      },
      [&](const Witness::OtherPlace& sign) {
        return fmt::format(
            "{} at {}: a box that begins here leaves the tile, or not exactly one transfer writes "
            "this element",
            device, index_text(sign.at));
      },
      [&](const Witness::OtherAddend& sign) {
        std::string out = fmt::format("{} {}", element_text(number, sign.element, sign.at),
                                      addend_text(sign.addend, sign.times));
        if (sign.replica) {
          out += fmt::format("; its replica on device {} {}", sign.replica->device,
                             addend_text(sign.addend, sign.replica->times));
        }
        return out;
      });
}

/// Signs have their fields by the names that JSON has; what is not known is null.
void put_witness(const Witness& witness, Json& json) {
  json["device"] = or_null(witness.device);
  for (const char* key : {"at", "element", "found"}) json[key] = nullptr;
  const auto put = [&json](const auto& sign) {
    if constexpr (requires { sign.at; }) json["at"] = sign.at;
    if constexpr (requires { sign.element; }) json["element"] = sign.element;
    if constexpr (requires { sign.found; }) json["found"] = sign.found;
  };
  std::visit(put, witness.sign);
  const auto* addend = std::get_if<Witness::OtherAddend>(&witness.sign);
  if (addend == nullptr) return;
  json["addend"] = addend->addend;
  json["times"] = addend->times;
  if (!addend->replica) return;
  json["replica"] = addend->replica->device;
  json["replica_times"] = addend->replica->times;
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
  return fmt::format("wrong at step {} ({}): {}", verdict.wrong->step,
                     reason_name(verdict.wrong->reason), wrong_text(*verdict.wrong));
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
  if (verdict.wrong) {
    json["first_wrong_step"] = verdict.wrong->step;
    json["reason"] = reason_name(verdict.wrong->reason);
    put_witness(verdict.wrong->witness, json);
  }
  return json;
}

}  // namespace retile::report
