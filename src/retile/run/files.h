// Where the data of a run comes from and where it goes: .npy files, or the generated array.
//
// Every process reads and writes its own tiles. Of a file with the whole array one that does not see it
// is served by process 0, which has to. Tiles may lie in files of their own, too (tiles.h).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/element_type.h"
#include "retile/core/layout.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/executor/executor.h"
#include "retile/exec/npy/npy.h"
#include "retile/run/tiles.h"

namespace retile::run {

/// Bytes of a tile, or of a message, that are read, written or compared at once.
inline constexpr std::size_t piece_bytes = std::size_t{1} << 20;

/// Most bytes of the buffers through which one process reads, writes, sends and compares.
inline constexpr Size file_buffer_limit_bytes = Size{4} << 20;

/// Called on process 0 before and during each stage (`generate`, `read`, `move`, `verify`, `write`)
/// with done and total: repetitions for `move`, bytes for all others.
using Progress = std::function<void(std::string_view stage, Size done, Size total)>;

/// Opens a .npy file and looks whether its array is the one that a run starts from. Not collective.
/// \param type  the element type that was asked for, byte order aside
/// \param role  what the array is in the run
/// \error bad_file
[[nodiscard]] Result<NpyFile> open_input(const std::string& path, const Shape& shape,
                                         const std::optional<ElementType>& type,
                                         std::string_view role = "is redistributed");

/// An array that a run begins with.
struct NamedArray {
  std::string name;
  Shape shape;
  bool holds_indices = false;
};

/// Opens a .npy file for each array. All must hold elements of one type, in this machine's order of bytes; but
/// indices may be integers of 32 or 64 bits beside others. Not collective.
/// \param pattern  of their paths, in which {} is the name of the array; of a single one without {}, too
/// \param type  the type that was asked for
/// \error bad_argument (no {}), bad_file
[[nodiscard]] Result<std::vector<NpyFile>> open_inputs(std::span<const NamedArray> arrays,
                                                       std::string_view pattern,
                                                       const std::optional<ElementType>& type);
/// The one type: of the first that holds no indices, or of the first one. Precondition: there are some.
[[nodiscard]] const NpyFile& first_of(std::span<const NamedArray> arrays,
                                      std::span<const NpyFile> files);

/// What moves through files, with the buffer that it takes.
class Buffer {
 public:
  [[nodiscard]] std::span<std::byte> piece(std::size_t bytes);
  /// Notes what a reader holds beside it.
  void note(Size reader_bytes);
  [[nodiscard]] Size most_bytes() const { return most_bytes_; }

 private:
  std::vector<std::byte> bytes_;
  Size most_bytes_ = 0;
};

/// The array at the start, on all processes: an element type, and a file unless it is generated.
class Source {
 public:
  /// The generated array.
  explicit Source(const ElementType& type) : type_(type) {}
  explicit Source(TileFiles tiles) : type_(tiles.type()), tiles_(std::move(tiles)) {}

  /// Collective: process 0 opens the file, the others the same one if they see it.
  /// \error as open_input(), on all processes
  [[nodiscard]] static Result<Source> open(const Processes& processes, const std::string& path,
                                           const Shape& global,
                                           const std::optional<ElementType>& type);

  /// Whether one file holds all of it.
  [[nodiscard]] bool is_file() const { return header_.has_value(); }
  /// Nothing where its tiles do not lie in files of their own.
  [[nodiscard]] const std::optional<TileFiles>& tiles() const { return tiles_; }
  [[nodiscard]] const ElementType& type() const { return type_; }
  /// What a file with such elements says of them; with an input the same words.
  [[nodiscard]] std::string descr() const {
    return header_ ? header_->descr : tiles_ ? tiles_->descr() : npy_descr(type_);
  }

  /// Takes a piece of a tile: its device, where it begins in the tile, and its bytes.
  using Consume = std::function<void(Size device, Size begin, std::span<const std::byte> piece)>;
  /// Collective: hands all pieces of the tiles of `layout` that the executor's devices have to
  /// `consume`, as the file has them. Precondition: is_file().
  /// \error file_error, bad_file, on all processes
  [[nodiscard]] Result<void> each_piece(const Executor& executor, const Layout& layout,
                                        Buffer& buffer, const Consume& consume) const;

 private:
  [[nodiscard]] Result<void> read_tile(const Layout& layout, Size device, Buffer& buffer,
                                       const Consume& consume) const;
  [[nodiscard]] Result<void> receive_tile(const Processes& processes, const Layout& layout,
                                          Size device, Buffer& buffer,
                                          const Consume& consume) const;
  [[nodiscard]] Result<void> serve_tile(const Processes& processes, const Layout& layout,
                                        Size device, Buffer& buffer) const;

  ElementType type_;
  std::string path_;
  std::optional<NpyHeader> header_;
  std::optional<NpyFile> file_;  // nothing where process 0 reads for this one
  std::vector<bool> served_;     // per process
  std::optional<TileFiles> tiles_;
};

/// The file at the end. It appears when commit() is called, complete, and not at all otherwise.
class Sink {
 public:
  /// Collective: process 0 creates the file, the others open it if they see it.
  /// \error unsupported (the tiles of `to` do not cover the array exactly once but for replicas, or are
  ///     addends),
  ///     size_overflow, file_error, on all processes
  [[nodiscard]] static Result<Sink> create(const Processes& processes, const std::string& path,
                                           const Layout& to, const Source& source);

  /// The bytes of a device's tile.
  using TileOf = std::function<std::span<const std::byte>(Size device)>;
  /// Collective: writes the tiles of this process's devices and puts the file in its place. Of the
  /// devices that hold the same tile, the first one writes.
  /// \error file_error, on all processes; then no file was left behind
  [[nodiscard]] Result<void> write(const Processes& processes, Executor::Devices devices,
                                   const TileOf& tile_of, const Layout& to, Buffer& buffer,
                                   const Progress& progress);

 private:
  [[nodiscard]] Result<void> write_tile(std::span<const std::byte> tile, const Layout& to,
                                        Size device, const std::function<void(Size)>& written);
  [[nodiscard]] Result<void> receive_tile(const Processes& processes, const Layout& to, Size device,
                                          Buffer& buffer);

  std::optional<NpyOutput> file_;  // nothing where process 0 writes for this one
  std::vector<bool> served_;       // per process
};

/// The files at the end, one for the tile of every device that holds an element, replicas and addends
/// among them. Each appears complete or not at all, and all are on the disk before one takes its place.
class TileSink {
 public:
  /// Collective: every process creates those of its devices.
  /// \error size_overflow, file_error, on all processes
  [[nodiscard]] static Result<TileSink> create(const Processes& processes,
                                               Executor::Devices devices,
                                               const DeviceNumbers& numbers,
                                               const std::string& pattern, const Layout& to,
                                               const Source& source);

  /// Collective: writes the outputs of the executor's devices and puts the files in their places.
  /// \error file_error, on all processes; then no file was left behind but those that already were in
  ///     their places
  [[nodiscard]] Result<void> write(Executor& executor, const Progress& progress);

 private:
  std::vector<std::optional<NpyOutput>> files_;  // by device of this process
};

}  // namespace retile::run
