// JSON as the verbs write it: the keys of an object stay in the order in which they were put.
// schemas.json lists the fields of every object that is printed.
#pragma once

#include <nlohmann/json.hpp>

namespace retile::cli {

using Json = nlohmann::ordered_json;

/// The value of an optional or a result; null where it has none.
template <typename Maybe>
[[nodiscard]] Json or_null(const Maybe& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace retile::cli
