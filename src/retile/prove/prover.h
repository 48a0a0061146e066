// The proof of one Program: which questions are asked, in which order. Private to this room.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/cases.h"
#include "retile/program/apply.h"
#include "retile/prove/encode.h"
#include "retile/prove/examination.h"

namespace retile {

/// \tparam Encoder  symbolic::Encoder, or one with other rules
template <typename Encoder>
class Prover {
 public:
  explicit Prover(Examination& examination)
      : examination_(examination),
        program_(examination.program()),
        addition_(addition_of(program_)) {}

  /// Precondition (asserted): the Program is regular.
  [[nodiscard]] Decision decide() {
    RETILE_ASSERT(symbolic::is_regular(program_), "only iotas and digits are encoded");
    Known known{0, &program_.from};
    for (std::size_t k = 0; k < program_.steps.size(); ++k) {
      before_.push_back(known);
      const Decision decision = step(k, known);
      if (decision != Decision::right) return decision;
    }
    before_.push_back(known);
    const std::size_t end = program_.steps.size();
    if (tiles().back() != program_.to.tile()) {
      return addition_ ? Decision::undecided : wrong_end(nullptr);
    }
    if (addition_) return sums("the end is the target", known, end, program_.to);
    return compare("the end is the target", known, end, program_.to,
                   [this](const Witness& found) { return wrong_end(&found); });
  }

 private:
  /// What is known at a point of the Program: after so many steps the arrays are boxes that lie as
  /// `map` says.
  struct Known {
    std::size_t steps = 0;
    const Layout* map = nullptr;
  };

  [[nodiscard]] const std::vector<Shape>& tiles() const { return examination_.tiles(); }

  /// Step k can be applied, and what it claims holds. A map claim that holds is known afterwards.
  [[nodiscard]] Decision step(std::size_t k, Known& known) {
    Decision decision = examination_.take(k);
    if (decision != Decision::right) return decision;
    const auto own = addition_of(program_.steps[k]);
    if (own && own != addition_) return Decision::undecided;
    const Claims& claims = program_.steps[k].claims;
    if (claims.tile && *claims.tile != tiles().back()) {
      if (addition_) return Decision::undecided;
      return examination_.other_shape(k, Reason::tile_claim, *claims.tile,
                                      claimed_base(claims, *claims.tile));
    }
    decision = tables(k);
    if (decision == Decision::right) decision = reads(k);
    if (decision == Decision::right && claims.map) decision = map_claim(k, known);
    return decision == Decision::right ? examination_.count(k) : decision;
  }

  [[nodiscard]] Decision map_claim(std::size_t k, Known& known) {
    const Layout& claim = *program_.steps[k].claims.map;
    if (claim.tile() != tiles().back()) {
      if (addition_) return Decision::undecided;
      return examination_.other_shape(k, Reason::map_claim, claim.tile(), claim.base_offset(0));
    }
    const std::string name = fmt::format("step {}: the tiles lie as its map says", k);
    const Decision decision = addition_
                                  ? sums(name, known, k + 1, claim)
                                  : compare(name, known, k + 1, claim, [&](const Witness& found) {
                                      return examination_.wrong(k, Reason::map_claim, found);
                                    });
    if (decision == Decision::right) known = {k + 1, &claim};
    return decision;
  }

  /// A wrong end is blamed on the first step that left a device without one box in order.
  [[nodiscard]] Decision wrong_end(const Witness* found) {
    const std::size_t end = program_.steps.size();
    for (std::size_t k = 0; k < end; ++k) {
      if (before_[k + 1].steps == k + 1) continue;  // known to be boxes
      if (const Decision decision = box(before_[k], k); decision != Decision::right) {
        return decision;
      }
    }
    if (found != nullptr) return examination_.wrong(end, Reason::end, *found);
    return examination_.other_shape(end, Reason::end, program_.to.tile(),
                                    program_.to.base_offset(0));
  }

  // ---- Questions --------------------------------------------------------------------------------

  /// Every device stands at one place of the step's table.
  [[nodiscard]] Decision tables(std::size_t k) {
    const OpFacts facts = facts_of(program_.steps[k].op);
    const bool permutes = facts.sources != nullptr;
    const std::string_view what =
        permutes ? "the permutation is a bijection" : "groups partition the devices";
    const DeviceTable* const table =
        permutes ? std::get_if<DeviceTable>(facts.sources) : facts.groups;
    if (table == nullptr) return Decision::right;  // parts: any list will do
    Encoder encoder;
    symbolic::Digits& digits = encoder.digits();
    const IotaChain& chain = *table->chain();
    const symbolic::Number device = digits.any(program_.devices);
    const symbolic::Number place = digits.any(program_.devices);
    const symbolic::Number back = encoder.entry(chain, encoder.position(chain, device));
    const symbolic::Number again = encoder.position(chain, encoder.entry(chain, place));
    const std::string goal = fmt::format("(and (= {} {}) (= {} {}))", digits.term(device),
                                         digits.term(back), digits.term(place), digits.term(again));
    return examination_.must_hold(fmt::format("step {}: {}", k, what), digits.declarations(), goal,
                                  "the solver finds a fault in a table that has none");
  }

  /// The element that an element comes from is on a device, and inside its tile.
  [[nodiscard]] Decision reads(std::size_t k) {
    Encoder encoder;
    const symbolic::Element after = encoder.any(program_.devices, tiles()[k + 1]);
    const symbolic::Element before = encoder.source(program_.steps[k], tiles()[k], after);
    const symbolic::Digits& digits = encoder.digits();
    std::string inside =
        fmt::format("(<= 0 {0}) (< {0} {1})", digits.term(before.device), program_.devices);
    for (std::size_t i = 0; i < before.at.size(); ++i) {
      const bool is_zero = before.at[i].digits.empty();
      if (is_zero && before.at.size() > few_dimensions) continue;
      inside += fmt::format(" (<= 0 {0}) (< {0} {1})", digits.term(before.at[i]), tiles()[k][i]);
    }
    return examination_.must_hold(fmt::format("step {}: no read outside a tile", k),
                                  digits.declarations(), fmt::format("(and {})", inside),
                                  "the solver finds a read outside a tile");
  }

  /// The element before the steps behind `known` that an element after `steps` steps comes from;
  /// empty when the time is up.
  [[nodiscard]] std::optional<symbolic::Element> source(Encoder& encoder, const Known& known,
                                                        std::size_t steps,
                                                        symbolic::Element element) {
    for (std::size_t k = steps; k-- > known.steps;) {
      if (examination_.deadline().passed()) return std::nullopt;
      element = encoder.source(program_.steps[k], tiles()[k], element);
    }
    return element;
  }

  /// Its global index.
  [[nodiscard]] std::optional<std::vector<symbolic::Number>> traced(Encoder& encoder,
                                                                    const Known& known,
                                                                    std::size_t steps,
                                                                    symbolic::Element element) {
    const auto first = source(encoder, known, steps, std::move(element));
    if (!first) return std::nullopt;
    return encoder.global(*known.map, *first);
  }

  // ---- Sums
  //
  // An element of a device is the sum of one term for every choice of a member at every step that
  // adds. Three things make it what a layout says: every term is of the index in its place; no two
  // terms of a tile, on one device or on two of different addends, are of one addend; and there are
  // as many as addends. So every tile has all, each once, and replicas have the same, for what is
  // not theirs is on the devices of the other addends, whichever these are.

  [[nodiscard]] Decision sums(const std::string& name, const Known& known, std::size_t steps,
                              const Layout& map) {
    Size terms = map.addend_count();
    for (std::size_t k = known.steps; k < steps; ++k) {
      const auto more = checked_mul(terms, members_added(facts_of(program_.steps[k].op)));
      if (!more) return Decision::undecided;
      terms = *more;
    }
    if (terms != known.map->addend_count()) return Decision::undecided;
    const Decision decision = terms_lie(name, known, steps, map);
    if (decision != Decision::right) return decision;
    return terms_differ(name, known, steps, map);
  }

  /// Every term of any element is of the index in its place; in a stack, of its own addend.
  [[nodiscard]] Decision terms_lie(const std::string& name, const Known& known, std::size_t steps,
                                   const Layout& map) {
    Encoder encoder;
    const symbolic::Element element = encoder.any(program_.devices, tiles()[steps]);
    const auto first = source(encoder, known, steps, element);
    if (!first) return examination_.late(name);
    const symbolic::Digits& digits = encoder.digits();
    std::string same = "true";
    const std::vector<symbolic::Number> found = encoder.global(*known.map, *first);
    const std::vector<symbolic::Number> expected = encoder.global(map, element);
    for (const std::size_t i : encoder.compared(found.size())) {
      same += fmt::format(" (= {} {})", digits.term(found[i]), digits.term(expected[i]));
    }
    if (addition_ == Addition::stack) {
      const symbolic::Number own = encoder.addend(*known.map, first->device);
      same += fmt::format(" (= {} {})", digits.term(own),
                          digits.term(encoder.addend(map, element.device)));
    }
    return examination_.must_hold(name, digits.declarations(), fmt::format("(and {})", same),
                                  "some term is of another element");
  }

  /// Two terms of one addend, in one place of one tile, are one: of one device, where the devices
  /// have one addend, and of one choice.
  [[nodiscard]] Decision terms_differ(const std::string& name, const Known& known,
                                      std::size_t steps, const Layout& map) {
    Encoder encoder;
    const symbolic::Element one = encoder.any(program_.devices, tiles()[steps]);
    symbolic::Element other = one;
    other.device = encoder.digits().any(program_.devices);
    const auto first = source(encoder, known, steps, one);
    const std::vector<symbolic::Number> members = encoder.take_members();
    const auto second = source(encoder, known, steps, other);
    const std::vector<symbolic::Number> other_members = encoder.take_members();
    if (!first || !second) return examination_.late(name);
    const auto equal = [&encoder](const symbolic::Number& a, const symbolic::Number& b) {
      return fmt::format("(= {} {})", encoder.digits().term(a), encoder.digits().term(b));
    };
    std::string premises;
    const auto tile = encoder.tile_numbers(map, one.device);
    const auto other_tile = encoder.tile_numbers(map, other.device);
    for (std::size_t i = 0; i < tile.size(); ++i) {
      premises += fmt::format("(assert {})\n", equal(tile[i], other_tile[i]));
    }
    premises += fmt::format("(assert {})\n", equal(encoder.addend(*known.map, first->device),
                                                   encoder.addend(*known.map, second->device)));
    std::string choices = "true";
    for (std::size_t s = 0; s < members.size(); ++s) {
      choices += ' ' + equal(members[s], other_members[s]);
    }
    const std::string goal =
        fmt::format("(and {} (or (not {}) (and {})))",
                    equal(encoder.addend(map, one.device), encoder.addend(map, other.device)),
                    equal(one.device, other.device), choices);
    return examination_.must_hold(name + ", each addend once",
                                  encoder.digits().declarations() + premises, goal,
                                  "some addend is there twice");
  }

  /// The question about any element, without its name and what is expected.
  [[nodiscard]] static ElementQuestion about(Encoder& encoder, const symbolic::Element& element,
                                             const std::vector<symbolic::Number>& found,
                                             std::size_t steps) {
    const symbolic::Digits& digits = encoder.digits();
    ElementQuestion out;
    out.declarations = digits.declarations();
    out.steps = steps;
    out.device = digits.term(element.device);
    for (const symbolic::Number& number : element.at) out.at.push_back(digits.term(number));
    for (const symbolic::Number& number : found) out.found.push_back(digits.term(number));
    out.compared = encoder.compared(found.size());
    return out;
  }

  static Shape sum(Shape base, const Shape& at) {
    for (std::size_t i = 0; i < base.size(); ++i) base[i] += at[i];
    return base;
  }

  /// The arrays after `steps` steps are boxes that lie as `map` says.
  [[nodiscard]] Decision compare(const std::string& name, const Known& known, std::size_t steps,
                                 const Layout& map, const Examination::Refuted& refuted) {
    Encoder encoder;
    const symbolic::Element element = encoder.any(program_.devices, tiles()[steps]);
    const auto found = traced(encoder, known, steps, element);
    if (!found) return examination_.late(name);
    const std::vector<symbolic::Number> expected = encoder.global(map, element);
    ElementQuestion question = about(encoder, element, *found, steps);
    question.name = name;
    for (const symbolic::Number& number : expected) {
      question.expected.push_back(encoder.digits().term(number));
    }
    const auto expected_at = [&](const HeldElement& held) {
      return sum(map.base_offset(held.device), held.at);
    };
    return examination_.all_are_meant(question, expected_at, refuted);
  }

  /// After step k every device holds one box in order: its elements lie as the first one says.
  [[nodiscard]] Decision box(const Known& known, std::size_t k) {
    const std::string name = fmt::format("step {}: every device holds one box", k);
    Encoder encoder;
    const symbolic::Element element = encoder.any(program_.devices, tiles()[k + 1]);
    const symbolic::Element first = encoder.first(element.device, tiles()[k + 1]);
    const auto found = traced(encoder, known, k + 1, element);
    const auto corner = found ? traced(encoder, known, k + 1, first) : std::nullopt;
    if (!corner) return examination_.late(name);
    ElementQuestion question = about(encoder, element, *found, k + 1);
    question.name = name;
    for (std::size_t i = 0; i < corner->size(); ++i) {
      question.expected.push_back(
          fmt::format("(+ {} {})", encoder.digits().term((*corner)[i]), question.at[i]));
    }
    const auto expected_at = [&](const HeldElement& held) {
      const HeldElement lowest{held.device, Shape(held.at.size(), 0)};
      return sum(global_index(program_, tiles(), k + 1, lowest), held.at);
    };
    return examination_.all_are_meant(question, expected_at, [&](const Witness& counterexample) {
      return examination_.wrong(k, Reason::not_a_box, counterexample);
    });
  }

  Examination& examination_;
  const Program& program_;
  std::optional<Addition> addition_;
  std::vector<Known> before_;  // what is known before each step, and at the end
};

}  // namespace retile
