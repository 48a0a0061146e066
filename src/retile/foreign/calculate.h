// Arithmetic on numbers as the types of programs do it: modulo two to the power of their bits.
#pragma once

#include <cstdint>

#include "retile/foreign/element.h"
#include "retile/foreign/module.h"

namespace retile::foreign {

/// Of numbers of one type.
[[nodiscard]] bool compared(Comparison comparison, std::int64_t a, std::int64_t b,
                            const ElementKind& kind);

/// Of numbers of one type; the second one counts only where there are two. A division by zero gives -1,
/// a remainder by zero the number itself, and a shift by the type's bits or more zero (of a signed
/// number to the right its sign), as in XLA.
[[nodiscard]] std::int64_t calculate(Arithmetic arithmetic, std::int64_t a, std::int64_t b,
                                     const ElementKind& kind);

}  // namespace retile::foreign
