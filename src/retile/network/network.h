// A network: which links messages between devices go over, and what these take.
//
// Digits of the device number have levels, from the inside out. A message goes over the links of the
// outermost level in which its two devices differ. So devices that agree in all digits of level l and
// beyond are a *domain* of level l: of level 0 each device is one, of the next one, say, a node.
//
// A step takes its slowest device's time: over each level what it gets there by the bandwidth of that
// level, all levels at once, and once the largest latency of those used. This is the alpha-beta model
// of Hockney (1994), per level. What collectives send, `Traffic` says.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "retile/core/device_table.h"
#include "retile/core/mesh.h"
#include "retile/core/result.h"
#include "retile/core/size.h"

namespace retile::network {

/// Picoseconds, and what is summed up before it is known to fit.
__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): the marker needs one

/// What every device has at one level, in each direction.
struct Link {
  Size bytes_per_second = 1;
  Size latency = 0;  ///< picoseconds
  friend bool operator==(const Link&, const Link&) = default;
};

/// Digits of the device number, in which devices differ that talk over these links.
struct Level {
  std::string name;  ///< as it was written, such as `dp` or `*`
  Link link;
  std::vector<Digit> digits;  ///< minor to major
};

class Network {
 public:
  /// \param levels  from the inside out; together their digits are those of the device number
  /// Preconditions (asserted): they are, and no level is faster or has less latency than one inside it.
  Network(Size devices, std::vector<Level> levels);

  [[nodiscard]] Size devices() const { return devices_; }
  [[nodiscard]] const std::vector<Level>& levels() const { return levels_; }
  /// The outermost level that a digit reaches into.
  [[nodiscard]] std::size_t level_of(const Digit& digit) const;
  /// Whether digits that end at a stride lie within one level each, however they are cut further.
  [[nodiscard]] bool nests(Size stride) const;
  /// The outermost level in which two devices differ. Precondition: they are two.
  [[nodiscard]] std::size_t level_between(Size a, Size b) const;
  /// What tells the domain of level l that a device is in from the others; l may be the number of levels.
  [[nodiscard]] Size domain_of(Size device, std::size_t level) const;
  /// Devices of a domain of level l; l may be the number of levels.
  [[nodiscard]] Size domain_size(std::size_t level) const { return domain_sizes_[level]; }
  /// Whether the rows of a table are alike in how many members are in one domain.
  [[nodiscard]] bool is_regular(const DeviceTable& groups) const;
  /// Of devices that differ in some digits, how many are in one domain of each level, and at the last place
  /// how many there are.
  [[nodiscard]] std::vector<Size> members_of(const std::vector<Digit>& digits) const;
  /// Digits cut where levels meet, minor to major as they stand.
  [[nodiscard]] std::vector<Digit> cut(const std::vector<Digit>& digits) const;

  /// What so many bytes, by level, take; picoseconds.
  [[nodiscard]] Wide time(const std::vector<Wide>& bytes) const;

 private:
  Size devices_;
  std::vector<Level> levels_;
  std::vector<Size> domain_sizes_;
  std::vector<Digit> all_;  ///< the digits of all levels, by stride
  std::vector<std::size_t> level_at_;
};

/// What a device gets at each level in a collective of tiles of `tile` elements, whose groups are the
/// devices that differ in some digits: `members[l]` of them in each domain of level l, all of them at
/// the last place.
///
/// An allgather goes from the outside in: every tile enters a domain once, and its members then share
/// it. So over level l comes
/// n t (1/m_l - 1/m_{l+1}). In an alltoall everybody sends a piece to everybody: t (m_{l+1} - m_l) / n.
/// A reducescatter is an allgather the other way, and an allreduce both.
struct Traffic {
  [[nodiscard]] static std::vector<Wide> allgather(Wide tile, const std::vector<Size>& members);
  [[nodiscard]] static std::vector<Wide> alltoall(Wide tile, const std::vector<Size>& members);
  [[nodiscard]] static std::vector<Wide> reducescatter(Wide tile, const std::vector<Size>& members);
  [[nodiscard]] static std::vector<Wide> allreduce(Wide tile, const std::vector<Size>& members);
};

}  // namespace retile::network
