// retile run --backend sim: all devices in one process. Every device stands for a process in the
// figures.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "retile/cli/run.h"
#include "retile/exec/npy/npy.h"
#include "retile/exec/npy/pattern.h"
#include "retile/exec/npy/tile_runs.h"
#include "retile/exec/sim/sim.h"

namespace retile::cli {
namespace {

constexpr Size piece_bytes = Size{1} << 20;

/// Calls `use(offset, length)` for pieces of a tile, bytes from the start of the tile.
template <typename Use>
Result<void> in_pieces(Size tile_bytes, Size element_bytes, const Use& use) {
  const Size step = piece_bytes / element_bytes * element_bytes;
  for (Size offset = 0; offset < tile_bytes; offset += step) {
    if (auto done = use(offset, std::min(step, tile_bytes - offset)); !done) return done;
  }
  return {};
}

std::span<std::byte> piece(std::vector<std::byte>& tile, Size offset, Size length) {
  return std::span(tile).subspan(static_cast<std::size_t>(offset),
                                 static_cast<std::size_t>(length));
}

Result<sim::Tiles> starting_tiles(const RunRequest& request, const std::optional<NpyFile>& file,
                                  Progress& progress) {
  const Layout& map = request.program.from;
  const auto tile_bytes = checked_mul(map.tile_size(), request.element_bytes);
  const auto all_bytes = tile_bytes ? checked_mul(*tile_bytes, map.devices()) : std::nullopt;
  if (!all_bytes) {
    return refuse({.code = Code::size_overflow, .message = "the array is larger than 2^63 bytes"});
  }
  sim::Tiles tiles;
  for (Size device = 0; device < map.devices(); ++device) {
    progress.update(file ? "read" : "generate", device * *tile_bytes, *all_bytes);
    std::vector<std::byte> tile(static_cast<std::size_t>(*tile_bytes));
    if (file) {
      TileReader reader(*file, map.tile(), map.base_offset(device));
      const auto read = in_pieces(
          *tile_bytes, request.element_bytes,
          [&](Size offset, Size length) { return reader.read(piece(tile, offset, length)); });
      if (!read) return refuse(read.error());
    } else {
      fill_pattern(map, device, request.element_bytes, tile);
    }
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

/// The first element of `tile` that is not the file's, linear in the tile.
Result<std::optional<Size>> find_mismatch(const RunRequest& request,
                                          const std::optional<NpyFile>& file, Size device,
                                          std::vector<std::byte>& tile) {
  const Layout& map = request.program.to;
  if (!file) return find_pattern_mismatch(map, device, request.element_bytes, tile);
  TileReader reader(*file, map.tile(), map.base_offset(device));
  std::vector<std::byte> wanted(static_cast<std::size_t>(piece_bytes));
  std::optional<Size> mismatch;
  const auto compared = in_pieces(
      static_cast<Size>(tile.size()), request.element_bytes,
      [&](Size offset, Size length) -> Result<void> {
        const std::span<std::byte> expected = piece(wanted, 0, length);
        if (auto read = reader.read(expected); !read) return read;
        const std::span<std::byte> there = piece(tile, offset, length);
        const auto differs = std::mismatch(there.begin(), there.end(), expected.begin()).first;
        if (differs != there.end() && !mismatch) {
          mismatch = (offset + (differs - there.begin())) / request.element_bytes;
        }
        return {};
      });
  if (!compared) return refuse(compared.error());
  return mismatch;
}

Result<void> write_tiles(const RunRequest& request, const sim::Tiles& tiles, NpyOutput& output,
                         Progress& progress) {
  const Layout& map = request.program.to;
  std::set<Shape> written;
  for (Size device = 0; device < map.devices(); ++device) {
    const Size bytes = map.tile_size() * request.element_bytes;
    progress.update("write", device * bytes, map.devices() * bytes);
    const Shape base = map.base_offset(device);
    if (!written.insert(base).second) continue;
    TileRuns runs(map.global(), map.tile(), base);
    if (auto done = output.write(runs, tiles[static_cast<std::size_t>(device)]); !done) return done;
  }
  return output.commit();
}

}  // namespace

Outcome run_sim(const RunRequest& request) {
  const Program& program = request.program;
  Progress progress;
  const auto fail = [](Diagnostic diagnostic) {
    const Exit exit = exit_of_run(diagnostic);
    return failed(exit, std::move(diagnostic));
  };
  std::optional<NpyFile> file;
  NpyHeader header;
  header.descr = request.npy_descr;
  if (!request.input.empty()) {
    Result<NpyFile> opened = NpyFile::open(request.input);
    if (!opened) return fail(opened.error());
    file = std::move(*opened);
    header.descr = file->header().descr;
  }
  header.element_bytes = request.element_bytes;
  header.shape = program.to.global();
  std::optional<NpyOutput> output;
  if (!request.output.empty()) {
    if (!program.to.covers_once()) {
      return fail(about_argument(Code::unsupported, "--output", request.output,
                                 "the tiles at the end do not cover the array exactly once"));
    }
    Result<NpyOutput> created = NpyOutput::create(request.output, header);
    if (!created) return fail(created.error());
    output = std::move(*created);
  }

  const Result<sim::Tiles> start = starting_tiles(request, file, progress);
  if (!start) return fail(start.error());
  std::vector<double> seconds;
  sim::Outcome moved;
  for (Size repetition = 0; repetition < request.repetitions; ++repetition) {
    progress.update("move", repetition, request.repetitions);
    sim::Tiles tiles = *start;
    const auto before = std::chrono::steady_clock::now();
    Result<sim::Outcome> outcome = sim::run(program, std::move(tiles), request.element_bytes);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - before;
    if (!outcome) return fail(outcome.error());
    moved = std::move(*outcome);
    seconds.push_back(taken.count());
  }
  std::sort(seconds.begin(), seconds.end());

  RunFigures figures;
  figures.right = true;
  figures.backend = "sim";
  figures.processes = program.devices;
  figures.repetitions = request.repetitions;
  const std::size_t middle = seconds.size() / 2;
  figures.seconds =
      seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  figures.bytes_per_process = moved.received_bytes;
  figures.peak_bytes_per_process = moved.peak_bytes_per_device;
  // The tiles fit in memory by now, so their sizes in bytes fit in 63 bits.
  figures.resident_bytes = resident_elements(program).value_or(0) * request.element_bytes;
  figures.bound_bytes =
      std::max(program.from.tile_size(), program.to.tile_size()) * request.element_bytes;
  const std::vector<Shape> shapes = tile_shapes(program);
  figures.peak_limit_bytes = program.from.tile_size() * request.element_bytes;
  for (std::size_t k = 1; k < shapes.size(); ++k) {
    const Size both =
        checked_product(shapes[k - 1]).value_or(0) + checked_product(shapes[k]).value_or(0);
    figures.peak_limit_bytes = std::max(figures.peak_limit_bytes, both * request.element_bytes);
  }
  for (Size device = 0; device < program.devices; ++device) {
    std::vector<std::byte>& tile = moved.tiles[static_cast<std::size_t>(device)];
    progress.update("verify", device * static_cast<Size>(tile.size()),
                    program.devices * static_cast<Size>(tile.size()));
    const auto mismatch = find_mismatch(request, file, device, tile);
    if (!mismatch) return fail(mismatch.error());
    figures.elements_checked += program.to.tile_size();
    if (*mismatch && figures.right) {
      figures.right = false;
      figures.wrong_device = device;
      figures.wrong_index = **mismatch;
    }
  }
  if (output && figures.right) {
    if (auto written = write_tiles(request, moved.tiles, *output, progress); !written) {
      return fail(written.error());
    }
  }
  return report_run(figures, request);
}

}  // namespace retile::cli
