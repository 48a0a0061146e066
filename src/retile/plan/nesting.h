// How the cuts of two ends nest along one dimension. For this room and for lowering.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "retile/core/cuts.h"
#include "retile/core/result.h"

namespace retile {

/// Refuses tiles that have 2^63 elements or more once they are filled up.
[[nodiscard]] tl::unexpected<Diagnostic> filled_up_too_long();

/// `0 6 12 16`, at most eight of them.
[[nodiscard]] std::string cuts_text(const Cuts& cuts);

/// Cuts of which every tile of the two ends, and of all that collectives make of them, is put together.
///
/// Two ends nest in one of two ways. Their blocks make up one size P together, each end's number of
/// them times its own extent: then all tiles are blocks, cut off at the end of the array (U1). Or the
/// cuts of the end with fewer tiles are among those of the other, every so many of them: then tiles
/// are made of those, and where they become smaller still, balanced pieces of them.
class Nesting {
 public:
  /// \error inapplicable (the cuts do not nest), size_overflow
  [[nodiscard]] static Result<Nesting> make(const Cuts& from, const Cuts& to);

  /// The extent of a dimension that is cut evenly in place of this one.
  /// \param smaller  whether tiles may become smaller than those of both ends
  /// \error size_overflow
  [[nodiscard]] Result<Size> size(bool smaller) const;
  /// Where `count` tiles of that dimension lie in this one; nothing where no steps lead there.
  [[nodiscard]] std::optional<Cuts> cuts(Size count) const;

  /// Whether any n neighbouring tiles of each row of n, n a factor of `devices`, may be equally wide.
  /// Of blocks of b elements they are only if n b divides the dimension's extent; it divides P anyway.
  [[nodiscard]] bool may_be_alike(Size devices) const;

  /// How a step cuts every tile.
  struct Pieces {
    std::optional<PieceSize> size;  ///< nothing: into equal ones
  };
  /// How so many tiles become so many more; nothing: no step does that.
  /// Precondition: cuts() of both, and the one divides the other.
  [[nodiscard]] std::optional<Pieces> pieces(Size before, Size after) const;

 private:
  explicit Nesting(Cuts fine) : fine_(std::move(fine)) {}

  Cuts fine_;        // of the end with more tiles
  Size filled_ = 0;  // P; 0: they nest by their cuts
};

}  // namespace retile
