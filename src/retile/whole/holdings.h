// Which values of one text the devices hold of another, and which boxes of them. Elements of a field
// are names of their own: where a tile has the names of a box row by row, it holds that box.
// Room-internal.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/whole/array.h"
#include "retile/whole/module.h"

namespace retile::whole {

/// A value that is held: boxes of a reference, of every device. Empty: the device holds none of it.
struct Holding {
  std::size_t reference = 0;
  std::vector<Box> boxes;
};

/// A value that others are looked up in.
struct Reference {
  std::size_t number = 0;  ///< as `look_in` was told
  ArrayType type;
  Block block;
  Word names = 0;  ///< the same of values that hold the same elements in another shape or order
};

class Holdings {
 public:
  explicit Holdings(Limits& limits) : limits_(limits) {}

  /// Something whose boxes are looked for from now on; by its number.
  std::size_t look_for(const ArrayType& type, const Held& held);
  /// Looks up all that is sought in a value. Boxes that leave a part of it to nobody are none.
  void look_in(std::size_t number, const ArrayType& type, const Block& block);

  /// Of something sought, boxes of the largest value first.
  [[nodiscard]] const std::vector<Holding>& of(std::size_t sought) const {
    return sought_[sought].holdings;
  }
  [[nodiscard]] const Reference& reference(std::size_t k) const { return references_[k]; }

  /// What a holding is as boxes of another reference with the same elements, in whichever order;
  /// nothing where they are no boxes there, or where elements are there several times.
  [[nodiscard]] std::optional<std::vector<Box>> as_boxes_of(std::size_t reference,
                                                            const Holding& holding) const;

 private:
  /// What some devices hold alike.
  struct Tile {
    Block block;
    std::vector<std::size_t> devices;
    std::optional<std::size_t> probe;  ///< the first word that is a name
    std::size_t scan = 0;              ///< in which it was found last
    Box box;
  };
  struct Sought {
    ArrayType type;
    Held held;
    std::vector<Tile> tiles;
    bool is_named = false;  ///< whether some tile has a name
    std::size_t devices = 0;
    std::vector<Holding> holdings = {};
  };
  struct Probe {
    std::size_t sought = 0;
    std::size_t tile = 0;
  };

  [[nodiscard]] static bool may_be_tile(const Sought& sought, const ArrayType& type,
                                        std::size_t dim);
  void look_by_names(const ArrayType& type, const Block& block);
  void try_at(const Sought& sought, Tile& tile, const ArrayType& type, const Block& block,
              Shape at) const;
  [[nodiscard]] std::optional<Holding> in_digits(const Sought& sought, const ArrayType& type,
                                                 const Block& block) const;
  [[nodiscard]] std::optional<Holding> found(const Sought& sought, const ArrayType& type) const;

  Limits& limits_;
  std::vector<Sought> sought_;
  std::vector<Reference> references_;
  std::size_t scan_ = 0;
  std::unordered_map<Word, std::vector<Probe>> probes_;
  std::vector<bool> may_be_probe_ = std::vector<bool>(std::size_t{1} << filter_bits);
  static constexpr unsigned filter_bits = 16;
};

}  // namespace retile::whole
