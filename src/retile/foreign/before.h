// Text from before a partitioner: nothing in it says what one device does, so no verdict is given on
// it. What tells it from text of devices, the readers of the languages know. Room-internal.
#pragma once

#include <string>

#include "retile/core/result.h"
#include "retile/operations/table.h"
#include "retile/text/place.h"

namespace retile::foreign {

/// Who partitions, and so which text is to be taken.
enum class Partitioner { xla, mesh_dialect };

/// Which text is to be taken, as a note.
[[nodiscard]] std::string text_to_take(Partitioner partitioner);

/// Who judges a module with an operation that is not read here.
/// \param row  what the table has of it; null where it has none
[[nodiscard]] std::string who_judges(const operations::Row* row);

/// Refuses a text that nobody has partitioned, and names the one to take.
/// \param why  what shows it: `%b has a sharding, but is neither parameter nor result`
[[noreturn]] void fail_unpartitioned(const text::Place& place, Partitioner partitioner,
                                     const std::string& why);

/// Whether a refusal is that one.
[[nodiscard]] bool says_unpartitioned(const Diagnostic& diagnostic);

}  // namespace retile::foreign
