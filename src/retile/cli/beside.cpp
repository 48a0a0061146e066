#include "retile/cli/beside.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace retile::cli {
namespace {

/// As seen from the folder of the program that runs. One of these programs may itself look for another
/// one, in its own folder.
constexpr std::string_view in_a_build = "../libexec/retile/";
constexpr std::string_view installed = RETILE_FOLDER_BESIDE;

/// The folder of the program that runs, with a slash at the end.
std::string own_folder() {
  const std::string path = own_path();
  return path.substr(0, path.rfind('/') + 1);
}

Diagnostic cannot_start(std::string_view program, int error) {
  return {.code = Code::file_error,
          .message = fmt::format("cannot start {}: {}", program, std::strerror(error)),
          .notes = {fmt::format("retile needs it for this; it belongs to {}{}", own_folder(),
                                installed)}};
}

}  // namespace

std::string own_path() {
  std::vector<char> buffer(std::size_t{1} << 14);
  const ssize_t length = readlink("/proc/self/exe", buffer.data(), buffer.size());
  return length > 0 ? std::string(buffer.data(), static_cast<std::size_t>(length)) : "retile";
}

Result<std::string> path_beside(std::string_view program) {
  for (const std::string_view folder : {in_a_build, installed, std::string_view()}) {
    std::string path = fmt::format("{}{}{}", own_folder(), folder, program);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return refuse(cannot_start(program, errno));
}

Diagnostic become(std::string_view program, const char* const* argv) {
  const auto path = path_beside(program);
  if (!path) return path.error();
  execv(path->c_str(), const_cast<char* const*>(argv));  // which changes none of them
  return cannot_start(program, errno);
}

}  // namespace retile::cli
