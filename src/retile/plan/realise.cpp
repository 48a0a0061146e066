// Realising weak normal forms. See realise.h.
#include "retile/plan/realise.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "retile/core/assert.h"

namespace retile {

namespace {

/// One entry of a digit list: a device digit, or a part of the fresh digit that slice number
/// `slice` introduces.
struct Item {
  std::optional<std::size_t> slice;  // nothing: a device digit
  Digit digit;                       // of the device number, or of the fresh digit's own value
};

/// Cuts the minor part of size n off an item; n divides its size.
Item cut_minor(Item& item, Size n) {
  const Item minor{item.slice, {item.digit.stride, n}};
  item.digit = {item.digit.stride * n, item.digit.size / n};
  return minor;
}

/// Pops the factor n off the minor end of a list, or nothing when it cuts across digits.
std::optional<std::vector<Item>> pop(std::vector<Item>& list, Size n) {
  std::vector<Item> popped;
  std::size_t whole = 0;
  for (; n > 1 && whole < list.size(); ++whole) {
    Item& item = list[whole];
    if (n % item.digit.size == 0) {
      popped.push_back(item);
      n /= item.digit.size;
    } else if (item.digit.size % n == 0) {
      popped.push_back(cut_minor(item, n));
      break;
    } else {
      return std::nullopt;
    }
  }
  list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(whole));
  return popped;
}

/// Device digits that are free to be given away, cut smaller as they are taken.
class FreeDigits {
 public:
  explicit FreeDigits(std::vector<Digit> digits) : digits_(std::move(digits)) {}

  /// Takes exactly this digit if it lies within a free one.
  bool take(const Digit& wanted) {
    for (std::size_t k = 0; k < digits_.size(); ++k) {
      const Digit have = digits_[k];
      const Size have_top = have.stride * have.size;
      const Size wanted_top = wanted.stride * wanted.size;
      if (wanted.stride % have.stride != 0 || have_top % wanted_top != 0) continue;
      digits_.erase(digits_.begin() + static_cast<std::ptrdiff_t>(k));
      if (have_top > wanted_top) digits_.push_back({wanted_top, have_top / wanted_top});
      if (wanted.stride > have.stride)
        digits_.push_back({have.stride, wanted.stride / have.stride});
      return true;
    }
    return false;
  }

  /// Takes any digits of product n, minor parts first. The caller knows by counting that there are
  /// enough.
  std::vector<Digit> take_any(Size n) {
    std::vector<Digit> taken;
    for (Digit& digit : digits_) {
      const Size part = std::gcd(n, digit.size);
      if (part == 1) continue;
      taken.push_back({digit.stride, part});
      digit = {digit.stride * part, digit.size / part};
      n /= part;
    }
    RETILE_ASSERT(n == 1, "a slice's factor divides the number of replicas");
    return taken;
  }

 private:
  std::vector<Digit> digits_;
};

/// A value given to a part of a fresh digit.
struct Binding {
  Digit fresh;   // part of the slice's own value
  Digit device;  // the device digit that says it
};

/// Matches a list against the target's digits from the minor end; fills `bindings` for fresh parts.
bool match(std::vector<Item> list, std::vector<Digit> target, FreeDigits& free,
           std::vector<std::vector<Binding>>& bindings) {
  std::size_t a = 0;
  std::size_t b = 0;
  while (a < list.size() && b < target.size()) {
    const Size n = std::gcd(list[a].digit.size, target[b].size);
    if (n != list[a].digit.size && n != target[b].size) return false;
    const Item item = cut_minor(list[a], n);
    const Digit wanted{target[b].stride, n};
    target[b] = {target[b].stride * n, target[b].size / n};
    if (item.slice) {
      if (!free.take(wanted)) return false;
      bindings[*item.slice].push_back({item.digit, wanted});
    } else if (item.digit != wanted) {
      return false;
    }
    if (list[a].digit.size == 1) ++a;
    if (target[b].size == 1) ++b;
  }
  return a == list.size() && b == target.size();
}

/// The digits of one slice: its bound parts, and any free digits for the parts that were gathered
/// again.
std::vector<Digit> complete(std::vector<Binding> bindings, Size factor, FreeDigits& free) {
  std::sort(bindings.begin(), bindings.end(),
            [](const Binding& a, const Binding& b) { return a.fresh.stride < b.fresh.stride; });
  std::vector<Digit> out;
  Size reach = 1;
  const auto fill_up_to = [&](Size stride) {
    const std::vector<Digit> taken = free.take_any(stride / reach);
    out.insert(out.end(), taken.begin(), taken.end());
    reach = stride;
  };
  for (const Binding& binding : bindings) {
    fill_up_to(binding.fresh.stride);
    out.push_back(binding.device);
    reach *= binding.device.size;
  }
  fill_up_to(factor);
  return out;
}

void run_slices(TileMap& map, const WeakPath& path, const SliceDigits& digits) {
  for (std::size_t k = 0; k < path.slices.size(); ++k) map.push(path.slices[k].dim, digits[k]);
}

void run_move(TileMap& map, const WeakPath::Move& move) {
  const std::vector<Digit> popped = map.pop(move.from_dim, move.factor);
  map.push(move.to_dim, popped);
}

/// The move undone; alltoalls are determined in both directions (S1).
void undo_move(TileMap& map, const WeakPath::Move& move) {
  run_move(map, {move.to_dim, move.from_dim, move.factor});
}

}  // namespace

std::optional<SliceDigits> unify(const Problem& problem, const WeakPath& path) {
  const std::size_t rank = problem.from.rank();
  std::vector<std::vector<Item>> lists(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    for (const Digit& digit : problem.from.digits()[i]) lists[i].push_back({std::nullopt, digit});
  }
  for (std::size_t k = 0; k < path.slices.size(); ++k) {
    auto& list = lists[path.slices[k].dim];
    list.insert(list.begin(), Item{k, {1, path.slices[k].factor}});
  }
  for (const WeakPath::Move& move : path.moves) {
    const auto popped = pop(lists[move.from_dim], move.factor);
    if (!popped) return std::nullopt;
    auto& list = lists[move.to_dim];
    list.insert(list.begin(), popped->begin(), popped->end());
  }
  for (const WeakPath::Gather& gather : path.gathers) {
    if (!pop(lists[gather.dim], gather.factor)) return std::nullopt;
  }
  FreeDigits free(problem.from.unused());
  std::vector<std::vector<Binding>> bindings(path.slices.size());
  for (std::size_t i = 0; i < rank; ++i) {
    if (!match(lists[i], problem.to.digits()[i], free, bindings)) return std::nullopt;
  }
  SliceDigits out;
  for (std::size_t k = 0; k < path.slices.size(); ++k) {
    out.push_back(complete(bindings[k], path.slices[k].factor, free));
  }
  return out;
}

SliceDigits default_digits(const Problem& problem, const WeakPath& path) {
  FreeDigits free(problem.from.unused());
  SliceDigits out;
  for (const WeakPath::Slice& slice : path.slices) out.push_back(free.take_any(slice.factor));
  return out;
}

bool reaches_target(const Problem& problem, const WeakPath& path, const SliceDigits& digits) {
  TileMap map = problem.from;
  run_slices(map, path, digits);
  for (const WeakPath::Move& move : path.moves) run_move(map, move);
  for (const WeakPath::Gather& gather : path.gathers) map.pop(gather.dim, gather.factor);
  return map.compacted().equivalent(problem.to);
}

Placement place_permutation(const Problem& problem, const WeakPath& path,
                            const SliceDigits& digits) {
  const std::size_t count = path.moves.size();
  std::vector<TileMap> before(count + 1);  // before[p]: after the slices and the first p moves
  before[0] = problem.from;
  run_slices(before[0], path, digits);
  for (std::size_t p = 0; p < count; ++p) {
    before[p + 1] = before[p];
    run_move(before[p + 1], path.moves[p]);
    before[p + 1] = before[p + 1].compacted();
  }
  std::vector<TileMap> after(
      count +
      1);  // after[p]: what must be there for moves p.. and the gathers to end in the target
  after[count] = problem.to;
  FreeDigits free(problem.to.unused());
  for (std::size_t k = path.gathers.size(); k-- > 0;) {
    after[count].push(path.gathers[k].dim, free.take_any(path.gathers[k].factor));
  }
  for (std::size_t p = count; p-- > 0;) {
    after[p] = after[p + 1];
    undo_move(after[p], path.moves[p]);
    after[p] = after[p].compacted();
  }
  // As late as the paper puts it, but compact halves first: their tables are shorter.
  std::size_t best = count;
  int best_compact = -1;
  for (std::size_t p = count + 1; p-- > 0;) {
    const int compact = (before[p].is_compact() ? 1 : 0) + (after[p].is_compact() ? 1 : 0);
    if (compact > best_compact) {
      best = p;
      best_compact = compact;
    }
  }
  return {best, {std::move(before[best]), std::move(after[best])}};
}

}  // namespace retile
