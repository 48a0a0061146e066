#include "retile/cli/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "retile/cli/json.h"
#include "retile/core/layout_facts.h"
#include "retile/core/names.h"
#include "retile/core/pop_each.h"
#include "retile/plan/cost_model.h"
#include "retile/plan/nesting.h"
#include "retile/program/forms/text.h"
#include "retile/report/sentences.h"

namespace retile::cli {
namespace {

using report::shape_text;

/// How the ends of a problem are written; in digits of the device number where nobody named them.
Spelling spelling_of(const Problem& problem) {
  if (problem.spelling) return *problem.spelling;
  return {Mesh(), tiling_to_text(problem.from, nullptr), tiling_to_text(problem.to, nullptr)};
}

/// A digit of the device number in axes of the mesh, minor to major: `y` whole, `x/2 of 4` in part.
/// Nothing when it cuts an axis so that no factor of the axis says it.
std::optional<std::vector<std::string>> axes_of(const Digit& digit, const Mesh& mesh) {
  std::vector<std::string> names;
  Size left = digit.size;
  Size stride = 1;
  for (auto axis = mesh.axes().rbegin(); axis != mesh.axes().rend(); ++axis) {
    const Size next_stride = stride * axis->size;
    const Size end = digit.stride * digit.size;
    const Size low = std::max(stride, digit.stride);
    const Size high = std::min(next_stride, end);
    if (low < high) {
      const bool aligned = low % stride == 0 && next_stride % high == 0 && high % low == 0 &&
                           low % digit.stride == 0 && end % high == 0;
      if (!aligned) return std::nullopt;
      const Size part = high / low;
      names.push_back(part == axis->size ? clean(name_text(axis->name))
                                         : fmt::format("{}/{} of {}", clean(name_text(axis->name)),
                                                       part, axis->size));
      left /= part;
    }
    stride = next_stride;
  }
  if (left != 1) return std::nullopt;
  return names;
}

/// What digits are called; nothing where axes have no names for them.
std::optional<std::vector<std::string>> names_of(const std::optional<std::vector<Digit>>& digits,
                                                 const Mesh& mesh) {
  if (!digits) return std::nullopt;
  std::vector<std::string> names;
  for (const Digit& digit : *digits) {
    if (digit.size == 1) continue;
    const auto axes = axes_of(digit, mesh);
    if (!axes) return std::nullopt;
    names.insert(names.end(), axes->begin(), axes->end());
  }
  return names;
}

/// What a step moves: `devs`, `y,x/2 of 4`; `factor 3` where device numbers have no digit for it.
std::string moved_text(const std::optional<std::vector<Digit>>& digits, const Mesh& mesh,
                       Size factor) {
  const auto names = names_of(digits, mesh);
  if (!names || names->empty()) return fmt::format("factor {}", factor);
  return fmt::format("{}", fmt::join(*names, ","));
}

/// The digits of the device number that leave dimension `dim`, where device numbers can say them.
std::optional<std::vector<Digit>> popped_digits(const Layout& map, std::size_t dim, Size factor) {
  Layout named = map.compacted();
  if (!named.is_compact()) return std::nullopt;
  std::vector<Digit> digits = named.pop(dim, factor);
  if (!named.is_compact()) return std::nullopt;
  return digits;
}

/// What the labels of steps say of each, while the tile map runs along them.
class Labels {
 public:
  Labels(const Plan& plan, const Mesh& mesh) : plan_(plan), mesh_(mesh), map_(plan.problem.from) {
    if (plan.exchange) return;
    if (auto stacked = addends_as_dimension(map_)) map_ = *std::move(stacked);
  }

  /// Of the last step, where it adds and axes have names for it: what leaves the addends.
  [[nodiscard]] const std::optional<std::vector<std::string>>& axes() const { return axes_; }

  /// One line, without tile and cost: `alltoall devs: dim 1 -> dim 0`.
  std::string next(const PlanStep& step) {
    axes_.reset();
    if (!step.parts.empty()) return over_dims(step);
    const std::string_view name = collective_name(step.op);
    switch (step.op) {
      case Collective::dynslice: {
        const std::string moved = introduced(step);
        plan_.slice(map_, step);
        return fmt::format("{} {}: dim {}", name, moved, step.dim);
      }
      case Collective::alltoall: {
        const std::string moved = popped(step);
        map_.push(step.to_dim, map_.pop(step.dim, step.factor));
        return fmt::format("{} {}: dim {} -> dim {}", name, moved, step.dim, step.to_dim);
      }
      case Collective::allgather: {
        const std::string moved = popped(step);
        map_.pop(step.dim, step.factor);
        return fmt::format("{} {}: dim {}", name, moved, step.dim);
      }
      case Collective::allpermute:
        map_ = plan_.permutation->after;
        return std::string(name);
      case Collective::reducescatter: {
        const std::string moved = introduced(step);
        axes_ = names_of(digits_of(step), mesh_);
        map_.pull(map_.rank() - 1, step.digits);
        map_.push(step.dim, step.digits);
        return fmt::format("{} {}: dim {}", name, moved, step.dim);
      }
      case Collective::allreduce: {
        const std::string moved = introduced(step);
        axes_ = names_of(digits_of(step), mesh_);
        map_.pull(map_.rank() - 1, step.digits);
        return fmt::format("{} {}", name, moved);
      }
    }
    return "";
  }

 private:
  /// `alltoall_dims y,x: dims 1,2 -> dims 0,0`, the slowest digit first.
  std::string over_dims(const PlanStep& step) {
    std::vector<std::pair<std::size_t, Size>> factors;
    std::vector<std::size_t> dims;
    std::vector<std::size_t> to_dims;
    for (const PlanStep::Part& part : step.parts) {
      factors.insert(factors.begin(), {part.dim, part.factor});
      dims.push_back(part.dim);
      to_dims.push_back(part.to_dim);
    }
    map_.compact_in_place();
    std::vector<std::vector<Digit>> popped = pop_each(map_, factors);
    std::reverse(popped.begin(), popped.end());
    const bool named = map_.is_compact() && plan_.twists.empty();
    std::vector<std::string> moved;
    for (std::size_t k = 0; k < popped.size(); ++k) {
      moved.push_back(
          moved_text(named ? std::optional(popped[k]) : std::nullopt, mesh_, step.parts[k].factor));
      if (step.op == Collective::alltoall) map_.push(to_dims[k], popped[k]);
    }
    std::string out =
        fmt::format("{} {}: dims {}", step_name(step), fmt::join(moved, ","), fmt::join(dims, ","));
    if (step.op == Collective::alltoall) {
      out += fmt::format(" -> dims {}", fmt::join(to_dims, ","));
    }
    return out;
  }

  /// The digits that the step has, where they are those of device numbers.
  [[nodiscard]] std::optional<std::vector<Digit>> digits_of(const PlanStep& step) const {
    if (!map_.is_compact() || !plan_.twists.empty()) return std::nullopt;
    return step.digits;
  }
  [[nodiscard]] std::string introduced(const PlanStep& step) const {
    return moved_text(digits_of(step), mesh_, step.factor);
  }
  [[nodiscard]] std::string popped(const PlanStep& step) const {
    if (!plan_.twists.empty()) return moved_text(std::nullopt, mesh_, step.factor);
    return moved_text(popped_digits(map_, step.dim, step.factor), mesh_, step.factor);
  }

  const Plan& plan_;
  const Mesh& mesh_;
  Layout map_;
  std::optional<std::vector<std::string>> axes_;
};

Size size_of(const Shape& tile) {
  // A tile is part of an array whose size fits, so its size does, too.
  return checked_product(tile).value_or(0);
}

/// The problem asked for.
const Problem& asked(const Plan& plan) {
  if (plan.array) return *plan.array;
  return plan.uneven ? *plan.uneven : plan.problem;
}

/// Where steps count the dimensions of a view.
std::string view_text(const Plan& plan) {
  if (!plan.array) return "";
  return fmt::format("in the view {} of the array\n", shape_text(plan.problem.from.global()));
}

/// What no step does: an average is a sum that is divided.
std::string divisor_text(const Plan& plan) {
  if (plan.problem.divisor == 1) return "";
  return fmt::format("an average: what is added is divided by {}\n", plan.problem.divisor);
}

/// The largest extents that tiles of a step have in the array.
Shape shown_tile(const Plan& plan, Shape tile) {
  if (!plan.uneven) return tile;
  const Shape& filled = plan.problem.from.global();
  for (std::size_t i = 0; i < tile.size(); ++i) {
    const auto nesting = Nesting::make(plan.uneven->from.cuts()[i], plan.uneven->to.cuts()[i]);
    const auto cuts = nesting ? nesting->cuts(filled[i] / tile[i]) : std::nullopt;
    if (cuts) tile[i] = cuts->largest();
  }
  return tile;
}

/// What stands behind a plan between tiles that are not all alike.
std::string uneven_text(const Plan& plan) {
  const auto are_blocks = [](const Layout& end) {
    return std::all_of(end.cuts().begin(), end.cuts().end(),
                       [](const Cuts& cuts) { return cuts.is_blocks(); });
  };
  if (!are_blocks(plan.uneven->from) || !are_blocks(plan.uneven->to)) {
    return "planned by the numbers of tiles";
  }
  return fmt::format("planned as the even problem over {}", shape_text(plan.problem.from.global()));
}

/// A step as it is shown.
struct ShownStep {
  const PlanStep* step;
  std::string label;
  Shape tile;
  std::optional<std::vector<std::string>> axes = {};  ///< as Labels::axes
};

/// Those of the legs one after the other.
std::vector<ShownStep> shown_steps(const Plan& plan) {
  const Mesh mesh = spelling_of(asked(plan)).mesh;
  std::vector<ShownStep> out;
  const auto add = [&](const Plan& part) {
    Labels labels(part, mesh);
    for (const PlanStep& step : part.steps) {
      std::string label = labels.next(step);
      out.push_back({&step, std::move(label), shown_tile(part, step.tile), labels.axes()});
    }
  };
  add(plan);
  for (const Plan& leg : plan.legs) add(leg);
  return out;
}

std::string_view cost_unit(const Plan& plan) {
  return prices_of(plan.problem, plan.options).in_bytes() ? " bytes" : "";
}

std::string sums_text(const Plan& plan) {
  return fmt::format("cost {}{}, height {} (bound {})", plan.cost, cost_unit(plan), plan.height,
                     plan.bound);
}

/// The elements of the larger one of each device's two tiles: of the device with the fewest. Nothing
/// where devices are too many to look at each.
std::optional<Size> least_bound(const Problem& problem) {
  if (!check_listed(problem.from.devices(), problem.from.rank())) return std::nullopt;
  std::optional<Size> least;
  for (Size d = 0; d < problem.from.devices(); ++d) {
    const Size bound = std::max(problem.from.tile_size(d), problem.to.tile_size(d));
    least = std::min(least.value_or(bound), bound);
  }
  return least;
}

/// What an exchange promises of every device.
std::string exchange_explanation(const Plan& plan) {
  const auto least = least_bound(plan.problem);
  return fmt::format(
      "\nwhy: {}\nevery device receives what it lacks of its new tile{}, and nothing else\n"
      "memory: a device holds its old tile and its new one, the larger of them at most {} "
      "elements{}\n",
      plan.exchange->reason, plan.exchange->of_addends ? ", addend by addend" : "", plan.bound,
      least && *least < plan.bound
          ? fmt::format(", on one device {}; no step makes any other tile", *least)
          : "");
}

/// A bar of at most 40 marks, at least one.
std::string bar(Size size, Size largest) {
  constexpr double widest = 40;
  const double share = static_cast<double>(size) / static_cast<double>(std::max(largest, Size{1}));
  return std::string(static_cast<std::size_t>(std::max(1.0, share * widest)), '#');
}

Json axes_json(const Mesh& mesh) {
  Json out = Json::array();
  for (const Axis& axis : mesh.axes()) out.push_back(Json::array({axis.name, axis.size}));
  return out;
}

/// The fields of a step between `op` and `localtype`.
void add_labels(Json& object, const ShownStep& shown) {
  const PlanStep& step = *shown.step;
  if (!step.parts.empty()) {
    const bool gathers = step.op == Collective::allgather;
    for (const PlanStep::Part& part : step.parts) {
      object[gathers ? "dims" : "from_dims"].push_back(part.dim);
      if (!gathers) object["to_dims"].push_back(part.to_dim);
    }
    for (const PlanStep::Part& part : step.parts) object["factors"].push_back(part.factor);
    return;
  }
  switch (step.op) {
    case Collective::alltoall:
      object["from_dim"] = step.dim;
      object["to_dim"] = step.to_dim;
      object["factor"] = step.factor;
      break;
    case Collective::dynslice:
    case Collective::allgather:
      object["dim"] = step.dim;
      object["factor"] = step.factor;
      break;
    case Collective::reducescatter:
      object["dim"] = step.dim;
      object["factor"] = step.factor;
      object["axes"] = or_null(shown.axes);
      break;
    case Collective::allreduce:
      object["factor"] = step.factor;
      object["axes"] = or_null(shown.axes);
      break;
    case Collective::allpermute:
      break;
  }
}

}  // namespace

Json plan_object(const Plan& plan) {
  Json json = object_of(24);
  json["schema"] = "retile.plan/1";
  const Spelling spelling = spelling_of(asked(plan));
  json["mesh"] = axes_json(spelling.mesh);
  if (spelling.order) json["order"] = *spelling.order;
  if (spelling.mesh_to) json["mesh_to"] = axes_json(*spelling.mesh_to);
  if (spelling.order_to != spelling.order) json["order_to"] = or_null(spelling.order_to);
  json["from"] = spelling.from;
  json["to"] = spelling.to;
  if (plan.array) json["view"] = plan.problem.from.global();
  Json steps = Json::array();
  if (plan.exchange) {
    Json object;
    object["op"] = "exchange";
    object["localtype"] = plan.exchange->tile;
    object["cost"] = plan.cost;
    object["reason"] = plan.exchange->reason;
    steps.push_back(std::move(object));
  }
  for (const ShownStep& shown : shown_steps(plan)) {
    const PlanStep& step = *shown.step;
    Json object = object_of(12);
    object["op"] = step_name(step);
    add_labels(object, shown);
    object["localtype"] = shown.tile;
    object["cost"] = step.cost;
    steps.push_back(std::move(object));
  }
  json["steps"] = std::move(steps);
  if (!plan.legs.empty()) json["reason"] = plan.reason;
  if (plan.problem.divisor > 1) json["divisor"] = plan.problem.divisor;
  json["cost"] = plan.cost;
  json["height"] = plan.height;
  json["bound"] = plan.bound;
  json["valley"] = plan.valley;
  json["resident"] = plan.resident;
  json["weak_cost"] = plan.weak_cost;
  json["lower_bound"] = plan.lower_bound;
  json["optimal"] = plan.optimal;
  json["scope"] = scope_name(plan.scope);
  if (plan.searched) json["searched"] = true;
  json["permutes"] = plan.permutes();
  json["states"] = plan.states;
  return json;
}

std::string plan_json(const Plan& plan) { return line_of(plan_object(plan)); }

std::string plan_line(const Plan& plan) {
  if (plan.exchange) return "exchange; " + sums_text(plan);
  std::string steps;
  for (const ShownStep& shown : shown_steps(plan)) {
    steps += (steps.empty() ? "" : ", then ") + shown.label;
  }
  return fmt::format("{}; {}", steps.empty() ? "nothing to do" : steps, sums_text(plan));
}

namespace {

/// What is proved of a cost that is above the lower bound; nothing where the bound is 0.
std::string bound_text(const Plan& plan) {
  if (plan.scope == Scope::any) return "";
  return fmt::format("{} cost at least {}{}", scope_words(plan.scope), plan.lower_bound,
                     cost_unit(plan));
}

}  // namespace

std::string plan_text(const Plan& plan) {
  if (plan.exchange) {
    return fmt::format("exchange; {}\n{}\n{}", sums_text(plan), plan.exchange->reason,
                       divisor_text(plan));
  }
  const std::vector<ShownStep> steps = shown_steps(plan);
  const std::string bound = bound_text(plan);
  // An end to `sums_text` that says what is proved, but for the widest optimum.
  const std::string proved =
      !plan.legs.empty()             ? fmt::format("\n{}\n", plan.reason)
      : plan.uneven && !plan.optimal ? fmt::format("\n{}\n", uneven_text(plan))
      : !plan.optimal ? fmt::format("\nnot proved optimal{}{}{}\n", bound.empty() ? "" : ": ",
                                    bound, plan.complete ? "" : "; the search stopped at its limit")
      : plan.scope == Scope::one_dim ? fmt::format("\noptimal among {}\n", scope_words(plan.scope))
                                     : "\n";
  const std::string end = proved + view_text(plan) + divisor_text(plan);
  if (steps.empty()) return fmt::format("nothing to do; {}{}", sums_text(plan), end);
  if (steps.size() == 1) return fmt::format("{}; {}{}", steps[0].label, sums_text(plan), end);
  std::size_t label_width = 0;
  std::size_t tile_width = 0;
  for (const ShownStep& shown : steps) {
    label_width = std::max(label_width, shown.label.size());
    tile_width = std::max(tile_width, shape_text(shown.tile).size());
  }
  std::string text;
  for (const ShownStep& shown : steps) {
    text += fmt::format("{:<{}}  tile {:<{}}  cost {}\n", shown.label, label_width,
                        shape_text(shown.tile), tile_width, shown.step->cost);
  }
  return text + sums_text(plan) + end;
}

std::vector<std::string> step_labels(const Plan& plan) {
  std::vector<std::string> out;
  for (ShownStep& shown : shown_steps(plan)) out.push_back(std::move(shown.label));
  if (plan.exchange) out.emplace_back("exchange");
  return out;
}

std::string plan_explanation(const Plan& plan, const std::string& traffic) {
  if (plan.exchange) return traffic + exchange_explanation(plan);
  const std::string_view unit = cost_unit(plan);
  std::vector<std::pair<std::string, Shape>> tiles = {
      {"start", shown_tile(plan, plan.problem.from.tile())}};
  for (ShownStep& shown : shown_steps(plan)) {
    tiles.emplace_back(std::move(shown.label), std::move(shown.tile));
  }

  std::size_t label_width = 0;
  std::size_t tile_width = 0;
  std::size_t size_width = 0;
  for (const auto& [label, tile] : tiles) {
    label_width = std::max(label_width, label.size());
    tile_width = std::max(tile_width, shape_text(tile).size());
    size_width = std::max(size_width, fmt::format("{}", size_of(tile)).size());
  }
  std::string text = "\ntile sizes, in elements per device:\n";
  for (const auto& [label, tile] : tiles) {
    text += fmt::format("  {:<{}}  {:<{}}  {:>{}}  {}\n", label, label_width, shape_text(tile),
                        tile_width, size_of(tile), size_width, bar(size_of(tile), plan.height));
  }
  text += traffic;
  if (!plan.legs.empty()) {
    return text + fmt::format(
                      "\nwhy: {}\nmemory: the largest tile has {} elements, that of the "
                      "ends {}; a step holds at most {}, before and after together\n",
                      plan.reason, plan.height, plan.bound, plan.resident);
  }

  text += "\nweak path: " + shape_text(tiles.front().second);
  Size weak_path_cost = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.op == Collective::allpermute) continue;
    text += " -> " + shape_text(shown_tile(plan, step.tile));
    weak_path_cost += step.cost;
  }
  text += fmt::format("; cost {}{}", weak_path_cost, unit);
  const bool over_dims = std::any_of(plan.steps.begin(), plan.steps.end(),
                                     [](const PlanStep& step) { return !step.parts.empty(); });
  text += plan.uneven || over_dims
              ? "\n"
              : fmt::format(" ({}: {})\n",
                            plan.complete ? "least of all weak paths"
                                          : "least found when the search stopped at its limit",
                            plan.weak_cost);

  if (plan.permutation) {
    for (std::size_t k = 0; k < plan.steps.size(); ++k) {
      if (plan.steps[k].op != Collective::allpermute) continue;
      const std::string where =
          plan.uneven
              ? ""
              : fmt::format(", in the valley (tiles of {} elements, the smallest of the plan)",
                            plan.valley);
      text += fmt::format("permutation: one, as step {} of {}{}; it costs {}{}\n", k + 1,
                          plan.steps.size(), where, plan.steps[k].cost, unit);
    }
  } else {
    text += "permutation: none, the steps alone put every tile on its device\n";
  }
  const std::string bound = bound_text(plan);
  text += plan.optimal
              ? fmt::format("optimal: {}no sequence of {}{} costs less than {}{}\n",
                            plan.array && plan.scope != Scope::any ? "in this view " : "",
                            scope_words(plan.scope),
                            plan.options.memory_limit_bytes ? " within the memory limit" : "",
                            plan.lower_bound, unit)
              : fmt::format("{}: a sequence cheaper than {} is not excluded\n",
                            bound.empty() ? "nothing is proved of the cost" : bound, plan.cost);
  text += fmt::format(
      "memory: {}; a step holds at most {} elements, before and after together\n",
      plan.height <= plan.bound
          ? fmt::format("no tile is larger than the larger end ({})", plan.bound)
          : fmt::format("a tile has {} elements, the larger end {}", plan.height, plan.bound),
      plan.resident);
  const Baseline baseline = gather_everything(plan);
  if (!baseline.is_known) return text;
  text += fmt::format("{}: cost {}{}, height {}\n", words_of(baseline),
                      baseline.cost ? fmt::format("{}", *baseline.cost) : "beyond 2^63", unit,
                      baseline.height);
  return text;
}

std::string_view words_of(const Baseline& baseline) {
  return baseline.adds ? "adding up, gathering everything, then slicing"
                       : "gathering everything, then slicing";
}

Baseline gather_everything(const Plan& plan) {
  const Layout& from = plan.problem.from;
  const Layout& to = plan.problem.to;
  const bool stay = addend_numbers(from).equivalent(addend_numbers(to));
  Baseline baseline{.adds = !stay, .height = asked(plan).from.global_size()};
  if (plan.uneven || plan.exchange || !plan.legs.empty()) return baseline;
  // A slice brings no device another addend.
  if (!stay && to.addend_count() > 1) return baseline;
  baseline.is_known = true;
  std::vector<Size> factors;
  for (const Cuts& cuts : from.cuts()) factors.push_back(cuts.count());
  // Smallest factor first is the cheapest order of gathers (S8).
  std::sort(factors.begin(), factors.end());
  const Prices prices = prices_of(plan.problem, plan.options);
  Wide cost = 0;
  Wide tile = from.tile_size();
  // Tiles are smallest before anything is gathered.
  if (baseline.adds) {
    cost += prices.allreduce(tile, from.addend_count() / to.addend_count()) * prices.element();
  }
  for (const Size factor : factors) {
    if (factor == 1) continue;
    cost += prices.allgather(tile, factor) * prices.element();
    tile *= factor;
  }
  if (cost <= std::numeric_limits<Size>::max()) baseline.cost = static_cast<Size>(cost);
  return baseline;
}

}  // namespace retile::cli
