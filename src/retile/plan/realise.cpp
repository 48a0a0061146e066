// Realising weak normal forms. See realise.h.
#include "retile/plan/realise.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "retile/core/assert.h"
#include "retile/plan/digit_lists.h"

namespace retile {

namespace {

/// One entry of a digit list: a part of the device number, of what slice number `index` introduces,
/// or of a number mixed of several digits.
struct Item {
  enum class Of { device, slice, mixed };
  Of of = Of::device;
  std::size_t index = 0;
  Digit digit;
};

/// A list of digits, minor to major, and the numbers that were mixed on the way.
using Items = std::vector<Item>;

/// Cuts the minor part of size n off an item; n divides its size.
Item cut_minor(Item& item, Size n) {
  const Item minor{item.of, item.index, {item.digit.stride, n}};
  item.digit = {item.digit.stride * n, item.digit.size / n};
  return minor;
}

/// Puts an item on the minor end, joined to what is there. A mixed number that is whole again turns
/// back into its digits.
void prepend(Items& list, Item item, const std::vector<Items>& mixed) {
  if (!list.empty()) {
    const Item& last = list.front();
    if (last.of == item.of && last.index == item.index &&
        item.digit.stride * item.digit.size == last.digit.stride) {
      item.digit.size *= last.digit.size;
      list.erase(list.begin());
    }
  }
  if (item.of == Item::Of::mixed && item.digit.stride == 1) {
    const Items& digits = mixed[item.index];
    Size whole = 1;
    for (const Item& digit : digits) whole *= digit.digit.size;
    if (item.digit.size == whole) {
      for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit)
        prepend(list, *digit, mixed);
      return;
    }
  }
  list.insert(list.begin(), item);
}

/// Makes the minor end of a list one number, so that n can be cut off it.
void mix(Items& list, Size n, std::vector<Items>& mixed) {
  Items digits;
  Size size = 1;
  for (Size need = n; need > 1; need = n / std::gcd(n, size)) {
    Item& item = list.front();
    if (item.digit.size % need == 0 && item.digit.size != need) {
      digits.push_back(cut_minor(item, need));
    } else {
      digits.push_back(item);
      list.erase(list.begin());
    }
    size *= digits.back().digit.size;
  }
  list.insert(list.begin(), {Item::Of::mixed, mixed.size(), {1, size}});
  mixed.push_back(std::move(digits));
}

/// Pops the factor n off the minor end of a list; n divides the product of its sizes.
Items pop(Items& list, Size n, std::vector<Items>& mixed) {
  Items popped;
  while (n > 1) {
    const Size part = std::gcd(n, list.front().digit.size);
    if (part == 1) {
      mix(list, n, mixed);
      continue;
    }
    popped.push_back(cut_minor(list.front(), part));
    if (list.front().digit.size == 1) list.erase(list.begin());
    n /= part;
  }
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
bool match(Items list, std::vector<Digit> target, FreeDigits& free,
           std::vector<std::vector<Binding>>& bindings) {
  std::size_t a = 0;
  std::size_t b = 0;
  while (a < list.size() && b < target.size()) {
    const Size n = std::gcd(list[a].digit.size, target[b].size);
    if (n == 1) return false;
    const Item item = cut_minor(list[a], n);
    const Digit wanted{target[b].stride, n};
    target[b] = {target[b].stride * n, target[b].size / n};
    if (item.of == Item::Of::mixed) return false;
    if (item.of == Item::Of::slice) {
      if (!free.take(wanted)) return false;
      bindings[item.index].push_back({item.digit, wanted});
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

void run_slices(Layout& map, const WeakPath& path, const SliceDigits& digits) {
  for (std::size_t k = 0; k < path.slices.size(); ++k) map.push(path.slices[k].dim, digits[k]);
}

void run_move(Layout& map, const WeakPath::Move& move) {
  const std::vector<Digit> popped = map.pop(move.from_dim, move.factor);
  map.push(move.to_dim, popped);
}

/// The move undone; alltoalls are determined in both directions (S1).
void undo_move(Layout& map, const WeakPath::Move& move) {
  run_move(map, {move.to_dim, move.from_dim, move.factor});
}

}  // namespace

std::optional<SliceDigits> unify(const Problem& problem, const WeakPath& path) {
  const std::size_t rank = problem.from.rank();
  std::vector<Items> lists(rank);
  std::vector<Items> mixed;
  for (std::size_t i = 0; i < rank; ++i) {
    for (const Digit& digit : problem.from.digits()[i])
      lists[i].push_back({Item::Of::device, 0, digit});
  }
  for (std::size_t k = 0; k < path.slices.size(); ++k) {
    prepend(lists[path.slices[k].dim], {Item::Of::slice, k, {1, path.slices[k].factor}}, mixed);
  }
  for (const WeakPath::Move& move : path.moves) {
    const Items popped = pop(lists[move.from_dim], move.factor, mixed);
    for (auto item = popped.rbegin(); item != popped.rend(); ++item) {
      prepend(lists[move.to_dim], *item, mixed);
    }
  }
  for (const WeakPath::Gather& gather : path.gathers) pop(lists[gather.dim], gather.factor, mixed);
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

std::optional<bool> can_do_without(const Problem& problem, const WeakPath& path, Size& work) {
  constexpr Size most_tiles = Size{1} << 22;
  const std::size_t rank = problem.from.rank();
  const std::vector<Size> cuts = digit_cuts(problem);
  struct Place {  // of a part in a map: (tile number div weight) mod size
    std::size_t dim = 0;
    Size weight = 0;  // 0: not there
  };
  struct Part {
    Size size = 1;
    Place source;
    Place target;
  };
  std::vector<Part> parts;
  const auto find = [&](const Layout& map, Size stride) {
    Place place;
    for (std::size_t i = 0; i < rank; ++i) {
      Size weight = 1;
      for (const Digit& digit : map.digits()[i]) {
        if (stride >= digit.stride && stride < digit.stride * digit.size) {
          place = {i, weight * (stride / digit.stride)};
        }
        weight *= digit.size;
      }
    }
    return place;
  };
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    if (cuts[k + 1] % cuts[k] != 0) return std::nullopt;
    const Part part{cuts[k + 1] / cuts[k], find(problem.from, cuts[k]), find(problem.to, cuts[k])};
    if (part.source.weight == 0 && part.target.weight == 0) continue;
    parts.push_back(part);
  }
  // Bottom tiles in the order of the source tile that they lie in: all devices of one source tile
  // must find their new tiles among its pieces, each as often. What fails does so for most source
  // tiles.
  std::vector<Size> source(rank);
  std::vector<Size> sliced(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    source[i] = problem.from.cuts()[i].count();
  }
  for (const WeakPath::Slice& slice : path.slices) sliced[slice.dim] *= slice.factor;
  const auto product = [](const std::vector<Size>& counts) {
    return std::accumulate(counts.begin(), counts.end(), Size{1}, std::multiplies<>());
  };
  const Size sources = product(source);
  const Size pieces = product(sliced);
  if (sources * pieces > most_tiles) return std::nullopt;
  Size targets = 1;  // target tiles that the devices of one source tile hold
  for (const Part& part : parts) targets *= part.source.weight == 0 ? part.size : 1;
  if (pieces % targets != 0) return false;
  // About a division of two numbers each.
  const auto piece_work =
      static_cast<Size>(rank + path.moves.size() + path.gathers.size() + parts.size()) / 2 + 1;
  std::vector<Size> before(rank);
  std::vector<Size> tile(rank);
  std::vector<Size> held(static_cast<std::size_t>(targets));
  const auto part_of = [](const Place& place, const std::vector<Size>& of, Size size) {
    return of[place.dim] / place.weight % size;
  };
  // A stride coprime to the number of tiles comes by all of them, and soon by one that tells.
  Size stride = sources / 3 * 2 + 1;
  while (std::gcd(stride, sources) != 1) ++stride;
  for (Size k = 0, u = 0; k < sources; ++k, u = (u + stride) % sources) {
    for (std::size_t i = 0, left = static_cast<std::size_t>(u); i < rank; ++i) {
      before[i] = static_cast<Size>(left) % source[i];
      left /= static_cast<std::size_t>(source[i]);
    }
    work -= targets / 4;
    std::fill(held.begin(), held.end(), Size{0});
    for (Size piece = 0; piece < pieces; ++piece) {
      work -= piece_work;
      if (work < 0) return std::nullopt;
      Size left = piece;
      for (std::size_t i = 0; i < rank; ++i) {
        tile[i] = before[i] * sliced[i] + left % sliced[i];
        left /= sliced[i];
      }
      for (const WeakPath::Move& move : path.moves) {
        tile[move.to_dim] = tile[move.to_dim] * move.factor + tile[move.from_dim] % move.factor;
        tile[move.from_dim] /= move.factor;
      }
      for (const WeakPath::Gather& gather : path.gathers) tile[gather.dim] /= gather.factor;
      Size target = 0;
      for (const Part& part : parts) {
        if (part.target.weight == 0) continue;
        const Size after = part_of(part.target, tile, part.size);
        if (part.source.weight == 0) {
          target = target * part.size + after;
        } else if (part_of(part.source, before, part.size) != after) {
          return false;  // no device holds both
        }
      }
      if (++held[static_cast<std::size_t>(target)] > pieces / targets) return false;
    }
  }
  return true;
}

bool reaches_target(const Problem& problem, const WeakPath& path, const SliceDigits& digits) {
  Layout map = problem.from;
  run_slices(map, path, digits);
  for (const WeakPath::Move& move : path.moves) run_move(map, move);
  for (const WeakPath::Gather& gather : path.gathers) map.pop(gather.dim, gather.factor);
  return map.compacted().equivalent(problem.to);
}

Placement place_permutation(const Problem& problem, const WeakPath& path,
                            const SliceDigits& digits) {
  const std::size_t count = path.moves.size();
  std::vector<Layout> before(count + 1);  // before[p]: after the slices and the first p moves
  before[0] = problem.from;
  run_slices(before[0], path, digits);
  for (std::size_t p = 0; p < count; ++p) {
    before[p + 1] = before[p];
    run_move(before[p + 1], path.moves[p]);
    before[p + 1] = before[p + 1].compacted();
  }
  std::vector<Layout> after(
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
