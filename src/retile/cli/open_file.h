// A file of C that closes itself.
#pragma once

#include <cstdio>
#include <memory>

namespace retile::cli {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

}  // namespace retile::cli
