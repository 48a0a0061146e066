// Formal sums of elements: what is in a place where something was added.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/size.h"
#include "retile/foreign/cells.h"
#include "retile/operations/element.h"

namespace retile::foreign {

/// An atom of a sum and how often it is there; in a maximum or a minimum once. Of integers of 64 bits
/// these are the bits of a number without a sign.
struct Term {
  Tag atom = 0;
  Size times = 1;
  /// How often, as a number without a sign.
  [[nodiscard]] std::uint64_t count() const { return static_cast<std::uint64_t>(times); }
  friend bool operator==(const Term&, const Term&) = default;
  friend auto operator<=>(const Term&, const Term&) = default;
};

/// All sums that occur. Equal ones have one tag.
///
/// How often an addend is there is counted as its type counts: of truth values, of which the sum is `or`,
/// once; of integers modulo 2^bits; else exactly.
class Sums {
 public:
  /// Tags from here on are sums.
  static constexpr Tag first = Tag{1} << 30;

  [[nodiscard]] static bool is_sum(Tag tag) { return tag >= first; }
  [[nodiscard]] static bool is_atom(Tag tag) { return tag >= 0 && tag < first; }
  /// A number of this type that is added to elements. Precondition: kind.has_words()
  [[nodiscard]] static Tag addend(Addition addition, const operations::ElementKind& kind,
                                  operations::Word word);

  /// The sum of two places of this type. Throws LimitReached.
  [[nodiscard]] Tag add(Addition addition, const operations::ElementKind& kind, Tag a, Tag b);
  /// A place, of an integer type with more bits before, as one of this type.
  [[nodiscard]] Tag within(const operations::ElementKind& kind, Tag tag);
  /// One of `count` equal parts of a place, of numbers with a point. Throws LimitReached.
  /// Precondition: count >= 1.
  [[nodiscard]] Tag part_of(Tag tag, Size count);
  /// The terms of an atom or a sum; none of anything else.
  [[nodiscard]] std::vector<Term> terms(Tag tag) const;
  /// Shows every atom of a place.
  template <typename See>
  void each_atom(Tag tag, const See& see) const {
    if (is_atom(tag)) return see(tag);
    if (!is_sum(tag)) return;
    for (const Term& term : sums_[static_cast<std::size_t>(tag - first)]->terms) see(term.atom);
  }
  /// What all terms are divided by: 1, but of parts.
  [[nodiscard]] Size parts(Tag tag) const;
  /// How a sum was added; of truth values never as a sum.
  [[nodiscard]] std::optional<Addition> added_by(Tag tag) const;
  /// Whether it is a sum of values of this type that was added in another way.
  [[nodiscard]] bool adds_otherwise(Addition addition, const operations::ElementKind& kind,
                                    Tag tag) const;

 private:
  struct Sum {
    Addition addition{};
    std::vector<Term> terms;
    Size parts = 1;  ///< has no divisor in common with how often all the terms are there
    friend bool operator==(const Sum&, const Sum&) = default;
    friend auto operator<=>(const Sum&, const Sum&) = default;
  };
  [[nodiscard]] Tag add_terms(Addition addition, const operations::ElementKind& kind, Tag a, Tag b);
  [[nodiscard]] Tag reduced(Sum sum);
  [[nodiscard]] Tag number_of(Sum sum);

  std::map<Sum, Tag> numbers_;
  std::vector<const Sum*> sums_;
  /// Of every addition and how it counts: of two tags their sum.
  std::map<std::pair<Addition, Size>, std::unordered_map<std::uint64_t, Tag>> known_;
  std::size_t term_count_ = 0;
};

}  // namespace retile::foreign
