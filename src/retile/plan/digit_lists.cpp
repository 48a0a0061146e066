// Tile maps as lists of digits. See digit_lists.h.
#include "retile/plan/digit_lists.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/primes.h"

namespace retile {

namespace {

std::vector<bool> used_by(const Layout& map, const std::vector<Size>& cuts) {
  std::vector<bool> used(cuts.size(), false);
  for (const auto& list : map.digits()) {
    for (const Digit& digit : list) {
      for (std::size_t k = 0; k < cuts.size(); ++k) {
        if (cuts[k] >= digit.stride && cuts[k] < digit.stride * digit.size) used[k] = true;
      }
    }
  }
  return used;
}

}  // namespace

std::vector<Size> digit_cuts(const Problem& problem) {
  std::vector<Size> cuts{1, problem.from.devices()};
  for (const Layout* map : {&problem.from, &problem.to}) {
    for (const auto& list : map->digits()) {
      for (const Digit& digit : list) {
        cuts.push_back(digit.stride);
        cuts.push_back(digit.stride * digit.size);
      }
    }
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

DigitAlphabet::DigitAlphabet(const Problem& problem, const std::vector<std::size_t>& dims) {
  const std::vector<PrimePower> primes = factorize(problem.from.devices());
  std::vector<Size> cuts = digit_cuts(problem);
  if (primes.size() == 1) {
    prime_ = primes.front().prime;
    cuts.clear();
    for (Size cut = 1; cut < problem.from.devices(); cut *= prime_) cuts.push_back(cut);
    cuts.push_back(problem.from.devices());
    intern({Kind::fresh, 0, 1, prime_});
    intern({Kind::lost, 0, 1, prime_});
  }
  for (std::size_t k = 1; k < cuts.size(); ++k) usable_ = usable_ && cuts[k] % cuts[k - 1] == 0;
  if (!usable_) return;
  const std::vector<bool> in_source = used_by(problem.from, cuts);
  const std::vector<bool> in_target = used_by(problem.to, cuts);
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    if (in_source[k] || in_target[k]) pairs_ *= cuts[k + 1] / cuts[k];
  }
  std::vector<Kept> of_part(cuts.size());
  for (const std::size_t dim : dims) {
    add_list(problem, dim, true, cuts, in_source, in_target, of_part);
    add_list(problem, dim, false, cuts, in_source, in_target, of_part);
  }
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    if (in_source[k] && in_target[k]) kept_.push_back(of_part[k]);
  }
  if (one_prime()) find_wishes();
}

void DigitAlphabet::add_list(const Problem& problem, std::size_t dim, bool is_source,
                             const std::vector<Size>& cuts, const std::vector<bool>& in_source,
                             const std::vector<bool>& in_target, std::vector<Kept>& kept) {
  const Layout& map = is_source ? problem.from : problem.to;
  const std::vector<Digit>& digits = map.digits()[dim];
  DigitList list;
  const std::size_t at = source_.size() - (is_source ? 0 : 1);
  Size above = 1;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    for (std::size_t k = cuts.size() - 1; k-- > 0;) {
      if (cuts[k] < digit->stride || cuts[k] >= digit->stride * digit->size) continue;
      const Size size = cuts[k + 1] / cuts[k];
      (is_source ? kept[k].from_dim : kept[k].to_dim) = at;
      (is_source ? kept[k].above_from : kept[k].above_to) = above;
      above *= size;
      if (in_source[k] && in_target[k]) {
        append(list, {Kind::kept, 0, cuts[k], size});
      } else {
        append(list, {is_source ? Kind::lost : Kind::fresh, 0, 1, size});
      }
    }
  }
  (is_source ? source_ : target_).push_back(std::move(list));
}

char16_t DigitAlphabet::intern(const Letter& letter) {
  if (letters_.size() <= few_letters) {
    const auto known = std::find(letters_.begin(), letters_.end(), letter);
    if (known != letters_.end()) return static_cast<char16_t>(known - letters_.begin());
  }
  if (letters_.size() < few_letters) {
    letters_.push_back(letter);
    return static_cast<char16_t>(letters_.size() - 1);
  }
  for (std::size_t k = numbers_.size(); k < letters_.size(); ++k) {
    numbers_.emplace(letters_[k], static_cast<char16_t>(k));
  }
  const auto [at, fresh] = numbers_.emplace(letter, static_cast<char16_t>(letters_.size()));
  if (fresh) {
    // The last value ends a list's name.
    if (letters_.size() >= 0xffff) {
      full_ = true;
      numbers_.erase(at);
      return 0;
    }
    letters_.push_back(letter);
  }
  return at->second;
}

/// Puts a digit on the minor end. Lists are kept joined as far as they go, so that equal functions
/// have equal lists.
void DigitAlphabet::append(DigitList& list, Letter letter) {
  if (!one_prime() && !list.empty()) {
    const Letter& last = letters_[list.back()];
    if (last.kind == letter.kind) {
      if (letter.kind == Kind::fresh || letter.kind == Kind::lost) {
        letter.size *= last.size;
        list.pop_back();
      } else if (last.number == letter.number && letter.stride * letter.size == last.stride) {
        letter.size *= last.size;
        list.pop_back();
      }
    }
    if (letter.kind == Kind::mixed && letter.stride == 1) {
      const DigitList digits = mixed_[letter.number];
      Size whole = 1;
      for (const char16_t digit : digits) whole *= letters_[digit].size;
      if (letter.size == whole) {
        for (const char16_t digit : digits) append(list, letters_[digit]);
        return;
      }
    }
  }
  list.push_back(intern(letter));
}

void DigitAlphabet::slice(DigitList& list, Size n) {
  if (!one_prime()) {
    append(list, {Kind::fresh, 0, 1, n});
    return;
  }
  for (; n > 1; n /= prime_) list.push_back(fresh_digit);
}

/// Makes the minor end of a list one mixed number, so that n can be taken off it.
void DigitAlphabet::mix(DigitLists& lists, std::size_t i, Size n) {
  DigitList& list = lists[i];
  DigitList digits;  // minor to major
  Size size = 1;
  for (Size need = n; need > 1; need = n / std::gcd(n, size)) {
    RETILE_ASSERT(!list.empty(), "a popped factor divides the number of tiles");
    Letter letter = letters_[list.back()];
    list.pop_back();
    if (letter.size % need == 0 && letter.size != need) {
      // Its major part stays as it is.
      const Letter part{letter.kind, letter.number, letter.stride, need};
      if (letter.kind == Kind::kept || letter.kind == Kind::mixed) letter.stride *= need;
      letter.size /= need;
      list.push_back(intern(letter));
      letter = part;
    }
    digits.push_back(intern(letter));
    size *= letter.size;
  }
  std::reverse(digits.begin(), digits.end());
  // Fresh and lost digits have no names; another number made of the like may be around.
  const auto contains = [&](const auto& self, const DigitList& in, std::size_t number) -> bool {
    work_ += 1 + static_cast<Size>(in.size());
    return std::any_of(in.begin(), in.end(), [&](char16_t digit) {
      const Letter letter = letters_[digit];
      return letter.kind == Kind::mixed &&
             (letter.number == number || self(self, mixed_[letter.number], number));
    });
  };
  const auto in_use = [&](std::size_t number) {
    return contains(contains, digits, number) ||
           std::any_of(lists.begin(), lists.end(),
                       [&](const DigitList& other) { return contains(contains, other, number); });
  };
  std::vector<std::size_t>& numbers = mixed_of_[digits];
  const auto unused = std::find_if_not(numbers.begin(), numbers.end(), in_use);
  const std::size_t number = unused == numbers.end() ? mixed_.size() : *unused;
  if (number == mixed_.size()) {
    numbers.push_back(number);
    mixed_.push_back(digits);
  }
  // Not joined: append would turn the whole number back into its digits.
  list.push_back(intern({Kind::mixed, number, 1, size}));
}

void DigitAlphabet::move(DigitLists& lists, std::size_t from, std::size_t to, Size n) {
  DigitList& list = lists[from];
  if (one_prime()) {
    std::size_t count = 0;
    for (; n > 1; n /= prime_) ++count;
    lists[to].append(list, list.size() - count, count);
    list.resize(list.size() - count);
    return;
  }
  std::vector<Letter> popped;  // minor to major
  while (n > 1) {
    const Letter letter = letters_[list.back()];
    const Size part = std::gcd(letter.size, n);
    if (part == 1) {
      mix(lists, from, n);
      continue;
    }
    list.pop_back();
    popped.push_back({letter.kind, letter.number, letter.stride, part});
    if (part != letter.size) {
      Letter rest = letter;
      if (letter.kind == Kind::kept || letter.kind == Kind::mixed) rest.stride *= part;
      rest.size /= part;
      list.push_back(intern(rest));
    }
    n /= part;
  }
  for (auto letter = popped.rbegin(); letter != popped.rend(); ++letter) append(lists[to], *letter);
}

DigitAlphabet::Letter DigitAlphabet::major_part(const Letter& letter, Size n) const {
  Letter part = letter;
  if (letter.kind == Kind::kept || letter.kind == Kind::mixed) part.stride *= letter.size / n;
  part.size = n;
  return part;
}

Match DigitAlphabet::match(const DigitList& list, std::size_t i, Size n) {
  const DigitList& wanted = target_[i];
  std::size_t a = 0;
  std::size_t b = 0;
  if (one_prime()) {
    for (; n > 1 && a < list.size() && a < wanted.size(); ++a, n /= prime_) {
      if (list[a] != wanted[a]) return Match::no;
    }
    return n > 1 ? Match::unknown : Match::yes;
  }
  Letter mine;
  Letter theirs;
  while (n > 1) {
    if (mine.size == 1) {
      if (a == list.size()) return Match::unknown;
      mine = letters_[list[a++]];
    }
    if (theirs.size == 1) {
      if (b == wanted.size()) return Match::unknown;
      theirs = letters_[wanted[b++]];
    }
    const Size part = std::gcd(std::gcd(mine.size, theirs.size), n);
    if (part == 1 || mine.kind == Kind::mixed) return Match::unknown;
    const Letter mine_part = major_part(mine, part);
    if (mine_part != major_part(theirs, part)) return Match::no;
    mine.size /= part;  // what is left is the minor part
    theirs.size /= part;
    n /= part;
  }
  return Match::yes;
}

void DigitAlphabet::find_wishes() {
  const std::size_t ground = letters_.size();
  below_.assign(ground, nothing);
  above_.assign(ground + target_.size(), nothing);
  for (std::size_t i = 0; i < target_.size(); ++i) {
    std::size_t below = ground + i;
    for (const char16_t digit : target_[i]) {
      if (digit != fresh_digit) below_[digit] = below;
      if (below != fresh_digit) above_[below] = digit;
      below = digit;
    }
  }
}

int DigitAlphabet::count_moves(const DigitLists& lists, bool before_slices) const {
  const std::size_t ground = below_.size();
  int both = 0;  // a kept digit on the wrong one: one neighbourhood must go, one must come
  int go = 0;    // others that must go
  int come = 0;  // others that must come: fresh digits on a kept one
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const DigitList& list = lists[i];
    std::size_t below = ground + i;
    for (const char16_t digit : list) {
      const std::size_t wish =
          below == fresh_digit || below == lost_digit ? nothing : above_[below];
      if (wish == fresh_digit && digit != fresh_digit) ++come;
      if (digit == lost_digit) {
        if (wish != nothing) ++go;
      } else if (digit == fresh_digit) {
        if (wish != nothing && wish != fresh_digit) ++go;
      } else if (below_[digit] != below) {
        ++both;
      }
      below = digit;
    }
    // The minor end: slices may still put a fresh digit there.
    if (!before_slices && below != fresh_digit && below != lost_digit &&
        above_[below] == fresh_digit)
      ++come;
  }
  return both + std::max(go, come);
}

int DigitAlphabet::least_moves(const DigitLists& lists) const { return count_moves(lists, false); }

int DigitAlphabet::least_moves_from_source() const { return count_moves(source_, true); }

}  // namespace retile
