// Builds a Program from drafts: the checks that every form of a Program owes it. Private to the
// forms.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "axis_table.h"
#include "drafts.h"
#include "numbered.h"
#include "retile/program/program.h"
#include "tilings.h"

namespace retile::forms {

/// Assembles one Program from drafts in the order of the text: header lines, then steps. Every
/// method fails on the first thing that makes it no Program.
class Builder {
 public:
  /// \param start    where the Program begins, for what is missing
  /// \param version  of the forms
  explicit Builder(const Place& start, int version = 1) : start_(start), version_(version) {}

  // The header: build_header.cpp.

  void mesh(const std::vector<paper::WrittenAxis>& axes, const Place& place,
            std::optional<Token<TableDraft>> order = {});
  [[nodiscard]] int version() const { return version_; }
  void devices(const Token<Size>& count);
  /// The devices by the numbers that they have.
  void devices(const Token<std::vector<Size>>& numbers);
  void from(TilingDraft tiling);
  void to(TilingDraft tiling);
  void view(Token<std::vector<Size>> shape);
  /// The axes that the next tiling may name, or null.
  [[nodiscard]] const AxisTable* axes() const { return axes_ ? &*axes_ : nullptr; }
  /// Whether header lines may still come.
  [[nodiscard]] bool in_header() const { return !header_done_; }
  /// Ends the header: everything that needs the number of devices is checked now.
  void finish_header();
  [[nodiscard]] Program finish();

  // Steps: build_steps.cpp.

  void step(const StepDraft& step);

 private:
  /// A mesh line of version 2, whose number of devices another line may say.
  struct Positions {
    Token<Size> count;
    std::optional<Token<TableDraft>> order;
  };

  void take_view();
  void set_devices(Size count, const Place& place, std::string_view what);
  void check_positions(const Token<Size>& count);
  void check_numbers() const;
  /// The draft with the device that alone holds it, if one does, by its place.
  [[nodiscard]] TilingDraft called(TilingDraft draft) const;
  /// What the tilings under so many mesh lines say tiles of.
  [[nodiscard]] Ground ground_of(std::size_t meshes_above) const;
  void check_tiling_line(const std::optional<TilingDraft>& tiling, std::string_view word);
  void check_global(const Layout& layout, const TilingDraft& draft, std::string_view what) const;
  /// Fails where a tiling adds in another way than those above it.
  void check_addition(const Layout& layout, const TilingDraft& draft, std::string_view what) const;

  /// Fails where a step has keys that exclude each other, or lacks one.
  void check_keys(const StepDraft& step, const Op& op) const;
  [[nodiscard]] std::size_t dimension(std::string_view key, Size dim, const Place& place) const;
  // A member of a step from its keys, by its type.
  void read(const StepDraft& step, std::string_view key, std::size_t& dim) const;
  void read(const StepDraft& step, std::string_view key, std::vector<std::size_t>& dims) const;
  void read(const StepDraft& step, std::string_view key, Shape& counts) const;
  void read(const StepDraft& step, std::string_view key, DeviceTable& groups) const;
  void read(const StepDraft& step, std::string_view key, KeptPieces& pieces) const;
  void read(const StepDraft& step, std::string_view key, Sources& sources) const;
  void read(const StepDraft& step, std::string_view key, std::vector<Transfer>& transfers) const;
  void read(const StepDraft& step, std::string_view key, std::optional<PieceSize>& piece) const;
  void read(const StepDraft& step, std::string_view key, Addition& add) const;
  void read(const StepDraft& step, std::string_view key, std::optional<Addition>& add) const;
  template <std::size_t Row = 0>
  [[nodiscard]] Op op(const StepDraft& step) const;
  [[nodiscard]] Claims claims(const StepDraft& step) const;

  Place start_;
  int version_;
  Program program_;
  std::vector<Positions> meshes_;     ///< of version 2
  std::size_t from_mesh_ = 0;         ///< how many of them stand above `from`
  std::size_t to_mesh_ = 0;           ///< and above `to`
  Ground ground_;                     ///< of the claims
  std::optional<Addition> addition_;  ///< of the tilings so far
  std::optional<AxisTable> axes_;
  int mesh_count_ = 0;
  bool has_devices_line_ = false;
  bool header_done_ = false;
  std::optional<Size> devices_;
  std::optional<Token<std::vector<Size>>> numbers_;
  std::optional<Devices> called_;  ///< once the header is complete
  std::string devices_from_;       ///< what said the number of devices first
  std::optional<TilingDraft> from_;
  std::optional<TilingDraft> to_;
  std::optional<Token<std::vector<Size>>> view_;
};

}  // namespace retile::forms
