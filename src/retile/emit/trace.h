// A Program step by step: what is held before and after, and which digits of the device number a
// step moves. Room-internal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/program/program.h"

namespace retile::emit {

/// What a form cannot say. Thrown inside of this room.
struct Unsayable {
  Diagnostic diagnostic;
};
[[noreturn]] void refuse_form(std::string message, std::vector<std::string> notes = {},
                              Code code = Code::unsupported);
/// The same of a step along several dimensions, in the form of that name.
[[noreturn]] void refuse_over_dims(const Step& step, std::string_view form);

/// A step of a Program, numbered from 1 in messages.
struct Traced {
  const Step* step = nullptr;
  std::size_t number = 1;
  Layout before;
  Layout after;
  /// What moves: into a dimension, out of one, into addends or out of them; minor to major.
  std::vector<Digit> digits = {};
};

/// All steps. Tile shapes are known for any; `digits` only where by_digits asks for them.
/// \param by_digits  whether every step must move digits of the device number
/// \error (thrown) unsupported: a step whose result no digits say, or that slices otherwise
[[nodiscard]] std::vector<Traced> trace(const Program& program, bool by_digits);

/// The tile of every device before the first step and after each, where all are alike.
/// \error (thrown) unsupported: tiles that are not all alike, with these notes
[[nodiscard]] std::vector<Shape> even_tiles(const Program& program, std::string_view form,
                                            std::vector<std::string> notes = {});

/// `[[0,1],[2,3]]` as rows of device numbers, as listed by the step's table.
[[nodiscard]] std::vector<std::vector<Size>> rows_of(const DeviceTable& table);

/// Where a slice begins, for every device.
[[nodiscard]] std::vector<Size> slice_starts(const Program& program, const Dynslice& op,
                                             const Shape& after);
/// The position of every device in its group.
[[nodiscard]] std::vector<Size> places_in(const DeviceTable& groups, Size devices);
/// Factors of the device number, major to minor, fine enough for all these digits.
/// \error (thrown) unsupported: digits that have none in common
[[nodiscard]] std::vector<Digit> factors_of(Size devices, const std::vector<Digit>& digits);

/// Devices that are listed one by one at most.
inline constexpr Size most_listed_devices = Size{1} << 16;
void check_listable(const Program& program, std::string_view form);

/// What the devices are called, as a line behind a comment mark; nothing where they have the numbers that they are
/// counted by.
[[nodiscard]] std::string devices_text(const DeviceNumbers& numbers, std::string_view mark);
/// The devices, and the ends in the notation of Programs, each line behind a comment mark.
[[nodiscard]] std::string ends_text(const Program& program, std::string_view mark);

/// `tensor<16x8xf32>`
[[nodiscard]] std::string tensor(const Shape& shape, std::string_view element);

// The writers. `element` is what the form calls the type of elements.
[[nodiscard]] std::string shardy(const Program& program, std::string_view element);
[[nodiscard]] std::string stablehlo(const Program& program, std::string_view element);
[[nodiscard]] std::string hlo(const Program& program, std::string_view element);
[[nodiscard]] std::string mlir19(const Program& program, std::string_view element);
[[nodiscard]] std::string mlir22(const Program& program, std::string_view element);
[[nodiscard]] std::string jax(const Program& program);
[[nodiscard]] std::string mpi_c(const Program& program);

}  // namespace retile::emit
