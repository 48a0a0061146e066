#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "retile/core/assert.h"
#include "retile/run/files.h"
#include "retile/run/tiles.h"

namespace retile::run {
namespace {

// In front of every piece that is sent: whether process 0 could read it.
constexpr std::size_t status_bytes = 8;

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Size tile_bytes(const Layout& layout, Size device, const ElementType& type) {
  return layout.tile_size(device) * type.bytes;
}

/// How much of a tile goes at once from `begin` on.
std::size_t piece_at(Size begin, Size tile_bytes) {
  return static_cast<std::size_t>(std::min(tile_bytes - begin, static_cast<Size>(piece_bytes)));
}

}  // namespace

std::span<std::byte> Buffer::piece(std::size_t bytes) {
  if (bytes_.empty()) bytes_.resize(status_bytes + piece_bytes);
  note(0);
  return std::span(bytes_).first(bytes);
}

void Buffer::note(Size reader_bytes) {
  most_bytes_ = std::max(most_bytes_, reader_bytes + static_cast<Size>(bytes_.capacity()));
}

Result<NpyFile> open_input(const std::string& path, const Shape& shape,
                           const std::optional<ElementType>& type, std::string_view role) {
  auto file = NpyFile::open(path);
  if (!file) return file;
  const NpyHeader& header = file->header();
  const auto refused = [&](std::string message) {
    return refuse({.code = Code::bad_file, .message = std::move(message), .source = path});
  };
  if (header.shape != shape) {
    return refused(fmt::format("holds an array of shape {}, where {} {}", shape_text(header.shape),
                               shape_text(shape), role));
  }
  if (type && header.type != *type) {
    return refused(fmt::format("holds elements of type {}, where --dtype says {}", header.descr,
                               npy_descr(*type)));
  }
  return file;
}

Result<std::vector<NpyFile>> open_inputs(std::span<const NamedArray> arrays,
                                         std::string_view pattern,
                                         const std::optional<ElementType>& type) {
  const bool named = is_tile_pattern(pattern);
  if (!named && arrays.size() != 1) {
    return refuse(
        {.code = Code::bad_argument,
         .message = fmt::format("{{}} must stand in the path once, for the names of {} arrays",
                                arrays.size()),
         .source = std::string(pattern)});
  }
  std::vector<NpyFile> out;
  for (const NamedArray& array : arrays) {
    const std::string path = named ? path_with(pattern, array.name) : std::string(pattern);
    auto file = open_input(path, array.shape, array.holds_indices ? std::nullopt : type,
                           fmt::format("is what {} is", array.name));
    if (!file) return refuse(file.error());
    const NpyHeader& header = file->header();
    const auto refused = [&](std::string message) {
      return refuse({.code = Code::bad_file, .message = std::move(message), .source = path});
    };
    if (header.descr != npy_descr(header.type)) {
      return refused(fmt::format("holds elements of type {}, and they are computed with as {}",
                                 header.descr, npy_descr(header.type)));
    }
    out.push_back(*std::move(file));
  }
  for (std::size_t k = 0; k < out.size(); ++k) {
    const NpyHeader& header = out[k].header();
    const NpyHeader& wanted = first_of(arrays, out).header();
    const bool is_wide = header.type.bytes == 4 || header.type.bytes == 8;
    if (header.type == wanted.type ||
        (arrays[k].holds_indices && is_wide && header.type.kind == ElementKind::signed_integer)) {
      continue;
    }
    const auto first = static_cast<std::size_t>(&first_of(arrays, out) - out.data());
    return refuse({.code = Code::bad_file,
                   .message = fmt::format("holds elements of type {}, and those of {} are {}",
                                          header.descr, arrays[first].name, wanted.descr),
                   .source = named ? path_with(pattern, arrays[k].name) : std::string(pattern)});
  }
  return out;
}

const NpyFile& first_of(std::span<const NamedArray> arrays, std::span<const NpyFile> files) {
  for (std::size_t k = 0; k < files.size(); ++k) {
    if (!arrays[k].holds_indices) return files[k];
  }
  return files.front();
}

Result<Source> Source::open(const Processes& processes, const std::string& path,
                            const Shape& global, const std::optional<ElementType>& type) {
  Source out(type.value_or(ElementType{}));
  out.path_ = path;
  Result<void> mine;
  std::string text;
  std::uint64_t fingerprint = 0;
  if (processes.is_first()) {
    auto file = open_input(path, global, type);
    if (file) {
      fingerprint = file->fingerprint();
      NpyHeader header = file->header();
      for (const std::byte byte : make_npy_header(header)) text += static_cast<char>(byte);
      out.file_ = std::move(*file);
    } else {
      mine = tl::unexpected(file.error());
    }
  }
  if (auto agreed = processes.agree(mine); !agreed) return tl::unexpected(agreed.error());
  text = processes.broadcast(text, 0);
  fingerprint = processes.broadcast(fingerprint, 0);
  if (!processes.is_first()) {
    auto file = NpyFile::open(path);
    // A file of that name that is another one, on a host of its own, does not count.
    if (file && file->fingerprint() == fingerprint) out.file_ = std::move(*file);
  }
  auto header = parse_npy_header(std::as_bytes(std::span(text)), path);  // the same on all
  if (!header) return tl::unexpected(header.error());
  out.type_ = header->type;
  out.header_ = std::move(*header);
  out.served_ = processes.gather(!out.file_.has_value());
  return out;
}

Result<void> Source::read_tile(const Layout& layout, Size device, Buffer& buffer,
                               const Consume& consume) const {
  TileReader reader(*file_, layout, device);
  const Size all = tile_bytes(layout, device, type_);
  for (Size begin = 0; begin < all; begin += static_cast<Size>(piece_bytes)) {
    const auto piece = buffer.piece(piece_at(begin, all));
    if (auto read = reader.read(piece); !read) return read;
    buffer.note(reader.buffer_bytes());
    consume(device, begin, piece);
  }
  return {};
}

Result<void> Source::receive_tile(const Processes& processes, const Layout& layout, Size device,
                                  Buffer& buffer, const Consume& consume) const {
  const Size all = tile_bytes(layout, device, type_);
  for (Size begin = 0; begin < all; begin += static_cast<Size>(piece_bytes)) {
    const auto message = buffer.piece(status_bytes + piece_at(begin, all));
    processes.receive(message, 0);
    std::uint64_t good = 0;
    std::memcpy(&good, message.data(), status_bytes);
    if (good == 0) {
      return refuse({.code = Code::file_error,
                     .message = "process 0 could not read the input any further",
                     .source = path_});
    }
    consume(device, begin, message.subspan(status_bytes));
  }
  return {};
}

Result<void> Source::serve_tile(const Processes& processes, const Layout& layout, Size device,
                                Buffer& buffer) const {
  TileReader reader(*file_, layout, device);
  const Size all = tile_bytes(layout, device, type_);
  Result<void> mine;
  for (Size begin = 0; begin < all && mine; begin += static_cast<Size>(piece_bytes)) {
    const auto message = buffer.piece(status_bytes + piece_at(begin, all));
    mine = reader.read(message.subspan(status_bytes));
    buffer.note(reader.buffer_bytes());
    const std::uint64_t good = mine ? 1 : 0;
    std::memcpy(message.data(), &good, status_bytes);
    processes.send(message, static_cast<int>(device));
  }
  return mine;
}

Result<void> Source::each_piece(const Executor& executor, const Layout& layout, Buffer& buffer,
                                const Consume& consume) const {
  const Processes& processes = executor.processes();
  const auto [first, count] = executor.devices();
  Result<void> mine;
  for (Size device = first; device < first + count && mine; ++device) {
    mine = file_ ? read_tile(layout, device, buffer, consume)
                 : receive_tile(processes, layout, device, buffer, consume);
  }
  if (processes.is_first()) {
    for (std::size_t process = 1; process < served_.size(); ++process) {
      if (!served_[process]) continue;
      auto served = serve_tile(processes, layout, static_cast<Size>(process), buffer);
      if (mine) mine = served;  // the first failure is the one to tell
    }
  }
  return processes.agree(mine);
}

}  // namespace retile::run
