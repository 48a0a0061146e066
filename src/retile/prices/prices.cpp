#include "retile/prices/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "retile/check/check.h"
#include "retile/core/index.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/prices/layouts.h"
#include "retile/program/ops.h"

namespace retile::prices {
namespace {

/// No reshard of a model is worth a longer search than about a second.
constexpr Size most_searched = Size{1} << 20;

std::string step_text(const PlanStep& step) {
  const std::string name = step_name(step);
  switch (step.op) {
    case Collective::alltoall:
      return step.parts.size() > 1 ? name
                                   : fmt::format("{} of dimension {} to {} by {}", name, step.dim,
                                                 step.to_dim, step.factor);
    case Collective::dynslice:
    case Collective::allgather:
    case Collective::reducescatter:
      return step.parts.size() > 1
                 ? name
                 : fmt::format("{} of dimension {} by {}", name, step.dim, step.factor);
    case Collective::allpermute:
    case Collective::allreduce:
      break;
  }
  return name;
}

void add_steps(const Plan& plan, std::vector<std::string>& out) {
  if (plan.exchange) out.emplace_back("one exchange");
  for (const PlanStep& step : plan.steps) out.push_back(step_text(step));
  for (const Plan& leg : plan.legs) add_steps(leg, out);
}

/// The cheapest plan that the form can say, checked.
class Planner {
 public:
  /// \param mesh  names axes, where there is one
  Planner(const Problem& problem, const operations::ElementKind& kind, emit::Form form,
          const std::optional<PlacedMesh>& mesh)
      : problem_(problem),
        kind_(emit::says_elements(form) ? kind : operations::element_kind("f32")),
        form_(form),
        mesh_(mesh) {}

  [[nodiscard]] Result<Enough> enough() const {
    Enough out;
    auto planned = plan(problem_, options(Scope::several_dims));
    if (!planned) return refuse(planned.error());
    auto program = program_of(*planned);
    if (!program) return refuse(program.error());
    auto text = text_of(*program);
    // No form has steps along several dimensions, so what has them is planned without.
    if (!text && std::any_of(program->steps.begin(), program->steps.end(), over_dims)) {
      auto single = plan(problem_, options(Scope::one_dim));
      if (!single) return refuse(single.error());
      auto its_program = program_of(*single);
      if (!its_program) return refuse(its_program.error());
      text = text_of(*its_program);
      if (text) {
        if (planned->cost < single->cost) out.cost_over_dims = planned->cost;
        planned = std::move(single);
        program = std::move(its_program);
      }
    }
    if (check(*program).answer != Answer::right) {
      return refuse(Code::limit_reached, "the plan is too large to be checked");
    }
    add_steps(*planned, out.steps);
    out.cost = planned->cost;
    out.height = planned->height;
    out.is_optimal = planned->optimal;
    out.scope = scope_name(planned->scope);
    out.least_of = scope_words(planned->scope);
    if (text) {
      out.text = *std::move(text);
    } else {
      out.unwritten = text.error().message;
    }
    return out;
  }

 private:
  /// With the names of the mesh, where the form can say the plan by them.
  [[nodiscard]] Result<std::string> text_of(Program program) const {
    const bool has_names = mesh_ && !mesh_->order &&
                           mesh_->mesh.device_count() == problem_.from.devices() &&
                           mesh_->mesh.device_count() == problem_.to.devices();
    if (has_names) {
      program.mesh = mesh_->mesh;
      if (auto text = emit::emit(program, form_, kind_)) return text;
      program.mesh = std::nullopt;
    }
    return emit::emit(program, form_, kind_);
  }
  [[nodiscard]] static PlanOptions options(Scope steps) {
    PlanOptions out;
    out.steps = steps;
    out.search_limit = most_searched;
    return out;
  }

  const Problem& problem_;
  operations::ElementKind kind_;
  emit::Form form_;
  const std::optional<PlacedMesh>& mesh_;
};

/// Plans each pair of layouts once.
class Pricer {
 public:
  Pricer(const whole::Movement& movement, emit::Form form) : movement_(movement), form_(form) {}

  [[nodiscard]] Price price(const whole::Reshard& reshard) {
    Price out;
    std::vector<Size> received(index(movement_.devices), 0);
    for (const std::size_t k : reshard.transfers) {
      const whole::Transfer& transfer = movement_.transfers[k];
      out.cost += transfer.cost;
      out.bytes += transfer.bytes();
      for (std::size_t d = 0; d < received.size(); ++d) received[d] += transfer.received[d];
    }
    out.most_bytes = *std::max_element(received.begin(), received.end());
    const auto from = layout_of(reshard.from, reshard.extents);
    const auto to = layout_of(reshard.to, reshard.extents);
    if (!from || !to) {
      out.unplanned = (from ? to : from).error().message;
      return out;
    }
    out.from = layout_text(*from, movement_.mesh);
    out.to = layout_text(*to, movement_.mesh);
    const auto problem = Problem::make(*from, *to);
    if (!problem) {
      out.unplanned = problem.error().message;
      return out;
    }
    const Result<Enough>& enough = planned(reshard, *problem);
    if (enough) {
      out.enough = *enough;
    } else {
      out.unplanned = enough.error().message;
    }
    return out;
  }

 private:
  [[nodiscard]] const Result<Enough>& planned(const whole::Reshard& reshard,
                                              const Problem& problem) {
    const auto numbers = [](const std::vector<Box>& boxes) {
      std::vector<Size> out;
      for (const Box& box : boxes) {
        out.insert(out.end(), box.at.begin(), box.at.end());
        out.insert(out.end(), box.extent.begin(), box.extent.end());
      }
      return out;
    };
    const Key key(operations::hlo_name(reshard.kind), reshard.extents, numbers(reshard.from),
                  numbers(reshard.to));
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    return known_.emplace(key, Planner(problem, reshard.kind, form_, movement_.mesh).enough())
        .first->second;
  }

  const whole::Movement& movement_;
  emit::Form form_;
  using Key = std::tuple<std::string, Shape, std::vector<Size>, std::vector<Size>>;
  std::map<Key, Result<Enough>> known_;
};

}  // namespace

Size Price::saved() const { return enough ? std::max<Size>(0, cost - enough->cost) : 0; }

std::vector<Price> prices_of(const whole::Movement& movement, emit::Form form) {
  Pricer pricer(movement, form);
  std::vector<Price> out;
  for (const whole::Reshard& reshard : movement.reshards) out.push_back(pricer.price(reshard));
  return out;
}

std::vector<std::size_t> by_saving(const whole::Movement& movement,
                                   const std::vector<Price>& prices) {
  std::vector<std::size_t> out(prices.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  const auto weight = [&](std::size_t k) {
    const whole::Reshard& reshard = movement.reshards[k];
    const double times = static_cast<double>(reshard.times * reshard.kind.bytes());
    return std::pair(static_cast<double>(prices[k].saved()) * times,
                     static_cast<double>(prices[k].bytes) * static_cast<double>(reshard.times));
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
  return out;
}

}  // namespace retile::prices
