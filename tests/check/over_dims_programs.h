// Random Programs of steps along several dimensions, right and of any numbers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "retile/program/program.h"
#include "support/random_layouts.h"

namespace over_dims_programs {

using retile::DeviceTable;
using retile::Digit;
using retile::Layout;
using retile::Program;
using retile::Shape;
using retile::Size;
using retile::Step;

/// A digit of the device number, of the dimension that it cuts to the one that it cuts next; the rank
/// where that is none.
struct Move {
  Digit digit;
  std::size_t from = 0, to = 0;
};

/// A step along several dimensions, and single steps that do the same, if some do: of one dimension they
/// take the fastest digit first, and to one dimension they bring the slowest first.
struct Both {
  Program at_once;
  std::optional<Program> one_by_one;
};

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  /// A right step. Tiles are even, digits go anywhere.
  std::optional<Both> right() {
    static const std::vector<Size> counts{2, 4, 6, 8, 12, 16, 24};
    return right(counts[below(counts.size())], below(3) == 0);
  }
  /// \param adds  whether some digits may be of addends
  std::optional<Both> right(Size devices, bool adds = false) {
    devices_ = devices;
    rank_ = 1 + below(3);
    tile_.assign(rank_, 1);
    for (Size& extent : tile_) extent = std::vector<Size>{1, 2, 3, 4, 6, 12}[below(6)];
    dims_.assign(rank_, {});
    addends_.clear();
    for (const Digit& digit : digits_of_devices()) {
      const std::size_t place = below(rank_ + (adds ? 2 : 1));
      if (place < rank_) dims_[place].push_back(digit);
      if (place > rank_) addends_.push_back(digit);
    }
    for (auto& digits : dims_) std::shuffle(digits.begin(), digits.end(), random_);
    Both out;
    out.at_once.devices = devices_;
    out.at_once.from = layout();
    const bool gather = below(2) == 0;
    const std::vector<Move> moves = moves_of(gather);
    if (moves.empty() || !make(moves)) return std::nullopt;
    out.at_once.to = layout();
    if (const auto turns = in_turn(moves)) {
      out.one_by_one = out.at_once;
      for (const Move& move : *turns) out.one_by_one->steps.push_back({single(move), {}});
    }
    Step step{at_once(moves, gather), {}};
    if (below(2) == 0) step.claims.tile = tile_;
    if (below(2) == 0) step.claims.map = layout();
    out.at_once.steps = {std::move(step)};
    return out;
  }

  /// Steps of any numbers between layouts whose tiles need not be alike.
  Program any() {
    static const std::vector<Size> counts{1, 2, 3, 4, 6, 8};
    devices_ = counts[below(counts.size())];
    const Shape global = support::random_global(random_, 2, 9);
    rank_ = global.size();
    Program out;
    out.devices = devices_;
    out.from = support::random_layout(random_, devices_, global);
    out.to = below(2) == 0 ? out.from : support::random_layout(random_, devices_, global);
    for (std::size_t k = 1 + below(2); k > 0; --k) out.steps.push_back({any_step(), {}});
    return out;
  }

  /// The text with one number changed, as one of version 2.
  std::string spoiled(const std::string& text) {
    std::vector<std::size_t> numbers;  // where they begin
    for (std::size_t at = text.find('\n') + 1; at < text.size(); ++at) {
      if (is_digit(text[at]) && !is_digit(text[at - 1])) numbers.push_back(at);
    }
    const std::size_t begin = numbers[below(numbers.size())];
    std::size_t end = begin;
    while (end < text.size() && is_digit(text[end])) ++end;
    const Size change = std::vector<Size>{-1, 1, 2}[below(3)];
    const Size number = std::max<Size>(0, std::stoll(text.substr(begin, end - begin)) + change);
    return text.substr(0, begin) + std::to_string(number) + text.substr(end);
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  std::size_t below(std::size_t end) { return random_() % end; }

  std::vector<Digit> digits_of_devices() const {
    std::vector<Digit> out;
    Size stride = 1;
    for (Size left = devices_; left > 1;) {
      Size factor = 2;
      while (left % factor != 0) ++factor;
      out.push_back({.stride = stride, .size = factor});
      stride *= factor;
      left /= factor;
    }
    return out;
  }

  [[nodiscard]] Layout layout() const {
    std::vector<retile::Cuts> cuts;
    for (std::size_t i = 0; i < rank_; ++i) {
      cuts.push_back(retile::Cuts::even(tile_[i], retile::product_of(dims_[i])));
    }
    const Layout boxes = Layout::numbered(devices_, std::move(cuts), dims_).value();
    return addends_.empty() ? boxes : boxes.with_addends(retile::Addition::sum, addends_).value();
  }

  /// Digits to be moved, the slowest first. Of each dimension they are the minor ones.
  std::vector<Move> moves_of(bool gather) {
    std::vector<Move> out;
    std::vector<std::size_t> taken(rank_, 0);
    for (std::size_t k = 1 + below(3); k > 0; --k) {
      const std::size_t from = below(rank_), to = gather ? rank_ : below(rank_);
      if (taken[from] == dims_[from].size()) continue;
      // What is cut must not be put together in the same step: single steps would do it in turn.
      const bool turns = std::any_of(out.begin(), out.end(), [&](const Move& move) {
        return move.from == to || move.to == from;
      });
      if (from == to || turns) continue;
      out.push_back({dims_[from][taken[from]++], from, to});
    }
    std::reverse(out.begin(), out.end());  // of one dimension the minor digit is the fastest
    return out;
  }

  bool make(const std::vector<Move>& moves) {
    std::vector<std::vector<Digit>> cut(rank_ + 1);
    for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
      auto& digits = dims_[move->from];
      EXPECT_EQ(digits.front(), move->digit);
      digits.erase(digits.begin());
      tile_[move->from] *= move->digit.size;
      cut[move->to].push_back(move->digit);
    }
    for (std::size_t i = 0; i < rank_; ++i) {
      const Size parts = retile::product_of(cut[i]);
      if (tile_[i] % parts != 0) return false;
      tile_[i] /= parts;
      dims_[i].insert(dims_[i].begin(), cut[i].begin(), cut[i].end());
    }
    return true;
  }

  /// The moves in an order in which single steps make them.
  [[nodiscard]] std::optional<std::vector<Move>> in_turn(const std::vector<Move>& moves) const {
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < moves.size(); ++k) order.push_back(k);
    do {
      bool fits = true;
      for (std::size_t i = 0; i < order.size(); ++i) {
        for (std::size_t j = i + 1; j < order.size(); ++j) {
          const Move &first = moves[order[i]], &second = moves[order[j]];
          if (first.from == second.from && order[i] < order[j]) fits = false;
          if (first.to == second.to && first.to < rank_ && order[i] > order[j]) fits = false;
        }
      }
      if (!fits) continue;
      std::vector<Move> out;
      for (const std::size_t k : order) out.push_back(moves[k]);
      return out;
    } while (std::next_permutation(order.begin(), order.end()));
    return std::nullopt;
  }

  /// All devices in rows along digits, the first slowest; now and then of a random order of rows.
  DeviceTable along(const std::vector<Digit>& digits) {
    std::vector<std::vector<Size>> rows;
    for (Size d = 0; d < devices_; ++d) {
      const bool first = std::all_of(digits.begin(), digits.end(), [d](const Digit& digit) {
        return d / digit.stride % digit.size == 0;
      });
      if (!first) continue;
      std::vector<Size> row{d};
      for (const Digit& digit : digits) {
        std::vector<Size> longer;
        for (const Size member : row) {
          for (Size k = 0; k < digit.size; ++k) longer.push_back(member + k * digit.stride);
        }
        row = std::move(longer);
      }
      rows.push_back(std::move(row));
    }
    std::shuffle(rows.begin(), rows.end(), random_);
    return DeviceTable::rows(std::move(rows));
  }

  retile::Op single(const Move& move) {
    DeviceTable groups = along({move.digit});
    if (move.to == rank_) return retile::Allgather{move.from, std::move(groups)};
    return retile::Alltoall{move.to, move.from, std::move(groups), std::nullopt};
  }

  retile::Op at_once(const std::vector<Move>& moves, bool gather) {
    std::vector<std::size_t> from, to;
    Shape counts;
    std::vector<Digit> digits;
    for (const Move& move : moves) {
      from.push_back(move.from);
      to.push_back(move.to);
      counts.push_back(move.digit.size);
      digits.push_back(move.digit);
    }
    DeviceTable groups = along(digits);
    if (gather) return retile::AllgatherDims{from, counts, std::move(groups)};
    return retile::AlltoallDims{to, from, counts, std::move(groups)};
  }

  retile::Op any_step() {
    std::vector<Size> order;
    for (Size d = 0; d < devices_; ++d) order.push_back(d);
    if (below(2) == 0) std::shuffle(order.begin(), order.end(), random_);
    Size members = devices_;
    if (below(2) == 0) {
      do {
        members = 1 + static_cast<Size>(below(static_cast<std::size_t>(devices_)));
      } while (devices_ % members != 0);
    }
    std::vector<std::vector<Size>> rows;
    for (std::size_t at = 0; at < order.size(); at += static_cast<std::size_t>(members)) {
      rows.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(at),
                        order.begin() + static_cast<std::ptrdiff_t>(at) + members);
    }
    Shape counts;
    for (Size left = members; left > 1;) {
      Size factor = 2;
      while (left % factor != 0) ++factor;
      counts.push_back(factor);
      left /= factor;
    }
    if (counts.empty() || below(4) == 0) counts.push_back(1);
    std::vector<std::size_t> some, others;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      some.push_back(below(rank_));
      others.push_back(below(rank_));
    }
    DeviceTable groups = DeviceTable::rows(std::move(rows));
    if (below(2) == 0) return retile::AllgatherDims{some, counts, std::move(groups)};
    return retile::AlltoallDims{some, others, counts, std::move(groups)};
  }

  std::mt19937_64 random_;
  Size devices_ = 1;
  std::size_t rank_ = 1;
  Shape tile_;
  std::vector<std::vector<Digit>> dims_;  // minor to major
  std::vector<Digit> addends_;
};

}  // namespace over_dims_programs
