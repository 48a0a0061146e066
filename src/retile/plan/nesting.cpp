#include "retile/plan/nesting.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/assert.h"

namespace retile {
namespace {

/// More cuts are not looked at one by one.
constexpr Size most_cuts = Size{1} << 20;

/// Whether every so many tiles of the one are a tile of the other.
bool joins_to(const Cuts& fine, const Cuts& coarse) {
  if (fine == coarse) return true;
  if (fine.count() % coarse.count() != 0 || fine.count() > most_cuts) return false;
  const Size n = fine.count() / coarse.count();
  for (Size t = 0; t <= coarse.count(); ++t) {
    if (fine.at(t * n) != coarse.at(t)) return false;
  }
  return true;
}

/// Whether piece q of every tile, n of them, is where piece_at(extent, q) says it begins.
template <typename PieceAt>
bool are_pieces(const Cuts& before, const Cuts& after, const PieceAt& piece_at) {
  const Size n = after.count() / before.count();
  for (Size t = 0; t < before.count(); ++t) {
    for (Size q = 0; q < n; ++q) {
      if (after.at(t * n + q) != before.at(t) + piece_at(before.width(t), q)) return false;
    }
  }
  return true;
}

}  // namespace

tl::unexpected<Diagnostic> filled_up_too_long() {
  return refuse(
      {.code = Code::size_overflow, .message = "the tiles filled up have 2^63 elements or more"});
}

std::string cuts_text(const Cuts& cuts) {
  constexpr Size most = 8;
  std::string out;
  for (Size t = 0; t <= cuts.count(); ++t) {
    if (t == most) return out + fmt::format(" .. {}", cuts.global());
    out += fmt::format("{}{}", t == 0 ? "" : " ", cuts.at(t));
  }
  return out;
}

Result<Nesting> Nesting::make(const Cuts& from, const Cuts& to) {
  Nesting out(from.count() >= to.count() ? from : to);
  if (from.is_blocks() && to.is_blocks()) {
    const auto before = checked_mul(from.block(), from.count());
    const auto after = checked_mul(to.block(), to.count());
    if (!before || !after) return filled_up_too_long();
    // One tile is part of any.
    if (from.count() == 1 && to.count() == 1) out.filled_ = from.global();
    if (from.count() == 1 && to.count() > 1) out.filled_ = *after;
    if (from.count() > 1 && (to.count() == 1 || before == after)) out.filled_ = *before;
    // Else blocks nest only where the first of an end holds everything.
    if (out.filled_ > 0) return out;
  } else if (joins_to(out.fine_, from.count() >= to.count() ? to : from)) {
    return out;
  }
  return refuse(
      {.code = Code::inapplicable,
       .message = fmt::format("cuts {} and {} do not nest", cuts_text(from), cuts_text(to))});
}

Result<Size> Nesting::size(bool smaller) const {
  if (filled_ > 0) return filled_;
  const auto out = checked_mul(fine_.count(), smaller ? fine_.largest() : 1);
  if (!out) return filled_up_too_long();
  return *out;
}

std::optional<Cuts> Nesting::cuts(Size count) const {
  if (filled_ > 0) return Cuts::blocks(filled_ / count, count, fine_.global());
  if (count == fine_.count()) return fine_;
  if (count == 1) return Cuts::even(fine_.global(), 1);
  if (count > most_cuts || fine_.count() > most_cuts) return std::nullopt;
  std::vector<Size> at;
  at.reserve(static_cast<std::size_t>(count) + 1);
  if (fine_.count() % count == 0) {
    const Size n = fine_.count() / count;
    for (Size t = 0; t <= count; ++t) at.push_back(fine_.at(t * n));
    return Cuts::listed(std::move(at));
  }
  if (count % fine_.count() != 0) return std::nullopt;
  const Size n = count / fine_.count();
  for (Size t = 0; t < fine_.count(); ++t) {
    if (fine_.width(t) == 0) {
      at.insert(at.end(), static_cast<std::size_t>(n), fine_.at(t));
      continue;
    }
    const Cuts pieces = Cuts::balanced(n, fine_.width(t));
    for (Size q = 0; q < n; ++q) at.push_back(fine_.at(t) + pieces.at(q));
  }
  at.push_back(fine_.global());
  return Cuts::listed(std::move(at));
}

bool Nesting::may_be_alike(Size devices) const {
  return filled_ == 0 || std::gcd(std::gcd(filled_, fine_.global()), devices) > 1;
}

std::optional<Nesting::Pieces> Nesting::pieces(Size count_before, Size count_after) const {
  if (filled_ > 0) {
    if (filled_ == fine_.global()) return Pieces{};
    return Pieces{PieceSize(filled_ / count_after)};
  }
  const std::optional<Cuts> cuts_before = cuts(count_before);
  const std::optional<Cuts> cuts_after = cuts(count_after);
  RETILE_ASSERT(cuts_before && cuts_after && count_after % count_before == 0,
                "tiles that there are, and a factor");
  const Cuts& before = *cuts_before;
  const Cuts& after = *cuts_after;
  const Size n = count_after / count_before;
  if (after.is_balanced()) return Pieces{PieceSize::balanced()};  // as are neighbours among them
  if (count_after > most_cuts) return std::nullopt;
  const auto equal = [n](Size extent, Size q) { return extent % n == 0 ? extent / n * q : -1; };
  if (are_pieces(before, after, equal)) return Pieces{};
  const Size largest = after.largest();
  const auto blocks = [&](Size extent, Size q) {
    return q > extent / largest ? extent : std::min(q * largest, extent);
  };
  if (are_pieces(before, after, blocks)) return Pieces{PieceSize(largest)};
  const auto balanced = [n](Size extent, Size q) {
    return extent / n * q + std::min(q, extent % n);
  };
  if (are_pieces(before, after, balanced)) return Pieces{PieceSize::balanced()};
  return std::nullopt;
}

}  // namespace retile
