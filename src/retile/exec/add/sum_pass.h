// One pass over memory that makes sums: every addend is read once, every sum is written to all its
// places from where it is in the first cache.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "retile/core/size.h"
#include "retile/exec/add/adder.h"
#include "retile/exec/add/recipe.h"
#include "retile/exec/add/shares.h"
#include "retile/exec/add/sums.h"
#include "retile/program/tile_shapes.h"

namespace retile::add {

/// What one process adds up, of tiles that all lie in memory that it sees.
class SumPass {
 public:
  /// \param adder  of a Program that adds
  /// \param shares  that it makes
  /// \param streams  writes past the caches where whole lines can be written
  SumPass(const Sums& sums, std::span<const Share> shares, const DeviceShapes& in_tiles,
          const DeviceShapes& out_tiles, Size element_bytes, const std::optional<Adder>& adder,
          bool streams);

  /// Tiles are looked up by their devices. What is read and what is written must not overlap.
  /// Allocates nothing; ends with the store fence where it streams.
  void run(std::span<const std::byte* const> sources, std::span<std::byte* const> targets);

  [[nodiscard]] Size held_bytes() const;
  /// What held_bytes() never exceeds.
  [[nodiscard]] static Size bound_bytes(const Sums& sums, std::span<const Share> shares,
                                        std::size_t rank);

 private:
  struct Part {
    Size begin = 0;  // elements of the box
    Size end = 0;
    Size run = 1;             // elements that lie end to end wherever they are
    std::size_t recipe = 0;   // in recipes_
    std::size_t targets = 0;  // of the part; so many, behind the addends
    std::size_t loops = 0;    // around the runs, at least one
    std::size_t numbers =
        0;  // in numbers_: of every loop its count, then of every addend and target
            // its device, where it begins and how far each loop goes, in bytes
  };
  struct Now;

  void add_part(const Sums& sums, const Share& share, const DeviceShapes& in_tiles,
                const DeviceShapes& out_tiles);
  [[nodiscard]] Size begin_of(const Part& part, std::size_t operand, Size row) const;
  void make(const Part& part, const Now& now);
  void put(std::byte* target, const std::byte* sum, Size bytes) const;

  std::optional<Adder> adder_;
  Size element_bytes_;
  bool streams_;
  std::vector<Recipe> recipes_;
  std::vector<Part> parts_;
  std::vector<Size> numbers_;
  std::vector<std::byte> scratch_;  // blocks of two addends, then of levels
};

}  // namespace retile::add
