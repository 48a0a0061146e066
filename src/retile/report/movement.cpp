#include "retile/report/movement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "retile/core/names.h"
#include "retile/operations/element.h"
#include "retile/prices/layouts.h"
#include "retile/prices/prices.h"

namespace retile::report {
namespace {

using whole::Movement;
using whole::Reshard;
using whole::Transfer;

/// Reshards and collectives that are printed one by one; `--json` has all of them.
constexpr std::size_t most_shown = 20;

std::string type_text(const operations::ElementKind& kind, const Shape& extents) {
  return fmt::format("{}[{}]", operations::hlo_name(kind), fmt::join(extents, ","));
}

std::string times_text(Size times) { return times == 1 ? "" : fmt::format(", {} times", times); }

/// `%v of the text after, line 12 (model.py:9)`
std::string place_text(const whole::Spot& spot) {
  std::string out = clean(spot.value) + " of the text after";
  if (spot.line > 0) out += fmt::format(", line {}", spot.line);
  if (!spot.source.empty()) out += fmt::format(" ({})", clean(spot.source));
  return out;
}

std::string lookup_text(const whole::Lookup& value) {
  return fmt::format("{} of the text {}", clean(value.spot.value),
                     value.is_before ? "before" : "after");
}

/// Along which axes, or in which groups.
std::string groups_text(const Transfer& transfer, const Movement& movement) {
  std::vector<std::vector<Size>> groups = transfer.groups;
  for (const auto& [source, target] : transfer.pairs) groups.push_back({source, target});
  const auto axes = movement.mesh ? prices::axes_of(groups, *movement.mesh) : std::nullopt;
  if (axes && !axes->empty()) return "along " + *axes;
  if (!transfer.pairs.empty()) return counted(transfer.pairs.size(), "pair");
  if (groups.empty()) return "nobody";
  return fmt::format("{} of {}", counted(groups.size(), "group"), groups.front().size());
}

/// The form that the text after is in.
emit::Form form_of(const Movement& movement) {
  const auto is_mlir = [](const Transfer& transfer) {
    return transfer.spot.opcode.starts_with("stablehlo.");
  };
  return std::any_of(movement.transfers.begin(), movement.transfers.end(), is_mlir)
             ? emit::Form::stablehlo
             : emit::Form::hlo;
}

// ---- Text -----------------------------------------------------------------------------------------

/// What reshards have in common that are said once.
using Alike = std::tuple<std::string, std::string, std::string, Size, Size, std::string>;

/// Among which steps a plan is the cheapest.
std::string least_text(const prices::Enough& enough) {
  if (!enough.is_optimal) return "";
  std::string out = fmt::format(", the least of {}", enough.least_of);
  if (enough.cost_over_dims) {
    out += fmt::format(" ({} along several at once)", *enough.cost_over_dims);
  }
  return out;
}

std::string reshard_text(const Reshard& reshard, const prices::Price& price, std::size_t alike,
                         const Movement& movement) {
  std::vector<std::string> ops;
  for (const std::size_t k : reshard.transfers) {
    const Transfer& transfer = movement.transfers[k];
    ops.push_back(
        fmt::format("{} {}", clean(transfer.spot.opcode), groups_text(transfer, movement)));
  }
  std::string out =
      fmt::format("  {} {} to {}", type_text(reshard.kind, reshard.extents), price.from, price.to);
  if (alike > 1) out += fmt::format(", {} alike", alike);
  out += fmt::format("{}: {}\n", times_text(reshard.times), lookup_text(reshard.value));
  out +=
      fmt::format("    from {}\n    to {}\n", place_text(reshard.first), place_text(reshard.last));
  out += fmt::format(
      "    moved by {}: cost {}, holds {} elements{}; receives {} bytes, at most {} on one "
      "device\n",
      fmt::join(ops, ", "), price.cost, reshard.height,
      reshard.is_whole() ? ", the whole array" : "", price.bytes, price.most_bytes);
  if (!price.enough) return out + fmt::format("    no plan: {}\n", price.unplanned);
  const prices::Enough& enough = *price.enough;
  const std::string steps =
      enough.steps.empty() ? "nothing" : fmt::format("{}", fmt::join(enough.steps, ", "));
  return out + fmt::format("    plan: cost {}{}, holds {} elements: {}\n", enough.cost,
                           least_text(enough), enough.height, steps);
}

std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    if (text[begin] != '\n') out += "      ";
    out += text.substr(begin, end - begin);
    begin = end;
  }
  return out;
}

/// The plan in its form; where that cannot say it, why.
std::string plan_text(const prices::Enough& enough) {
  if (enough.text.empty()) return fmt::format("    no text of it: {}\n", enough.unwritten);
  return indented(enough.text);
}

std::string reshards_text(const Movement& movement, emit::Form form) {
  const std::vector<prices::Price> prices = prices::prices_of(movement, form);
  std::vector<std::pair<std::size_t, std::size_t>> shown;  // the first one, and how many are alike
  std::map<Alike, std::size_t> known;
  for (const std::size_t k : prices::by_saving(movement, prices)) {
    const Reshard& one = movement.reshards[k];
    const Alike alike{type_text(one.kind, one.extents),
                      prices[k].from,
                      prices[k].to,
                      prices[k].cost,
                      one.height,
                      one.last.source};
    const auto [at, is_new] = known.emplace(alike, shown.size());
    if (is_new) shown.emplace_back(k, 0);
    ++shown[at->second].second;
  }
  std::string out = fmt::format("{}\n", counted(prices.size(), "reshard"));
  for (std::size_t k = 0; k < std::min(shown.size(), most_shown); ++k) {
    const auto [first, count] = shown[k];
    out += reshard_text(movement.reshards[first], prices[first], count, movement);
    if (prices[first].saved() > 0 && prices[first].enough) out += plan_text(*prices[first].enough);
  }
  if (shown.size() > most_shown) {
    out += fmt::format("  and {} others, which --json lists\n", shown.size() - most_shown);
  }
  return out;
}

std::string large_text(const Movement& movement) {
  if (movement.large.empty()) return "";
  std::string out = fmt::format("{} larger than any tile that the text before declares, {} bytes\n",
                                counted(movement.large.size(), "value"), movement.declared_bytes);
  std::vector<const whole::LargeValue*> values;
  for (const whole::LargeValue& one : movement.large) values.push_back(&one);
  std::stable_sort(values.begin(), values.end(),
                   [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  for (std::size_t k = 0; k < std::min(values.size(), most_shown); ++k) {
    const whole::LargeValue& one = *values[k];
    out += fmt::format("  {} bytes: {} {}, {}", one.bytes, clean(one.spot.opcode),
                       type_text(one.kind, one.extents), place_text(one.spot));
    if (one.value) out += fmt::format(", which holds {}", lookup_text(*one.value));
    out += "\n";
  }
  if (values.size() > most_shown) {
    out += fmt::format("  and {} others, which --json lists\n", values.size() - most_shown);
  }
  return out;
}

std::string transfers_text(const Movement& movement) {
  struct Sum {
    Size runs = 0;
    Size bytes = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  Sum all;
  Sum of_reshards;
  for (const Transfer& transfer : movement.transfers) {
    Sum& sum = sums[{transfer.spot.opcode, groups_text(transfer, movement)}];
    for (Sum* one : {&sum, &all, &of_reshards}) {
      if (one == &of_reshards && !transfer.reshard) continue;
      one->runs += transfer.times;
      one->bytes += transfer.times * transfer.bytes();
    }
  }
  std::string out =
      fmt::format("{} of {}: {} bytes received, {} of them to reshard\n", counted(all.runs, "run"),
                  counted(movement.transfers.size(), "collective"), all.bytes, of_reshards.bytes);
  for (const auto& [key, sum] : sums) {
    out += fmt::format("  {} {}: {}, {} bytes\n", clean(key.first), key.second,
                       counted(sum.runs, "run"), sum.bytes);
  }
  return out;
}

// ---- JSON -----------------------------------------------------------------------------------------

Json lookup_json(const std::optional<whole::Lookup>& value) {
  if (!value) return nullptr;
  Json out = spot_json(value->spot);
  out["in"] = value->is_before ? "before" : "after";
  return out;
}

Json transfer_json(const Transfer& transfer, const Movement& movement) {
  Json out = spot_json(transfer.spot);
  out["times"] = transfer.times;
  out["bytes"] = transfer.bytes();
  out["most_bytes"] = transfer.most_bytes();
  out["cost"] = transfer.cost;
  std::vector<std::vector<Size>> groups = transfer.groups;
  for (const auto& [source, target] : transfer.pairs) groups.push_back({source, target});
  const auto axes = movement.mesh ? prices::axes_of(groups, *movement.mesh) : std::nullopt;
  out["axes"] = or_null(axes);
  out["groups"] = transfer.groups;
  out["pairs"] = transfer.pairs;
  out["holds"] = lookup_json(transfer.value);
  out["reshard"] = or_null(transfer.reshard);
  return out;
}

Json reshard_json(const Reshard& reshard, const prices::Price& price) {
  Json out;
  out["value"] = lookup_json(reshard.value);
  out["type"] = type_text(reshard.kind, reshard.extents);
  out["from"] = price.from;
  out["to"] = price.to;
  out["first"] = spot_json(reshard.first);
  out["last"] = spot_json(reshard.last);
  out["collectives"] = reshard.transfers;
  out["times"] = reshard.times;
  out["bytes"] = price.bytes;
  out["most_bytes"] = price.most_bytes;
  out["cost"] = price.cost;
  out["height"] = reshard.height;
  out["whole"] = reshard.is_whole();
  out["saved"] = price.saved();
  out["plan"] = nullptr;
  if (price.enough) {
    const prices::Enough& enough = *price.enough;
    out["plan"] = {{"cost", enough.cost},
                   {"height", enough.height},
                   {"optimal", enough.is_optimal},
                   {"scope", enough.scope},
                   {"steps", enough.steps},
                   {"text", enough.text.empty() ? Json(nullptr) : Json(enough.text)}};
  }
  out["unplanned"] = price.enough ? Json(nullptr) : Json(price.unplanned);
  return out;
}

}  // namespace

Json spot_json(const whole::Spot& spot) {
  return {{"value", spot.value},
          {"op", spot.opcode},
          {"line", spot.line > 0 ? Json(spot.line) : Json(nullptr)},
          {"source", spot.source.empty() ? Json(nullptr) : Json(spot.source)}};
}

std::string movement_text(const whole::Validation& validation, std::optional<emit::Form> form) {
  if (!validation.movement) {
    return validation.unexplained.empty()
               ? ""
               : fmt::format("not explained: {}\n", validation.unexplained);
  }
  const Movement& movement = *validation.movement;
  return reshards_text(movement, form.value_or(form_of(movement))) + large_text(movement) +
         transfers_text(movement);
}

Json movement_json(const whole::Validation& validation, std::optional<emit::Form> form) {
  if (!validation.movement) return nullptr;
  const Movement& movement = *validation.movement;
  const std::vector<prices::Price> prices =
      prices::prices_of(movement, form.value_or(form_of(movement)));
  Json out;
  out["collectives"] = Json::array();
  for (const Transfer& transfer : movement.transfers) {
    out["collectives"].push_back(transfer_json(transfer, movement));
  }
  out["reshards"] = Json::array();
  for (std::size_t k = 0; k < prices.size(); ++k) {
    out["reshards"].push_back(reshard_json(movement.reshards[k], prices[k]));
  }
  out["by_saving"] = prices::by_saving(movement, prices);
  out["declared_bytes"] = movement.declared_bytes;
  out["large"] = Json::array();
  for (const whole::LargeValue& one : movement.large) {
    Json large = spot_json(one.spot);
    large["type"] = type_text(one.kind, one.extents);
    large["bytes"] = one.bytes;
    large["holds"] = lookup_json(one.value);
    out["large"].push_back(std::move(large));
  }
  return out;
}

}  // namespace retile::report
