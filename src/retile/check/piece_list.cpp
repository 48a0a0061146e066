#include "retile/check/piece_list.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace retile {
namespace {

bool equal(std::span<const Size> a, std::span<const Size> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// What number `place` of a piece adds to the piece's hash: sums can take single numbers back out.
std::uint64_t hashed(std::size_t place, Size number) {
  std::uint64_t out = static_cast<std::uint64_t>(number) +
                      0x9e3779b97f4a7c15U * (static_cast<std::uint64_t>(place) + 1);
  out = (out ^ out >> 30) * 0xbf58476d1ce4e5b9U;
  out = (out ^ out >> 27) * 0x94d049bb133111ebU;
  return out ^ out >> 31;
}

/// Joins pieces that touch.
class Merger {
 public:
  Merger(std::size_t rank, PieceList& pieces, Watch& watch)
      : rank_(rank), pieces_(pieces), watch_(watch) {
    for (std::size_t n = 0; n < count(); ++n) {
      std::uint64_t hash = 0;
      for (std::size_t place = 0; place < size(); ++place) {
        hash += hashed(place, pieces_[n * size() + place]);
      }
      hashes_.push_back(hash);
    }
  }

  [[nodiscard]] std::size_t count() const { return pieces_.size() / size(); }

  /// Joins pieces that touch along dimension k and agree in all else. False when time is up.
  [[nodiscard]] bool merge_along(std::size_t k) {
    constexpr Size nanoseconds_per_piece = 100;
    if (!watch_.in_time(static_cast<Size>(count()) * nanoseconds_per_piece)) return false;
    struct Entry {
      std::uint64_t key;  // the hash of everything but the place along k
      Size origin;
      std::size_t number;
    };
    std::vector<Entry> order;
    for (std::size_t n = 0; n < count(); ++n) {
      const PieceView piece = piece_at(pieces_, rank_, n);
      const std::uint64_t key =
          hashes_[n] - hashed(k, piece.origin[k]) - hashed(rank_ + k, piece.extent[k]);
      order.push_back({key, piece.origin[k], n});
    }
    std::sort(order.begin(), order.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.key, a.origin) < std::pair(b.key, b.origin);
    });
    PieceList joined;
    joined.reserve(pieces_.size());
    std::vector<std::uint64_t> hashes;
    for (const Entry& entry : order) {
      const PieceView piece = piece_at(pieces_, rank_, entry.number);
      if (!hashes.empty() && touches(joined, piece, k)) {
        Size& extent = joined[joined.size() - size() + rank_ + k];
        hashes.back() -= hashed(rank_ + k, extent);
        extent += piece.extent[k];
        hashes.back() += hashed(rank_ + k, extent);
        continue;
      }
      const auto first = pieces_.begin() + static_cast<std::ptrdiff_t>(entry.number * size());
      joined.insert(joined.end(), first, first + static_cast<std::ptrdiff_t>(size()));
      hashes.push_back(hashes_[entry.number]);
    }
    pieces_.swap(joined);
    hashes_.swap(hashes);
    return true;
  }

 private:
  [[nodiscard]] std::size_t size() const { return 3 * rank_; }

  /// Whether `piece` begins along k where the last of `joined` ends, and is like it in all else.
  [[nodiscard]] bool touches(const PieceList& joined, const PieceView& piece, std::size_t k) const {
    const PieceView last = piece_at(joined, rank_, joined.size() / size() - 1);
    if (last.origin[k] + last.extent[k] != piece.origin[k]) return false;
    if (!equal(last.shift, piece.shift)) return false;
    for (std::size_t i = 0; i < rank_; ++i) {
      if (i == k) continue;
      if (last.origin[i] != piece.origin[i] || last.extent[i] != piece.extent[i]) return false;
    }
    return true;
  }

  std::size_t rank_;
  PieceList& pieces_;
  Watch& watch_;
  std::vector<std::uint64_t> hashes_;
};

/// The dimensions along which some piece is shorter than the array.
std::vector<std::size_t> cut_dimensions(const Shape& tile, PieceListView pieces) {
  std::vector<std::size_t> out;
  const std::size_t rank = tile.size();
  for (std::size_t k = 0; k < rank; ++k) {
    for (std::size_t extent = rank + k; extent < pieces.size(); extent += 3 * rank) {
      if (pieces[extent] == tile[k]) continue;
      out.push_back(k);
      break;
    }
  }
  return out;
}

}  // namespace

PieceView piece_at(PieceListView pieces, std::size_t rank, std::size_t number) {
  const auto piece = pieces.subspan(number * 3 * rank, 3 * rank);
  return {piece.first(rank), piece.subspan(rank, rank), piece.last(rank)};
}

std::optional<OtherShift> first_difference(PieceListView pieces, std::span<const Size> shift) {
  const std::size_t rank = shift.size();
  std::optional<PieceView> first;
  for (std::size_t n = 0; n < pieces.size() / (3 * rank); ++n) {
    const PieceView piece = piece_at(pieces, rank, n);
    if (equal(piece.shift, shift)) continue;
    if (!first || std::lexicographical_compare(piece.origin.begin(), piece.origin.end(),
                                               first->origin.begin(), first->origin.end())) {
      first = piece;
    }
  }
  if (!first) return std::nullopt;
  return OtherShift{.at = Shape(first->origin.begin(), first->origin.end()),
                    .shift = Shape(first->shift.begin(), first->shift.end())};
}

bool merge(const Shape& tile, PieceList& pieces, Watch& watch) {
  const std::size_t rank = tile.size();
  const std::size_t count = pieces.size() / (3 * rank);
  if (count == 1) return true;
  const PieceView first = piece_at(pieces, rank, 0);
  bool one_box = true;
  for (std::size_t n = 1; one_box && n < count; ++n) {
    one_box = equal(piece_at(pieces, rank, n).shift, first.shift);
  }
  if (one_box) {  // merging neighbours need not find this: five boxes can interlock like a pinwheel
    pieces.resize(3 * rank);
    for (std::size_t k = 0; k < rank; ++k) {
      pieces[k] = 0;
      pieces[rank + k] = tile[k];
    }
    return true;
  }
  if (!watch.in_time(static_cast<Size>(pieces.size()))) return false;
  // A round may make room for the next one, but one that joins next to nothing ends it: what is
  // left to join may come in as many rounds as there are pieces.
  constexpr std::size_t least_share = 16;
  const std::vector<std::size_t> dimensions = cut_dimensions(tile, pieces);
  Merger merger(rank, pieces, watch);
  for (std::size_t before = 0; merger.count() != before;) {
    before = merger.count();
    for (const std::size_t k : dimensions) {
      if (!merger.merge_along(k)) return false;
    }
    if ((before - merger.count()) * least_share < before) break;
  }
  return true;
}

}  // namespace retile
