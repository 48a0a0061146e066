#include "retile/network/plan.h"

#include <algorithm>
#include <utility>

#include "retile/core/layout_facts.h"
#include "retile/lower/lower.h"
#include "retile/network/timed_search.h"
#include "retile/network/two_exchanges.h"

namespace retile::network {
namespace {

bool is_searched(const Layout& layout) { return is_paper_type(layout) && !layout.addends(); }

/// Whether no link ends within a digit, but at a divisor of it: only of such digits is there a search.
bool nests(const Network& network, const Layout& layout) {
  return std::all_of(layout.digits().begin(), layout.digits().end(),
                     [&](const auto& digits) { return network.nests(digits); });
}

/// Whether that holds of all axes that somebody wrote, so that they have no step that is not searched.
bool nests(const Network& network, const std::optional<Spelling>& spelling) {
  if (!spelling || !spelling->in_order()) return true;
  for (const Axis& axis : spelling->mesh.axes()) {
    if (!network.nests(spelling->mesh.digit(axis.name)->stride)) return false;
  }
  return true;
}

/// Up to so many devices all that there is is looked at: some ten thousand states.
constexpr Size most_proved = 128;
/// Up to so many parts of digits are moved, too. Beyond, they gained nothing in what was tried, and a search goes on
/// only where it soon finds a way.
constexpr Size most_in_parts = Size{1} << 14;

/// One step as lowering prints it.
Step lowered(const Layout& before, const FoundStep& found) {
  Plan plan;
  plan.problem.from = before;
  plan.problem.to = found.after;
  plan.steps = {found.step};
  if (found.step.op == Collective::allpermute) plan.permutation = Permutation{before, found.after};
  return std::move(lower(plan).steps.front());
}

/// Between the ends of `asked`, steps that were found between those of `even`; nothing where uneven tiles cannot
/// be cut so.
std::optional<Program> program_of(const Problem& asked, const Problem& even, bool is_uneven,
                                  const std::vector<FoundStep>& steps) {
  Program out = without_steps(asked);
  const Layout* before = &even.from;
  for (const FoundStep& step : steps) {
    out.steps.push_back(lowered(*before, step));
    before = &step.after;
  }
  out.numbers = asked.numbers;
  if (is_uneven && !clip_steps(out.steps, even, asked)) return std::nullopt;
  return out;
}

/// A Program with what it takes.
Result<NetworkPlan> timed(Program program, const Network& network, Size element_bytes) {
  auto steps = times_of(program, network, element_bytes);
  if (!steps) return refuse(steps.error());
  const auto time = time_of(*steps);
  if (!time) return refuse(time.error());
  return NetworkPlan{.program = std::move(program), .steps = *std::move(steps), .time = *time};
}

/// In the place of one exchange two, where these take less time.
Result<NetworkPlan> faster_exchange(NetworkPlan one, const Problem& problem, const Network& network,
                                    const PlanOptions& options) {
  std::optional<Size> most_resident;
  if (options.memory_limit_bytes) {
    most_resident = *options.memory_limit_bytes / options.element_bytes;
  }
  for (std::size_t level = 1; level < network.levels().size(); ++level) {
    auto two = two_exchanges(problem, network, level, most_resident);
    if (!two) continue;
    auto made = timed(*std::move(two), network, options.element_bytes);
    if (!made || made->time >= one.time) continue;
    one.program = std::move(made->program);
    one.steps = std::move(made->steps);
    one.time = made->time;
  }
  return one;
}

}  // namespace

Result<NetworkPlan> plan(const Problem& problem, const Network& network,
                         const PlanOptions& options) {
  PlanOptions usual = options;
  usual.cost_model = CostModel::paper;
  const auto planned = retile::plan(problem, usual);
  if (!planned) return refuse(planned.error());
  auto program = retile::program_of(*planned);
  if (!program) return refuse(program.error());
  auto usual_plan = timed(*std::move(program), network, options.element_bytes);
  if (!usual_plan) return usual_plan;
  NetworkPlan out = *std::move(usual_plan);
  out.usual_time = out.time;
  if (planned->exchange) return faster_exchange(std::move(out), problem, network, options);
  // Tiles that are filled up to be even go by steps of the even problem (U1).
  const bool is_uneven = planned->uneven.has_value();
  const Problem& even = is_uneven ? planned->problem : problem;
  if (planned->device_at || planned->array || !planned->legs.empty() || !is_searched(even.from) ||
      !is_searched(even.to) || !nests(network, even.from) || !nests(network, even.to) ||
      even.from.rank() > most_rank || even.from.devices() > most_searched_devices) {
    return out;
  }
  SearchOptions search_options{.element_bytes = options.element_bytes,
                               .most_tile = planned->bound,
                               .extents = problem.to.global(),
                               .known = static_cast<Wide>(out.usual_time) + 1};
  if (options.memory_limit_bytes) {
    search_options.most_resident = *options.memory_limit_bytes / options.element_bytes;
    search_options.most_tile = std::max(search_options.most_tile, *search_options.most_resident);
  }
  // Whole digits are few, and soon looked at: then the search for parts of them has less left to look at.
  const Size devices = problem.from.devices();
  search_options.most_work = devices <= most_proved ? Size{1} << 20 : Size{1} << 13;
  search_options.whole_digits = true;
  search_options.haste = devices <= most_proved ? 1 : 3;
  search_options.first_work = devices <= most_in_parts ? search_options.most_work : 64;
  Found found = search(even, network, search_options);
  out.work = found.work;
  if (devices <= most_in_parts) {
    if (found.steps) search_options.known = found.time;
    search_options.whole_digits = false;
    search_options.haste = 1;
    Found finer = search(even, network, search_options);
    out.complete = finer.complete;
    out.work += finer.work;
    found.lower_bound = std::min(finer.lower_bound, found.time);
    if (finer.steps && finer.time < found.time) found = std::move(finer);
  } else {
    found.lower_bound = std::min(found.floor, found.time);
  }
  if (found.steps) {
    auto made = program_of(problem, even, is_uneven, *found.steps);
    if (!made) return out;
    auto faster = timed(*std::move(made), network, options.element_bytes);
    if (!faster) return faster;
    // What lies in the array may be less than the search counted, on either side.
    if (is_uneven && faster->time > out.usual_time) return out;
    out.program = std::move(faster->program);
    out.steps = std::move(faster->steps);
    out.time = faster->time;
  }
  if (is_uneven || !nests(network, problem.spelling)) return out;  // of which nothing is proved
  out.lower_bound =
      static_cast<Size>(std::min<Wide>(found.lower_bound, static_cast<Wide>(out.usual_time)));
  out.optimal = out.time == out.lower_bound;
  return out;
}

}  // namespace retile::network
