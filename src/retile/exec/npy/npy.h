// The .npy format, and tiles of arrays that lie in such files. C order only; elements are bytes
// that are never looked into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/descriptor.h"
#include "retile/core/element_type.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/core/temporary_file.h"
#include "retile/exec/npy/tile_runs.h"

namespace retile {

/// What a .npy file says about its array.
struct NpyHeader {
  std::string descr;  ///< element type and byte order as the file writes it: `<f4`, `>i8`, `|u1`;
                      ///< kept as it is
  ElementType type;   ///< what descr means
  Shape shape;        ///< extents >= 1; empty for one element
  Size data_offset_bytes = 0;  ///< where element 0 lies
  friend bool operator==(const NpyHeader&, const NpyHeader&) = default;

  /// Length of the whole file: data_offset_bytes + elements * type.bytes.
  [[nodiscard]] Size file_bytes() const;
};

/// What a .npy element type means. `|V2` is how bf16 is saved, which has no name there. A unit of
/// time is one that numpy reads: `<M8[ns]`, `<m8[25s]`, `<M8[D/2]`.
/// \error bad_file: objects, structures, strings, other void types, unknown letters and units,
///     sizes other than 1, 2, 4, 8, 16
[[nodiscard]] Result<ElementType> npy_element_type(std::string_view descr);

/// What .npy files call an element type, in this machine's byte order: f32 is `<f4`.
[[nodiscard]] std::string npy_descr(const ElementType& type);

/// Reads a header (versions 1, 2 and 3) from the first bytes of a file. `bytes` may hold more than
/// the header.
/// \param source  the file's name in diagnostics
/// \error bad_file: no .npy file, header longer than 1 MiB or than `bytes`, no dictionary of
///     exactly `descr`, `fortran_order`, `shape`; Fortran order; element types as above; extents
///     below 1 or too large
[[nodiscard]] Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes,
                                                 std::string_view source);

/// The header of a file: magic, version 1 (2 where it must be), dictionary, padding to a multiple
/// of 64 bytes. Sets data_offset_bytes of `header` to its length. Precondition (asserted): its
/// descr is one that npy_element_type() reads, so that what is written can be read.
[[nodiscard]] std::vector<std::byte> make_npy_header(NpyHeader& header);

/// A .npy file open for reading. Owns the descriptor; not thread-safe to move, reading is
/// positional and is.
class NpyFile {
 public:
  /// \error bad_file: cannot be opened, is a directory or no regular file, a bad header, a length
  /// that is not what
  ///        the header says (truncated, or bytes behind the last element)
  [[nodiscard]] static Result<NpyFile> open(const std::string& path);

  [[nodiscard]] const NpyHeader& header() const { return header_; }
  /// Header, length and time of change in one number: equal numbers on two processes mean the same
  /// file.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

  /// Reads `bytes` from `offset_bytes` on, all of it.
  /// \error file_error, bad_file (the file ended early)
  [[nodiscard]] Result<void> read_at(Size offset_bytes, std::span<std::byte> bytes) const;

 private:
  NpyFile() = default;
  std::string path_;
  NpyHeader header_;
  std::uint64_t fingerprint_ = 0;
  Descriptor descriptor_;
};

/// Reads one tile of a file from its first element to its last, in as many pieces as the caller
/// likes.
///
/// Short runs whose gaps are below a page are read together through a buffer of 1 MiB (the file
/// system reads whole pages anyhow); everything else goes straight to the destination.
class TileReader {
 public:
  /// `file` must outlive the reader. Precondition: tile and base fit the file's shape (asserted).
  TileReader(const NpyFile& file, const Shape& tile, const Shape& base);
  /// The tile of a device. Precondition (asserted): a layout of the file's array.
  TileReader(const NpyFile& file, const Layout& layout, Size device);

  /// The next out.size() bytes of the tile in C order. Precondition (asserted): whole elements, not
  /// more than are left.
  /// \error as NpyFile::read_at
  [[nodiscard]] Result<void> read(std::span<std::byte> out);

  /// Memory that this reader holds; at most 1.5 MiB.
  [[nodiscard]] Size buffer_bytes() const {
    return static_cast<Size>(buffer_.capacity() + batch_.capacity() * sizeof(Run));
  }

 private:
  const NpyFile* file_;
  TileRuns runs_;
  std::vector<std::byte> buffer_;
  std::vector<Run> batch_;
};

/// A .npy file that appears complete or not at all: written under a temporary name in the same
/// directory, renamed by `commit`.
///
/// One process creates it; others of the same user may `join` by the temporary's name and write
/// their tiles. Whatever goes wrong, the destructor of the creator removes the temporary, and a
/// file that was there before is untouched. Whoever ends a process by a signal calls
/// remove_temporaries(). Only a creator that is killed without a word leaves the temporary
/// (`.NAME.PID-RANDOM.retile-tmp`) behind.
///
/// A file that was there before keeps its mode, and nobody else can read the temporary in its
/// place.
class NpyOutput {
 public:
  /// Creates the temporary, reserves its whole length and writes the header. A symbolic link at
  /// `path` is followed.
  /// \error file_error: the directory is missing or cannot be written, `path` is a directory or no
  ///     regular file, no space
  [[nodiscard]] static Result<NpyOutput> create(const std::string& path, NpyHeader header);
  /// Opens a temporary that another process created, for writing.
  /// \error file_error: also when it is another file
  [[nodiscard]] static Result<NpyOutput> join(const std::string& temporary_path, NpyHeader header,
                                              std::uint64_t identity);

  [[nodiscard]] const std::string& temporary_path() const { return temporary_->path(); }
  [[nodiscard]] const NpyHeader& header() const { return header_; }
  /// Tells two files of one name on two hosts apart; `join` compares it.
  [[nodiscard]] std::uint64_t identity() const { return identity_; }

  /// Writes the next pieces of a tile: `bytes` are whole elements, `runs` says where they go and
  /// moves on.
  /// \error file_error (no space, input/output error)
  [[nodiscard]] Result<void> write(TileRuns& runs, std::span<const std::byte> bytes);
  /// Brings what this process wrote to the disk.
  /// \error file_error
  [[nodiscard]] Result<void> sync();
  /// The creator's last act: the file gets the mode of the one before, reaches the disk and takes
  /// the place given to `create`.
  /// \error file_error; the temporary is removed then. Precondition (asserted): called by the
  /// creator, once
  [[nodiscard]] Result<void> commit();

 private:
  NpyOutput() = default;
  [[nodiscard]] int descriptor() const {
    return temporary_ ? temporary_->descriptor() : joined_.number();
  }

  std::string path_;                        // empty for those who joined
  std::optional<TemporaryFile> temporary_;  // of the creator, until it is committed
  Descriptor joined_;                       // of those who joined
  NpyHeader header_;
  std::uint64_t identity_ = 0;
};

}  // namespace retile
