// Layouts from drafts of tilings. Private to the forms.
#pragma once

#include <cstddef>

#include "drafts.h"
#include "retile/core/layout.h"

namespace retile::forms {

/// Fails where the draft is no layout over so many devices.
[[nodiscard]] Layout build_tiling(const TilingDraft& draft, Size devices);

/// Fails unless `at` has a row of `rank` offsets for every device.
void check_offset_rows(const Token<RowsDraft>& rows, std::size_t rank, Size devices);

}  // namespace retile::forms
