// JSON as it is printed: the keys of an object stay in the order in which they were put.
// cli/schemas.json lists the fields of every object.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace retile::report {

using Json = nlohmann::ordered_json;

/// An object with room for so many fields. Without, all that there are are copied whenever it grows.
[[nodiscard]] inline Json object_of(std::size_t fields) {
  Json out = Json::object();
  out.get_ref<Json::object_t&>().reserve(fields);
  return out;
}

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
