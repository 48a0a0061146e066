// JSON as it is printed: the keys of an object stay in the order in which they were put.
// cli/schemas.json lists the fields of every object.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace retile::report {

using Json = nlohmann::ordered_json;

/// The value of an optional or a result; null where it has none.
template <typename Maybe>
[[nodiscard]] Json or_null(const Maybe& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// The object in a line of its own. Bytes of a name that are no UTF-8 must not stop the output.
[[nodiscard]] inline std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace retile::report
