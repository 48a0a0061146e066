#include "retile/core/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace retile {

Descriptor Descriptor::open(const std::string& path, int flags, unsigned mode) {
  int number = -1;
  do {
    number = ::open(path.c_str(), flags | O_CLOEXEC, static_cast<mode_t>(mode));
  } while (number < 0 && errno == EINTR);
  return Descriptor(number);
}

bool Descriptor::close() { return !is_open() || ::close(release()) == 0; }

}  // namespace retile
