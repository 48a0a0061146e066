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
#include <span>
#include <string>
#include <vector>

#include "retile/core/device_table.h"
#include "retile/core/mesh.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/core/wide.h"
#include "retile/network/few.h"

namespace retile::network {

/// Picoseconds, and what is summed up before it is known to fit.
using Wide = UInt128;

/// As many as there may be levels, and one more: every level has a digit of the device number.
inline constexpr std::size_t most_levels = 64;
/// By level, what goes over its links.
using Amounts = Few<Wide, most_levels>;
/// By level, and at the last place of all.
using Members = Few<Size, most_levels>;

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
  /// Whether all of these begin and end so.
  [[nodiscard]] bool nests(std::span<const Digit> digits) const;
  /// The outermost level in which two devices differ. Precondition: they are two.
  [[nodiscard]] std::size_t level_between(Size a, Size b) const;
  /// What tells the domain of level l that a device is in from the others; l may be the number of levels.
  [[nodiscard]] Size domain_of(Size device, std::size_t level) const;
  /// Devices of a domain of level l; l may be the number of levels.
  [[nodiscard]] Size domain_size(std::size_t level) const { return domain_sizes_[level]; }
  /// Of devices that differ in some digits, how many are in one domain of each level, and at the last place
  /// how many there are.
  [[nodiscard]] Members members_of(std::span<const Digit> digits) const;
  /// Digits cut where levels meet, minor to major as they stand.
  [[nodiscard]] std::vector<Digit> cut(const std::vector<Digit>& digits) const;
  /// Calls use(part) for each part of one digit.
  template <typename Use>
  void each_cut(Digit digit, const Use& use) const {
    for (const Size at : ends_) {
      // A digit across which a level ends belongs to the outer one as a whole where the end does not
      // divide it.
      if (at <= digit.stride || at >= digit.stride * digit.size || at % digit.stride != 0) continue;
      const Size minor = at / digit.stride;
      if (digit.size % minor != 0) continue;
      use(Digit{digit.stride, minor});
      digit = {at, digit.size / minor};
    }
    use(digit);
  }

  /// What so many bytes, by level, take; picoseconds.
  [[nodiscard]] Wide time(const Amounts& bytes) const;

 private:
  Size devices_;
  std::vector<Level> levels_;
  std::vector<Size> domain_sizes_;
  std::vector<Digit> all_;  ///< the digits of all levels, by stride
  std::vector<std::size_t> level_at_;
  std::vector<Size> ends_;  ///< strides at which another level begins
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
  [[nodiscard]] static Amounts allgather(Wide tile, const Members& members);
  [[nodiscard]] static Amounts alltoall(Wide tile, const Members& members);
  [[nodiscard]] static Amounts reducescatter(Wide tile, const Members& members);
  [[nodiscard]] static Amounts allreduce(Wide tile, const Members& members);
};

}  // namespace retile::network
