// Shardy: `#sdy.sharding<@m, [{"x"}, {}]>`, with or without the words in front, and its meshes.
#include <fmt/format.h>

#include "retile/notation/written.h"

namespace retile::notation {
namespace {

/// The rest of `<["x"=2, "y"=4], device_ids=[1,0,..]>`, behind the first bracket.
/// \param only  becomes the one device of a mesh without axes, if it is named
PlacedMesh read_axes(Scanner& scanner, std::size_t begin, std::optional<Token<Size>>& only) {
  scanner.expect("[");
  std::vector<ReadAxis> axes;
  if (!scanner.sees(']')) {
    do {
      Token<std::string> name = scanner.quoted("an axis in quotes");
      scanner.expect("=");
      axes.push_back({std::move(name), scanner.size("the size of an axis")});
    } while (scanner.accept(","));
  }
  if (!scanner.accept("]")) scanner.fail_expected("',' or ']' after an axis");
  Mesh mesh = mesh_of(axes, scanner.since(begin));
  if (!scanner.accept(",")) {
    scanner.expect(">");
    return {.mesh = std::move(mesh)};
  }
  scanner.expect("device_ids");
  scanner.expect("=");
  scanner.expect("[");
  const auto devices = read_numbers(scanner, "]");
  scanner.expect(">");
  if (axes.empty() && devices.size() == 1) only = devices.front();
  return placed_by_list(std::move(mesh), devices, scanner.since(begin));
}

/// Reads `, replicated={..}` and `, unreduced=max{..}`, in either order.
void read_axes_beside(Scanner& scanner, Written& out) {
  while (scanner.accept(",")) {
    if (scanner.accept("replicated")) {
      scanner.expect("=");
      scanner.expect("{");
      static_cast<void>(read_parts(scanner));
      continue;
    }
    const std::size_t begin = scanner.next();
    if (!scanner.accept("unreduced")) scanner.fail_expected("'replicated' or 'unreduced'");
    if (scanner.accept("=")) {
      out.addition = accept_addition(scanner).value_or(Addition::sum);
    }
    scanner.expect("{");
    out.addends = read_parts(scanner);
    out.addends.place = scanner.since(begin);
  }
}

}  // namespace

PlacedMesh read_shardy_mesh(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  if (scanner.accept("sdy.mesh")) {
    scanner.expect("@");
    static_cast<void>(scanner.name("the name of the mesh"));
    scanner.expect("=");
  } else if (!scanner.accept("#sdy.mesh")) {
    static_cast<void>(scanner.accept("mesh"));
  }
  scanner.expect("<");
  std::optional<Token<Size>> only;
  return read_axes(scanner, begin, only);
}

Written read_shardy(Scanner& scanner) {
  Written out{.notation = Notation::shardy};
  const std::size_t begin = scanner.next();
  if (scanner.sees('[')) {  // without the words and the mesh around them
    out.dims = read_braced_dims(scanner);
    read_axes_beside(scanner, out);
    out.place = scanner.since(begin);
    return out;
  }
  if (scanner.accept("#")) scanner.expect("sdy.sharding");
  scanner.expect("<");
  const std::size_t mesh = scanner.next();
  if (scanner.accept("@")) {
    out.mesh_name = scanner.name("the name of a mesh");
  } else {
    if (!scanner.accept("mesh")) scanner.fail_expected("'@' and the name of a mesh, or mesh<..>");
    scanner.expect("<");
    PlacedMesh own = read_axes(scanner, mesh, out.only_device);
    if (!out.only_device) {
      out.mesh = Token<PlacedMesh>{.value = std::move(own), .place = scanner.since(mesh)};
    }
  }
  scanner.expect(",");
  out.dims = read_braced_dims(scanner);
  read_axes_beside(scanner, out);
  scanner.expect(">");
  out.place = scanner.since(begin);
  return out;
}

}  // namespace retile::notation
