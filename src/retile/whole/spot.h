// An operation of a text, as verdicts name it.
#pragma once

#include <cstddef>
#include <string>

namespace retile::whole {

/// An operation of a text.
struct Spot {
  std::string value;  ///< what it makes, as the text spells it
  std::string opcode;
  std::size_t line = 0;     ///< 0: nobody knows
  std::string source = {};  ///< the line of the user's program, where the text says it
};

}  // namespace retile::whole
