#include "retile/foreign/hlo/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "retile/core/device_table.h"
#include "retile/foreign/reader.h"
#include "retile/notation/sharding.h"

namespace retile::foreign::hlo {
namespace {

using text::fail;

/// A number of a device.
Size read_device(Scanner& scanner) {
  const Token<Size> number = scanner.number();
  if (number.value >= max_devices) {
    fail(number.place, {.code = Code::bad_number, .message = "a device number is below 2^31"});
  }
  return number.value;
}

std::vector<std::vector<Size>> read_rows(Scanner& scanner) {
  std::vector<std::vector<Size>> out;
  scanner.expect("{");
  if (scanner.accept("}")) return out;
  do {
    auto& row = out.emplace_back();
    scanner.expect("{");
    if (scanner.accept("}")) continue;
    do {
      row.push_back(read_device(scanner));
    } while (scanner.accept(","));
    scanner.expect("}");
  } while (scanner.accept(","));
  scanner.expect("}");
  return out;
}

/// `[4,2]`, of at most so many elements as devices are looked at one by one.
Shape read_extents(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  scanner.expect("[");
  Shape out;
  do {
    out.push_back(scanner.size("an extent").value);
  } while (scanner.accept(","));
  scanner.expect("]");
  const auto size = checked_product(out);
  if (!size || *size > most_devices) {
    fail(scanner.since(begin), {.code = Code::limit_reached,
                                .message = fmt::format("more than {} devices", most_devices)});
  }
  return out;
}

/// `(1,0)`: each of so many dimensions once.
std::vector<std::size_t> read_permutation(Scanner& scanner, std::size_t rank) {
  const std::size_t begin = scanner.next();
  std::vector<std::size_t> out;
  std::vector<bool> seen(rank);
  scanner.expect("(");
  do {
    const Token<Size> dim = scanner.number();
    if (dim.value >= static_cast<Size>(rank) || seen[static_cast<std::size_t>(dim.value)]) {
      fail(dim.place,
           {.code = Code::bad_dimension,
            .message = fmt::format("a permutation names each of {} dimensions once", rank)});
    }
    seen[static_cast<std::size_t>(dim.value)] = true;
    out.push_back(static_cast<std::size_t>(dim.value));
  } while (scanner.accept(","));
  scanner.expect(")");
  if (out.size() != rank) {
    fail(scanner.since(begin), {.code = Code::bad_dimension,
                                .message = fmt::format("a permutation of {} dimensions", rank)});
  }
  return out;
}

Size product(const Shape& extents) { return checked_product(extents).value_or(0); }

Groups cut(const std::vector<Size>& devices, Size columns) {
  Groups out;
  const auto length = static_cast<std::size_t>(columns);
  for (std::size_t k = 0; k < devices.size(); k += length) {
    out.emplace_back(devices.begin() + static_cast<std::ptrdiff_t>(k),
                     devices.begin() + static_cast<std::ptrdiff_t>(k + length));
  }
  return out;
}

/// `[2,4]<=[4,2]T(1,0)`
Groups read_iota(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  const Shape table = read_extents(scanner);
  scanner.expect("<=");
  IotaStage stage{.shape = read_extents(scanner), .transpose = {}};
  if (scanner.accept("T")) stage.transpose = read_permutation(scanner, stage.shape.size());
  if (product(table) != product(stage.shape) || table.size() != 2) {
    fail(scanner.since(begin),
         {.code = Code::syntax,
          .message = "groups are [rows,columns]<=[..] with as many devices on both sides"});
  }
  IotaChain chain(product(table));
  chain.append(std::move(stage));
  return cut(chain.list(), table[1]);
}

/// The digit of a mesh's position that `'x'` or `'x':(2)4` is.
Digit read_axis(Scanner& scanner, const Mesh& mesh) {
  const std::size_t begin = scanner.next();
  const char quote = scanner.sees('\'') ? '\'' : '"';
  scanner.expect(std::string(1, quote));
  const std::string_view rest = text_of(scanner.rest());
  const std::string name(rest.substr(0, rest.find(quote)));
  static_cast<void>(scanner.accept(name));
  scanner.expect(std::string(1, quote));
  const auto digit = mesh.digit(name);
  if (!digit) {
    fail(scanner.since(begin),
         {.code = Code::unknown_axis, .message = fmt::format("the mesh has no axis '{}'", name)});
  }
  if (!scanner.accept(":")) return *digit;
  scanner.expect("(");
  const Size major = scanner.size("what is cut off before a part").value;
  scanner.expect(")");
  const Size size = scanner.size("the size of a part").value;
  const auto part = part_of(*digit, major, size);
  if (!part) {
    fail(scanner.since(begin), {.code = Code::ill_formed_type,
                                .message = fmt::format("axis '{}' of size {} has no part ({}){}",
                                                       name, digit->size, major, size)});
  }
  return *part;
}

/// `mesh['x'=2,'y'=4] {'y'}`: the listed axes count within a group, the first slowest; all others
/// count the groups.
Groups read_axes(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  const PlacedMesh placed = read_any_mesh(scanner);
  const Size positions = placed.mesh.device_count();
  if (positions > most_devices) {
    fail(scanner.since(begin), {.code = Code::limit_reached,
                                .message = fmt::format("more than {} devices", most_devices)});
  }
  std::vector<Digit> digits;
  scanner.expect("{");
  if (!scanner.accept("}")) {
    do {
      digits.push_back(read_axis(scanner, placed.mesh));
    } while (scanner.accept(","));
    scanner.expect("}");
  }
  std::vector<Size> offsets = {0};
  for (const Digit& digit : digits) {
    std::vector<Size> next;
    if (static_cast<Size>(offsets.size()) > positions / digit.size) {
      fail(scanner.since(begin), {.code = Code::axis_used_twice, .message = "axes that overlap"});
    }
    for (const Size offset : offsets) {
      for (Size k = 0; k < digit.size; ++k) next.push_back(offset + k * digit.stride);
    }
    offsets = std::move(next);
  }
  const std::vector<Size> order = placed.order ? placed.order->entries() : std::vector<Size>{};
  std::vector<bool> seen(static_cast<std::size_t>(positions));
  Groups out;
  for (Size first = 0; first < positions; ++first) {
    if (seen[static_cast<std::size_t>(first)]) continue;
    auto& group = out.emplace_back();
    for (const Size offset : offsets) {
      const Size position = first + offset;
      if (position >= positions || seen[static_cast<std::size_t>(position)]) {
        fail(scanner.since(begin), {.code = Code::axis_used_twice, .message = "axes that overlap"});
      }
      seen[static_cast<std::size_t>(position)] = true;
      group.push_back(placed.order ? order[static_cast<std::size_t>(position)] : position);
    }
  }
  return out;
}

}  // namespace

Groups read_groups(const Place& value) {
  Scanner scanner = scanner_of(value);
  Groups out = scanner.sees('{')   ? read_rows(scanner)
               : scanner.sees('[') ? read_iota(scanner)
                                   : read_axes(scanner);
  scanner.expect_end("of the groups");
  return out;
}

std::vector<std::pair<Size, Size>> read_pairs(const Place& value) {
  Scanner scanner = scanner_of(value);
  std::vector<std::pair<Size, Size>> out;
  for (const auto& row : read_rows(scanner)) {
    if (row.size() != 2) {
      fail(value, {.code = Code::syntax, .message = "a pair is {source,target}"});
    }
    out.emplace_back(row[0], row[1]);
  }
  scanner.expect_end("of the pairs");
  return out;
}

}  // namespace retile::foreign::hlo
