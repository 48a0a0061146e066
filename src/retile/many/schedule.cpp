#include "retile/many/schedule.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace retile::many {
namespace {

/// The devices of a kind, as places in a list of all.
class Places {
 public:
  Places(const std::vector<Size>& devices, const Problem& problem) {
    if (!problem.numbers.are_listed())
      return;  // they are the first ones of the list, as all are there
    for (const Size number : problem.numbers.list()) {
      const auto found = std::lower_bound(devices.begin(), devices.end(), number);
      places_.push_back(static_cast<std::size_t>(found - devices.begin()));
    }
  }
  [[nodiscard]] std::size_t of(std::size_t device) const {
    return places_.empty() ? device : places_[device];
  }

 private:
  std::vector<std::size_t> places_;
};

/// The numbers of all devices of these kinds; nothing where they are too many.
std::optional<std::vector<Size>> devices_of(const std::vector<Kind>& kinds) {
  std::vector<Size> out;
  Size counted = 0;
  for (const Kind& kind : kinds) {
    const Size devices = kind.problem.from.devices();
    if (devices > most_devices) return std::nullopt;
    if (!kind.problem.numbers.are_listed()) {
      counted = std::max(counted, devices);
      continue;
    }
    const std::vector<Size>& list = kind.problem.numbers.list();
    out.insert(out.end(), list.begin(), list.end());
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  }
  const std::vector<Size> first = from_zero(counted);
  std::vector<Size> all;
  std::set_union(first.begin(), first.end(), out.begin(), out.end(), std::back_inserter(all));
  if (static_cast<Size>(all.size()) > most_devices) return std::nullopt;
  return all;
}

/// A kind and what is known of its arrays.
struct Row {
  const Kind* kind;
  Places places;
  Holding holding;
  [[nodiscard]] std::size_t devices() const { return holding.from.size(); }
  [[nodiscard]] Size count() const { return static_cast<Size>(kind->arrays.size()); }
  /// How much more than its new tile some device holds while an array goes.
  [[nodiscard]] Size beside() const {
    Size most = 0;
    for (std::size_t d = 0; d < devices(); ++d) {
      most = std::max(most, holding.going[d] - holding.to[d]);
    }
    return most;
  }
};

Diagnostic too_many_bytes() {
  return {.code = Code::size_overflow,
          .message = "the bytes of all arrays of a device do not fit in 63 bits"};
}

/// Adds `times` as many bytes; whether they fit.
bool add(Size& sum, Size bytes, Size times) {
  const auto more = checked_mul(bytes, times);
  const auto out = more ? checked_add(sum, *more) : std::nullopt;
  if (out) sum = *out;
  return out.has_value();
}

/// Puts arrays into rounds.
class Rounds {
 public:
  /// \param sums  with `from` and `to` of all arrays; gets the peaks
  Rounds(const std::vector<Row>& rows, std::optional<Size> limit, std::vector<Sums>& sums)
      : rows_(rows), limit_(limit), sums_(sums), held_(sums.size()), under_way_(sums.size()) {
    for (std::size_t d = 0; d < sums.size(); ++d) {
      held_[d] = sums[d].from;
      sums[d].peak = sums[d].from;
    }
  }

  /// \return the kind of which not one more array fits, in the order in which they go
  std::optional<std::size_t> fill(const std::vector<std::size_t>& order) {
    for (const std::size_t kind : order) {
      for (Size done = 0; done < rows_[kind].count();) {
        Size more = room(rows_[kind], rows_[kind].count() - done);
        if (more == 0) {
          if (round_.empty()) return kind;
          close();
          continue;
        }
        take(kind, done, more);
        done += more;
      }
    }
    close();
    return std::nullopt;
  }
  [[nodiscard]] std::vector<Round> rounds() { return std::move(rounds_); }

 private:
  /// How many of `wanted` arrays of a kind may join the round.
  [[nodiscard]] Size room(const Row& row, Size wanted) const {
    if (!limit_) return wanted;
    for (std::size_t d = 0; d < row.devices(); ++d) {
      const Size going = row.holding.going[d];
      const std::size_t at = row.places.of(d);
      const Size free = *limit_ - held_[at] - under_way_[at];
      if (free < 0) return 0;
      if (going > 0) wanted = std::min(wanted, free / going);
    }
    return wanted;
  }
  void take(std::size_t kind, Size begin, Size count) {
    const Row& row = rows_[kind];
    for (std::size_t d = 0; d < row.devices(); ++d) {
      under_way_[row.places.of(d)] += row.holding.going[d] * count;
    }
    round_.push_back(
        {kind, static_cast<std::size_t>(begin), static_cast<std::size_t>(begin + count)});
  }
  /// The round is over: what went is there.
  void close() {
    if (round_.empty()) return;
    for (std::size_t d = 0; d < sums_.size(); ++d) {
      sums_[d].peak = std::max(sums_[d].peak, held_[d] + std::exchange(under_way_[d], 0));
    }
    for (const Share& share : round_) {
      const Row& row = rows_[share.kind];
      for (std::size_t d = 0; d < row.devices(); ++d) {
        held_[row.places.of(d)] += row.holding.to[d] * static_cast<Size>(share.end - share.begin);
      }
    }
    rounds_.push_back(std::exchange(round_, {}));
  }

  const std::vector<Row>& rows_;
  std::optional<Size> limit_;
  std::vector<Sums>& sums_;
  std::vector<Size> held_;
  std::vector<Size> under_way_;
  Round round_;
  std::vector<Round> rounds_;
};

tl::unexpected<Unscheduled> fail(Diagnostic why, std::optional<std::size_t> kind = {}) {
  return tl::unexpected<Unscheduled>({.why = std::move(why), .kind = kind});
}

class Scheduler {
 public:
  Scheduler(const Arrays& arrays, const PlanOptions& options, const Progress& progress,
            const Instead& instead)
      : arrays_(arrays), options_(options), progress_(progress), instead_(instead) {
    limit_ = std::exchange(options_.memory_limit_bytes, std::nullopt);
  }

  tl::expected<Schedule, Unscheduled> run() {
    auto devices = devices_of(arrays_.kinds);
    if (!devices) {
      return fail(
          {.code = Code::limit_reached, .message = "sums by device are of at most 2^20 devices"});
    }
    out_.devices = *std::move(devices);
    out_.sums.resize(out_.devices.size());
    for (std::size_t k = 0; k < arrays_.kinds.size(); ++k) {
      if (progress_) progress_(static_cast<Size>(k), static_cast<Size>(arrays_.kinds.size()));
      if (auto done = plan_kind(k); !done) return fail(done.error(), k);
    }
    if (auto failed = fill_rounds()) return tl::unexpected(*std::move(failed));
    return std::move(out_);
  }

 private:
  Result<void> plan_kind(std::size_t k) {
    const Kind& kind = arrays_.kinds[k];
    options_.element_bytes = kind.element_bytes;
    auto planned = plan(kind.problem, options_);
    if (!planned) return refuse(std::move(planned.error()));
    out_.ways.push_back({.plan = *std::move(planned)});
    if (instead_) {
      auto program = instead_(kind, options_);
      if (!program) return refuse(std::move(program.error()));
      out_.ways.back().program = *std::move(program);
    }
    auto holding = holding_of(out_.ways.back(), kind);
    if (!holding) return refuse(std::move(holding.error()));
    rows_.push_back({&kind, Places(out_.devices, kind.problem), *std::move(holding)});
    const Row& row = rows_.back();
    // Where all that a device can ever hold fits, the sums of rounds need no checks.
    for (std::size_t d = 0; d < row.devices(); ++d) {
      Sums& sums = out_.sums[row.places.of(d)];
      const bool fits = add(sums.from, row.holding.from[d], row.count()) &&
                        add(sums.to, row.holding.to[d], row.count()) &&
                        add(sums.peak, row.holding.from[d], row.count()) &&
                        add(sums.peak, row.holding.going[d], row.count());
      if (!fits) return refuse(too_many_bytes());
    }
    return {};
  }

  /// The kinds whose arrays hold most beside their new tiles first.
  [[nodiscard]] std::vector<std::size_t> order() const {
    std::vector<Size> beside;
    for (const Row& row : rows_) beside.push_back(row.beside());
    std::vector<std::size_t> out(rows_.size());
    std::iota(out.begin(), out.end(), std::size_t{0});
    std::stable_sort(out.begin(), out.end(),
                     [&](std::size_t a, std::size_t b) { return beside[a] > beside[b]; });
    return out;
  }

  /// Exchanges take the place of ever more kinds' steps, so that thousands of kinds are filled in a few times.
  std::optional<Unscheduled> fill_rounds() {
    for (std::size_t more = 1;; more *= 2) {
      Rounds rounds(rows_, limit_, out_.sums);
      const std::vector<std::size_t> kinds = order();
      const auto stuck = rounds.fill(kinds);
      if (!stuck) {
        out_.rounds = rounds.rounds();
        return std::nullopt;
      }
      if (out_.ways[*stuck].is_exchange() || options_.collectives) return over_limit();
      send_directly(std::find(kinds.begin(), kinds.end(), *stuck), kinds.end(), more);
    }
  }
  /// The first of these kinds that go by steps, at most so many.
  template <typename Iterator>
  void send_directly(Iterator kind, Iterator end, std::size_t most) {
    for (; kind != end && most > 0; ++kind) {
      if (out_.ways[*kind].is_exchange()) continue;
      out_.ways[*kind].direct = true;
      rows_[*kind].holding.going = rows_[*kind].holding.to;
      --most;
    }
  }

  [[nodiscard]] Unscheduled over_limit() const {
    Unscheduled out{
        .why = {.code = Code::infeasible, .message = "no order of the arrays keeps the limit"}};
    if (options_.collectives) return out;
    Size least = 0;
    for (const Sums& sums : out_.sums) least = std::max(least, sums.from + sums.to);
    out.least_bytes = least;
    return out;
  }

  const Arrays& arrays_;
  PlanOptions options_;
  const Progress& progress_;
  const Instead& instead_;
  std::optional<Size> limit_;
  std::vector<Row> rows_;
  Schedule out_;
};

}  // namespace

tl::expected<Schedule, Unscheduled> schedule(const Arrays& arrays, const PlanOptions& options,
                                             const Progress& progress, const Instead& instead) {
  return Scheduler(arrays, options, progress, instead).run();
}

tl::expected<bool, Unscheduled> count_traffic(const Arrays& arrays, Schedule& schedule) {
  for (std::size_t k = 0; k < arrays.kinds.size(); ++k) {
    const Kind& kind = arrays.kinds[k];
    auto traffic = traffic_of(schedule.ways[k], kind.problem, schedule.node_devices);
    if (!traffic) return fail(std::move(traffic.error()), k);
    if (!*traffic) return false;
    const Places places(schedule.devices, kind.problem);
    const Size count = static_cast<Size>(kind.arrays.size());
    const auto bytes = checked_mul(kind.element_bytes, count);
    for (std::size_t d = 0; d < (*traffic)->received.size(); ++d) {
      Sums& sums = schedule.sums[places.of(d)];
      if (!bytes || !add(sums.received, (*traffic)->received[d], *bytes) ||
          !add(sums.sent, (*traffic)->sent[d], *bytes) ||
          !add(sums.crossed, (*traffic)->crossed[d], *bytes)) {
        return fail(too_many_bytes());
      }
    }
  }
  return true;
}

}  // namespace retile::many
