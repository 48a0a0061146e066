// Tables of device numbers: a chain of iotas where they are regular, a list where they are not.
#pragma once

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "retile/core/mesh.h"
#include "retile/core/size.h"

namespace retile {

/// One stage of an iota chain: reshape the numbers so far to `shape`, transpose, read row-major.
/// New dimension k is old dimension transpose[k]; an empty `transpose` leaves the order as it is.
struct IotaStage {
  Shape shape;
  std::vector<std::size_t> transpose;
  friend bool operator==(const IotaStage&, const IotaStage&) = default;
};

/// A bijection of 0..size-1 written as HLO does: `<=[2,3,5]T(2,1,0)`, a chain starting at its right
/// end.
///
/// stages[0] is the right-most: it reshapes 0,1,2,... and every later stage reshapes what the one
/// before it gives. Entry p of the chain is a device; the chain without stages is the identity.
/// Invariant: every shape has entries >= 1 and product size(), every transpose is a permutation.
class IotaChain {
 public:
  /// The identity on 0..size-1; size >= 0.
  explicit IotaChain(Size size = 0) : size_(size) {}

  /// Appends a stage on the left. Preconditions (asserted): as the invariant says.
  void append(IotaStage stage);

  [[nodiscard]] Size size() const { return size_; }
  [[nodiscard]] const std::vector<IotaStage>& stages() const { return stages_; }

  /// The number at `position`; O(sum of the stages' ranks).
  [[nodiscard]] Size at(Size position) const;

  /// The digits of the number that those of the position are, minor to major in the position; nothing of a
  /// chain of several stages.
  [[nodiscard]] std::optional<std::vector<Digit>> digits() const;

  /// All numbers in order; O(size * sum of ranks).
  [[nodiscard]] std::vector<Size> list() const;

  /// The inverse bijection: inverse().at(at(p)) == p.
  [[nodiscard]] IotaChain inverse() const;

  /// The same bijection in as few and as short stages as neighbouring merges reach. Stages merge
  /// when their shapes have a common refinement; extents of 1 go, dimensions that stay neighbours
  /// are joined. The identity simplifies to no stages.
  [[nodiscard]] IotaChain simplified() const;

  friend bool operator==(const IotaChain&, const IotaChain&) = default;

 private:
  Size size_ = 0;
  std::vector<IotaStage> stages_;
};

/// The chain that lists these numbers, if one of a single stage does: a mesh of which axes were turned.
/// Precondition: each is at least 0 and below their number.
[[nodiscard]] std::optional<IotaChain> chain_of(const std::vector<Size>& numbers);

/// The chain p -> outer.at(inner.at(p)). Precondition: equal sizes.
[[nodiscard]] IotaChain compose(const IotaChain& outer, const IotaChain& inner);

/// Rows of device numbers: groups (a row a group, the order in a row is meaning) or one row (a
/// source list).
class DeviceTable {
 public:
  DeviceTable() = default;

  /// [rows, columns] <= chain. Precondition: columns divides chain.size(), columns >= 1.
  [[nodiscard]] static DeviceTable iota(IotaChain chain, Size columns);
  /// Any rows, also ragged, empty or with impossible entries: who uses the table checks it.
  [[nodiscard]] static DeviceTable rows(std::vector<std::vector<Size>> rows);
  /// One row.
  [[nodiscard]] static DeviceTable list(std::vector<Size> entries);

  /// The chain of an iota table, or null for a list.
  [[nodiscard]] const IotaChain* chain() const { return std::get_if<IotaChain>(&entries_); }

  [[nodiscard]] Size size() const;  ///< number of entries in all rows
  [[nodiscard]] Size row_count() const;
  [[nodiscard]] bool ragged() const { return !row_lengths_.empty(); }
  [[nodiscard]] Size columns()
      const;  ///< length of every row. Precondition: not ragged; 0 when there is no row

  /// Entry at `position` counted through all rows; O(1) for lists, O(stages) for chains.
  [[nodiscard]] Size at(Size position) const;
  /// All entries, row after row.
  [[nodiscard]] std::vector<Size> entries() const;
  /// Row by row.
  [[nodiscard]] std::vector<std::vector<Size>> to_rows() const;

  friend bool operator==(const DeviceTable&, const DeviceTable&) = default;

 private:
  std::variant<IotaChain, std::vector<Size>> entries_ = std::vector<Size>{};
  Size row_count_ = 0;
  Size columns_ = 0;
  std::vector<Size> row_lengths_;  // only of ragged tables
};

}  // namespace retile
