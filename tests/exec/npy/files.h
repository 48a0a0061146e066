// Files for the tests of .npy reading and writing.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "retile/exec/npy/npy.h"

namespace retile::test {

/// A directory that goes away with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "retile-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary directory";
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return (path_ / name).string(); }
  /// Names in the directory, so that a test can see that nothing was left behind.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      out.push_back(entry.path().filename().string());
    return out;
  }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A .npy header by hand: version, then the dictionary as it is, then a newline; nothing is
/// checked.
inline std::string npy_header(int version, std::string_view dictionary) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  const std::size_t length = dictionary.size() + 1;
  for (std::size_t i = 0; i < (version == 1 ? 2U : 4U); ++i) {
    out += static_cast<char>(static_cast<unsigned char>((length >> (8 * i)) & 0xffU));
  }
  out += dictionary;
  out += '\n';
  return out;
}

/// What a file with this array says, but for the place of its data.
inline NpyHeader header_of(const std::string& descr, const Shape& shape) {
  return {.descr = descr, .type = npy_element_type(descr).value(), .shape = shape};
}

/// The whole file with an array of these elements.
inline std::string npy_text(const std::string& descr, const Shape& shape,
                            const std::vector<std::byte>& data) {
  NpyHeader header = header_of(descr, shape);
  std::vector<std::byte> all = make_npy_header(header);
  all.insert(all.end(), data.begin(), data.end());
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

}  // namespace retile::test
