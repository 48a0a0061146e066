// What reading and writing files share. Not a public header.
#pragma once

#include <string>

namespace retile::detail {

/// The system's words for an error number.
[[nodiscard]] std::string error_text(int error_number);

}  // namespace retile::detail
