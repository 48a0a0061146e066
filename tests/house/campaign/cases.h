// What a case of the campaign is: an input that both sides were asked about, in 64 bits, and the
// strata in which it lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/size.h"

namespace campaign {

/// The hash of a case. Two cases with one hash count as one, so what is counted is a lower bound.
class Hash {
 public:
  Hash& add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9E3779B97F4A7C15U;
    state_ ^= state_ >> 29U;
    return *this;
  }
  Hash& add(retile::Size number) { return add(static_cast<std::uint64_t>(number)); }
  template <class T>
  Hash& add(const std::vector<T>& all) {
    add(static_cast<std::uint64_t>(all.size()));
    for (const T& one : all) add(one);
    return *this;
  }
  Hash& add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    return *this;
  }
  /// Every bit depends on every word: the finaliser of splitmix64.
  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

 private:
  std::uint64_t state_ = 0x243F6A8885A308D3U;
};

/// A set of hashes: open addressing, 8 bytes a place, at most 3 of 4 places taken. An empty place is
/// 0, so 0 counts as 1.
class HashSet {
 public:
  [[nodiscard]] bool holds(std::uint64_t hash) const {
    return places_[place_of(nonzero(hash))] != 0;
  }
  /// Whether it is new.
  bool insert(std::uint64_t hash) {
    std::uint64_t& place = places_[place_of(nonzero(hash))];
    if (place != 0) return false;
    place = nonzero(hash);
    if (++size_ > places_.size() / 4 * 3) grow();
    return true;
  }

 private:
  static std::uint64_t nonzero(std::uint64_t hash) { return hash == 0 ? 1 : hash; }
  [[nodiscard]] std::size_t place_of(std::uint64_t hash) const {
    const std::size_t mask = places_.size() - 1;
    // The low bits of what is counted through are in a row, and rows make long searches.
    std::size_t at = static_cast<std::size_t>((hash * 0x9E3779B97F4A7C15U) >> 24U) & mask;
    while (places_[at] != 0 && places_[at] != hash) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<std::uint64_t> old(places_.size() * 2);
    old.swap(places_);
    for (const std::uint64_t hash : old) {
      if (hash != 0) places_[place_of(hash)] = hash;
    }
  }

  std::vector<std::uint64_t> places_ = std::vector<std::uint64_t>(std::size_t{1} << 10);
  std::size_t size_ = 0;
};

// ---- Strata

enum class Stratum : unsigned {
  permutation,       ///< a step is an allpermute
  over_partitioned,  ///< a tile on the way is smaller than both ends'
  primes,            ///< the number of devices has two primes or more
  transshipment,     ///< an alltoall takes from a dimension what an earlier one brought there
  moves,             ///< two alltoalls or more
  devices,           ///< more than 24
  rank,              ///< above 3
  wrong,             ///< both say that the Program is wrong
  counted            ///< spec's optimum is by counting (S4), not by brute force
};

inline constexpr std::array<std::string_view, 9> strata_names = {
    "permutation", "over-partitioned", "primes", "transshipment", "moves", "devices", "rank",
    "wrong",       "counted"};

/// A set of strata, a bit for each.
using Strata = unsigned;
[[nodiscard]] constexpr Strata only(Stratum stratum) {
  return 1U << static_cast<unsigned>(stratum);
}
[[nodiscard]] constexpr bool contains(Strata strata, Stratum stratum) {
  return (strata & only(stratum)) != 0;
}

inline constexpr Strata of_space =
    only(Stratum::primes) | only(Stratum::devices) | only(Stratum::rank);
inline constexpr Strata of_moves = only(Stratum::transshipment) | only(Stratum::moves);
inline constexpr Strata of_plans =
    of_space | of_moves | only(Stratum::permutation) | only(Stratum::over_partitioned);

/// Whether n >= 1 has two different primes.
[[nodiscard]] inline bool has_several_primes(retile::Size n) {
  for (retile::Size p = 2; p * p <= n; ++p) {
    if (n % p != 0) continue;
    while (n % p == 0) n /= p;
    return n > 1;
  }
  return false;
}

/// The strata of everything on so many devices and dimensions.
[[nodiscard]] inline Strata strata_of_space(retile::Size devices, std::size_t rank) {
  constexpr retile::Size many_devices = 24;
  constexpr std::size_t high_rank = 3;
  Strata out = 0;
  if (has_several_primes(devices)) out |= only(Stratum::primes);
  if (devices > many_devices) out |= only(Stratum::devices);
  if (rank > high_rank) out |= only(Stratum::rank);
  return out;
}

/// What was asked, and where it lies. A trivial case splits, moves or changes nothing.
struct Case {
  std::uint64_t hash = 0;
  Strata strata = 0;
  bool trivial = false;
};

}  // namespace campaign
