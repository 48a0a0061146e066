// A mesh with its axes by name: tilings of foreign Programs may name very many. Private to the
// forms.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "retile/core/mesh.h"
#include "retile/notation/paper/grammar.h"
#include "retile/text/place.h"

namespace retile::forms {

class AxisTable {
 public:
  /// Fails at the axis, or at `all`, where they are no mesh.
  AxisTable(const std::vector<paper::WrittenAxis>& axes, const text::Place& all);

  [[nodiscard]] const Mesh& mesh() const { return mesh_; }
  /// The digit that an axis is. Fails where the name is unknown or the repeated size is not the
  /// axis's.
  [[nodiscard]] Digit digit(const paper::WrittenName& axis) const;

 private:
  Mesh mesh_;
  std::unordered_map<std::string, Digit> digits_;
};

}  // namespace retile::forms
