// Extents as products of parts that all arrays of two texts have in common. Room-internal.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/size.h"

namespace retile::whole {

/// A part of a dimension: a class, and how long this dimension's member of it is.
struct Part {
  std::size_t id = 0;
  Size size = 1;
};
/// A dimension: its parts, MAJOR to minor; the product of their sizes is its extent. None: 1.
using PartList = std::vector<Part>;

/// Which parts are the same wherever they stand, and by how much the members of a class may be
/// divided without changing what a program is: index i of a part stands for i / f and i % f, and
/// whatever the program does must look at the first of the two only.
///
/// Members of a class may have several sizes: a tile and the array that it is cut from.
class Parts {
 public:
  /// A dimension of which nothing is known yet. Precondition: extent >= 1.
  [[nodiscard]] PartList fresh(Size extent);
  /// The same dimension, where parts of it were cut meanwhile.
  [[nodiscard]] PartList resolved(const PartList& dim) const;

  /// Makes two dimensions one.
  /// \param has_tile  one of them may be cut from the other, in its MAJOR part
  void unify(const PartList& some, const PartList& others, bool has_tile = false);
  /// Whatever looks at single indices of it needs all of them.
  void freeze(const PartList& dim);
  /// Its indices are compared with each other. Each block of a part that becomes one index keeps a few
  /// of them, as `<` and `<=`, or the first index and all of its block, are the same in a block of one.
  void keep_order(const PartList& dim);
  /// Something begins or ends at this index of the dimension: behind a multiple of what its MAJOR part
  /// will be divided by, or else nothing of it is divided.
  void cut_at(const PartList& dim, Size index);

  /// What a dimension is divided by.
  /// \param least  that every member of a divided class keeps; the longest of them keeps 2 at least, as
  ///     one index says nothing of what is swapped
  [[nodiscard]] Size factor(const PartList& dim, Size least) const {
    return factor(dim, factors(least));
  }
  /// The same of all classes, which is quicker for many dimensions.
  [[nodiscard]] std::vector<Size> factors(Size least) const;
  [[nodiscard]] Size factor(const PartList& dim, const std::vector<Size>& factors) const;
  /// The extent of the longest dimension that has the same parts.
  [[nodiscard]] Size longest(const PartList& dim) const;

 private:
  struct Class {
    std::size_t parent = 0;
    std::size_t members = 1;
    Size divisor = 0;  ///< all members, and where they are cut, are multiples of it
    Size least = 0;    ///< of its members
    Size most = 0;
    bool is_frozen = false;
    bool is_ordered = false;
    /// Two parts in its place, of which the minor one has one size in all members.
    std::optional<std::pair<std::size_t, std::size_t>> halves = {};
    Size minor_size = 1;
  };
  [[nodiscard]] std::size_t root(std::size_t id) const;
  void put(const Part& part, PartList& out) const;
  void join(std::size_t a, std::size_t b);
  /// Cuts a class behind the minor `size` indices; false where a member has no such half.
  [[nodiscard]] bool halve(std::size_t id, Size size);
  [[nodiscard]] std::size_t add(const Class& of);
  /// Makes the minor parts of both the same, which have other sizes; false where they cannot be.
  [[nodiscard]] bool match_minor(PartList& some, PartList& others, bool has_tile);
  [[nodiscard]] static Size factor_of(const Class& of, Size least);

  std::vector<Class> classes_;
};

}  // namespace retile::whole
