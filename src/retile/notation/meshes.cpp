// Meshes and shapes in any notation.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "retile/notation/paper/notation.h"
#include "retile/notation/sharding.h"
#include "retile/notation/written.h"

namespace retile {
namespace notation {
namespace {

using MeshReader = PlacedMesh (*)(Scanner&);

/// Who reads a mesh that begins so.
struct Beginning {
  std::string_view words;
  MeshReader read;
};

constexpr Beginning beginnings[] = {
    {"Mesh(", read_jax_mesh},
    {"AbstractMesh(", read_jax_mesh},
    {"sdy.mesh", read_shardy_mesh},
    {"#sdy.mesh", read_shardy_mesh},
    {"<", read_shardy_mesh},
    {"mesh<", read_shardy_mesh},
    {"mesh[", read_hlo_mesh},
    {"mesh.mesh", read_mlir_mesh},
    {"shard.grid", read_mlir_mesh},
    {"DeviceMesh(", read_dtensor_mesh},
    {"init_device_mesh(", read_dtensor_mesh},
};

/// The reader of the mesh that comes next; null for the paper's.
MeshReader reader_of(const Scanner& scanner) {
  for (const Beginning& beginning : beginnings) {
    Scanner ahead = scanner;
    if (ahead.accept(beginning.words)) return beginning.read;
  }
  return nullptr;
}

Shape read_any_shape(Scanner& scanner) {
  if (sees_shape(scanner) || scanner.sees('[')) return read_shape(scanner).value;
  Shape out;
  const std::size_t begin = scanner.next();
  do {
    out.push_back(scanner
                      .size("an extent",
                            [] {
                              return std::vector<std::string>{
                                  "a shape is written 16,8, [16, 8] or tensor<16x8xf32>"};
                            })
                      .value);
  } while (scanner.accept(","));
  if (!checked_product(out)) {
    text::fail(scanner.since(begin),
               {.code = Code::size_overflow, .message = "the global size does not fit in 63 bits"});
  }
  return out;
}

}  // namespace
}  // namespace notation

PlacedMesh read_any_mesh(text::Scanner& scanner) {
  if (const auto read = notation::reader_of(scanner)) return read(scanner);
  scanner.fail_expected("a mesh", {"a mesh is written Mesh('x': 4), sdy.mesh @m = <[\"x\"=4]>, "
                                   "mesh['x'=4], mesh.mesh @m(shape = 4) or DeviceMesh(..)"});
}

Result<PlacedMesh> parse_any_mesh(std::string_view text, std::string_view source) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  const text::Input input{.text = line, .source = std::string(source)};
  text::Scanner scanner(input);
  if (notation::reader_of(scanner) == nullptr) {
    auto mesh = parse_mesh(text, source);
    if (!mesh) return refuse(std::move(mesh.error()));
    return PlacedMesh{*std::move(mesh)};
  }
  return text::result_of([&] {
    PlacedMesh out = read_any_mesh(scanner);
    scanner.expect_end("after a mesh");
    if (out.mesh.axes().empty()) {
      text::fail(scanner.at({0, line.size()}), {.code = Code::empty_mesh,
                                                .message = "a mesh needs at least one axis",
                                                .notes = {"a single device is x:1"}});
    }
    return out;
  });
}

Result<Shape> parse_shape(std::string_view text, std::string_view source) {
  const text::Input input{.text = text, .source = std::string(source)};
  return text::result_of([&] {
    text::Scanner scanner(input);
    Shape out = notation::read_any_shape(scanner);
    scanner.expect_end("after a shape");
    return out;
  });
}

}  // namespace retile
