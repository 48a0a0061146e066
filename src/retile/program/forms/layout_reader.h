// Layouts inside of larger texts, in the notation of `from` and `to` of a Program.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "retile/core/device_table.h"
#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/text/scanner.h"

namespace retile::forms {

class AxisTable;

/// A layout, and the extents of what each device holds, rank() numbers for each: an empty box in
/// digits keeps the extents that it has in other dimensions, which a Layout forgets.
struct LocalLayout {
  Layout layout;
  std::vector<Size> extents;
};

/// Reads layouts over a mesh, in version 2 of the forms.
class LayoutReader {
 public:
  /// Reads `a:2,b:3`, and an order behind it, up to the scanner's end.
  /// The first mistake is thrown (text::Failure).
  /// \param most_devices  more are refused: every device's extents are listed
  LayoutReader(text::Scanner& scanner, Size most_devices);

  [[nodiscard]] const Mesh& mesh() const;
  [[nodiscard]] Size devices() const { return devices_; }
  [[nodiscard]] bool has_order() const { return order_.has_value(); }
  /// Reads a layout; the scanner is left behind it. The first mistake is thrown.
  [[nodiscard]] LocalLayout read(text::Scanner& scanner) const;

 private:
  std::shared_ptr<const AxisTable> axes_;
  Size devices_ = 1;
  std::optional<DeviceTable> order_;
};

}  // namespace retile::forms
