// Exact paths of problems with addends. See reduce_digits.h.
#include "retile/plan/reduce_digits.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/digits.h"
#include "retile/core/layout_facts.h"
#include "retile/core/primes.h"

namespace retile {
namespace {

/// A part of the device number, of prime size, and what the two ends use it for.
struct Atom {
  enum class Use { nothing, tile, addend };
  Digit digit;
  std::size_t prime = 0;  // its number
  Use before = Use::nothing;
  Use after = Use::nothing;
};

using Lists = std::vector<std::vector<Digit>>;

Lists lists_of(const Layout& layout) {
  Lists out = layout.digits();
  out.push_back(addend_digits(layout));
  return out;
}

/// The device number in parts of prime size that both ends use whole, minor to major. Nothing where
/// their digits do not nest.
std::optional<std::vector<Atom>> atoms_of(const Problem& problem) {
  std::vector<Size> cuts = {1, problem.from.devices()};
  for (const Layout* end : {&problem.from, &problem.to}) {
    for (const auto& list : lists_of(*end)) {
      for (const Digit& digit : list) {
        cuts.push_back(digit.stride);
        cuts.push_back(digit.stride * digit.size);
      }
    }
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  const std::vector<PrimePower> primes = factorize(problem.from.devices());
  std::vector<Atom> out;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    if (cuts[k + 1] % cuts[k] != 0) return std::nullopt;
    Size stride = cuts[k];
    for (std::size_t q = 0; q < primes.size(); ++q) {
      for (; cuts[k + 1] / stride % primes[q].prime == 0; stride *= primes[q].prime) {
        out.push_back({{stride, primes[q].prime}, q});
      }
    }
  }
  return out;
}

/// The numbers of the atoms that a list of digits is made of, minor to major.
std::vector<std::size_t> atoms_in(const std::vector<Atom>& atoms,
                                  const std::vector<Digit>& digits) {
  std::vector<std::size_t> out;
  for (const Digit& digit : digits) {
    for (std::size_t a = 0; a < atoms.size(); ++a) {
      const Size stride = atoms[a].digit.stride;
      if (stride >= digit.stride && stride < digit.stride * digit.size) out.push_back(a);
    }
  }
  return out;
}

/// What stands in a list: an atom that was there from the start, or one of a size that a slice
/// introduced, or that was an addend's.
struct Letter {
  enum class Of { kept, fresh, added };
  Of of = Of::kept;
  std::size_t number = 0;  // kept: the atom; else the prime
  std::size_t step = 0;    // while binding: which step introduced it
  std::size_t part = 0;    // and which of its parts it is
};

class Letters {
 public:
  Letters(const Problem& problem, std::vector<Atom> atoms)
      : atoms_(std::move(atoms)), may_twist_(problem.from.devices() <= most_twisted_devices) {
    for (const PrimePower& power : factorize(problem.from.devices())) {
      primes_.push_back(power.prime);
    }
    const std::size_t rank = problem.from.rank();
    const Lists from = lists_of(problem.from);
    const Lists to = lists_of(problem.to);
    for (std::size_t i = 0; i <= rank; ++i) {
      source_.push_back(atoms_in(atoms_, from[i]));
      target_.push_back(atoms_in(atoms_, to[i]));
      for (const std::size_t a : source_[i]) {
        atoms_[a].before = i < rank ? Atom::Use::tile : Atom::Use::addend;
      }
      for (const std::size_t a : target_[i]) {
        atoms_[a].after = i < rank ? Atom::Use::tile : Atom::Use::addend;
      }
    }
  }

  [[nodiscard]] const std::vector<Size>& primes() const { return primes_; }
  [[nodiscard]] const std::vector<Atom>& atoms() const { return atoms_; }
  /// Per dimension the numbers of atoms.
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& source() const { return source_; }
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& target() const { return target_; }

  /// Whether digits that count addends in the end can come to do so: no tile's do.
  [[nodiscard]] bool addends_can_be() const {
    return std::all_of(atoms_.begin(), atoms_.end(), [this](const Atom& atom) {
      if (atom.after != Atom::Use::addend || atom.before == Atom::Use::addend) return true;
      return atom.before == Atom::Use::nothing && may_twist_;
    });
  }
  /// By prime, how many digits count addends in the end that counted replicas.
  [[nodiscard]] std::vector<int> new_addends() const {
    std::vector<int> out(primes_.size(), 0);
    for (const Atom& atom : atoms_) {
      out[atom.prime] += is_new_addend(atom) ? 1 : 0;
    }
    return out;
  }
  [[nodiscard]] static bool is_new_addend(const Atom& atom) {
    return atom.after == Atom::Use::addend && atom.before == Atom::Use::nothing;
  }

  /// Letters as characters: kept atoms, then those of a slice by prime, then those of addends.
  [[nodiscard]] char16_t coded(const Letter& letter) const {
    const std::size_t n = atoms_.size();
    switch (letter.of) {
      case Letter::Of::kept:
        return static_cast<char16_t>(letter.number);
      case Letter::Of::fresh:
        return static_cast<char16_t>(n + letter.number);
      case Letter::Of::added:
        return static_cast<char16_t>(n + primes_.size() + letter.number);
    }
    return 0;
  }
  [[nodiscard]] Letter decoded(char16_t code) const {
    const std::size_t n = atoms_.size();
    if (code < n) return {Letter::Of::kept, code};
    if (code < n + primes_.size()) return {Letter::Of::fresh, code - n};
    return {Letter::Of::added, code - n - primes_.size()};
  }
  [[nodiscard]] Size size(const Letter& letter) const {
    return letter.of == Letter::Of::kept ? atoms_[letter.number].digit.size
                                         : primes_[letter.number];
  }
  /// Whether a letter can be this atom of the target, which counted replicas, after a twist: then it
  /// counts addends until the letter's step.
  [[nodiscard]] bool fits_twisted(const Letter& letter, std::size_t atom) const {
    return may_twist_ && letter.of == Letter::Of::added &&
           atoms_[atom].before == Atom::Use::nothing && atoms_[atom].prime == letter.number;
  }
  /// Whether a letter can be this atom of the target.
  [[nodiscard]] bool fits(const Letter& letter, std::size_t atom) const {
    if (letter.of == Letter::Of::kept) return letter.number == atom;
    const Atom::Use use = letter.of == Letter::Of::fresh ? Atom::Use::nothing : Atom::Use::addend;
    return atoms_[atom].before == use && atoms_[atom].prime == letter.number;
  }

 private:
  /// Tables of groups after a twist are lists of all devices.
  static constexpr Size most_twisted_devices = Size{1} << 12;

  std::vector<Atom> atoms_;
  bool may_twist_;
  std::vector<Size> primes_;
  std::vector<std::vector<std::size_t>> source_;
  std::vector<std::vector<std::size_t>> target_;
};

/// A* over lists.
class LetterSearch {
 public:
  LetterSearch(const Letters& letters, const KindSpace& space, KindSearch& kinds,
               std::optional<PathPrice> most, WorkLimit& work)
      : letters_(letters), space_(space), kinds_(kinds), most_(most), work_(work) {}

  /// The steps of a cheapest path.
  std::optional<std::vector<AddingStep>> run() {
    State start;
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      start.lists.emplace_back();
      for (const std::size_t atom : letters_.source()[i]) {
        start.lists.back() += letters_.coded({Letter::Of::kept, atom});
      }
    }
    start.kind = space_.source();
    reach(std::move(start), {}, none, {});
    while (!queue_.empty() && complete_) {
      const std::size_t at = queue_.top().node;
      queue_.pop();
      if (nodes_[at].done) continue;
      nodes_[at].done = true;
      if (nodes_[at].state.phase == at_target) return steps_to(at);
      expand(at);
    }
    return std::nullopt;
  }

  [[nodiscard]] PathPrice price() const { return price_; }
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] Size states() const { return static_cast<Size>(nodes_.size()); }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr std::size_t moving = static_cast<std::size_t>(-2);
  static constexpr std::size_t at_target = static_cast<std::size_t>(-3);

  struct State {
    /// Those of the dimensions. While an alltoall along several dimensions may still go on there is one
    /// more: by dimension, how many letters it has put there, or `loses`.
    std::vector<std::u16string> lists;
    Kind kind;
    std::size_t phase = 0;  // slices: the last dimension sliced; then moving, then at_target
  };
  static constexpr char16_t loses = u'\xffff';
  struct Node {
    State state;
    PathPrice price;
    std::size_t parent = none;
    AddingStep step;
    bool done = false;
  };
  struct Entry {
    PathPrice bound;
    std::size_t node;
    friend bool operator<(const Entry& a, const Entry& b) {  // the least comes first
      return b.bound < a.bound || (!(a.bound < b.bound) && b.node < a.node);
    }
  };

  [[nodiscard]] static std::u16string name_of(const State& state) {
    std::size_t length = 3;
    for (const auto& list : state.lists) length += list.size() + 1;
    std::u16string name;
    name.reserve(length);
    name += static_cast<char16_t>(state.phase);
    for (const auto& list : state.lists) (name += list) += u'\xffff';
    const Size addends = state.kind.back();
    name += static_cast<char16_t>(addends & 0xffff);
    return name += static_cast<char16_t>(addends >> 16);
  }

  [[nodiscard]] bool goes_on(const State& state) const {
    return state.lists.size() > space_.rank();
  }

  /// What comes after a state costs at least this.
  [[nodiscard]] std::optional<PathPrice> least(const State& state) {
    if (state.phase == at_target) return PathPrice{};
    if (state.phase != moving) return kinds_.price_before_slices(state.kind);
    const auto price = kinds_.price(state.kind);
    if (!goes_on(state)) return price;
    // It keeps the tile's size. And another alltoall could do what this one still does.
    const Wide tile = space_.tile(state.kind);
    const auto least = kinds_.least_price(tile, state.kind.back());
    if (!least || !price || price->cost < least->cost + tile) return least;
    return PathPrice{price->cost - tile, std::max(price->steps - 1, 0)};
  }

  void reach(State state, const PathPrice& price, std::size_t parent, AddingStep step) {
    if (!work_.spend(8 + static_cast<Size>(space_.rank()))) complete_ = false;
    const auto ahead = least(state);
    if (!ahead || (most_ && *most_ < price + *ahead)) return;
    const auto [at, fresh] = number_of_.emplace(name_of(state), nodes_.size());
    if (fresh) {
      nodes_.push_back({std::move(state), price, parent, std::move(step), false});
    } else {
      // Within an alltoall what is ahead is a guess, so a state may be reached for less later.
      Node& node = nodes_[at->second];
      if (!(price < node.price)) return;
      node.done = false;
      node.price = price;
      node.parent = parent;
      node.step = std::move(step);
    }
    queue_.push({price + *ahead, at->second});
  }

  void expand(std::size_t at) {
    const State state = nodes_[at].state;
    const PathPrice price = nodes_[at].price;
    finish(at, state, price);
    if (state.phase != moving) slice(at, state, price);
    move(at, state, price);
    add(at, state, price);
  }

  void slice(std::size_t at, const State& state, const PathPrice& price) {
    for (std::size_t i = state.phase; i < space_.rank(); ++i) {
      for (std::size_t q = letters_.primes().size(); q-- > 0;) {  // as atoms are: small ones minor
        const Size n = letters_.primes()[q];
        AddingStep step{Collective::dynslice, i, 0, n, {n}};
        const auto cost = space_.price(state.kind, step);
        if (!cost) continue;
        State next = state;
        next.lists[i].insert(0, 1, letters_.coded({Letter::Of::fresh, q}));
        next.kind = space_.after(next.kind, step);
        next.phase = i;
        reach(std::move(next), price + PathPrice{*cost, 0}, at, std::move(step));
      }
    }
  }

  /// An alltoall along several dimensions, letter by letter, the fastest first: it takes the fastest
  /// one off a dimension, and puts it behind those that it has put on another one.
  void move_together(std::size_t at, const State& state, const PathPrice& price) {
    for (const bool on : {true, false}) {
      if (on && !goes_on(state)) continue;
      const std::u16string gained =
          on ? state.lists.back() : std::u16string(space_.rank(), char16_t{0});
      for (std::size_t i = 0; i < space_.rank(); ++i) {
        if (state.lists[i].empty() || (gained[i] != 0 && gained[i] != loses)) continue;
        const Size n = letters_.size(letters_.decoded(state.lists[i].front()));
        for (std::size_t j = 0; j < space_.rank(); ++j) {
          AddingStep step{Collective::alltoall, i, j, n};
          if (j == i || gained[j] == loses) continue;
          const auto cost = space_.price(state.kind, step);
          if (!cost) continue;
          State next = state;
          next.lists[j].insert(gained[j], 1, state.lists[i].front());
          next.lists[i].erase(0, 1);
          next.kind = space_.after(next.kind, step);
          next.phase = moving;
          next.lists.resize(space_.rank());
          next.lists.push_back(gained);
          next.lists.back()[i] = loses;
          ++next.lists.back()[j];
          step.goes_on = on;
          reach(std::move(next), price + (on ? PathPrice{} : PathPrice{*cost, 1}), at,
                std::move(step));
        }
      }
    }
  }

  void move(std::size_t at, const State& state, const PathPrice& price) {
    if (space_.several_dims()) return move_together(at, state, price);
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      Size n = 1;
      for (std::size_t m = 1; m <= state.lists[i].size(); ++m) {
        n *= letters_.size(letters_.decoded(state.lists[i][m - 1]));
        for (std::size_t j = 0; j < space_.rank(); ++j) {
          const AddingStep step{Collective::alltoall, i, j, n};
          const auto cost = i == j ? std::nullopt : space_.price(state.kind, step);
          if (!cost) continue;
          State next = state;
          next.lists[j].insert(0, state.lists[i].substr(0, m));
          next.lists[i].erase(0, m);
          next.kind = space_.after(next.kind, step);
          next.phase = moving;
          reach(std::move(next), price + PathPrice{*cost, 1}, at, step);
        }
      }
    }
  }

  void add(std::size_t at, const State& state, const PathPrice& price) {
    for (const Size n : space_.factors()) {
      const AddingStep step{Collective::allreduce, 0, 0, n};
      const auto cost = space_.price(state.kind, step);
      if (!cost) continue;
      State next = state;
      next.kind = space_.after(next.kind, step);
      next.phase = moving;
      next.lists.resize(space_.rank());
      reach(std::move(next), price + PathPrice{*cost, 1}, at, step);
    }
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      scatter(at, state, price, {Collective::reducescatter, i, 0, 1});
    }
  }

  /// All reducescatters of one part more than `step` has, and of more than that.
  void scatter(std::size_t at, const State& state, const PathPrice& price, const AddingStep& step) {
    for (std::size_t q = 0; q < letters_.primes().size() && complete_; ++q) {
      AddingStep longer = step;
      longer.factor *= letters_.primes()[q];
      longer.made_of.push_back(letters_.primes()[q]);
      if (!could_scatter(state.kind, longer)) continue;
      if (const auto cost = space_.price(state.kind, longer)) {
        State next = state;
        std::u16string letters;
        for (const Size part : longer.made_of) {
          letters += letters_.coded({Letter::Of::added, number_of_prime(part)});
        }
        next.lists[step.dim].insert(0, letters);
        next.kind = space_.after(next.kind, longer);
        next.phase = moving;
        next.lists.resize(space_.rank());
        reach(std::move(next), price + PathPrice{*cost, 1}, at, longer);
      }
      scatter(at, state, price, longer);
    }
  }

  /// Whether it could be taken if memory had no end: with larger factors it may fit.
  [[nodiscard]] bool could_scatter(const Kind& kind, const AddingStep& step) const {
    return kind.back() / space_.target().back() % step.factor == 0 &&
           space_.extent(kind, step.dim) % step.factor == 0;
  }

  [[nodiscard]] std::size_t number_of_prime(Size prime) const {
    const auto& primes = letters_.primes();
    return static_cast<std::size_t>(std::find(primes.begin(), primes.end(), prime) -
                                    primes.begin());
  }

  /// Gathers, where they end in the target.
  void finish(std::size_t at, const State& state, const PathPrice& price) {
    const auto gathers = space_.gathers(state.kind);
    if (!gathers) return;
    std::vector<int> twists = letters_.new_addends();  // by prime: wanted and not yet possible
    for (std::size_t i = 0; i < space_.rank(); ++i) {
      const auto& list = state.lists[i];
      const auto& wanted = letters_.target()[i];
      if (list.size() < wanted.size()) return;
      const std::size_t first = list.size() - wanted.size();
      for (std::size_t k = 0; k < list.size(); ++k) {
        const Letter letter = letters_.decoded(list[k]);
        if (k < first) {
          if (letter.of == Letter::Of::fresh) --twists[letter.number];
        } else if (letters_.fits_twisted(letter, wanted[k - first])) {
          ++twists[letter.number];
        } else if (!letters_.fits(letter, wanted[k - first])) {
          return;
        }
      }
    }
    if (std::any_of(twists.begin(), twists.end(), [](int count) { return count > 0; })) return;
    State next = state;
    next.phase = at_target;
    next.lists.resize(space_.rank());
    reach(std::move(next), price + *gathers, at, {Collective::allgather});
  }

  /// Behind the slower ones; digits next to one another from one dimension to another one are one.
  static void add_part(StepParts& along, const PlanStep::Part& part) {
    const bool joins =
        !along.empty() && along.back().dim == part.dim && along.back().to_dim == part.to_dim;
    if (joins) {
      along.back().factor *= part.factor;
    } else {
      along.push_back(part);
    }
  }

  std::vector<AddingStep> steps_to(std::size_t at) {
    price_ = nodes_[at].price;
    std::vector<AddingStep> out;
    StepParts along;  // of an alltoall along several dimensions, the slowest digit first
    const Kind top = nodes_[at].state.kind;
    for (at = nodes_[at].parent; nodes_[at].parent != none; at = nodes_[at].parent) {
      const AddingStep& step = nodes_[at].step;
      if (step.op == Collective::alltoall && space_.several_dims()) {
        add_part(along, {step.dim, step.to_dim, step.factor});
        if (!step.goes_on) out.push_back(step_of<AddingStep>(step.op, std::exchange(along, {})));
        continue;
      }
      const bool joins = !out.empty() && step.op == Collective::dynslice &&
                         out.back().op == step.op && out.back().dim == step.dim;
      if (joins) {  // this one came before what is there, so it is major to that
        out.back().factor *= step.factor;
        out.back().made_of.insert(out.back().made_of.end(), step.made_of.begin(),
                                  step.made_of.end());
      } else {
        out.push_back(step);
      }
    }
    std::reverse(out.begin(), out.end());
    for (const AddingStep& gather : space_.gather_steps(top)) out.push_back(gather);
    return out;
  }

  const Letters& letters_;
  const KindSpace& space_;
  KindSearch& kinds_;
  std::optional<PathPrice> most_;
  WorkLimit& work_;
  std::vector<Node> nodes_;
  std::unordered_map<std::u16string, std::size_t> number_of_;  // never iterated
  std::priority_queue<Entry> queue_;
  PathPrice price_;
  bool complete_ = true;
};

/// Finds the digits of a path that ends in the target.
class Binder {
 public:
  Binder(const Letters& letters, const std::vector<AddingStep>& steps)
      : letters_(letters), steps_(steps), atoms_(steps.size()) {
    for (std::size_t i = 0; i + 1 < letters.source().size(); ++i) {
      lists_.emplace_back();
      for (const std::size_t atom : letters.source()[i]) {
        lists_.back().push_back({Letter::Of::kept, atom});
      }
    }
  }

  AddingPath run() {
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      atoms_[k].assign(steps_[k].made_of.size(), none);
      apply(k);
    }
    bind();
    AddingPath out;
    for (std::size_t k = 0; k < steps_.size(); ++k) out.digits.push_back(digits(k));
    out.steps = steps_;
    out.twists = std::move(twists_);
    return out;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  using List = std::vector<Letter>;

  void push(std::size_t step, Letter::Of of) {
    List letters;
    for (std::size_t part = 0; part < steps_[step].made_of.size(); ++part) {
      letters.push_back({of, 0, step, part});
    }
    List& list = lists_[steps_[step].dim];
    list.insert(list.begin(), letters.begin(), letters.end());
  }

  [[nodiscard]] Size size(const Letter& letter) const {
    return letter.of == Letter::Of::kept ? letters_.size(letter)
                                         : steps_[letter.step].made_of[letter.part];
  }

  List pop(std::size_t dim, Size factor) {
    List& list = lists_[dim];
    List out;
    while (factor > 1) {
      factor /= size(list.front());
      out.push_back(list.front());
      list.erase(list.begin());
    }
    return out;
  }

  void apply(std::size_t k) {
    const AddingStep& step = steps_[k];
    switch (step.op) {
      case Collective::dynslice:
        push(k, Letter::Of::fresh);
        break;
      case Collective::reducescatter:
        push(k, Letter::Of::added);
        break;
      case Collective::alltoall: {
        const StepParts parts = parts_of(step);
        std::vector<List> popped;  // the fastest first
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
          popped.push_back(pop(part->dim, part->factor));
        }
        for (const PlanStep::Part& part : parts) {
          List& list = lists_[part.to_dim];
          list.insert(list.begin(), popped.back().begin(), popped.back().end());
          popped.pop_back();
        }
        break;
      }
      case Collective::allgather:
        for_each_part(step, [&](const PlanStep::Part& part) { pop(part.dim, part.factor); });
        break;
      case Collective::allreduce:
      case Collective::allpermute:
        break;
    }
  }

  /// What stands in the target is its atom; the other letters get those that are left.
  void bind() {
    taken_.assign(letters_.atoms().size(), false);
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      for (std::size_t k = 0; k < lists_[i].size(); ++k) {
        const Letter& letter = lists_[i][k];
        const std::size_t atom = letters_.target()[i][k];
        taken_[atom] = true;
        if (letter.of != Letter::Of::kept) atoms_[letter.step][letter.part] = atom;
        const bool was_replica = letters_.atoms()[atom].before == Atom::Use::nothing;
        if (letter.of == Letter::Of::added && was_replica) twist(atom);
      }
    }
    for (std::size_t atom = 0; atom < letters_.atoms().size(); ++atom) {
      if (Letters::is_new_addend(letters_.atoms()[atom])) twist(atom);
    }
    bind_rest();
  }

  /// This digit of replicas is to count addends: a slice that a gather undoes introduces it, mixed
  /// with a digit of addends.
  void twist(std::size_t atom) {
    const Digit sliced = letters_.atoms()[atom].digit;
    taken_[atom] = true;
    twisted_.push_back(atom);
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      for (std::size_t part = 0; part < atoms_[k].size(); ++part) {
        if (steps_[k].op != Collective::dynslice || atoms_[k][part] != none ||
            steps_[k].made_of[part] != sliced.size || stands(k, part)) {
          continue;
        }
        atoms_[k][part] = atom;
        return;
      }
    }
    RETILE_ASSERT(false, "gathers undo as many slices as there are twists");
  }

  /// Whether a part of a slice is there in the end.
  [[nodiscard]] bool stands(std::size_t step, std::size_t part) const {
    return std::any_of(lists_.begin(), lists_.end(), [&](const List& list) {
      return std::any_of(list.begin(), list.end(), [&](const Letter& letter) {
        return letter.of == Letter::Of::fresh && letter.step == step && letter.part == part;
      });
    });
  }

  void bind_rest() {
    for (const std::size_t atom : twisted_) {
      const Digit sliced = letters_.atoms()[atom].digit;
      twists_.push_back({sliced, letters_.atoms()[take(sliced.size, false)].digit});
    }
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      const bool slices = steps_[k].op == Collective::dynslice;
      for (std::size_t part = 0; part < atoms_[k].size(); ++part) {
        if (atoms_[k][part] == none) atoms_[k][part] = take(steps_[k].made_of[part], slices);
      }
    }
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      if (steps_[k].op != Collective::allreduce) continue;
      for (Size left = steps_[k].factor; left > 1;) {
        atoms_[k].push_back(take_any(left));
        left /= letters_.atoms()[atoms_[k].back()].digit.size;
      }
    }
  }

  [[nodiscard]] bool is_free(std::size_t atom, bool slices) const {
    const Atom& it = letters_.atoms()[atom];
    if (taken_[atom]) return false;
    if (slices) return it.before == Atom::Use::nothing;
    return it.before == Atom::Use::addend && it.after != Atom::Use::addend;
  }

  std::size_t take(Size size, bool slices) {
    for (std::size_t a = 0; a < taken_.size(); ++a) {
      if (!is_free(a, slices) || letters_.atoms()[a].digit.size != size) continue;
      taken_[a] = true;
      return a;
    }
    RETILE_ASSERT(false, "there are as many digits as the path takes");
  }

  std::size_t take_any(Size factor) {
    for (std::size_t a = 0; a < taken_.size(); ++a) {
      if (!is_free(a, false) || factor % letters_.atoms()[a].digit.size != 0) continue;
      taken_[a] = true;
      return a;
    }
    RETILE_ASSERT(false, "there are as many addends as the path adds");
  }

  [[nodiscard]] std::vector<Digit> digits(std::size_t step) const {
    std::vector<Digit> out;
    for (const std::size_t atom : atoms_[step]) out.push_back(letters_.atoms()[atom].digit);
    return twists_.empty() ? joined(out) : out;
  }

  const Letters& letters_;
  const std::vector<AddingStep>& steps_;
  std::vector<List> lists_;
  std::vector<std::vector<std::size_t>> atoms_;  // per step
  std::vector<bool> taken_;
  std::vector<std::size_t> twisted_;  // atoms
  std::vector<Twist> twists_;
};

/// Whether a stack, whose arrays have numbers, stays as it is.
bool stack_stays(const Problem& problem) {
  const auto& before = problem.from.addends();
  if (!before || before->addition != Addition::stack) return true;
  return before->numbers.equivalent(problem.to.addends()->numbers);
}

}  // namespace

ExactAnswer find_exact(const Problem& problem, const KindSpace& space, KindSearch& kinds,
                       std::optional<PathPrice> most, WorkLimit& work) {
  ExactAnswer out;
  auto atoms = atoms_of(problem);
  if (!atoms) return out;
  const Letters letters(problem, *std::move(atoms));
  if (!letters.addends_can_be() || !stack_stays(problem)) return out;
  LetterSearch search(letters, space, kinds, most, work);
  auto steps = search.run();
  out.price = search.price();
  out.complete = search.complete();
  out.states = search.states();
  if (!steps) return out;
  out.path = Binder(letters, *steps).run();
  return out;
}

}  // namespace retile
