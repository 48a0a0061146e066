#include "retile/run/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/run/files.h"

namespace retile::run {
namespace {

constexpr std::string_view number_place = "{}";

/// The devices whose tiles a process will have: one for each process, or all of them.
Executor::Devices devices_here(const Processes& processes, Size devices) {
  if (processes.processes() == 1) return {.first = 0, .count = devices};
  const auto process = static_cast<Size>(processes.process());
  return {.first = process, .count = process < devices ? 1 : 0};
}

}  // namespace

bool is_tile_pattern(std::string_view pattern) {
  const std::size_t at = pattern.find(number_place);
  return at != std::string_view::npos &&
         pattern.find(number_place, at + 1) == std::string_view::npos;
}

std::string path_with(std::string_view pattern, std::string_view name) {
  RETILE_ASSERT(is_tile_pattern(pattern), "a pattern that names no file for anything");
  const std::size_t at = pattern.find(number_place);
  return fmt::format("{}{}{}", pattern.substr(0, at), name,
                     pattern.substr(at + number_place.size()));
}

std::string tile_path(std::string_view pattern, Size number) {
  return path_with(pattern, fmt::format("{}", number));
}

std::optional<Size> first_with_elements(const Layout& layout) {
  for (Size device = 0; device < layout.devices(); ++device) {
    if (layout.tile_size(device) > 0) return device;
  }
  return std::nullopt;
}

Result<NpyFile> open_tile(std::string_view pattern, const Layout& layout, Size device, Size number,
                          const std::optional<ElementType>& type) {
  return open_input(tile_path(pattern, number), layout.tile(device), type,
                    fmt::format("is the tile of device {}", number));
}

Result<TileFiles> TileFiles::open(const Processes& processes, const Layout& from,
                                  const DeviceNumbers& numbers, const std::string& pattern,
                                  const std::optional<ElementType>& type) {
  TileFiles out(from, numbers, pattern, type.value_or(ElementType{}));
  const auto [begin, count] = devices_here(processes, from.devices());
  Result<void> mine;
  std::vector<std::pair<Size, std::string>> descrs;  // by device
  for (Size device = begin; device < begin + count && mine; ++device) {
    if (from.tile_size(device) == 0) continue;
    const auto file = open_tile(pattern, from, device, numbers.of(device), type);
    if (file) {
      descrs.emplace_back(device, file->header().descr);
    } else {
      mine = tl::unexpected(file.error());
    }
  }
  if (auto agreed = processes.agree(mine); !agreed) return tl::unexpected(agreed.error());
  // The first file says what elements are; its process is that of the device.
  const Size first = first_with_elements(from).value_or(0);
  const Size last_process = processes.processes() - 1;
  std::string descr = processes.broadcast(descrs.empty() ? "" : descrs.front().second,
                                          static_cast<int>(std::min(first, last_process)));
  if (descr.empty()) return out;  // nobody holds anything
  const auto told = npy_element_type(descr);
  if (!told) return tl::unexpected(told.error());
  out.type_ = *told;
  out.descr_ = std::move(descr);
  for (const auto& [device, said] : descrs) {
    if (mine) mine = out.is_alike(device, said);
  }
  if (auto agreed = processes.agree(mine); !agreed) return tl::unexpected(agreed.error());
  return out;
}

/// Whether a device's file says of its elements what the first one says.
Result<void> TileFiles::is_alike(Size device, const std::string& descr) const {
  if (descr == descr_) return {};
  return refuse({.code = Code::bad_file,
                 .message = fmt::format("holds elements of type {}, where the first tile holds {}",
                                        descr, descr_),
                 .source = path(device)});
}

Result<NpyFile> TileFiles::file(Size device, Size reader) const {
  auto out = open_tile(pattern_, *from_, device, numbers_->of(device), std::nullopt);
  if (out) {
    if (auto alike = is_alike(device, out->header().descr); !alike) out = refuse(alike.error());
  }
  if (!out && reader != device) {
    out.error().notes.push_back(
        fmt::format("device {} needs it, to compare its tile with", numbers_->of(reader)));
  }
  return out;
}

Result<const NpyFile*> OpenTiles::file(Size device, Size reader) {
  auto known = open_.find(device);
  if (known == open_.end()) {
    auto opened = files_->file(device, reader);
    if (!opened) return tl::unexpected(opened.error());
    if (open_.size() == most_open) open_.clear();
    known = open_.emplace(device, *std::move(opened)).first;
  }
  return &known->second;
}

Result<void> TileFiles::read(Size device, std::span<std::byte> tile,
                             const std::function<void(Size)>& told) const {
  if (tile.empty()) return {};
  const auto opened = file(device, device);
  if (!opened) return tl::unexpected(opened.error());
  for (std::size_t at = 0; at < tile.size(); at += piece_bytes) {
    told(static_cast<Size>(at));
    const auto piece = tile.subspan(at, std::min(piece_bytes, tile.size() - at));
    const Size offset = opened->header().data_offset_bytes + static_cast<Size>(at);
    if (auto read = opened->read_at(offset, piece); !read) return read;
  }
  return {};
}

}  // namespace retile::run
