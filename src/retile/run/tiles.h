// Tiles at the start of a run that lie in files of their own, one .npy file for every device.
//
// Every process fills its tile from its own file alone. What it got, and whether replicas are alike, it
// compares with parts of other devices' files (comparison.h), so it must reach those. A device without
// elements has no file.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "retile/core/device_numbers.h"
#include "retile/core/element_type.h"
#include "retile/core/layout.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/executor/executor.h"
#include "retile/exec/npy/npy.h"

namespace retile::run {

/// Whether `{}` stands in it exactly once: `in/tile-{}.npy`.
[[nodiscard]] bool is_tile_pattern(std::string_view pattern);

/// A path with something in the place of `{}`. Precondition (asserted): is_tile_pattern(pattern).
[[nodiscard]] std::string path_with(std::string_view pattern, std::string_view name);
/// The file of a device of this number. Precondition (asserted): is_tile_pattern(pattern).
[[nodiscard]] std::string tile_path(std::string_view pattern, Size number);

/// The first device that holds an element, if one does.
[[nodiscard]] std::optional<Size> first_with_elements(const Layout& layout);

/// Opens the file of a device and looks whether its array is the tile that the device holds. Not
/// collective.
/// \param number  what the device is called
/// \param type  the element type that was asked for, byte order aside
/// \error bad_file
[[nodiscard]] Result<NpyFile> open_tile(std::string_view pattern, const Layout& layout, Size device,
                                        Size number, const std::optional<ElementType>& type);

/// The files of the tiles of a layout, which outlives them, as do the numbers. None stays open.
class TileFiles {
 public:
  /// Collective: every process opens the files of its devices; all must hold elements of one type, in
  /// one order of bytes.
  /// \error as open_tile, on all processes
  [[nodiscard]] static Result<TileFiles> open(const Processes& processes, const Layout& from,
                                              const DeviceNumbers& numbers,
                                              const std::string& pattern,
                                              const std::optional<ElementType>& type);

  [[nodiscard]] const ElementType& type() const { return type_; }
  /// What all files say of their elements; without a file what they would say.
  [[nodiscard]] const std::string& descr() const { return descr_; }
  [[nodiscard]] std::string path(Size device) const {
    return tile_path(pattern_, numbers_->of(device));
  }

  /// The file of a device, for another one or itself.
  /// \error bad_file, with a note that names the other one
  [[nodiscard]] Result<NpyFile> file(Size device, Size reader) const;

  /// Reads the tile of a device whole.
  /// \param told  of the bytes that are read
  /// \error file_error, bad_file
  [[nodiscard]] Result<void> read(Size device, std::span<std::byte> tile,
                                  const std::function<void(Size)>& told) const;

 private:
  TileFiles(const Layout& from, const DeviceNumbers& numbers, std::string pattern,
            const ElementType& type)
      : from_(&from),
        numbers_(&numbers),
        pattern_(std::move(pattern)),
        type_(type),
        descr_(npy_descr(type)) {}
  [[nodiscard]] Result<void> is_alike(Size device, const std::string& descr) const;

  const Layout* from_;
  const DeviceNumbers* numbers_;
  std::string pattern_;
  ElementType type_;
  std::string descr_;
};

/// Files that are read again and again, box after box: some stay open. What they are files of outlives them.
class OpenTiles {
 public:
  explicit OpenTiles(const TileFiles& files) : files_(&files) {}
  /// That of a device, until the next call.
  /// \error as TileFiles::file
  [[nodiscard]] Result<const NpyFile*> file(Size device, Size reader);

 private:
  static constexpr std::size_t most_open = 16;

  const TileFiles* files_;
  std::map<Size, NpyFile> open_;
};

}  // namespace retile::run
