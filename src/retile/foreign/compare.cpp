#include "retile/foreign/compare.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "retile/core/index.h"
#include "retile/core/layout_facts.h"
#include "retile/core/walk.h"

namespace retile::foreign {
namespace {

/// One cell of a box: where it is in the tile, and which element belongs there.
struct Cell {
  std::size_t offset = 0;
  Size element = 0;
};

/// The cells of a box at the beginning of a tile, row by row. Of a coarse one several elements may
/// belong into each, and the first is named.
class BoxCells {
 public:
  BoxCells(const Box& box, const Shape& extents, const Shape& global,
           const CoarsePlaces* places = nullptr)
      : places_(places),
        end_(places == nullptr || box.is_empty() ? box.extent : places->left_of(box.extent)),
        in_tile_(strides_of(extents)),
        in_array_(strides_of(global)),
        first_(offset_of(box.at, in_array_)),
        at_(box.at.size(), 0) {
    done_ = box.is_empty();
  }
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] Cell cell() const {
    const Size behind =
        places_ == nullptr ? offset_of(at_, in_array_) : offset_of(places_->first(at_), in_array_);
    return {index(offset_of(at_, in_tile_)), first_ + behind};
  }
  void next() { done_ = !advance(at_, end_); }
  [[nodiscard]] const Shape& at() const { return at_; }
  /// In the tile, of a coarse one the whole tile.
  [[nodiscard]] Shape place() const { return places_ == nullptr ? at_ : places_->first(at_); }

 private:
  const CoarsePlaces* places_;
  Shape end_;
  Shape in_tile_;
  Shape in_array_;
  Size first_;  ///< the element at the beginning of the box
  Shape at_;
  bool done_ = false;
};

/// What is in a place. A result that no element goes into is numbers.
Tag tag_in(const Cells& cells, std::size_t offset) {
  return cells.are_tags() ? cells.tags()[offset] : tag_of(cells.numbers()[offset], cells.content());
}

class Comparer {
 public:
  Comparer(const State& state, const TileType& type, const Layout& from, const Layout& claim,
           Sums& sums, const Divisors& divisors, const CoarsePlaces* places)
      : state_(state),
        extents_(type.extents),
        kind_(element_kind(type.element)),
        from_(from),
        claim_(claim),
        addition_(addition_of(from, claim)),
        sums_(sums),
        places_(places),
        array_(places == nullptr ? from.global() : places->array()),
        atoms_(count_of(array_)),
        times_(
            static_cast<std::uint64_t>(divisors.claim / std::gcd(divisors.from, divisors.claim))),
        parts_(divisors.from / std::gcd(divisors.from, divisors.claim)),
        boxes_(claim.boxes()) {}

  std::optional<Mismatch> find() {
    const bool whole = !addition_;
    std::set<std::pair<const Cells*, Shape>> seen;
    for (Size device = 0; device < claim_.devices(); ++device) {
      const Box& box = boxes_[index(device)];
      Shape key = box.at;
      key.insert(key.end(), box.extent.begin(), box.extent.end());
      if (!seen.emplace(&cells(device), std::move(key)).second) continue;
      if (auto out = whole ? other_element(device) : other_index(device)) return out;
    }
    if (whole) return std::nullopt;
    if (auto out = other_replica()) return out;
    return other_addends();
  }

 private:
  [[nodiscard]] const Cells& cells(Size device) const { return *state_.blocks[index(device)]; }
  [[nodiscard]] Tag tag(Size device, const Cell& cell) const {
    return tag_in(cells(device), cell.offset);
  }
  [[nodiscard]] BoxCells cells_of(Size device) const {
    return {boxes_[index(device)], extents_, claim_.global(), places_};
  }
  using Step = CoarseStep;
  /// The element that belongs into a place, which is a step inside of a coarse cell.
  [[nodiscard]] Shape wanted(const BoxCells& at, const Step& step) const {
    return further(index_of(at.cell().element, claim_.global()), step);
  }
  [[nodiscard]] static Shape further(Shape place, const Step& step) {
    for (std::size_t k = 0; k < step.place.size(); ++k) place[k] += step.place[k];
    return place;
  }
  /// The element that an atom is there.
  [[nodiscard]] Shape element_of(Tag atom, const Step& step) const {
    Shape out = index_of(atom % atoms_, array_);
    return places_ == nullptr ? out : places_->element(out, step);
  }
  /// The first step after which an atom is another element than belongs there; nothing where none is.
  [[nodiscard]] std::optional<Step> other_at(const BoxCells& at, Tag atom) const {
    const Size element = at.cell().element;
    if (places_ == nullptr) return atom % atoms_ == element ? std::nullopt : std::optional(Step{});
    const Shape coarse = index_of(atom % atoms_, array_);
    if (places_->element(coarse) != wanted(at, {})) return Step{};
    return places_->step_aside(at.at(), coarse);
  }
  [[nodiscard]] Mismatch mismatch(Fault fault, Size device, const BoxCells& at,
                                  const Step& step = {}) const {
    return {.fault = fault,
            .device = device,
            .at = further(at.place(), step),
            .element = wanted(at, step),
            .found = found_of(tag(device, at.cell()), at, step)};
  }
  [[nodiscard]] Found found_of(Tag tag, const BoxCells& at, const Step& step) const {
    using Kind = Found::Kind;
    if (tag == zero_tag) return {.kind = Kind::zero};
    if (tag == undefined_tag) return {.kind = Kind::undefined};
    if (tag == nothing_tag) return {.kind = Kind::nothing};
    if (!Sums::is_sum(tag)) return {.kind = Kind::element, .element = element_of(tag, step)};
    const Shape element = wanted(at, step);
    std::optional<std::pair<Tag, Shape>> other;  // by its addend
    for (const Term& term : sums_.terms(tag)) {
      std::pair next(term.atom / static_cast<Tag>(atoms_), element_of(term.atom, step));
      if (next.second != element && (!other || next < *other)) other = std::move(next);
    }
    return {.kind = Kind::sum, .element = other ? std::move(other->second) : element};
  }

  /// The first place of a device's box that is wrong; `look` says after which step a cell is, if it is.
  template <typename Look>
  [[nodiscard]] std::optional<Mismatch> first_wrong(Size device, const Look& look) const {
    std::optional<Mismatch> out;
    for (BoxCells at = cells_of(device); !at.done(); at.next()) {
      // A step inside of a coarse cell may lie behind the first place of the next.
      if (out && (places_ == nullptr || at.place() > out->at)) break;
      const std::optional<Step> step = look(at);
      if (!step) continue;
      Mismatch next = mismatch(Fault::end, device, at, *step);
      if (!out || next.at < out->at) out = std::move(next);
    }
    return out;
  }
  /// Without addends: exactly the element.
  [[nodiscard]] std::optional<Mismatch> other_element(Size device) const {
    return first_wrong(device, [&](const BoxCells& at) -> std::optional<Step> {
      const Cell cell = at.cell();
      const Tag found = tag(device, cell);
      if (places_ == nullptr && found == cell.element) return std::nullopt;
      return Sums::is_atom(found) ? other_at(at, found) : Step{};
    });
  }
  /// With addends: nothing but addends of the element.
  [[nodiscard]] std::optional<Mismatch> other_index(Size device) const {
    return first_wrong(device, [&](const BoxCells& at) -> std::optional<Step> {
      const Tag found = tag(device, at.cell());
      if (found == undefined_tag || sums_.adds_otherwise(*addition_, kind_, found)) return Step{};
      std::optional<Step> out;
      for (const Term& term : sums_.terms(found)) {
        std::optional<Step> next = other_at(at, term.atom);
        if (next && (!out || next->place < out->place)) out = std::move(next);
      }
      return out;
    });
  }
  /// The box of a device as a key of its replicas.
  [[nodiscard]] Shape box_key(Size device) const {
    Shape key = boxes_[index(device)].at;
    const Shape& extent = boxes_[index(device)].extent;
    key.insert(key.end(), extent.begin(), extent.end());
    return key;
  }
  [[nodiscard]] std::optional<Mismatch> other_replica() const {
    std::map<std::pair<Shape, Size>, Size> first;
    for (Size device = 0; device < claim_.devices(); ++device) {
      const auto [place, is_new] =
          first.try_emplace({box_key(device), claim_.addend(device)}, device);
      if (is_new || &cells(device) == &cells(place->second)) continue;
      for (BoxCells at = cells_of(device); !at.done(); at.next()) {
        if (tag(device, at.cell()) == tag(place->second, at.cell())) continue;
        Mismatch out = mismatch(Fault::replicas, device, at);
        out.replica = place->second;
        return out;
      }
    }
    return std::nullopt;
  }
  /// That all addends of the claim together hold each addend of `from` once.
  [[nodiscard]] std::optional<Mismatch> other_addends() {
    std::map<Shape, std::map<Size, Size>> tiles;  // box -> addend -> device
    for (Size device = 0; device < claim_.devices(); ++device) {
      tiles[box_key(device)].try_emplace(claim_.addend(device), device);
    }
    for (const auto& tile : tiles) {
      const auto& devices = tile.second;
      for (BoxCells at = cells_of(devices.begin()->second); !at.done(); at.next()) {
        auto out =
            addition_ == Addition::stack ? other_of_stack(devices, at) : other_sum(devices, at);
        if (out) return out;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Mismatch> other_of_stack(const std::map<Size, Size>& devices,
                                                       const BoxCells& at) const {
    for (const auto& [addend, device] : devices) {
      const Tag found = tag(device, at.cell());
      // That it is the element is known.
      if (Sums::is_atom(found) && found / atoms_ == addend) continue;
      Mismatch out = mismatch(Fault::addends, device, at);
      out.addend = addend;
      out.times = 0;
      return out;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Mismatch> other_sum(const std::map<Size, Size>& devices,
                                                  const BoxCells& at) {
    const bool counts = addition_ == Addition::sum;
    Tag sum = counts ? zero_tag : nothing_tag;
    for (const auto& [addend, device] : devices) {
      sum = sums_.add(*addition_, kind_, sum, tag(device, at.cell()));
    }
    const std::vector<Term> terms = sums_.terms(sum);
    const Size parts = sums_.parts(sum);
    const Size addends = from_.addend_count();
    auto term = terms.begin();  // by ascending atoms: one of an addend, as all are of the element
    for (Size addend = 0; addend < addends; ++addend) {
      const Size above = (addend + 1) * atoms_;
      const std::uint64_t times = term == terms.end() || term->atom >= above ? 0 : term->count();
      if (term != terms.end() && term->atom < above) ++term;
      if (times == times_ && parts == parts_) continue;
      Mismatch out = mismatch(Fault::addends, devices.begin()->second, at);
      out.addend = addend;
      out.times = times;
      if (parts != 1) out.parts = parts;
      return out;
    }
    return std::nullopt;
  }

  const State& state_;
  const Shape& extents_;
  ElementKind kind_;
  const Layout& from_;
  const Layout& claim_;
  std::optional<Addition> addition_;
  Sums& sums_;
  const CoarsePlaces* places_;
  Shape array_;          ///< whose elements the atoms are
  Size atoms_;           ///< of one addend
  std::uint64_t times_;  // how often an addend is to be there, of as many parts of it
  Size parts_;
  std::vector<Box> boxes_;
};

}  // namespace

std::optional<Mismatch> find_mismatch(const State& state, const TileType& type, const Layout& from,
                                      const Layout& claim, Sums& sums, const Divisors& divisors,
                                      const CoarsePlaces* places) {
  return Comparer(state, type, from, claim, sums, divisors, places).find();
}

std::optional<Size> other_tile(const Value& value, const Layout& layout) {
  for (std::size_t k = 0; k < value.tiles.size(); ++k) {
    const Shape box = layout.box(static_cast<Size>(k)).extent;
    const bool are_empty = checked_product(value.tiles[k]) == 0 && checked_product(box) == 0;
    if (value.tiles[k] != box && !are_empty) return static_cast<Size>(k);
  }
  return std::nullopt;
}

bool is_rearranged(const State& state, const Shape& extents, const Layout& claim) {
  const Size size = claim.global_size();
  std::vector<Tag> holds(index(size), undefined_tag);
  std::vector<bool> held(index(size));
  std::set<std::pair<const Cells*, Shape>> seen;
  for (Size device = 0; device < claim.devices(); ++device) {
    const Box box = claim.box(device);
    const Cells& cells = *state.blocks[index(device)];
    if (!seen.emplace(&cells, box.at).second) continue;
    for (BoxCells at(box, extents, claim.global()); !at.done(); at.next()) {
      const Tag tag = tag_in(cells, at.cell().offset);
      Tag& here = holds[index(at.cell().element)];
      if (tag < 0 || tag >= size) return false;
      if (here == tag) continue;  // a replica
      // A place that took a second element leaves another place without one.
      if (held[static_cast<std::size_t>(tag)]) return false;
      held[static_cast<std::size_t>(tag)] = true;
      here = tag;
    }
  }
  return std::find(holds.begin(), holds.end(), undefined_tag) == holds.end();
}

bool is_rearranged(const State& state, const Shape& extents, const Layout& claim,
                   const CoarsePlaces& places) {
  const Size size = count_of(places.array());
  std::vector<bool> held(index(size));
  Size count = 0;
  std::map<Shape, const Cells*> boxes;
  for (Size device = 0; device < claim.devices(); ++device) {
    const Box box = claim.box(device);
    const Cells& cells = *state.blocks[index(device)];
    const auto [place, is_new] = boxes.try_emplace(box.at, &cells);
    if (box.is_empty() || (!is_new && place->second == &cells)) continue;
    for (BoxCells at(box, extents, claim.global(), &places); !at.done(); at.next()) {
      const Tag tag = tag_in(cells, at.cell().offset);
      if (!is_new && tag != tag_in(*place->second, at.cell().offset)) return false;
      if (!is_new) continue;
      if (!Sums::is_atom(tag) || held[static_cast<std::size_t>(tag)]) return false;
      held[static_cast<std::size_t>(tag)] = true;
      ++count;
      if (places.size(at.at()) != places.element_size(index_of(tag, places.array()))) return false;
    }
  }
  return count == size;
}

}  // namespace retile::foreign
