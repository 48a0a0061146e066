// States whose arrays are made of pieces: boxes of elements that lie together. Private to this
// room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "retile/check/piece_list.h"
#include "retile/check/state.h"
#include "retile/check/tables.h"
#include "retile/program/op_facts.h"

namespace retile {

class Boxes;
class Tags;

/// Every device refers to a list of pieces; devices that hold the same may share one. A list is one
/// piece iff its array is one box in order.
///
/// Pieces can become many more than there are elements that move as one. A step is refused when it
/// needs more numbers here than in tags, so that this form is never slower than that one by more
/// than a constant.
class Pieces final : public State {
 public:
  /// Null when there is no room. Precondition: rank >= 1.
  [[nodiscard]] static std::unique_ptr<State> of(const Boxes& boxes, const Limits& limits);
  [[nodiscard]] static std::unique_ptr<State> of(const Tags& tags, const Limits& limits);

  [[nodiscard]] Form form() const override { return Form::pieces; }
  [[nodiscard]] Applied apply(const Step& step, const Shape& after, const Limits& limits) override;
  [[nodiscard]] Shape held(Size device, const Shape& at) const override;
  [[nodiscard]] std::optional<Witness> difference(const Columns& expected) const override;
  using State::difference;
  [[nodiscard]] std::optional<Witness> not_a_box() const override;
  [[nodiscard]] Size numbers() const override { return static_cast<Size>(lists_.numbers.size()); }
  [[nodiscard]] std::unique_ptr<State> slower(const Limits& limits) const override;
  [[nodiscard]] std::unique_ptr<State> as_boxes() const override;

 private:
  struct Lists {
    ArrayOf list_of;                        // per device
    PieceList numbers;                      // all lists, one after another
    std::vector<std::size_t> begins = {0};  // list l is numbers[begins[l] .. begins[l + 1])

    [[nodiscard]] PieceListView list(std::size_t l) const {
      return PieceListView(numbers).subspan(begins[l], begins[l + 1] - begins[l]);
    }
    [[nodiscard]] PieceListView of(Size device) const { return list(list_of[index(device)]); }
    [[nodiscard]] std::size_t count() const { return begins.size() - 1; }
    std::uint32_t add(PieceListView pieces) {
      numbers.insert(numbers.end(), pieces.begin(), pieces.end());
      begins.push_back(numbers.size());
      return static_cast<std::uint32_t>(count() - 1);
    }
  };
  /// What one step may use.
  struct Allowance {
    std::size_t most = 0;               // numbers, old and new together
    Applied beyond = Applied::no_room;  // what it means when they are more
    const Deadline& deadline;
    Watch watch;
  };

  explicit Pieces(const State& other) : State(other.devices(), other.global(), other.tile()) {}

  [[nodiscard]] std::size_t piece_size() const { return 3 * rank(); }
  [[nodiscard]] Allowance allowance(const Step& step, const Shape& after,
                                    const Limits& limits) const;
  [[nodiscard]] Applied keep(const Keep& what, const Shape& after, Allowance& allowed);
  [[nodiscard]] Applied regroup(const Regroup& what, const Shape& after, Allowance& allowed);
  [[nodiscard]] Applied fetch(const Fetch& what, Allowance& allowed);
  [[nodiscard]] Applied assemble(const Assemble& what, const Shape& after, Allowance& allowed);
  [[nodiscard]] Applied cut(PieceListView list, const Regroup& what, Size place,
                            std::span<const Size> wanted, std::span<PieceList> parts,
                            std::size_t& held, Allowance& allowed) const;
  /// The largest block of elements along each dimension that no piece of any list cuts.
  [[nodiscard]] Shape unit() const;

  Lists lists_;
};

}  // namespace retile
