#include "retile/network/timed_search.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/digits.h"
#include "retile/core/primes.h"

namespace retile::network {
namespace {

constexpr std::size_t most_digits = 32;  // of a number below 2^32, each at least 2

/// A digit in as few bytes as do.
struct Part {
  std::uint32_t stride;
  std::uint32_t size;
  friend bool operator==(const Part&, const Part&) = default;
};
using Digits = Few<Digit, most_digits>;

/// Who holds what: the digits that tell the tiles of every dimension apart, minor to major. They are as few as
/// can be, so equal states are the same.
class State {
 public:
  /// Behind the last digit of the last dimension, which is joined with it where they touch.
  void push(const Digit& digit) {
    if (digit.size == 1) return;
    const Part part{static_cast<std::uint32_t>(digit.stride),
                    static_cast<std::uint32_t>(digit.size)};
    const std::size_t begin = ends_.empty() ? 0 : ends_.back();
    if (parts_.size() > begin) {
      Part& last = parts_.back();
      if (Size{last.stride} * last.size == digit.stride) {
        last.size *= part.size;
        return;
      }
    }
    parts_.push_back(part);
  }
  void end_dimension() { ends_.push_back(static_cast<std::uint8_t>(parts_.size())); }
  /// Makes it a class: digits of levels up to this one are left open, and have stride 0.
  void leave_open(std::size_t level) { open_ = static_cast<std::uint8_t>(level); }

  [[nodiscard]] std::optional<std::size_t> open() const {
    return open_ == none ? std::nullopt : std::optional<std::size_t>(open_);
  }
  [[nodiscard]] Digits dimension(std::size_t i) const {
    Digits out;
    for (std::size_t k = i == 0 ? 0 : ends_[i - 1]; k < ends_[i]; ++k) {
      out.push_back({parts_[k].stride, parts_[k].size});
    }
    return out;
  }
  [[nodiscard]] Size tiles(std::size_t i) const {
    Size out = 1;
    for (std::size_t k = i == 0 ? 0 : ends_[i - 1]; k < ends_[i]; ++k) out *= parts_[k].size;
    return out;
  }
  /// Those of all dimensions.
  [[nodiscard]] const Few<Part, most_digits>& parts() const { return parts_; }

  [[nodiscard]] std::size_t hash() const {
    std::uint64_t out = open_;
    const auto add = [&out](std::uint64_t word) {
      out = (out ^ word) * 0x9e3779b97f4a7c15U;
      out ^= out >> 29U;
    };
    for (const Part& part : parts_) add(std::uint64_t{part.stride} << 32U | part.size);
    for (const std::uint8_t end : ends_) add(end);
    return static_cast<std::size_t>(out);
  }
  friend bool operator==(const State& a, const State& b) {
    return a.open_ == b.open_ &&
           std::equal(a.ends_.begin(), a.ends_.end(), b.ends_.begin(), b.ends_.end()) &&
           std::equal(a.parts_.begin(), a.parts_.end(), b.parts_.begin(), b.parts_.end());
  }

 private:
  static constexpr std::uint8_t none = 255;
  Few<Part, most_digits> parts_;
  Few<std::uint8_t, most_rank> ends_;
  std::uint8_t open_ = none;
};

/// Cost first, then steps that move something.
struct Label {
  Wide time = 0;
  Size moves = 0;
  friend auto operator<=>(const Label&, const Label&) = default;
};

Wide sum(Wide a, Wide b) {
  constexpr Wide most = Wide{1} << 126;
  return std::min(a + b, most);
}

/// What one step does, to be said in full once it is known which steps are taken.
struct Action {
  Collective op{};
  std::size_t dim = 0;
  std::size_t to_dim = 0;
  Size factor = 1;
  Digit digit = {};  ///< of a slice
};

/// A place in an index along one dimension that a digit of the device number says: of an index i,
/// (i div low) mod (high div low).
struct Fixed {
  Size low = 1;
  Size high = 1;
  Size stride = 1;  ///< of the digit
  Size size = 1;
  std::size_t level = 0;
};

class Search {
 public:
  Search(const Problem& problem, const Network& network, const SearchOptions& options)
      : problem_(problem),
        network_(network),
        options_(options),
        devices_(problem.from.devices()),
        rank_(problem.from.rank()),
        levels_(network.levels().size()),
        global_(problem.from.global()),
        extents_(options.extents.empty() ? global_ : options.extents) {
    for (const auto& prime : factorize(devices_)) primes_.push_back(prime.prime);
    for (Size part = 2; part * part <= devices_; ++part) {
      if (devices_ % part != 0) continue;
      factors_.push_back(part);
      if (part != devices_ / part) factors_.push_back(devices_ / part);
    }
    factors_.push_back(devices_);
    std::sort(factors_.begin(), factors_.end());
    if (options.whole_digits) find_cuts();
    target_ = state_of(problem.to);
    find_needed();
  }

  Found run() {
    const std::uint32_t source = number_of(state_of(problem_.from));
    const std::uint32_t goal = goal_ = number_of(target_);
    relax(source, source, {}, {});
    Found out;
    out.floor = nodes_[source].rest;
    while (!heap_.empty()) {
      const Entry entry = heap_.front();
      if (work_ > limit_) break;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
      const Node& node = nodes_[entry.node];
      if (entry.label != node.label) continue;  // reached for less since
      if (options_.haste > 1) {
        if (known_ && entry.bound >= *known_) continue;
      } else if (entry.node == goal) {
        out.time = node.label.time;
        out.lower_bound = out.time;
        out.steps = steps_to(goal);
        out.work = work_;
        return out;
      }
      if (node.state.open()) {
        expand_class(entry.node);
      } else {
        expand(entry.node);
      }
    }
    out.work = work_;
    out.complete = heap_.empty();
    Wide open = std::numeric_limits<Wide>::max();
    for (const Entry& entry : heap_) open = std::min(open, entry.bound);
    const Node& end = nodes_[goal];
    if (end.reached) {
      out.time = end.label.time;
      out.steps = steps_to(goal);
    } else {
      out.time = options_.known.value_or(std::numeric_limits<Wide>::max());
    }
    out.lower_bound = std::min(open, out.time);
    return out;
  }

 private:
  struct Node {
    State state;
    Label label;
    bool reached = false;
    Wide rest = 0;  ///< at least so much is left
    std::uint32_t parent = 0;
    Action action;
  };
  struct Entry {
    Wide bound = 0;  ///< of all that goes through here
    Wide order = 0;  ///< where less comes first
    Label label;
    std::uint32_t node = 0;
    friend bool operator<(const Entry& a, const Entry& b) {
      return std::tuple(a.order, a.label.moves, b.label.time, a.node) >
             std::tuple(b.order, b.label.moves, a.label.time, b.node);
    }
  };

  // ---- States -----------------------------------------------------------------------------------

  [[nodiscard]] static State state_of(const Layout& layout) {
    State out;
    for (const auto& list : layout.digits()) {
      for (const Digit& digit : list) out.push(digit);
      out.end_dimension();
    }
    return out;
  }

  /// Nodes are found by what they hold.
  struct Hash {
    const std::vector<Node>* nodes;
    std::size_t operator()(std::uint32_t node) const { return (*nodes)[node].state.hash(); }
  };
  struct Same {
    const std::vector<Node>* nodes;
    bool operator()(std::uint32_t a, std::uint32_t b) const {
      return (*nodes)[a].state == (*nodes)[b].state;
    }
  };

  std::uint32_t number_of(const State& state) {
    const auto number = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
    nodes_.back().state = state;
    const auto [found, is_new] = numbers_.insert(number);
    if (is_new) {
      nodes_.back().rest = least_from(state);
    } else {
      nodes_.pop_back();
    }
    return *found;
  }

  [[nodiscard]] Size tile_along(const State& state, std::size_t i) const {
    return global_[i] / state.tiles(i);
  }
  [[nodiscard]] Size tile_of(const State& state) const {
    Size out = 1;
    for (std::size_t i = 0; i < rank_; ++i) out *= tile_along(state, i);
    return out;
  }
  /// What of a tile lies in the array: elements, if there are so many times as many along one dimension, and fewer
  /// along another.
  [[nodiscard]] std::optional<Size> held(const State& state, std::size_t grown = most_rank,
                                         std::size_t cut = most_rank, Size factor = 1) const {
    std::optional<Size> out = 1;
    for (std::size_t i = 0; i < rank_ && out; ++i) {
      Size tile = tile_along(state, i);
      if (i == grown) tile *= factor;
      if (i == cut) tile /= factor;
      out = checked_mul(*out, std::min(tile, extents_[i]));
    }
    return out;
  }
  [[nodiscard]] bool fits(Size before, Size after) const {
    if (after > options_.most_tile) return false;
    const auto both = checked_add(before, after);
    return !options_.most_resident || (both && *both <= *options_.most_resident);
  }

  /// Of no interest, whatever is left.
  [[nodiscard]] bool too_late(const Label& label) {
    if (!known_ || label.time < *known_) return false;
    ++work_;
    return true;
  }

  void relax(std::uint32_t to, std::uint32_t from, const Label& label, const Action& action) {
    ++work_;
    Node& node = nodes_[to];
    if (node.reached && node.label <= label) return;
    const Wide bound = sum(label.time, node.rest);
    if (known_ && bound >= *known_) return;
    node.reached = true;
    node.label = label;
    node.parent = from;
    node.action = action;
    if (options_.haste > 1 && to == goal_) {
      known_ = label.time;
      limit_ = std::clamp(8 * work_, limit_, options_.most_work);
    }
    heap_.push_back(
        {bound, sum(label.time, node.rest * static_cast<Wide>(options_.haste)), label, to});
    std::push_heap(heap_.begin(), heap_.end());
  }

  /// Where digits may be cut if only whole ones are moved.
  void find_cuts() {
    for (const Layout* const layout : {&problem_.from, &problem_.to}) {
      for (const auto& list : layout->digits()) {
        for (const Digit& digit : network_.cut(list)) {
          cuts_.push_back(digit.stride);
          cuts_.push_back(digit.stride * digit.size);
        }
      }
    }
    for (const Level& level : network_.levels()) {
      for (const Digit& digit : level.digits) cuts_.push_back(digit.stride);
    }
    cuts_.push_back(devices_);
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
  }
  [[nodiscard]] bool may_cut(Size stride) const {
    if (!network_.nests(stride)) return false;
    return cuts_.empty() || std::binary_search(cuts_.begin(), cuts_.end(), stride);
  }

  // ---- Steps ------------------------------------------------------------------------------------

  [[nodiscard]] Label after(const Label& label, Amounts traffic) const {
    for (Wide& amount : traffic) amount *= static_cast<Wide>(options_.element_bytes);
    return {sum(label.time, network_.time(traffic)), label.moves + 1};
  }

  static constexpr std::size_t nowhere = most_rank;

  /// A state with other digits in one dimension, and more at the minor end of another.
  [[nodiscard]] State changed(const State& before, std::size_t dim, const Digits& digits,
                              std::size_t to_dim, const Digits& more) const {
    State out;
    for (std::size_t i = 0; i < rank_; ++i) {
      if (i == to_dim) {
        for (const Digit& digit : more) out.push(digit);
      }
      for (const Digit& digit : i == dim ? digits : before.dimension(i)) out.push(digit);
      out.end_dimension();
    }
    return out;
  }

  void expand(std::uint32_t at) {
    const State state = nodes_[at].state;
    const Label label = nodes_[at].label;
    const Size tile = tile_of(state);
    slices(at, state, label);
    for (std::size_t i = 0; i < rank_; ++i) {
      const Digits list = state.dimension(i);
      Digits popped;
      // Digit by digit off the minor end, and part by part of each.
      for (std::size_t k = 0; k < list.size(); ++k) {
        const Digit digit = list[k];
        for (const Size part : factors_) {
          if (digit.size % part != 0 || !may_cut(digit.stride * part)) continue;
          Digits off = popped;
          off.push_back({digit.stride, part});
          Digits left;
          if (part < digit.size) left.push_back({digit.stride * part, digit.size / part});
          for (std::size_t rest = k + 1; rest < list.size(); ++rest) left.push_back(list[rest]);
          take(at, {state, left, off, i, tile, label});
        }
        popped.push_back(digit);
      }
    }
    for (std::size_t l = 0; l < levels_; ++l) permutation(at, state, label, tile, l);
  }

  /// Digits off the minor end of dimension i.
  struct Popped {
    const State& before;
    const Digits& left;
    const Digits& digits;
    std::size_t dim;
    Size tile;
    const Label& label;
  };

  void take(std::uint32_t at, const Popped& off) {
    const Members members = network_.members_of(off.digits);
    const Size n = members.back();
    const Size before = held(off.before).value_or(off.tile);
    const auto gathered = held(off.before, off.dim, nowhere, n);
    if (gathered && fits(before, *gathered)) {
      const Label label =
          after(off.label, Traffic::allgather(static_cast<Wide>(off.tile), members));
      if (!too_late(label)) {
        relax(number_of(changed(off.before, off.dim, off.left, nowhere, {})), at, label,
              {Collective::allgather, off.dim, 0, n, {}});
      }
    }
    const Label label = after(off.label, Traffic::alltoall(static_cast<Wide>(off.tile), members));
    if (too_late(label)) return;
    for (std::size_t j = 0; j < rank_; ++j) {
      if (j == off.dim || tile_along(off.before, j) % n != 0) continue;
      const auto moved = held(off.before, off.dim, j, n);
      if (!moved || !fits(before, *moved)) continue;
      relax(number_of(changed(off.before, off.dim, off.left, j, off.digits)), at, label,
            {Collective::alltoall, off.dim, j, n, {}});
    }
  }

  [[nodiscard]] Digits unused(const State& state) const {
    auto used = state.parts();
    std::sort(used.begin(), used.end(),
              [](const Part& a, const Part& b) { return a.stride < b.stride; });
    Digits out;
    Size reach = 1;
    for (const Part& part : used) {
      if (part.stride > reach) out.push_back({reach, part.stride / reach});
      reach = Size{part.stride} * part.size;
    }
    if (reach < devices_) out.push_back({reach, devices_ / reach});
    return out;
  }

  /// Calls use(digit) for every part of prime size of some digits, or for each between two cuts.
  template <typename Use>
  void each_part(const Digits& digits, const Use& use) const {
    for (const Digit& digit : digits) {
      if (!cuts_.empty()) {
        Size from = digit.stride;
        for (const Size cut : cuts_) {
          if (cut <= from || cut > digit.stride * digit.size || cut % from != 0) continue;
          use(Digit{from, cut / from});
          from = cut;
        }
        continue;
      }
      for (const Size prime : primes_) {
        if (digit.size % prime != 0) continue;
        for (Size inside = 1; inside <= digit.size / prime; ++inside) {
          const Size stride = digit.stride * inside;
          if (digit.size / prime % inside != 0) continue;
          if (network_.nests(stride) && network_.nests(stride * prime)) use(Digit{stride, prime});
        }
      }
    }
  }

  void slices(std::uint32_t at, const State& state, const Label& label) {
    each_part(unused(state), [&](const Digit& digit) {
      for (std::size_t i = 0; i < rank_; ++i) {
        if (tile_along(state, i) % digit.size != 0) continue;
        relax(number_of(changed(state, nowhere, {}, i, Digits(1, digit))), at, label,
              {Collective::dynslice, i, 0, digit.size, digit});
      }
    });
  }

  // ---- Permutations -----------------------------------------------------------------------------

  /// Into the class of what agrees with a state in the digits beyond level l.
  void permutation(std::uint32_t at, const State& state, const Label& label, Size tile,
                   std::size_t l) {
    const Size here = held(state).value_or(tile);
    if (!fits(here, here)) return;
    Amounts traffic(levels_, 0);
    traffic[l] = static_cast<Wide>(tile);
    const Label permuted = after(label, traffic);
    if (too_late(permuted)) return;
    State pattern;
    bool open = false;
    for (std::size_t i = 0; i < rank_; ++i) {
      for (const Digit& whole : state.dimension(i)) {
        network_.each_cut(whole, [&](const Digit& digit) {
          if (network_.level_of(digit) > l) {
            pattern.push(digit);
          } else {
            pattern.push({0, digit.size});
            open = true;
          }
        });
      }
      pattern.end_dimension();
    }
    if (!open) return;
    pattern.leave_open(l);
    relax(number_of(pattern), at, permuted, {Collective::allpermute, 0, 0, 1, {}});
  }

  /// Every way of filling what a class leaves open.
  void expand_class(std::uint32_t at) {
    const State pattern = nodes_[at].state;
    std::vector<Digit> free;
    for (std::size_t l = 0; l <= *pattern.open(); ++l) {
      const auto& digits = network_.levels()[l].digits;
      free.insert(free.end(), digits.begin(), digits.end());
    }
    std::sort(free.begin(), free.end(),
              [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
    Digits all;
    for (const Digit& digit : joined(free)) all.push_back(digit);
    fill(at, pattern, {0, 0, 0}, all, {});
  }

  struct Hole {
    std::size_t dim = 0;
    std::size_t digit = 0;
    Size left = 0;  ///< of it; 0: it has not been begun
  };

  void fill(std::uint32_t at, const State& pattern, Hole hole, const Digits& free, State filled) {
    if (work_ > limit_) return;
    while (hole.left <= 1) {
      if (hole.left == 1) {
        hole.left = 0;
        ++hole.digit;
      }
      if (hole.dim == rank_) {
        const Label label = nodes_[at].label;  // which a new state may move elsewhere
        relax(number_of(filled), at, label, {Collective::allpermute, 0, 0, 1, {}});
        return;
      }
      const Digits list = pattern.dimension(hole.dim);
      if (hole.digit == list.size()) {
        filled.end_dimension();
        hole = {hole.dim + 1, 0, 0};
      } else if (list[hole.digit].stride > 0) {
        filled.push(list[hole.digit]);
        ++hole.digit;
      } else {
        hole.left = list[hole.digit].size;
      }
    }
    each_part(free, [&](const Digit& digit) {
      if (hole.left % digit.size != 0) return;
      State next = filled;
      next.push(digit);
      Digits others;
      for (const Digit& whole : free) {
        const Size end = whole.stride * whole.size;
        const Size taken = digit.stride * digit.size;
        if (digit.stride < whole.stride || digit.stride >= end) {
          others.push_back(whole);
          continue;
        }
        if (whole.stride < digit.stride) {
          others.push_back({whole.stride, digit.stride / whole.stride});
        }
        if (taken < end) others.push_back({taken, end / taken});
      }
      fill(at, pattern, {hole.dim, hole.digit, hole.left / digit.size}, others, next);
    });
  }

  // ---- What is left at least --------------------------------------------------------------------

  /// Calls use(part) for what digits fix of an index along a dimension: those of a level and beyond say what all of
  /// a domain have in common.
  template <typename Use>
  void each_fixed(const State& state, std::size_t i, const Use& use) const {
    Size low = tile_along(state, i);
    for (const Digit& whole : state.dimension(i)) {
      network_.each_cut(whole, [&](const Digit& digit) {
        const Size high = low * digit.size;
        // Of a class some are open, at levels inside it.
        if (digit.stride != 0) {
          use(Fixed{low, high, digit.stride, digit.size, network_.level_of(digit)});
        }
        low = high;
      });
    }
  }

  void find_needed() {
    needed_.resize(rank_);
    for (std::size_t i = 0; i < rank_; ++i) {
      needed_[i].whole.assign(levels_, global_[i]);
      each_fixed(target_, i, [&](const Fixed& part) {
        needed_[i].fixed.push_back(part);
        for (std::size_t l = 0; l <= part.level; ++l) needed_[i].whole[l] /= part.size;
      });
    }
  }

  /// What a domain of some level has in common with what it needs, and whether another one has nothing.
  struct Common {
    Wide needed = 1;
    Wide held = 1;
    bool conflict = false;
    bool known = true;
  };

  /// What both say of a place in an index, from level `first` on to the inner one of theirs; `beside` is what of the
  /// former the target leaves open, by level.
  void compare(const Fixed& part, const Fixed& other, std::size_t first, Members& beside,
               Few<Common, most_levels>& common) const {
    const std::size_t last = std::min(part.level, other.level);
    const Size low = std::max(part.low, other.low);
    const Size high = std::min(part.high, other.high);
    if (low >= high || first > last) return;
    const bool same = part.low == other.low && part.high == other.high;
    const bool nested = same || (low % part.low == 0 && low % other.low == 0 && high % low == 0);
    const Size shared = same ? part.size : nested ? high / low : 1;
    const bool differ = same ? part.stride != other.stride
                             : part.stride * (low / part.low) != other.stride * (low / other.low);
    for (std::size_t l = first; l <= last; ++l) {
      if (!nested || beside[l] % shared != 0) {
        common[l].known = false;
      } else {
        beside[l] = beside[l] == shared ? 1 : beside[l] / shared;
        common[l].conflict = common[l].conflict || differ;
      }
    }
  }

  /// Elements that some domain of a level needs and does not hold, at least, from level `first` on.
  [[nodiscard]] Amounts lacking(const State& state, std::size_t first) const {
    Few<Common, most_levels> common(levels_, {});
    for (std::size_t i = 0; i < rank_; ++i) {
      const Needed& here = needed_[i];
      Members both(levels_, 1);
      for (std::size_t l = first; l < levels_; ++l) both[l] = here.whole[l];
      each_fixed(state, i, [&](const Fixed& part) {
        Members beside(part.level + 1, part.size);
        for (const Fixed& other : here.fixed) compare(part, other, first, beside, common);
        for (std::size_t l = first; l <= part.level; ++l) {
          if (beside[l] == 1) continue;
          if (both[l] % beside[l] != 0) common[l].known = false;
          both[l] /= beside[l];
        }
      });
      for (std::size_t l = first; l < levels_; ++l) {
        common[l].needed *= static_cast<Wide>(here.whole[l]);
        common[l].held *= static_cast<Wide>(both[l]);
      }
    }
    Amounts out(levels_, 0);
    for (std::size_t l = first; l < levels_; ++l) {
      const auto& [needed, held, conflict, known] = common[l];
      if (known) out[l] = conflict ? needed : needed - held;
    }
    return out;
  }

  /// Picoseconds from here to the target, at least: what the worst domain of each level lacks comes over the
  /// links of that level and beyond, all of them at once, shared by all of its devices.
  [[nodiscard]] Wide least_from(const State& state) const {
    Wide out = 0;
    const std::size_t first = state.open() ? *state.open() + 1 : 0;
    const Amounts lacked = lacking(state, first);
    for (std::size_t l = first; l < levels_; ++l) {
      const Wide bytes = lacked[l] * static_cast<Wide>(options_.element_bytes);
      if (bytes == 0) continue;
      Wide rate = 0;
      for (std::size_t k = l; k < levels_; ++k) {
        rate += static_cast<Wide>(network_.levels()[k].link.bytes_per_second);
      }
      constexpr Wide second = 1'000'000'000'000;
      const Wide time = bytes * second / (rate * static_cast<Wide>(network_.domain_size(l))) +
                        static_cast<Wide>(network_.levels()[l].link.latency);
      out = std::max(out, time);
    }
    return out;
  }

  // ---- What was found ---------------------------------------------------------------------------

  [[nodiscard]] Layout layout(const State& state) const {
    Shape tile;
    std::vector<std::vector<Digit>> lists;
    for (std::size_t i = 0; i < rank_; ++i) {
      tile.push_back(tile_along(state, i));
      const Digits digits = state.dimension(i);
      lists.emplace_back(digits.begin(), digits.end());
    }
    auto out = Layout::compact(devices_, global_, tile, std::move(lists));
    RETILE_ASSERT(out.has_value(), "states are layouts");
    return *std::move(out);
  }

  [[nodiscard]] std::vector<FoundStep> steps_to(std::uint32_t goal) const {
    std::vector<std::uint32_t> way;
    for (std::uint32_t at = goal;;) {
      way.push_back(at);
      if (nodes_[at].parent == at) break;
      at = nodes_[at].parent;
    }
    std::reverse(way.begin(), way.end());
    std::vector<FoundStep> out;
    for (std::size_t k = 1; k < way.size(); ++k) {
      const Node& node = nodes_[way[k]];
      if (node.state.open()) continue;  // half of a permutation
      Layout after = layout(node.state);
      PlanStep step{node.action.op,
                    node.action.dim,
                    node.action.to_dim,
                    node.action.factor,
                    after.tile(),
                    0,
                    {},
                    {}};
      if (step.op == Collective::dynslice) step.digits = {node.action.digit};
      FoundStep* const last = out.empty() ? nullptr : &out.back();
      if (last != nullptr && step.op == Collective::dynslice &&
          last->step.op == Collective::dynslice && last->step.dim == step.dim) {
        step.digits.insert(step.digits.end(), last->step.digits.begin(), last->step.digits.end());
        step.digits = joined(step.digits);
        step.factor *= last->step.factor;
        *last = {std::move(step), std::move(after)};
        continue;
      }
      out.push_back({std::move(step), std::move(after)});
    }
    return out;
  }

  const Problem& problem_;
  const Network& network_;
  const SearchOptions& options_;
  Size devices_;
  std::size_t rank_;
  std::size_t levels_;
  const Shape& global_;
  const Shape& extents_;
  std::vector<Size> primes_;
  std::vector<Size> factors_;  ///< of the number of devices, without 1
  std::vector<Size> cuts_;     ///< empty: anywhere
  State target_;
  struct Needed {
    std::vector<Fixed> fixed;
    std::vector<Size> whole;  ///< what a domain of each level has of the dimension
  };
  std::vector<Needed> needed_;  // by dimension
  std::vector<Node> nodes_;
  std::unordered_set<std::uint32_t, Hash, Same> numbers_{512, Hash{&nodes_}, Same{&nodes_}};
  std::vector<Entry> heap_;
  std::optional<Wide> known_ = options_.known;
  std::uint32_t goal_ = 0;
  Size limit_ = options_.haste > 1 ? std::min(options_.first_work, options_.most_work)
                                   : options_.most_work;
  Size work_ = 0;
};

}  // namespace

Found search(const Problem& problem, const Network& network, const SearchOptions& options) {
  return Search(problem, network, options).run();
}

}  // namespace retile::network
