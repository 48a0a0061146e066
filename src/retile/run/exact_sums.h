// The data of a Program with addends: as many generated arrays as there are addends, so that every
// process knows what all others hold, and what they make together.
//
// Integers are random words. Floating numbers are integers so small that every sum of them is exact,
// and does not depend on an order: with K addends of a type that has all integers up to L, between
// -L / K and L / K, and never zero. Where K is above L, only L addends of every element are not zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "retile/core/element_type.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/executor/executor.h"
#include "retile/program/program.h"
#include "retile/run/files.h"
#include "retile/run/report.h"

namespace retile::run {

/// An element; the first bytes of it count.
using Element = std::array<std::byte, 16>;

class AddendData {
 public:
  /// Nothing of a Program that adds nothing. Precondition: its elements can be added (Adder::make).
  /// \param program  outlives this object
  [[nodiscard]] static std::optional<AddendData> make(const Program& program,
                                                      const ElementType& type);

  /// The element of an addend with a linear global index.
  [[nodiscard]] Element addend(Size number, Size global) const;
  /// What all addends of an element make together.
  [[nodiscard]] Element total(Size global) const;

  /// Writes the tile of `from` that a device holds.
  void generate(Size device, std::span<std::byte> tile) const;
  /// Collective: compares the tiles of `to` of the executor's devices, and returns the first element
  /// of this process that is wrong. Where the target holds the array itself, or a stack, nobody needs
  /// another process. Where it holds addends, devices that must hold the same are compared with the
  /// first of them, and what the addends make together with what it should be.
  [[nodiscard]] std::optional<Mismatch> find_mismatch(Executor& executor, Buffer& buffer) const;
  /// Whether find_mismatch() needs the buffer.
  [[nodiscard]] bool compares_together() const { return together_; }

 private:
  AddendData(const Program& program, const ElementType& type, Addition addition);

  /// Both parts of an element as integers; of a real one the first.
  using Parts = std::array<std::int64_t, 2>;
  [[nodiscard]] Parts parts(Size number, Size global) const;
  [[nodiscard]] Parts together(const Parts& a, const Parts& b) const;
  [[nodiscard]] Element element(const Parts& parts) const;
  [[nodiscard]] std::optional<Size> find_in_tile(Size device,
                                                 std::span<const std::byte> tile) const;

  const Program& program_;
  ElementType type_;
  Addition addition_;
  bool together_;  ///< the target holds addends, which only together are what they should be
  Size addends_;
  Size exact_;    ///< of floating types: all integers up to it are exact
  Size largest_;  ///< of floating types: the largest that is generated
};

}  // namespace retile::run
