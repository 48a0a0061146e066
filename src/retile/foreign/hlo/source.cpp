#include "retile/foreign/hlo/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace retile::foreign::hlo {
namespace {

/// The number behind `line=`, unless that is the end of a longer word such as `end_line=`.
std::optional<Size> number_behind(std::string_view text, std::string_view key) {
  std::size_t at = text.find(key);
  while (at != std::string_view::npos && at > 0 && text[at - 1] != ' ' && text[at - 1] != '{') {
    at = text.find(key, at + 1);
  }
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  Size out = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  if (read.ec != std::errc() || out < 0) return std::nullopt;
  return out;
}

std::string_view quoted_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  if (text.substr(0, 1) != "\"") return {};
  text.remove_prefix(1);
  return text.substr(0, text.find('"'));
}

/// Whether a file belongs to Python or to a package of it.
bool is_installed_file(std::string_view file) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/", "/lib/python3"}) {
    if (file.find(folder) != std::string_view::npos) return true;
  }
  return false;
}

std::string line_text(std::string_view file, Size line) {
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), line);
}

/// Calls `entry` with the number and the rest of each line, and with the table in which it stands.
template <typename Entry>
void for_entries(std::string_view tables, const Entry& entry) {
  std::string_view table;
  while (!tables.empty()) {
    const std::size_t end = std::min(tables.find('\n'), tables.size());
    const std::string_view line = tables.substr(0, end);
    tables.remove_prefix(std::min(end + 1, tables.size()));
    Size number = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), number);
    if (read.ec == std::errc()) {
      entry(table, number, line.substr(static_cast<std::size_t>(read.ptr - line.data())));
    } else if (!line.empty()) {
      table = line;
    }
  }
}

}  // namespace

SourceLines::SourceLines(const Module& module) {
  struct Location {
    std::string_view file;
    Size line = 0;
  };
  std::map<Size, std::string_view> files;
  std::map<Size, Location> locations;
  if (module.tables.input == nullptr) return;
  for_entries(text_of(module.tables), [&](std::string_view table, Size number,
                                          std::string_view rest) {
    if (table == "FileNames") {
      files[number] = quoted_behind(rest, " ");
    } else if (table == "FileLocations") {
      const auto file = files.find(number_behind(rest, "file_name_id=").value_or(0));
      const auto line = number_behind(rest, "line=");
      if (file != files.end() && line) locations[number] = {file->second, *line};
    } else if (table == "StackFrames") {
      const auto location = locations.find(number_behind(rest, "file_location_id=").value_or(0));
      if (location == locations.end()) return;
      const auto& [file, line] = location->second;
      Frame frame{.line = line_text(file, line), .is_installed = is_installed_file(file)};
      // XLA prints the caller's number and 1 more, so that 1 stands for none.
      const auto caller = frames_.find(number_behind(rest, "parent_frame_id=").value_or(1) - 1);
      if (frame.is_installed && caller != frames_.end() && !caller->second.is_installed) {
        frame = caller->second;
      }
      frames_[number] = std::move(frame);
    }
  });
}

std::string SourceLines::of(const Instruction& instruction) const {
  const Attribute* metadata = instruction.find("metadata");
  if (metadata == nullptr) return {};
  const std::string_view text = text_of(metadata->value);
  const auto frame = frames_.find(number_behind(text, "stack_frame_id=").value_or(0));
  if (frame != frames_.end()) return frame->second.line;
  const std::string_view file = quoted_behind(text, "source_file=");
  const auto line = number_behind(text, "source_line=");
  if (file.empty() || !line) return {};
  return line_text(file, *line);
}

}  // namespace retile::foreign::hlo
