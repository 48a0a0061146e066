// The JSON form, out. The reader is json_reader.cpp.
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "numbered.h"
#include "retile/notation/paper/notation.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"

namespace retile {
namespace {

using Json = nlohmann::ordered_json;

/// JSON strings are UTF-8, names of axes any bytes: what is not UTF-8 is replaced, and names stay
/// different.
Mesh printable(const Mesh& mesh) {
  std::vector<Axis> axes = mesh.axes();
  bool changed = false;
  std::set<std::string> names;
  for (Axis& axis : axes) {
    const std::string quoted = Json(axis.name).dump(-1, ' ', false, Json::error_handler_t::replace);
    auto name = Json::parse(quoted).get<std::string>();
    changed = changed || name != axis.name;
    while (!names.insert(name).second) name += '_';
    axis.name = std::move(name);
  }
  if (!changed) return mesh;
  auto out = Mesh::make(std::move(axes));
  if (!out) return mesh;
  return std::move(*out);
}

Json mesh_json(const Mesh& mesh) {
  Json out = Json::array();
  for (const Axis& axis : mesh.axes()) out.push_back(Json::array({axis.name, axis.size}));
  return out;
}

Json groups_json(const DeviceTable& table) {
  if (table.chain() != nullptr) return groups_to_text(table);
  Json out = Json::array();
  for (const auto& row : table.to_rows()) out.push_back(row);
  return out;
}

Json list_json(const DeviceTable& table) {
  if (table.chain() != nullptr) return list_to_text(table);
  return table.entries();
}

Json offsets_json(const std::vector<Size>& at, std::size_t rank, Size devices) {
  Json out = Json::array();
  auto row = at.begin();
  for (Size d = 0; d < devices; ++d) {
    const auto end = row + static_cast<std::ptrdiff_t>(rank);
    out.push_back(std::vector<Size>(row, end));
    row = end;
  }
  return out;
}

class JsonSink final : public KeySink {
 public:
  explicit JsonSink(Json& out) : out_(out) {}

  void number(std::string_view key, Size value) override { out_[key] = value; }
  void piece(std::string_view key, PieceSize value) override {
    out_[key] = value.is_balanced() ? Json(balanced_word) : Json(value.extent());
  }
  void groups(std::string_view key, const DeviceTable& table) override {
    out_[key] = groups_json(table);
  }
  void list(std::string_view key, const DeviceTable& table) override {
    out_[key] = list_json(table);
  }
  void rows(std::string_view key, std::size_t count,
            const std::function<std::vector<Size>(std::size_t)>& row) override {
    Json& all = out_[key] = Json::array();
    for (std::size_t r = 0; r < count; ++r) all.push_back(row(r));
  }
  void ints(std::string_view key, const std::vector<Size>& values) override { out_[key] = values; }
  void addition(std::string_view key, Addition value) override { out_[key] = name_of(value); }

 private:
  Json& out_;
};

/// The shapes that stand beside `at`: listed ones, and of a map that no digits can say.
std::optional<std::vector<Size>> shapes_of(const Claims& claims) {
  if (claims.shapes || !claims.map || claims.map->is_compact()) return claims.shapes;
  return claims.map->extents();
}

Json step_json(const Step& step, const Program& program, const Mesh* mesh) {
  Json out;
  out["op"] = op_name(step);
  JsonSink sink(out);
  forms::write_keys(step.op, program.numbers, sink);
  const Claims& claims = step.claims;
  if (claims.tile) out["tile"] = *claims.tile;
  const bool shapes_first = claims.shapes && is_exchange(step);
  if (shapes_first) {
    out["shapes"] = offsets_json(*claims.shapes, program.from.rank(), program.devices);
  }
  const bool digits = claims.map && claims.map->is_compact();
  if (digits) out["map"] = to_text(*claims.map, mesh);
  if (claims.at) {
    out["at"] = offsets_json(*claims.at, program.from.rank(), program.devices);
  } else if (claims.map && !digits) {
    out["at"] = offsets_json(claims.map->base_offsets(), program.from.rank(), program.devices);
  }
  if (shapes_first) return out;
  if (const auto shapes = shapes_of(claims)) {
    out["shapes"] = offsets_json(*shapes, program.from.rank(), program.devices);
  }
  return out;
}

}  // namespace

std::string to_json(const Program& program) {
  std::optional<Mesh> mesh;
  if (program.mesh) mesh = printable(*program.mesh);
  std::optional<Mesh> mesh_to;
  if (program.mesh_to) mesh_to = printable(*program.mesh_to);
  const Mesh* names = mesh ? &*mesh : nullptr;

  Json out;
  out["schema"] = schema_of(program);
  out["devices"] = program.devices;
  if (program.numbers.are_listed()) out["devices"] = program.numbers.list();
  out["mesh"] = mesh ? mesh_json(*mesh) : Json();
  if (mesh_to) out["mesh_to"] = mesh_json(*mesh_to);
  out["from"] = tiling_to_text(program.array_from(), names);
  if (mesh_to) names = &*mesh_to;
  out["to"] = tiling_to_text(program.array_to(), names);
  if (program.array) out["view"] = program.from.global();
  Json& steps = out["steps"] = Json::array();
  for (const Step& step : program.steps) steps.push_back(step_json(step, program, names));
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace retile
