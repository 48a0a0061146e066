#include "retile/plan/joined_steps.h"

#include <algorithm>
#include <utility>

#include "retile/core/assert.h"
#include "retile/plan/joint_search.h"

namespace retile {
namespace {

/// The parts of one alltoall that does what these do one after the other; none where there is none.
StepParts as_one_alltoall(const StepParts& parts) {
  WeakPath path;
  for (const PlanStep::Part& part : parts) {
    path.moves.push_back({part.dim, part.to_dim, part.factor});
  }
  path = merged(path);
  StepParts out;
  if (path.together.size() != 1) return out;
  for (const WeakPath::Move& move : path.moves) {
    out.push_back({move.from_dim, move.to_dim, move.factor});
  }
  return out;
}

class Joiner {
 public:
  Joiner(const std::vector<PlanStep>& steps, const MayJoin& may_join)
      : steps_(steps), may_join_(may_join) {}

  std::vector<PlanStep> run() {
    for (std::size_t first = 0; first < steps_.size();) {
      std::size_t end = first + 1;
      while (end < steps_.size() && steps_[end].op == steps_[first].op) ++end;
      if (steps_[first].op == Collective::allgather) {
        join_gathers(first, end);
      } else if (steps_[first].op == Collective::alltoall) {
        join_alltoalls(first, end);
      } else {
        out_.insert(out_.end(), steps_.begin() + static_cast<std::ptrdiff_t>(first),
                    steps_.begin() + static_cast<std::ptrdiff_t>(end));
      }
      first = end;
    }
    return std::move(out_);
  }

 private:
  void join_gathers(std::size_t first, std::size_t end) {
    std::vector<PlanStep> gathers;
    StepParts together;
    for (std::size_t k = first; k < end; ++k) {
      for (const PlanStep::Part& part : parts_of(steps_[k])) {
        if (may_join_(Collective::allgather, {part}, first)) {
          together.push_back(part);
        } else {
          gathers.push_back(step_of(Collective::allgather, {part}));
        }
      }
    }
    if (!together.empty()) gathers.push_back(step_of(Collective::allgather, std::move(together)));
    std::stable_sort(gathers.begin(), gathers.end(),
                     [](const PlanStep& a, const PlanStep& b) { return a.factor < b.factor; });
    out_.insert(out_.end(), gathers.begin(), gathers.end());
  }

  void join_alltoalls(std::size_t first, std::size_t end) {
    StepParts run;    // in the order of the steps
    StepParts parts;  // of the one step, the slowest digit first
    const auto settle = [&] {
      if (!parts.empty()) out_.push_back(step_of(Collective::alltoall, std::move(parts)));
    };
    std::size_t begin = first;
    for (std::size_t k = first; k < end; ++k) {
      const StepParts next = parts_of(steps_[k]);
      if (next.size() == 1) {
        run.push_back(next.front());
        StepParts longer = as_one_alltoall(run);
        if (run.size() == 1 ||
            (!longer.empty() && may_join_(Collective::alltoall, longer, begin))) {
          parts = std::move(longer);
          continue;
        }
      }
      settle();
      begin = k;
      parts = next;
      run = next.size() == 1 ? next : StepParts{};
    }
    settle();
  }

  const std::vector<PlanStep>& steps_;
  const MayJoin& may_join_;
  std::vector<PlanStep> out_;
};

}  // namespace

Size cost_without_permutations(const Plan& plan) {
  Size out = plan.cost;
  for (const PlanStep& step : plan.steps) {
    if (step.op == Collective::allpermute) out -= step.cost;
  }
  return out;
}

std::vector<PlanStep> joined(const std::vector<PlanStep>& steps, const MayJoin& may_join) {
  return Joiner(steps, may_join).run();
}

void run_on_tile(const PlanStep& step, Shape& tile) {
  switch (step.op) {
    case Collective::dynslice:
    case Collective::reducescatter:
      tile[step.dim] /= step.factor;
      break;
    case Collective::alltoall:
      for_each_part(step, [&](const PlanStep::Part& part) {
        tile[part.dim] *= part.factor;
        tile[part.to_dim] /= part.factor;
      });
      break;
    case Collective::allgather:
      for_each_part(step, [&](const PlanStep::Part& part) { tile[part.dim] *= part.factor; });
      break;
    case Collective::allpermute:
    case Collective::allreduce:
      break;
  }
}

}  // namespace retile
