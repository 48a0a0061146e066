#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "retile/core/tile_stretches.h"
#include "retile/exec/npy/tile_runs.h"
#include "retile/run/files.h"

namespace retile::run {
namespace {

/// Which devices write: of those that hold the same tile, the first. Tiles that cover the array
/// exactly once but for replicas begin where no other one does; of an empty one nothing is written.
std::vector<bool> writers(const Layout& layout) {
  std::vector<bool> writes;
  std::set<Shape> held;
  const TileStretches tiles(layout);
  for (Size device = 0; device < layout.devices(); ++device) {
    writes.push_back(held.insert(tiles.first(device)).second);
  }
  return writes;
}

/// What a file with an array of that shape would hold, without its header's length.
Result<NpyHeader> header_of_shape(const std::string& path, const Shape& shape,
                                  const Source& source) {
  NpyHeader header{.descr = source.descr(), .type = source.type(), .shape = shape};
  const auto elements = checked_product(shape);
  const auto bytes = elements ? checked_mul(*elements, header.type.bytes) : std::nullopt;
  constexpr Size header_allowance = Size{1} << 21;
  if (!bytes || !checked_add(*bytes, header_allowance)) {
    return refuse({.code = Code::size_overflow,
                   .message = "the output would have more than 2^63 bytes",
                   .source = path});
  }
  return header;
}

/// What the file with the whole array would hold.
Result<NpyHeader> header_of(const std::string& path, const Layout& to, const Source& source) {
  const auto refused = [&](std::string message) {
    return refuse({.code = Code::unsupported, .message = std::move(message), .source = path});
  };
  if (to.addends()) {
    return refused("the tiles at the end are addends, and a file has but one array");
  }
  if (!to.covers_once()) {
    return refused("the tiles at the end do not cover the array exactly once");
  }
  return header_of_shape(path, to.global(), source);
}

}  // namespace

Result<Sink> Sink::create(const Processes& processes, const std::string& path, const Layout& to,
                          const Source& source) {
  auto header = header_of(path, to, source);  // the same on all
  if (!header) return tl::unexpected(header.error());
  Sink out;
  Result<void> mine;
  if (processes.is_first()) {
    auto file = NpyOutput::create(path, *header);
    if (file) {
      out.file_ = std::move(*file);
    } else {
      mine = tl::unexpected(file.error());
    }
  }
  if (auto agreed = processes.agree(mine); !agreed) return tl::unexpected(agreed.error());
  const std::string temporary =
      processes.broadcast(out.file_ ? out.file_->temporary_path() : "", 0);
  const std::uint64_t identity = processes.broadcast(out.file_ ? out.file_->identity() : 0, 0);
  if (!processes.is_first()) {
    auto file = NpyOutput::join(temporary, *header, identity);
    if (file) out.file_ = std::move(*file);
  }
  out.served_ = processes.gather(!out.file_.has_value());
  return out;
}

Result<void> Sink::write_tile(std::span<const std::byte> tile, const Layout& to, Size device,
                              const std::function<void(Size)>& written) {
  TileRuns runs(to, device);
  while (!tile.empty()) {
    const auto piece = tile.first(std::min(tile.size(), piece_bytes));
    if (auto done = file_->write(runs, piece); !done) return done;
    tile = tile.subspan(piece.size());
    written(static_cast<Size>(piece.size()));
  }
  return {};
}

Result<void> Sink::receive_tile(const Processes& processes, const Layout& to, Size device,
                                Buffer& buffer) {
  TileRuns runs(to, device);
  Result<void> mine;
  // Pieces keep coming after a failure: the sender does not know, and waits for no answer.
  for (Size left = to.tile_size(device) * file_->header().type.bytes; left > 0;) {
    const auto piece =
        buffer.piece(static_cast<std::size_t>(std::min(left, static_cast<Size>(piece_bytes))));
    processes.receive(piece, static_cast<int>(device));
    if (mine) mine = file_->write(runs, piece);
    left -= static_cast<Size>(piece.size());
  }
  return mine;
}

Result<void> Sink::write(const Processes& processes, Executor::Devices devices,
                         const TileOf& tile_of, const Layout& to, Buffer& buffer,
                         const Progress& progress) {
  const auto [first, count] = devices;
  const std::vector<bool> writes = writers(to);
  Size total = 0;
  for (Size device = first; device < first + count; ++device) {
    total += static_cast<Size>(tile_of(device).size());
  }
  Size done = 0;
  progress("write", 0, total);
  const auto written = [&](Size bytes) { progress("write", done += bytes, total); };
  Result<void> mine;
  for (Size device = first; device < first + count && mine; ++device) {
    const std::span<const std::byte> tile = tile_of(device);
    if (!writes[static_cast<std::size_t>(device)]) {
      written(static_cast<Size>(tile.size()));
    } else if (file_) {
      mine = write_tile(tile, to, device, written);
    } else {
      for (std::size_t at = 0; at < tile.size(); at += piece_bytes) {
        processes.send(tile.subspan(at, std::min(piece_bytes, tile.size() - at)), 0);
      }
    }
  }
  for (std::size_t process = 1; processes.is_first() && process < served_.size(); ++process) {
    if (!served_[process] || !writes[process]) continue;
    auto received = receive_tile(processes, to, static_cast<Size>(process), buffer);
    if (mine) mine = received;
  }
  if (!processes.is_first() && file_ && mine) mine = file_->sync();
  if (auto agreed = processes.agree(mine); !agreed) return agreed;
  if (processes.is_first()) mine = file_->commit();
  return processes.agree(mine);
}

Result<TileSink> TileSink::create(const Processes& processes, Executor::Devices devices,
                                  const DeviceNumbers& numbers, const std::string& pattern,
                                  const Layout& to, const Source& source) {
  TileSink out;
  Result<void> mine;
  for (Size device = devices.first; device < devices.first + devices.count && mine; ++device) {
    out.files_.emplace_back();
    if (to.tile_size(device) == 0) continue;
    const std::string path = tile_path(pattern, numbers.of(device));
    auto header = header_of_shape(path, to.tile(device), source);
    auto file = header ? NpyOutput::create(path, *std::move(header))
                       : Result<NpyOutput>(tl::unexpected(header.error()));
    if (file) {
      out.files_.back() = std::move(*file);
    } else {
      mine = tl::unexpected(file.error());
    }
  }
  if (auto agreed = processes.agree(mine); !agreed) return tl::unexpected(agreed.error());
  return out;
}

Result<void> TileSink::write(Executor& executor, const Progress& progress) {
  const Processes& processes = executor.processes();
  const Size first = executor.devices().first;
  const auto tile_of = [&](std::size_t file) {
    return std::span<const std::byte>(executor.output(first + static_cast<Size>(file)));
  };
  Size total = 0;
  for (std::size_t k = 0; k < files_.size(); ++k) total += static_cast<Size>(tile_of(k).size());
  Size done = 0;
  Result<void> mine;
  for (std::size_t k = 0; k < files_.size() && mine; ++k) {
    if (!files_[k]) continue;
    const Shape& shape = files_[k]->header().shape;
    TileRuns runs(shape, shape, Shape(shape.size(), 0));
    for (auto tile = tile_of(k); !tile.empty() && mine;) {
      progress("write", done, total);
      const auto piece = tile.first(std::min(tile.size(), piece_bytes));
      mine = files_[k]->write(runs, piece);
      tile = tile.subspan(piece.size());
      done += static_cast<Size>(piece.size());
    }
    if (mine) mine = files_[k]->sync();
  }
  progress("write", total, total);
  // Nobody puts a file in its place before all are on the disk.
  if (auto agreed = processes.agree(mine); !agreed) return agreed;
  for (auto& file : files_) {
    if (file && mine) mine = file->commit();
  }
  return processes.agree(mine);
}

}  // namespace retile::run
