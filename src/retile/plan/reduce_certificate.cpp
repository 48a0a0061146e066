// Certificates of plans between addends. See reduce_certificate.h.
#include "retile/plan/reduce_certificate.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "retile/plan/cost_model.h"

namespace retile {
namespace {

/// The least costs to the target that are below the lower bound, by tile shape and, as the last
/// number, addends. Found backwards, step by step, with no more than the definition of a step.
class Potentials {
 public:
  Potentials(const Plan& plan, const CertificateOptions& options)
      : problem_(plan.problem),
        prices_(prices_of(plan.problem, plan.options)),
        rank_(plan.problem.from.rank()),
        bound_(plan.bound),
        below_(plan.lower_bound),
        most_(options.most_lines),
        work_(options.search_limit) {
    for (Size n = 2; n <= problem_.from.devices(); ++n) {
      if (problem_.from.devices() % n == 0) factors_.push_back(n);
    }
  }

  using State = Shape;

  /// Whether there was enough room and time.
  bool find() {
    State target = problem_.to.tile();
    target.push_back(problem_.to.addend_count());
    offer(target, 0);
    while (!open_.empty()) {
      const auto [cost, state] = open_.top();
      open_.pop();
      if (costs_.at(state) == cost && !look_back(state, cost)) return false;
    }
    return true;
  }
  [[nodiscard]] const std::map<State, Size>& costs() const { return costs_; }

 private:
  [[nodiscard]] Size size_of(const State& state) const {
    Size size = 1;  // tiles are no larger than the array
    for (std::size_t i = 0; i < rank_; ++i) size *= state[i];
    return size;
  }
  /// So many addends come to be on the way, and tiles and addends share the devices evenly.
  [[nodiscard]] bool is_state(const State& state) const {
    const Size addends = state.back();
    if (problem_.from.addend_count() % addends != 0) return false;
    const Size size = size_of(state);
    return size <= bound_ &&
           problem_.from.devices() / addends % (problem_.from.global_size() / size) == 0;
  }
  void offer(const State& state, Size cost) {
    const auto [known, is_new] = costs_.emplace(state, cost);
    if (!is_new && known->second <= cost) return;
    known->second = cost;
    open_.emplace(cost, state);
  }
  /// A step that leads on from `before`, for that price.
  void relax(const State& before, Wide price, Size cost) {
    if (price < below_ - cost && is_state(before)) offer(before, cost + static_cast<Size>(price));
  }
  /// Along dimension j the tile was n times as large before, if the array is.
  [[nodiscard]] bool grows(State& state, std::size_t j, Size n) const {
    if (problem_.from.global()[j] / state[j] % n != 0) return false;
    state[j] *= n;
    return true;
  }

  bool look_back(const State& state, Size cost) {
    for (const Size n : factors_) {
      work_ -= static_cast<Size>((rank_ + 1) * (rank_ + 2));
      if (work_ < 0 || costs_.size() > most_) return false;
      State more = state;
      more.back() *= n;
      relax(more, prices_.allreduce(Wide{size_of(state)}, n), cost);
      for (std::size_t j = 0; j < rank_; ++j) {
        look_back_at(state, j, n, cost);
        if (state[j] % n != 0) continue;
        State gathered = state;
        gathered[j] /= n;
        relax(gathered, prices_.allgather(Wide{size_of(gathered)}, n), cost);
      }
    }
    return true;
  }
  /// Steps that cut dimension j.
  void look_back_at(const State& state, std::size_t j, Size n, Size cost) {
    State before = state;
    if (!grows(before, j, n)) return;
    const Wide size = size_of(before);
    relax(before, prices_.dynslice(size), cost);
    State more = before;
    more.back() *= n;
    relax(more, prices_.reducescatter(size, n), cost);
    for (std::size_t i = 0; i < rank_; ++i) {
      if (i == j || state[i] % n != 0) continue;
      State moved = before;
      moved[i] /= n;
      relax(moved, prices_.alltoall(Wide{size_of(moved)}, n), cost);
    }
  }

  const Problem& problem_;
  Prices prices_;
  std::size_t rank_;
  Size bound_;
  Size below_;
  std::size_t most_;
  Size work_;
  std::vector<Size> factors_;
  std::map<State, Size> costs_;
  using Entry = std::pair<Size, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open_;
};

}  // namespace

Result<Certificate> certify_adding(const Plan& plan, const CertificateOptions& options) {
  Certificate out;
  out.lower_bound = plan.lower_bound;
  if (plan.lower_bound <= plan.problem.to.tile_size()) return out;
  Potentials potentials(plan, options);
  if (!potentials.find()) {
    return refuse({.code = Code::limit_reached,
                   .message = fmt::format("the certificate has more than {} lines, or takes too "
                                          "long to find",
                                          options.most_lines)});
  }
  for (const auto& [state, cost] : potentials.costs()) {
    out.of_addends.push_back({Shape(state.begin(), state.end() - 1), state.back(), cost});
  }
  return out;
}

}  // namespace retile
