// Shardy: `#sdy.sharding<@m, [{"x"}, {}]>`, with or without the words in front, and its meshes.
#include <fmt/format.h>

#include <algorithm>

#include "retile/core/names.h"
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

/// That axes that stand among the replicated ones do nothing else. Parts of one axis may be others.
void check_replicated(const std::vector<WrittenPart>& replicated, const Written& out) {
  const auto meets = [](const WrittenPart& a, const WrittenPart& b) {
    const bool is_whole = a.major == 0 || b.major == 0;
    return a.axis == b.axis && (is_whole || (a.major == b.major && a.size == b.size));
  };
  std::vector<const WrittenAxes*> used = {&out.addends};
  for (const WrittenAxes& dim : out.dims) used.push_back(&dim);
  for (const WrittenPart& part : replicated) {
    for (const WrittenAxes* axes : used) {
      const bool stands_twice =
          std::any_of(axes->parts.begin(), axes->parts.end(),
                      [&](const WrittenPart& other) { return meets(part, other); });
      if (!stands_twice) continue;
      text::fail(part.place, {.code = Code::axis_used_twice,
                              .message = fmt::format("axis {} is replicated, and used",
                                                     shown_name(part.axis))});
    }
  }
}

/// Reads `, replicated={..}` and `, unreduced=max{..}`, in either order.
void read_axes_beside(Scanner& scanner, Written& out) {
  std::vector<WrittenPart> replicated;
  while (scanner.accept(",")) {
    if (scanner.accept("replicated")) {
      scanner.expect("=");
      scanner.expect("{");
      replicated = read_parts(scanner).parts;
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
  check_replicated(replicated, out);
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
