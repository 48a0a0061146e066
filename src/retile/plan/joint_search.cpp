// Plans with steps along several dimensions. See joint_search.h.
//
// One allgather costs the target's tile L2 whatever it gathers, and one alltoall costs its tile
// whatever it moves. So little is left to search (S13). Let V be the smallest valley, of which all
// tiles are multiples. A sequence that moves something costs L2, or L2 + V, or L2 + 2V at least:
//
//   L2      one step: D* G, or D* A or D* P where the bottom has L2 elements
//   L2 + V  below L2: D* P G or D* A G; at L2 two steps of those above
//   L2 + 2V D* A P G
//
// The last always leads to the target where one alltoall makes a top of a bottom. What costs less must
// be found or refuted: one exact alltoall, or none.
#include "retile/plan/joint_search.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/plan/digit_lists.h"
#include "retile/plan/paths.h"

namespace retile {
namespace {

/// Exponents of the primes in tile counts, dimension by dimension.
using Lanes = std::vector<Lane>;

/// Puts moves in an order in which one alltoall does what they do one after the other; nothing where
/// there is none. Along a dimension that loses factors the first move pops the fastest digit, along one
/// that gains them the first pushes the slowest.
std::optional<std::vector<WeakPath::Move>> as_one(std::vector<WeakPath::Move> moves) {
  for (const WeakPath::Move& a : moves) {
    for (const WeakPath::Move& b : moves) {
      if (a.from_dim == b.to_dim) return std::nullopt;
    }
  }
  const auto is_slower = [&](std::size_t a, std::size_t b) {
    return (moves[a].from_dim == moves[b].from_dim && a > b) ||
           (moves[a].to_dim == moves[b].to_dim && a < b);
  };
  std::vector<WeakPath::Move> out;
  std::vector<std::size_t> left(moves.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  while (!left.empty()) {
    const auto slowest = std::find_if(left.begin(), left.end(), [&](std::size_t k) {
      return std::none_of(left.begin(), left.end(),
                          [&](std::size_t other) { return other != k && is_slower(other, k); });
    });
    if (slowest == left.end()) return std::nullopt;
    out.push_back(moves[*slowest]);
    left.erase(slowest);
  }
  return out;
}

/// What the kept parts of the device number ask of slices, one alltoall and gathers that need no
/// permutation. A part that stands in another dimension afterwards must leave the one and enter the
/// other whole, with all that is faster (S13). Dimensions are numbered as those of the space.
class MovingParts {
 public:
  MovingParts(const WeakSpace& space, const DigitAlphabet& alphabet)
      : losses_(space.rank()), gains_(space.rank()) {
    for (const DigitAlphabet::Kept& part : alphabet.kept()) {
      const Lane above_from = space.lane_of_count(part.above_from);
      const Lane above_to = space.lane_of_count(part.above_to);
      if (part.from_dim == part.to_dim) {
        possible_ = possible_ && above_from == above_to;
        continue;
      }
      moves_ = true;
      lower(space, losses_[part.from_dim], above_from);
      lower(space, gains_[part.to_dim], above_to);
    }
    for (std::size_t i = 0; i < space.rank(); ++i) {
      possible_ = possible_ && !(losses_[i] && gains_[i]);
    }
  }

  /// Whether one alltoall can put all parts where they belong, as far as can be seen here.
  [[nodiscard]] bool possible() const { return possible_; }
  /// Whether there must be an alltoall.
  [[nodiscard]] bool moves() const { return moves_; }

  /// Whether dimension i may have these tiles at the bottom and at the top.
  [[nodiscard]] bool allow(const WeakSpace& space, std::size_t i, Lane bottom, Lane top) const {
    if (losses_[i])
      return bottom != top && space.covers(bottom, top) && space.covers(*losses_[i], top);
    if (gains_[i])
      return bottom != top && space.covers(top, bottom) && space.covers(*gains_[i], bottom);
    return space.covers(bottom, top) || space.covers(top, bottom);
  }

 private:
  static void lower(const WeakSpace& space, std::optional<Lane>& most, Lane lane) {
    most = most ? space.min(*most, lane) : lane;
  }

  std::vector<std::optional<Lane>>
      losses_;                              // a dimension that must lose: the most its top may have
  std::vector<std::optional<Lane>> gains_;  // one that must gain: the most its bottom may have
  bool possible_ = true;
  bool moves_ = false;
};

/// What digits say of paths that need no permutation.
struct ExactDigits {
  DigitAlphabet& alphabet;
  MovingParts parts;

  /// Whether so many tiles at the bottom tell all pairs of a source and a target tile apart. They must,
  /// whatever alltoalls and gathers follow.
  [[nodiscard]] bool suffice(const WeakSpace& space, const std::vector<int>& totals) const {
    Size tiles = 1;
    for (std::size_t q = 0; q < totals.size(); ++q) {
      for (int k = 0; k < totals[q]; ++k) tiles *= space.primes()[q].prime;
    }
    return alphabet.pairs() <= tiles;
  }

  /// Whether one alltoall may follow where dimension i is sliced to this.
  [[nodiscard]] bool may_begin_with(const WeakSpace& space, std::size_t i, Lane bottom) {
    DigitList list = alphabet.source()[i];
    alphabet.slice(list, space.factor(bottom - space.source(i)));
    const Lane common = space.min(bottom, space.target(i));
    return alphabet.match(list, i, space.factor(common)) != Match::no;
  }
};

/// Looks for slices, one alltoall and gathers that lead to the target: without a permutation, or to its
/// tile shape, so that one beside the alltoall does the rest.
class OneAlltoall {
 public:
  /// \param exact    what digits say of paths without a permutation; nothing: there is one
  /// \param totals   exponents of the number of tiles at the alltoall
  /// \param gathers  whether gathers may follow
  OneAlltoall(const Problem& problem, const WeakSpace& space, ExactDigits* exact,
              std::vector<int> totals, bool gathers, SearchLimits& limits)
      : problem_(problem),
        space_(space),
        exact_(exact),
        totals_(std::move(totals)),
        gathers_(gathers),
        limits_(limits) {}

  /// Nothing: not decided.
  std::optional<bool> run() {
    if (exact_ != nullptr && !(exact_->parts.possible() && exact_->suffice(space_, totals_))) {
      return false;
    }
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      ends_.push_back(ends_of(i));
      if (ends_.back().empty()) return limits_.work >= 0 ? std::optional(false) : std::nullopt;
    }
    bound_ends();
    bottom_.assign(space_.rank(), 0);
    top_.assign(space_.rank(), 0);
    left_.assign(2 * totals_.size(), 0);
    for (std::size_t q = 0; q < totals_.size(); ++q) left_[2 * q] = left_[2 * q + 1] = totals_[q];
    if (choose_ends(0)) return true;
    if (undecided_ || limits_.work < 0) return std::nullopt;
    return false;
  }

  /// Of an exact one.
  [[nodiscard]] const WeakPath& path() const { return path_; }
  [[nodiscard]] const Lanes& bottom() const { return bottom_; }
  [[nodiscard]] const Lanes& top() const { return top_; }

 private:
  /// Exponents at the bottom and at the top.
  using Ends = std::pair<Lane, Lane>;
  /// The least and the most that some dimensions together may have of something.
  struct Range {
    int least = 0;
    int most = 0;
  };

  /// What dimension i may have: slices of the source, of which it loses some or to which it gains
  /// some, so that the target's tiles can be gathered of it.
  std::vector<Ends> ends_of(std::size_t i) {
    const auto above = [&](Lane least) {
      Lanes out = {least};
      for (const Block& block : space_.blocks(space_.cap(i) - least)) {
        out.push_back(least + block.lane);
      }
      return out;
    };
    std::vector<Ends> out;
    const Lanes tops = gathers_ ? above(space_.target(i)) : Lanes{space_.target(i)};
    for (const Lane bottom : above(space_.source(i))) {
      if (!limits_.spend(8 + static_cast<Size>(tops.size()))) return {};
      if (exact_ != nullptr && !exact_->may_begin_with(space_, i, bottom)) continue;
      for (const Lane top : tops) {
        const bool may = exact_ != nullptr
                             ? exact_->parts.allow(space_, i, bottom, top)
                             : space_.covers(bottom, top) || space_.covers(top, bottom);
        if (may) out.emplace_back(bottom, top);
      }
    }
    const auto moved = [&](const Ends& ends) {
      return ends.first > ends.second ? ends.first - ends.second : ends.second - ends.first;
    };
    std::stable_sort(out.begin(), out.end(),
                     [&](const Ends& a, const Ends& b) { return moved(a) < moved(b); });
    return out;
  }

  /// Exponent number k: of prime k / 2, at the bottom where k is even, else at the top.
  [[nodiscard]] int exponent(const Ends& ends, std::size_t k) const {
    return space_.exponent(k % 2 == 0 ? ends.first : ends.second, k / 2);
  }

  /// What the dimensions from each one on have together.
  void bound_ends() {
    const std::size_t numbers = 2 * totals_.size();
    ranges_.assign((space_.rank() + 1) * numbers, {});
    for (std::size_t i = space_.rank(); i-- > 0;) {
      for (std::size_t k = 0; k < numbers; ++k) {
        Range here{exponent(ends_[i].front(), k), 0};
        for (const Ends& ends : ends_[i]) {
          here.least = std::min(here.least, exponent(ends, k));
          here.most = std::max(here.most, exponent(ends, k));
        }
        const Range& after = ranges_[(i + 1) * numbers + k];
        ranges_[i * numbers + k] = {here.least + after.least, here.most + after.most};
      }
    }
  }

  /// Takes what dimension i has off what is left; whether those after it can have the rest.
  bool take(std::size_t i, const Ends& ends) {
    bool fits = true;
    for (std::size_t k = 0; k < left_.size(); ++k) {
      left_[k] -= exponent(ends, k);
      const Range& after = ranges_[(i + 1) * left_.size() + k];
      fits = fits && left_[k] >= after.least && left_[k] <= after.most;
    }
    return fits;
  }

  bool choose_ends(std::size_t i) {
    if (i == space_.rank()) return exact_ == nullptr || choose_digits();
    for (const Ends& ends : ends_[i]) {
      if (!limits_.spend(4)) return false;
      bottom_[i] = ends.first;
      top_[i] = ends.second;
      if (take(i, ends) && choose_ends(i + 1)) return true;
      for (std::size_t k = 0; k < left_.size(); ++k) left_[k] += exponent(ends, k);
    }
    return false;
  }

  bool choose_digits() {
    lists_ = exact_->alphabet.source();
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      exact_->alphabet.slice(lists_[i], space_.factor(bottom_[i] - space_.source(i)));
    }
    popped_ = Lanes(space_.rank(), 0);
    pushed_ = Lanes(space_.rank(), 0);
    moves_.clear();
    return choose_digit();
  }

  /// What dimension i still loses, or gains.
  [[nodiscard]] Lane loses(std::size_t i) const {
    return space_.excess(bottom_[i], top_[i]) - popped_[i];
  }
  [[nodiscard]] Lane gains(std::size_t i) const {
    return space_.excess(top_[i], bottom_[i]) - pushed_[i];
  }

  /// The next digit, a prime; the slowest of those left.
  bool choose_digit() {
    if (!limits_.spend(8 + static_cast<Size>(space_.rank()))) return false;
    bool done = true;
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      if (loses(i) == 0) continue;
      done = false;
      for (std::size_t j = 0; j < space_.rank(); ++j) {
        const Lane common = space_.min(loses(i), gains(j));
        if (common == 0 || comes_before_last(i, j)) continue;
        for (std::size_t q = 0; q < space_.primes().size(); ++q) {
          if (space_.exponent(common, q) == 0 || !suits(i, j)) continue;
          const Lane digit = space_.lane_of(q, 1);
          popped_[i] += digit;
          pushed_[j] += digit;
          moves_.push_back({i, j, space_.factor(digit)});
          if (choose_digit()) return true;
          moves_.pop_back();
          popped_[i] -= digit;
          pushed_[j] -= digit;
        }
      }
    }
    return done && reaches();
  }

  /// Digits between other dimensions may stand in any order: one of them is looked at.
  [[nodiscard]] bool comes_before_last(std::size_t i, std::size_t j) const {
    if (moves_.empty()) return false;
    const WeakPath::Move& last = moves_.back();
    return last.from_dim != i && last.to_dim != j &&
           std::pair(i, j) < std::pair(last.from_dim, last.to_dim);
  }

  /// One prime: whether the digit that i loses next may be what j gains next.
  [[nodiscard]] bool suits(std::size_t i, std::size_t j) const {
    const DigitAlphabet& alphabet = exact_->alphabet;
    if (!alphabet.one_prime()) return true;
    const auto place = static_cast<std::size_t>(bottom_[j] + pushed_[j]);
    if (place >= alphabet.target()[j].size()) return true;
    return lists_[i][static_cast<std::size_t>(top_[i] + popped_[i])] == alphabet.target()[j][place];
  }

  bool reaches() {
    WeakPath path;
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      const Lane slice = bottom_[i] - space_.source(i);
      const Lane gather = top_[i] - space_.target(i);
      if (slice != 0) path.slices.push_back({space_.dim(i), space_.factor(slice)});
      if (gather != 0) path.gathers.push_back({space_.dim(i), space_.factor(gather)});
    }
    for (const WeakPath::Move& move : moves_) {
      const WeakPath::Move next{space_.dim(move.from_dim), space_.dim(move.to_dim), move.factor};
      const bool joins = !path.moves.empty() && path.moves.back().from_dim == next.from_dim &&
                         path.moves.back().to_dim == next.to_dim;
      if (joins) {
        path.moves.back().factor *= next.factor;
      } else {
        path.moves.push_back(next);
      }
    }
    if (!path.moves.empty()) path.together = {path.moves.size()};
    path.gathers_together = true;
    const std::optional<bool> answer = decide(problem_, path, limits_);
    undecided_ = undecided_ || !answer;
    if (!answer.value_or(false)) return false;
    path_ = std::move(path);
    return true;
  }

  const Problem& problem_;
  const WeakSpace& space_;
  ExactDigits* exact_;
  std::vector<int> totals_;
  bool gathers_;
  SearchLimits& limits_;
  std::vector<std::vector<Ends>> ends_;  // by dimension
  std::vector<Range> ranges_;            // by dimension and exponent
  std::vector<int> left_;                // by exponent
  Lanes bottom_;
  Lanes top_;
  DigitLists lists_;  // of the bottom
  Lanes popped_;
  Lanes pushed_;
  std::vector<WeakPath::Move> moves_;
  WeakPath path_;
  bool undecided_ = false;
};

class OverDimsSearch {
 public:
  OverDimsSearch(const Problem& problem, const PlanOptions& options, const WeakSpace& space,
                 const std::vector<Level>& levels, LazyAlphabet& alphabet, Size& work,
                 std::optional<Wide> known)
      : problem_(problem), options_(options), space_(space), alphabet_(alphabet), known_(known) {
    level_ = *std::min_element(levels.begin(), levels.end(),
                               [](const Level& a, const Level& b) { return a.tile < b.tile; });
    if (options.memory_limit_bytes) {
      limits_.resident = *options.memory_limit_bytes / options.element_bytes;
    }
    limits_.work = std::min(work, most_work);
    work_before_ = limits_.work;
  }

  OverDimsAnswer run(Size& work) {
    search();
    work -= std::min(work_before_ - limits_.work, work);
    return std::move(out_);
  }

 private:
  /// What is looked at for one problem: some milliseconds. Beyond it less is proved.
  static constexpr Size most_work = Size{1} << 18;

  [[nodiscard]] Wide target_tile() const { return problem_.to.tile_size(); }
  /// Whether nothing is to be looked for that costs more.
  [[nodiscard]] bool found_below(Wide cost) const {
    return (out_.best && out_.best->cost <= cost) || (known_ && *known_ <= cost);
  }
  /// Whether something is gathered from the smallest valley on.
  [[nodiscard]] bool gathers() const { return level_.tile < target_tile(); }

  void search() {
    if (const auto path = slicing_path(space_)) {
      if (may_stay_apart() && offer_exact(*path)) return;
      offer(*path, true);  // a permutation alone costs L2
    }
    out_.lower_bound = target_tile();
    if (found_below(target_tile())) return;
    const bool one_step_refuted = search_one_step();
    if (found_below(target_tile())) return;
    const Wide valley = level_.tile;
    if (options_.over_partition && one_step_refuted) out_.lower_bound += valley;
    const bool two_steps_refuted = search_two_steps();
    if (found_below(target_tile() + valley)) return;
    if (options_.over_partition && one_step_refuted && two_steps_refuted && gathers()) {
      out_.lower_bound += valley;
    }
    const bool exact_refuted = one_step_refuted && (two_steps_refuted || !gathers());
    const bool refuted = search_one_and_permutation(exact_refuted);
    if (options_.over_partition && refuted && exact_refuted && needs_permutation()) {
      out_.lower_bound += valley;
    }
  }

  /// Whether alltoalls and gathers alone never do, by counting.
  bool needs_permutation() {
    return exact() != nullptr && !exact()->suffice(space_, level_.totals);
  }
  /// Whether slices and gathers may do without an alltoall and a permutation.
  bool may_stay_apart() {
    return exact() == nullptr || (exact()->parts.possible() && !exact()->parts.moves());
  }

  /// Nothing where the digits do not nest.
  ExactDigits* exact() {
    if (!alphabet_.get().usable()) return nullptr;
    if (!exact_) exact_.emplace(ExactDigits{alphabet_.get(), {space_, alphabet_.get()}});
    return &*exact_;
  }

  /// One exact step that costs L2. Returns whether there is proved to be none.
  bool search_one_step() {
    bool refuted = true;
    if (const auto path = gathering_path(false)) {
      gathers_over_dims_ = path->gathers.size() > 1;
      const std::optional<bool> exact = gathers_exactly(*path);
      if (exact.value_or(false)) offer(*path, false);
      refuted = exact.has_value();
      if (found_below(target_tile())) return false;
    }
    std::vector<int> totals(space_.primes().size(), 0);
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      for (std::size_t q = 0; q < totals.size(); ++q) {
        totals[q] += space_.exponent(space_.target(i), q);
      }
    }
    return search_alltoall(totals, false) && refuted;
  }

  /// Nothing: not decided.
  std::optional<bool> gathers_exactly(const WeakPath& path) {
    if (!may_stay_apart()) return false;
    return decide(problem_, path, limits_);
  }

  /// Two steps that cost L2 + V, V the smallest valley and below L2.
  bool search_two_steps() {
    if (!gathers()) return false;
    if (const auto path = gathering_path(true)) {
      offer(*path, true);
      // Along one dimension each only an exact alltoall and a gather cost as little.
      out_.no_other = gathers_over_dims_ && needs_permutation();
      return false;
    }
    return search_alltoall(level_.totals, true);
  }

  /// Returns whether there is proved to be none.
  bool search_alltoall(const std::vector<int>& totals, bool gathers) {
    if (exact() == nullptr) return false;
    OneAlltoall search(problem_, space_, exact(), totals, gathers, limits_);
    const std::optional<bool> found = search.run();
    if (found.value_or(false)) offer(search.path(), false);
    return found.has_value() && !*found;
  }

  /// Slices and one gather over the coarsest tiles that both ends are made of, or, where a permutation
  /// stands between, over the smallest ones.
  [[nodiscard]] std::optional<WeakPath> gathering_path(bool smallest) const {
    std::vector<int> left = level_.totals;
    Lanes bottom;
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      bottom.push_back(space_.source(i) + space_.excess(space_.target(i), space_.source(i)));
      for (std::size_t q = 0; q < left.size(); ++q) {
        left[q] -= space_.exponent(bottom[i], q);
        if (left[q] < 0) return std::nullopt;
      }
    }
    for (std::size_t i = 0; i < space_.rank() && smallest; ++i) raise(bottom[i], i, left);
    return path_between(bottom, bottom);
  }

  /// Raises exponents of dimension i by as much as there is room and left.
  void raise(Lane& lane, std::size_t i, std::vector<int>& left) const {
    for (std::size_t q = 0; q < left.size(); ++q) {
      const int more = std::min(space_.exponent(space_.cap(i) - lane, q), left[q]);
      lane += space_.lane_of(q, more);
      left[q] -= more;
    }
  }

  /// Slices, one alltoall and one gather. Precondition: of a bottom and a top in every dimension one
  /// covers the other.
  [[nodiscard]] WeakPath path_between(const Lanes& bottom, const Lanes& top) const {
    WeakPath path;
    Lanes here = bottom;
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      for (std::size_t j = 0; j < space_.rank(); ++j) {
        const Lane block =
            space_.min(space_.excess(here[i], top[i]), space_.excess(top[j], here[j]));
        if (block == 0) continue;
        path.moves.push_back({space_.dim(i), space_.dim(j), space_.factor(block)});
        here[i] -= block;
        here[j] += block;
      }
    }
    RETILE_ASSERT(here == top, "bottom and top have as many tiles");
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      const Lane slice = bottom[i] - space_.source(i);
      const Lane gather = top[i] - space_.target(i);
      if (slice != 0) path.slices.push_back({space_.dim(i), space_.factor(slice)});
      if (gather != 0) path.gathers.push_back({space_.dim(i), space_.factor(gather)});
    }
    if (!path.moves.empty()) path.together = {path.moves.size()};
    path.gathers_together = true;
    return path;
  }

  /// An alltoall and a permutation in the smallest valley, or more alltoalls. Returns whether one alltoall
  /// is proved not to do, wherever the tiles lie.
  /// \param exact_refuted  one alltoall is proved not to do without a permutation
  bool search_one_and_permutation(bool exact_refuted) {
    for (const bool from_source : {true, false}) {
      const WeakPath path = merged(greedy_path(space_, level_, from_source));
      const bool is_one = path.alltoalls().size() <= 1;
      const bool may_be_exact = !(exact_refuted && is_one) && !needs_permutation();
      if (!may_be_exact || !may_be_below(cost_of(path, false)) || !offer_exact(path)) {
        offer(path, true);
      }
      if (is_one) return false;
    }
    OneAlltoall search(problem_, space_, nullptr, level_.totals, true, limits_);
    const std::optional<bool> found = search.run();
    if (found.value_or(false)) offer(path_between(search.bottom(), search.top()), true);
    return found.has_value() && !*found;
  }

  [[nodiscard]] Wide cost_of(const WeakPath& path, bool permute) const {
    const Wide valley = valley_of(problem_, path);
    const auto steps = static_cast<Wide>(path.alltoalls().size()) + (permute ? 1 : 0);
    return valley * steps + (path.gathers.empty() ? 0 : target_tile());
  }

  [[nodiscard]] bool obeys_limit(const WeakPath& path, bool permute) const {
    return !limits_.resident || resident_of(problem_, path, permute) <= *limits_.resident;
  }

  [[nodiscard]] bool may_be_below(Wide cost) const {
    return (!out_.best || cost < out_.best->cost) && (!known_ || cost < *known_);
  }

  /// Whether digits say that the path is exact.
  bool offer_exact(const WeakPath& path) {
    std::optional<SliceDigits> digits = unify(problem_, path);
    if (!digits) return false;
    offer(path, false, *std::move(digits));
    return true;
  }

  /// \param permute  else the path is known to be exact
  void offer(const WeakPath& path, bool permute) {
    if (!permute && offer_exact(path)) return;
    offer(path, permute, default_digits(problem_, path));
  }

  void offer(const WeakPath& path, bool permute, SliceDigits digits) {
    const Wide cost = cost_of(path, permute);
    if (!may_be_below(cost) || !obeys_limit(path, permute)) return;
    out_.best = RealisedPath{path, std::move(digits), permute, cost};
  }

  const Problem& problem_;
  const PlanOptions& options_;
  const WeakSpace& space_;
  LazyAlphabet& alphabet_;
  std::optional<Wide> known_;  // what a plan costs
  Level level_;                // the smallest valley
  SearchLimits limits_;
  Size work_before_ = 0;
  std::optional<ExactDigits> exact_;
  bool gathers_over_dims_ = false;  // whatever is gathered is so along two dimensions at least
  OverDimsAnswer out_;
};

}  // namespace

WeakPath merged(const WeakPath& path) {
  WeakPath out = path;
  out.gathers_together = true;
  out.moves.clear();
  out.together.clear();
  std::vector<WeakPath::Move> run;
  std::vector<WeakPath::Move> ordered;
  const auto settle = [&] {
    if (run.empty()) return;
    out.moves.insert(out.moves.end(), ordered.begin(), ordered.end());
    out.together.push_back(ordered.size());
    run.clear();
  };
  for (const WeakPath::Move& move : path.moves) {
    run.push_back(move);
    if (auto longer = as_one(run)) {
      ordered = *std::move(longer);
      continue;
    }
    run.pop_back();
    settle();
    run = ordered = {move};
  }
  settle();
  return out;
}

OverDimsAnswer search_over_dims(const Problem& problem, const PlanOptions& options,
                                const WeakSpace& space, const std::vector<Level>& levels,
                                LazyAlphabet& alphabet, Size& work, std::optional<Wide> known) {
  return OverDimsSearch(problem, options, space, levels, alphabet, work, known).run(work);
}

}  // namespace retile
