// Multisets of addends, each kept once. Private to this room.
#pragma once

#include <cstddef>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "retile/core/size.h"

namespace retile {

/// How often an addend is in a sum; at least once.
struct Counted {
  Size addend = 0;
  Size times = 1;
  friend auto operator<=>(const Counted&, const Counted&) = default;
};

/// Numbers for multisets: equal ones have one number, and 0 is the empty one.
class AddendSets {
 public:
  using Id = std::size_t;

  /// \param capped  a sum counts no addend twice: of maxima and minima
  explicit AddendSets(bool capped) : capped_(capped) { static_cast<void>(id_of({})); }

  /// The multiset of one addend.
  [[nodiscard]] Id single(Size addend) { return id_of({{addend, 1}}); }
  /// All of these together.
  [[nodiscard]] Id sum(std::vector<Id> ids) { return total(std::move(ids), capped_); }
  /// The same, counting every one.
  [[nodiscard]] Id total(std::vector<Id> ids) { return total(std::move(ids), false); }
  /// In ascending order of addends.
  [[nodiscard]] const std::vector<Counted>& counted(Id id) const { return *sets_[id]; }
  [[nodiscard]] Size times(Id id, Size addend) const;
  /// The numbers that all of them hold.
  [[nodiscard]] Size room() const { return room_; }
  /// Whether some addend was there too often to be counted.
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  struct Hash {
    std::size_t operator()(const std::vector<Id>& ids) const;
  };

  [[nodiscard]] Id id_of(std::vector<Counted> set);
  [[nodiscard]] Id total(std::vector<Id> ids, bool capped);

  bool capped_;
  std::map<std::vector<Counted>, Id> ids_;
  std::vector<const std::vector<Counted>*> sets_;  // keys of ids_
  std::unordered_map<std::vector<Id>, Id, Hash> sums_[2];
  Size room_ = 0;
  bool overflowed_ = false;
};

}  // namespace retile
