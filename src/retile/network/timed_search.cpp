#include "retile/network/timed_search.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/digits.h"
#include "retile/core/primes.h"

namespace retile::network {
namespace {

using Lists = std::vector<std::vector<Digit>>;

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
  std::vector<Digit> digits;  ///< of a slice
};

/// A place in an index along one dimension that a digit of the device number says: of an index i,
/// (i div low) mod (high div low).
struct Fixed {
  Size low = 1;
  Size high = 1;
  Size stride = 1;  ///< of the digit
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
        global_(problem.from.global()) {
    for (const auto& prime : factorize(devices_)) primes_.push_back(prime.prime);
    target_ = problem.to.digits();
    if (options.whole_digits) find_cuts();
    for (std::size_t l = 0; l < levels_; ++l) needed_.push_back(fixed_of(target_, l));
  }

  Found run() {
    const std::uint32_t source = state(problem_.from.digits());
    const std::uint32_t goal = state(target_);
    relax(source, source, {}, {});
    Found out;
    while (!heap_.empty()) {
      const Entry entry = heap_.front();
      if (work_ > options_.most_work) break;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
      const Node& node = nodes_[entry.node];
      if (entry.label != node.label) continue;  // reached for less since
      if (entry.node == goal) {
        out.time = node.label.time;
        out.lower_bound = out.time;
        out.steps = steps_to(goal);
        out.work = work_;
        return out;
      }
      if (node.pattern) {
        expand_class(entry.node);
      } else {
        expand(entry.node);
      }
    }
    out.work = work_;
    out.complete = heap_.empty();
    const Wide open = heap_.empty() ? std::numeric_limits<Wide>::max() : heap_.front().bound;
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
    Lists lists;
    std::optional<std::size_t> pattern;  ///< a class: digits of levels up to this one are left open
    Label label;
    bool reached = false;
    Wide rest = 0;  ///< at least so much is left
    std::uint32_t parent = 0;
    Action action;
  };
  struct Entry {
    Wide bound = 0;  ///< of all that goes through here
    Label label;
    std::uint32_t node = 0;
    friend bool operator<(const Entry& a, const Entry& b) {
      return std::tuple(a.bound, a.label.moves, b.label.time, a.node) >
             std::tuple(b.bound, b.label.moves, a.label.time, b.node);
    }
  };

  // ---- States -----------------------------------------------------------------------------------

  [[nodiscard]] static std::u32string key_of(const Lists& lists) {
    std::u32string key;
    for (const auto& list : lists) {
      for (const Digit& digit : list) {
        key += static_cast<char32_t>(digit.stride);
        key += static_cast<char32_t>(digit.size);
      }
      key += U'\xffffffff';
    }
    return key;
  }

  std::uint32_t add(std::u32string key, Lists lists, std::optional<std::size_t> pattern) {
    const auto [found, is_new] =
        numbers_.emplace(std::move(key), static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) {
      Node node;
      node.rest = least_from(lists, pattern);
      node.lists = std::move(lists);
      node.pattern = pattern;
      nodes_.push_back(std::move(node));
    }
    return found->second;
  }

  std::uint32_t state(Lists lists) {
    std::u32string key = key_of(lists);
    return add(std::move(key), std::move(lists), std::nullopt);
  }

  [[nodiscard]] Size tile_along(const Lists& lists, std::size_t i) const {
    return global_[i] / product_of(lists[i]);
  }
  [[nodiscard]] Size tile_of(const Lists& lists) const {
    Size out = 1;
    for (std::size_t i = 0; i < rank_; ++i) out *= tile_along(lists, i);
    return out;
  }
  [[nodiscard]] bool fits(Size before, Size after) const {
    if (after > options_.most_tile) return false;
    const auto both = checked_add(before, after);
    return !options_.most_resident || (both && *both <= *options_.most_resident);
  }

  void relax(std::uint32_t to, std::uint32_t from, const Label& label, Action action) {
    ++work_;
    Node& node = nodes_[to];
    if (node.reached && node.label <= label) return;
    const Wide bound = sum(label.time, node.rest);
    if (options_.known && bound >= *options_.known) return;
    node.reached = true;
    node.label = label;
    node.parent = from;
    node.action = std::move(action);
    heap_.push_back({bound, label, to});
    std::push_heap(heap_.begin(), heap_.end());
  }

  /// Where digits may be cut if only whole ones are moved.
  void find_cuts() {
    for (const Lists* const lists : {&problem_.from.digits(), &problem_.to.digits()}) {
      for (const auto& list : *lists) {
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

  [[nodiscard]] Label after(const Label& label, std::vector<Wide> traffic) const {
    for (Wide& amount : traffic) amount *= static_cast<Wide>(options_.element_bytes);
    return {sum(label.time, network_.time(traffic)), label.moves + 1};
  }

  void expand(std::uint32_t at) {
    const Lists lists = nodes_[at].lists;
    const Label label = nodes_[at].label;
    const Size tile = tile_of(lists);
    slices(at, lists, label);
    for (std::size_t i = 0; i < rank_; ++i) {
      Lists next = lists;
      std::vector<Digit> popped;
      // Digit by digit off the minor end, and part by part of each.
      for (std::size_t k = 0; k < lists[i].size(); ++k) {
        const Digit digit = lists[i][k];
        for (Size part = 2; part <= digit.size; ++part) {
          if (digit.size % part != 0 || !may_cut(digit.stride * part)) continue;
          std::vector<Digit> off = popped;
          off.push_back({digit.stride, part});
          next[i].assign(lists[i].begin() + static_cast<std::ptrdiff_t>(k) + 1, lists[i].end());
          if (part < digit.size) {
            next[i].insert(next[i].begin(), {digit.stride * part, digit.size / part});
          }
          take(at, {lists, next, off, i, tile, label});
        }
        popped.push_back(digit);
      }
    }
    for (std::size_t l = 0; l < levels_; ++l) permutation(at, lists, label, tile, l);
  }

  /// Digits off the minor end of dimension i.
  struct Popped {
    const Lists& before;
    const Lists& left;
    const std::vector<Digit>& digits;
    std::size_t dim;
    Size tile;
    const Label& label;
  };

  void take(std::uint32_t at, const Popped& off) {
    const std::vector<Size> members = network_.members_of(off.digits);
    const Size n = members.back();
    const auto gathered = checked_mul(off.tile, n);
    if (gathered && fits(off.tile, *gathered)) {
      relax(state(off.left), at,
            after(off.label, Traffic::allgather(static_cast<Wide>(off.tile), members)),
            {Collective::allgather, off.dim, 0, n, {}});
    }
    if (!fits(off.tile, off.tile)) return;
    const Label label = after(off.label, Traffic::alltoall(static_cast<Wide>(off.tile), members));
    for (std::size_t j = 0; j < rank_; ++j) {
      if (j == off.dim || tile_along(off.before, j) % n != 0) continue;
      Lists next = off.left;
      std::vector<Digit> list = off.digits;
      list.insert(list.end(), next[j].begin(), next[j].end());
      next[j] = joined(list);
      relax(state(std::move(next)), at, label, {Collective::alltoall, off.dim, j, n, {}});
    }
  }

  [[nodiscard]] std::vector<Digit> unused(const Lists& lists) const {
    std::vector<Digit> used;
    for (const auto& list : lists) used.insert(used.end(), list.begin(), list.end());
    std::sort(used.begin(), used.end(),
              [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
    std::vector<Digit> out;
    Size reach = 1;
    for (const Digit& digit : used) {
      if (digit.stride > reach) out.push_back({reach, digit.stride / reach});
      reach = digit.stride * digit.size;
    }
    if (reach < devices_) out.push_back({reach, devices_ / reach});
    return out;
  }

  /// Calls use(digit) for every part of prime size of some digits, or for each between two cuts.
  template <typename Use>
  void each_part(const std::vector<Digit>& digits, const Use& use) const {
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

  void slices(std::uint32_t at, const Lists& lists, const Label& label) {
    each_part(unused(lists), [&](const Digit& digit) {
      for (std::size_t i = 0; i < rank_; ++i) {
        if (tile_along(lists, i) % digit.size != 0) continue;
        Lists next = lists;
        next[i].insert(next[i].begin(), digit);
        next[i] = joined(next[i]);
        relax(state(std::move(next)), at, label, {Collective::dynslice, i, 0, digit.size, {digit}});
      }
    });
  }

  // ---- Permutations -----------------------------------------------------------------------------

  /// Into the class of what agrees with a state in the digits beyond level l.
  void permutation(std::uint32_t at, const Lists& lists, const Label& label, Size tile,
                   std::size_t l) {
    if (!fits(tile, tile)) return;
    Lists pattern(rank_);
    bool open = false;
    for (std::size_t i = 0; i < rank_; ++i) {
      for (const Digit& digit : network_.cut(lists[i])) {
        auto& list = pattern[i];
        if (network_.level_of(digit) > l) {
          list.push_back(digit);
        } else if (!list.empty() && list.back().stride == 0) {
          list.back().size *= digit.size;
        } else {
          list.push_back({0, digit.size});
        }
        open = open || list.back().stride == 0;
      }
    }
    if (!open) return;
    // Longer by one than the key of a state with as many digits, so none is another's.
    std::u32string key = static_cast<char32_t>(l) + key_of(pattern);
    std::vector<Wide> traffic(levels_, 0);
    traffic[l] = static_cast<Wide>(tile);
    relax(add(std::move(key), std::move(pattern), l), at, after(label, std::move(traffic)),
          {Collective::allpermute, 0, 0, 1, {}});
  }

  /// Every way of filling what a class leaves open.
  void expand_class(std::uint32_t at) {
    const Lists pattern = nodes_[at].lists;
    std::vector<Digit> free;
    for (std::size_t l = 0; l <= *nodes_[at].pattern; ++l) {
      const auto& digits = network_.levels()[l].digits;
      free.insert(free.end(), digits.begin(), digits.end());
    }
    std::sort(free.begin(), free.end(),
              [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
    Lists filled(rank_);
    fill(at, pattern, {0, 0, 0}, joined(free), filled);
  }

  struct Hole {
    std::size_t dim = 0;
    std::size_t digit = 0;
    Size left = 0;  ///< of it; 0: it has not been begun
  };

  void fill(std::uint32_t at, const Lists& pattern, Hole hole, const std::vector<Digit>& free,
            Lists& filled) {
    if (work_ > options_.most_work) return;
    while (hole.left <= 1) {
      if (hole.left == 1) {
        hole.left = 0;
        ++hole.digit;
      }
      while (hole.dim < rank_ && hole.digit == pattern[hole.dim].size()) {
        hole.digit = 0;
        ++hole.dim;
      }
      if (hole.dim == rank_) {
        Lists next(rank_);
        for (std::size_t i = 0; i < rank_; ++i) next[i] = joined(filled[i]);
        const Label label = nodes_[at].label;  // which a new state may move elsewhere
        relax(state(std::move(next)), at, label, {Collective::allpermute, 0, 0, 1, {}});
        return;
      }
      const Digit& digit = pattern[hole.dim][hole.digit];
      if (digit.stride > 0) {
        // What is fixed; it is taken off again where the caller goes on.
        Lists next = filled;
        next[hole.dim].push_back(digit);
        fill(at, pattern, {hole.dim, hole.digit, 1}, free, next);
        return;
      }
      hole.left = digit.size;
    }
    each_part(free, [&](const Digit& digit) {
      if (hole.left % digit.size != 0) return;
      filled[hole.dim].push_back(digit);
      fill(at, pattern, {hole.dim, hole.digit, hole.left / digit.size}, without(free, digit),
           filled);
      filled[hole.dim].pop_back();
    });
  }

  // ---- What is left at least --------------------------------------------------------------------

  /// Per dimension, what digits of level l and beyond fix of an index: what all of a domain have in common.
  [[nodiscard]] std::vector<std::vector<Fixed>> fixed_of(const Lists& lists, std::size_t l) const {
    std::vector<std::vector<Fixed>> out(rank_);
    for (std::size_t i = 0; i < rank_; ++i) {
      Size low = tile_along(lists, i);
      for (const Digit& digit : network_.cut(lists[i])) {
        const Size high = low * digit.size;
        const bool is_open = digit.stride == 0;  // of a class, at a level inside it
        if (!is_open && network_.level_of(digit) >= l) out[i].push_back({low, high, digit.stride});
        low = high;
      }
    }
    return out;
  }

  /// Elements that some domain of level l needs and does not hold, at least.
  [[nodiscard]] Wide lacking(const Lists& lists, std::size_t l) const {
    const auto held = fixed_of(lists, l);
    Wide needed = 1;
    Wide common = 1;
    bool conflict = false;
    for (std::size_t i = 0; i < rank_; ++i) {
      Size whole = global_[i];
      for (const Fixed& part : needed_[l][i]) whole /= part.high / part.low;
      needed *= static_cast<Wide>(whole);
      Size both = whole;
      for (const Fixed& part : held[i]) {
        // What of this place the target fixes as well.
        Size beside = part.high / part.low;
        for (const Fixed& other : needed_[l][i]) {
          const Size low = std::max(part.low, other.low);
          const Size high = std::min(part.high, other.high);
          if (low >= high) continue;
          if (low % part.low != 0 || low % other.low != 0 || high % low != 0 ||
              beside % (high / low) != 0) {
            return 0;  // places that do not nest: nothing is known
          }
          beside /= high / low;
          conflict = conflict || part.stride * (low / part.low) != other.stride * (low / other.low);
        }
        if (both % beside != 0) return 0;
        both /= beside;
      }
      common *= static_cast<Wide>(both);
    }
    return conflict ? needed : needed - common;
  }

  /// Picoseconds from here to the target, at least: what the worst domain of each level lacks comes over the
  /// links of that level and beyond, all of them at once, shared by all of its devices.
  [[nodiscard]] Wide least_from(const Lists& lists,
                                const std::optional<std::size_t>& pattern) const {
    Wide out = 0;
    for (std::size_t l = pattern ? *pattern + 1 : 0; l < levels_; ++l) {
      const Wide bytes = lacking(lists, l) * static_cast<Wide>(options_.element_bytes);
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

  [[nodiscard]] Layout layout(const Lists& lists) const {
    Shape tile;
    for (std::size_t i = 0; i < rank_; ++i) tile.push_back(tile_along(lists, i));
    auto out = Layout::compact(devices_, global_, tile, lists);
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
      if (node.pattern) continue;  // half of a permutation
      Layout after = layout(node.lists);
      PlanStep step{node.action.op,     node.action.dim,
                    node.action.to_dim, node.action.factor,
                    after.tile(),       0,
                    node.action.digits, {}};
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
  std::vector<Size> primes_;
  std::vector<Size> cuts_;  ///< empty: anywhere
  Lists target_;
  std::vector<std::vector<std::vector<Fixed>>> needed_;  // by level
  std::unordered_map<std::u32string, std::uint32_t> numbers_;
  std::vector<Node> nodes_;
  std::vector<Entry> heap_;
  Size work_ = 0;
};

}  // namespace

Found search(const Problem& problem, const Network& network, const SearchOptions& options) {
  return Search(problem, network, options).run();
}

}  // namespace retile::network
