// Formal sums of elements: what is in a place where something was added.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/size.h"
#include "retile/foreign/cells.h"

namespace retile::foreign {

/// An atom of a sum and how often it is there; in a maximum or a minimum once.
struct Term {
  Tag atom = 0;
  Size times = 1;
  friend bool operator==(const Term&, const Term&) = default;
  friend auto operator<=>(const Term&, const Term&) = default;
};

/// All sums that occur. Equal ones have one tag.
class Sums {
 public:
  /// Tags from here on are sums.
  static constexpr Tag first = Tag{1} << 30;

  /// \param once  a sum holds what it adds once, however often it is added: the sum of truth values is `or`
  explicit Sums(bool once = false) : once_(once) {}

  [[nodiscard]] static bool is_sum(Tag tag) { return tag >= first; }
  [[nodiscard]] static bool is_atom(Tag tag) { return tag >= 0 && tag < first; }

  /// The sum of two places. Throws LimitReached.
  [[nodiscard]] Tag add(Addition addition, Tag a, Tag b);
  /// One of `count` equal parts of a place. Throws LimitReached.
  /// Precondition: count >= 1.
  [[nodiscard]] Tag part_of(Tag tag, Size count);
  /// The terms of an atom or a sum; none of anything else.
  [[nodiscard]] std::vector<Term> terms(Tag tag) const;
  /// What all terms are divided by: 1, but of parts.
  [[nodiscard]] Size parts(Tag tag) const;
  /// Whether it is a sum that was added in another way.
  [[nodiscard]] bool adds_otherwise(Addition addition, Tag tag) const;

 private:
  struct Sum {
    Addition addition{};
    std::vector<Term> terms;
    Size parts = 1;  ///< has no divisor in common with how often all the terms are there
    friend bool operator==(const Sum&, const Sum&) = default;
    friend auto operator<=>(const Sum&, const Sum&) = default;
  };
  /// Whether it says something how often a sum has an atom.
  [[nodiscard]] bool counts(Addition addition) const { return addition == Addition::sum && !once_; }
  [[nodiscard]] Tag add_terms(Addition addition, Tag a, Tag b);
  [[nodiscard]] Tag reduced(Sum sum);
  [[nodiscard]] Tag number_of(Sum sum);

  bool once_ = false;
  std::map<Sum, Tag> numbers_;
  std::vector<const Sum*> sums_;
  std::unordered_map<std::uint64_t, Tag> known_[3];
  std::size_t term_count_ = 0;
};

}  // namespace retile::foreign
