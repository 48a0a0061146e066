// Realising weak normal forms. See realise.h.
#include "retile/plan/realise.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/digits.h"
#include "retile/core/pop_each.h"
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

/// Puts digits that nothing uses in the order in which they are given away where any will do. First what the
/// other end uses, so that a device may keep its tile. Of equals the inner ones, as links between devices
/// whose numbers are near are seldom the slower ones.
/// \param unused  major to minor
std::vector<Digit> in_order(const std::vector<Digit>& unused, const Layout& other) {
  std::vector<Digit> first;
  std::vector<Digit> rest;
  for (auto digit = unused.rbegin(); digit != unused.rend(); ++digit) {
    const Size end = digit->stride * digit->size;
    for (Size at = digit->stride; at < end;) {
      // Up to where a digit of the other end begins or ends.
      Size cut = end;
      bool is_used = false;
      for (const auto& list : other.digits()) {
        for (const Digit& one : list) {
          const Size top = one.stride * one.size;
          is_used = is_used || (one.stride <= at && at < top);
          for (const Size edge : {one.stride, top}) {
            if (edge > at && edge < cut && edge % at == 0 && end % edge == 0) cut = edge;
          }
        }
      }
      (is_used ? first : rest).push_back({at, cut / at});
      at = cut;
    }
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

/// Device digits that are free to be given away, cut smaller as they are taken.
class FreeDigits {
 public:
  /// Those of a layout, beside one that outlives it.
  FreeDigits(const Layout& layout, const Layout& other)
      : digits_(layout.unused()), other_(&other) {}

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
    if (n == 1) return {};
    if (!in_order_) {
      std::sort(digits_.begin(), digits_.end(),
                [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
      if (other_->is_compact()) digits_ = in_order(digits_, *other_);
      in_order_ = true;
    }
    return retile::take_any(digits_, n);
  }

 private:
  std::vector<Digit> digits_;
  const Layout* other_;
  bool in_order_ = false;
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

/// An alltoall undone; alltoalls are determined in both directions (S1).
void undo_alltoall(Layout& map, std::span<const WeakPath::Move> moves) {
  std::vector<WeakPath::Move> back;
  for (const WeakPath::Move& move : moves) {
    back.push_back({move.to_dim, move.from_dim, move.factor});
  }
  run_alltoall(map, back);
}

// ---- Counting tiles (S4) -----------------------------------------------------------------------

/// Where a part of the device number stands in a map: it is (tile number along `dim` div weight)
/// mod the size of the part.
struct PartPlace {
  std::size_t dim = 0;
  Size weight = 0;  // 0: nowhere

  [[nodiscard]] bool is_there() const { return weight != 0; }
  [[nodiscard]] Size value(const std::vector<Size>& tile, Size size) const {
    return tile[dim] / weight % size;
  }
};

/// A part of the device number, between two neighbours of digit_cuts().
struct Part {
  Size size = 1;
  PartPlace source;
  PartPlace target;
};

PartPlace place_in(const Layout& map, Size stride) {
  PartPlace place;
  for (std::size_t i = 0; i < map.rank(); ++i) {
    Size weight = 1;
    for (const Digit& digit : map.digits()[i]) {
      if (stride >= digit.stride && stride < digit.stride * digit.size) {
        place = {i, weight * (stride / digit.stride)};
      }
      weight *= digit.size;
    }
  }
  return place;
}

/// The parts that stand in one of the ends. Nothing where a cut does not divide the next one.
std::optional<std::vector<Part>> parts_of(const Problem& problem) {
  const std::vector<Size> cuts = digit_cuts(problem);
  std::vector<Part> parts;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    if (cuts[k + 1] % cuts[k] != 0) return std::nullopt;
    const Part part{cuts[k + 1] / cuts[k], place_in(problem.from, cuts[k]),
                    place_in(problem.to, cuts[k])};
    if (part.source.is_there() || part.target.is_there()) parts.push_back(part);
  }
  return parts;
}

Size product(const std::vector<Size>& counts) {
  return std::accumulate(counts.begin(), counts.end(), Size{1}, std::multiplies<>());
}

/// Looks at the tiles of a path's bottom in the order of the source tiles that they are pieces of.
/// All devices of one source tile must find their new tiles among its pieces, each as often. What
/// fails does so for most source tiles.
class PieceCount {
 public:
  PieceCount(const Problem& problem, const WeakPath& path, std::vector<Part> parts)
      : path_(path), parts_(std::move(parts)), sliced_(problem.from.rank(), 1) {
    const std::size_t rank = problem.from.rank();
    for (std::size_t i = 0; i < rank; ++i) source_.push_back(problem.from.cuts()[i].count());
    for (const WeakPath::Slice& slice : path.slices) sliced_[slice.dim] *= slice.factor;
    pieces_ = product(sliced_);
    for (const Part& part : parts_) targets_ *= part.source.is_there() ? 1 : part.size;
    // About a division of two numbers each.
    piece_work_ =
        static_cast<Size>(rank + path.moves.size() + path.gathers.size() + parts_.size()) / 2 + 1;
    alltoalls_ = path.alltoalls();
  }

  /// Whether it is so for every source tile. Nothing where there are too many tiles for `work`.
  std::optional<bool> all_find_theirs(Size& work) {
    constexpr Size most_tiles = Size{1} << 22;
    const Size sources = product(source_);
    if (sources * pieces_ > most_tiles) return std::nullopt;
    if (pieces_ % targets_ != 0) return false;
    before_.resize(source_.size());
    tile_.resize(source_.size());
    held_.resize(static_cast<std::size_t>(targets_));
    // A stride coprime to the number of tiles comes by all of them, and soon by one that tells.
    Size stride = sources / 3 * 2 + 1;
    while (std::gcd(stride, sources) != 1) ++stride;
    for (Size k = 0, u = 0; k < sources; ++k, u = (u + stride) % sources) {
      go_to_source(u);
      const std::optional<bool> found = all_of_source_find_theirs(work);
      if (!found || !*found) return found;
    }
    return true;
  }

 private:
  void go_to_source(Size number) {
    for (std::size_t i = 0; i < source_.size(); ++i) {
      before_[i] = number % source_[i];
      number /= source_[i];
    }
  }

  std::optional<bool> all_of_source_find_theirs(Size& work) {
    work -= targets_ / 4;
    std::fill(held_.begin(), held_.end(), Size{0});
    for (Size piece = 0; piece < pieces_; ++piece) {
      work -= piece_work_;
      if (work < 0) return std::nullopt;
      run_path(piece);
      const std::optional<Size> target = target_held();
      if (!target || ++held_[static_cast<std::size_t>(*target)] > pieces_ / targets_) return false;
    }
    return true;
  }

  /// Takes a piece of the source tile along the path, to the target tile that it lies in.
  void run_path(Size piece) {
    for (std::size_t i = 0; i < tile_.size(); ++i) {
      tile_[i] = before_[i] * sliced_[i] + piece % sliced_[i];
      piece /= sliced_[i];
    }
    for (const std::span<const WeakPath::Move> moves : alltoalls_) {
      digits_.clear();
      for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
        digits_.push_back(tile_[move->from_dim] % move->factor);
        tile_[move->from_dim] /= move->factor;
      }
      for (const WeakPath::Move& move : moves) {
        tile_[move.to_dim] = tile_[move.to_dim] * move.factor + digits_.back();
        digits_.pop_back();
      }
    }
    for (const WeakPath::Gather& gather : path_.gathers) tile_[gather.dim] /= gather.factor;
  }

  /// Which of the target tiles that devices of this source tile hold it is; nothing where no device
  /// holds both.
  [[nodiscard]] std::optional<Size> target_held() const {
    Size target = 0;
    for (const Part& part : parts_) {
      if (!part.target.is_there()) continue;
      const Size after = part.target.value(tile_, part.size);
      if (!part.source.is_there()) {
        target = target * part.size + after;
      } else if (part.source.value(before_, part.size) != after) {
        return std::nullopt;
      }
    }
    return target;
  }

  const WeakPath& path_;
  std::vector<std::span<const WeakPath::Move>> alltoalls_;
  std::vector<Part> parts_;
  std::vector<Size> source_;  // tiles of the source along each dimension
  std::vector<Size> sliced_;  // pieces of a source tile along each dimension
  Size pieces_ = 1;           // of a source tile
  Size targets_ = 1;          // target tiles that the devices of one source tile hold
  Size piece_work_ = 1;
  std::vector<Size> before_;  // the source tile
  std::vector<Size> tile_;    // a piece of it, on its way
  std::vector<Size> digits_;  // what an alltoall has popped
  std::vector<Size> held_;    // how many pieces came to each of these target tiles
};

}  // namespace

std::vector<std::vector<Digit>> run_alltoall(Layout& map, std::span<const WeakPath::Move> moves) {
  // What is popped first is the fastest.
  std::vector<std::pair<std::size_t, Size>> factors;
  for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
    factors.emplace_back(move->from_dim, move->factor);
  }
  std::vector<std::vector<Digit>> popped = pop_each(map, factors);
  std::reverse(popped.begin(), popped.end());
  for (std::size_t k = 0; k < moves.size(); ++k) map.push(moves[k].to_dim, popped[k]);
  return popped;
}

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
  for (const std::span<const WeakPath::Move> moves : path.alltoalls()) {
    std::vector<Items> popped;
    for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
      popped.push_back(pop(lists[move->from_dim], move->factor, mixed));
    }
    for (const WeakPath::Move& move : moves) {
      for (auto item = popped.back().rbegin(); item != popped.back().rend(); ++item) {
        prepend(lists[move.to_dim], *item, mixed);
      }
      popped.pop_back();
    }
  }
  for (const WeakPath::Gather& gather : path.gathers) pop(lists[gather.dim], gather.factor, mixed);
  FreeDigits free(problem.from, problem.to);
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
  FreeDigits free(problem.from, problem.to);
  SliceDigits out;
  for (const WeakPath::Slice& slice : path.slices) out.push_back(free.take_any(slice.factor));
  return out;
}

std::optional<bool> can_do_without(const Problem& problem, const WeakPath& path, Size& work) {
  std::optional<std::vector<Part>> parts = parts_of(problem);
  if (!parts) return std::nullopt;
  return PieceCount(problem, path, *std::move(parts)).all_find_theirs(work);
}

bool reaches_target(const Problem& problem, const WeakPath& path, const SliceDigits& digits) {
  Layout map = problem.from;
  run_slices(map, path, digits);
  for (const std::span<const WeakPath::Move> moves : path.alltoalls()) run_alltoall(map, moves);
  for (const WeakPath::Gather& gather : path.gathers) map.pop(gather.dim, gather.factor);
  map.compact_in_place();
  return map.equivalent(problem.to);
}

Placement place_permutation(const Problem& problem, const WeakPath& path,
                            const SliceDigits& digits) {
  const std::vector<std::span<const WeakPath::Move>> alltoalls = path.alltoalls();
  const std::size_t count = alltoalls.size();
  std::vector<Layout> before(count + 1);  // before[p]: after the slices and the first p alltoalls
  before[0] = problem.from;
  run_slices(before[0], path, digits);
  for (std::size_t p = 0; p < count; ++p) {
    before[p + 1] = before[p];
    run_alltoall(before[p + 1], alltoalls[p]);
    before[p + 1].compact_in_place();
  }
  // after[p]: what must be there for alltoalls p.. and the gathers to end in the target
  std::vector<Layout> after(count + 1);
  after[count] = problem.to;
  FreeDigits free(problem.to, before[count]);
  for (std::size_t k = path.gathers.size(); k-- > 0;) {
    after[count].push(path.gathers[k].dim, free.take_any(path.gathers[k].factor));
  }
  if (before[count].is_compact() && after[count].is_compact()) {  // no earlier place is better
    return {count, {std::move(before[count]), std::move(after[count])}};
  }
  for (std::size_t p = count; p-- > 0;) {
    after[p] = after[p + 1];
    undo_alltoall(after[p], alltoalls[p]);
    after[p].compact_in_place();
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
