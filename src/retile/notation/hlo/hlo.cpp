// HLO: `{devices=[2,4]<=[8]T(1,0) last_tile_dim_replicate}`, lists of devices, and shardings over a
// named mesh, `{mesh['x'=2,'y'=4], [{'x'}, {}]}`.
#include <fmt/format.h>

#include <algorithm>

#include "retile/core/names.h"
#include "retile/notation/written.h"

namespace retile::notation {
namespace {

/// What the last dimensions of a table are.
enum class Trailing { replicated, unreduced };

/// A table of devices with a row-major position for every tile.
struct Table {
  std::vector<Token<Size>> extents;
  std::vector<Trailing> trailing;  ///< of the last extents, which are no dimensions
  std::optional<IotaChain> chain;
  std::vector<Token<Size>> list;
  Place place = {};
};

[[noreturn]] void fail_unsupported(const Place& place, std::string message, std::string note) {
  text::fail(
      place,
      {.code = Code::unsupported, .message = std::move(message), .notes = {std::move(note)}});
}

[[noreturn]] void fail_manual(const Place& place) {
  fail_unsupported(place, "manual: the array is no global one",
                   "what each device holds is not said by the sharding");
}

Size count_of(const std::vector<Token<Size>>& extents) {
  Size count = 1;
  for (const Token<Size>& extent : extents) {
    const auto product = checked_mul(count, extent.value);
    if (extent.value < 1 || !product || *product > max_devices) {
      text::fail(extent.place, {.code = Code::bad_number,
                                .message = "the extents of a table are at least 1, and make at "
                                           "most 2^31 devices"});
    }
    count = *product;
  }
  return count;
}

Trailing read_trailing(Scanner& scanner) {
  const auto word = scanner.word("replicated or unreduced");
  if (word.value == "replicated") return Trailing::replicated;
  if (word.value == "unreduced") return Trailing::unreduced;
  if (word.value == "manual") fail_manual(word.place);
  fail_unsupported(word.place, fmt::format("{} dimensions are not read", shortened(word.value)),
                   "the last dimensions of a table may be replicated or unreduced");
}

/// Reads `<=[2,4]T(1,0)`, or a list.
void read_devices(Scanner& scanner, Table& out) {
  if (!scanner.accept("<=")) {
    do {
      out.list.push_back(scanner.number());
    } while (scanner.accept(","));
    return;
  }
  const std::size_t begin = scanner.next();
  scanner.expect("[");
  const auto shape = read_numbers(scanner, "]");
  std::vector<Token<Size>> transpose;
  if (scanner.accept("T(")) transpose = read_numbers(scanner, ")");
  const Place place = scanner.since(begin);
  const IotaStage stage = stage_of(shape, transpose, place);
  const Size count = count_of(shape);
  if (count != count_of(out.extents)) {
    text::fail(place, {.code = Code::bad_device,
                       .message = fmt::format("{} for a table of {}", counted(count, "device"),
                                              count_of(out.extents))});
  }
  out.chain.emplace(count);
  out.chain->append(stage);
}

/// Takes the minor-most run of equal strides off a list: (stride, length); nothing where the list does not repeat it.
std::optional<Digit> take_run(std::vector<Size>& list) {
  const Size stride = list[1] - list[0];
  std::size_t run = 2;
  while (run < list.size() && list[run] - list[run - 1] == stride) ++run;
  while (list.size() % run != 0) --run;
  if (stride < 1 || run < 2) return std::nullopt;
  std::vector<Size> heads;
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (k % run == 0) {
      heads.push_back(list[k]);
    } else if (list[k] - list[k - 1] != stride) {
      return std::nullopt;
    }
  }
  list = std::move(heads);
  return Digit{stride, static_cast<Size>(run)};
}

/// The iota that a list is, if it is one.
std::optional<IotaChain> iota_of(const std::vector<Token<Size>>& numbers) {
  std::vector<Size> list = values_of(numbers);
  const auto count = static_cast<Size>(list.size());
  if (list.empty() || list.front() != 0) return std::nullopt;
  std::vector<Digit> digits;  // minor to major positions
  while (list.size() > 1) {
    const auto digit = take_run(list);
    if (!digit) return std::nullopt;
    digits.push_back(*digit);
  }
  std::vector<Digit> sorted = digits;
  std::sort(sorted.begin(), sorted.end(),
            [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
  Size stride = count;
  IotaStage stage;
  for (const Digit& digit : sorted) {
    if (stride % digit.size != 0 || stride / digit.size != digit.stride) return std::nullopt;
    stride = digit.stride;
    stage.shape.push_back(digit.size);
  }
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    const auto found = std::find(sorted.begin(), sorted.end(), *digit);
    stage.transpose.push_back(static_cast<std::size_t>(found - sorted.begin()));
  }
  IotaChain out(count);
  if (!stage.shape.empty()) out.append(std::move(stage));
  return out;
}

Table read_table(Scanner& scanner) {
  Table out;
  const std::size_t begin = scanner.next();
  scanner.expect("[");
  out.extents = read_numbers(scanner, "]");
  read_devices(scanner, out);
  if (scanner.accept("last_tile_dim_replicate")) {
    out.trailing = {Trailing::replicated};
  } else if (scanner.accept("last_tile_dims")) {
    scanner.expect("=");
    scanner.expect("{");
    do {
      out.trailing.push_back(read_trailing(scanner));
    } while (scanner.accept(","));
    scanner.expect("}");
  }
  out.place = scanner.since(begin);
  if (!out.chain) {
    const Size count = count_of(out.extents);
    if (count == static_cast<Size>(out.list.size())) out.chain = iota_of(out.list);
  }
  if (out.trailing.size() > out.extents.size()) {
    text::fail(out.place,
               {.code = Code::rank_mismatch, .message = "more last dimensions than the table has"});
  }
  return out;
}

/// A piece of a dimension of the iota, which is a piece of an extent of the table.
struct Piece {
  std::size_t source;
  std::size_t target;
  Size size;
};

/// The common refinement of both, major to minor; nothing where they cut across each other.
std::optional<std::vector<Piece>> refine(const std::vector<std::pair<std::size_t, Size>>& sources,
                                         const std::vector<Token<Size>>& targets) {
  std::vector<Piece> out;
  std::size_t at = 0;
  Size left = sources.empty() ? 1 : sources.front().second;
  for (std::size_t target = 0; target < targets.size(); ++target) {
    Size want = targets[target].value;
    while (want > 1) {
      while (left == 1 && at + 1 < sources.size()) left = sources[++at].second;
      const Size take = std::min(left, want);
      if (take == 1 || left % take != 0 || want % take != 0) return std::nullopt;
      out.push_back({sources[at].first, target, take});
      left /= take;
      want /= take;
    }
  }
  return out;
}

WrittenPart whole(std::size_t axis, const Place& place) {
  return {.axis = numbered_axis(axis), .place = place};
}

/// The axes that cut each extent: digits of the device number where the iota has such.
std::optional<std::vector<WrittenAxes>> refined(const Table& table, Token<PlacedMesh>& mesh) {
  const IotaChain simple = table.chain->simplified();
  if (simple.stages().size() > 1) return std::nullopt;
  std::vector<std::pair<std::size_t, Size>> sources;  // in the order of the table
  std::size_t source_count = 1;
  if (simple.stages().empty()) {
    sources.emplace_back(0, simple.size());
  } else {
    const IotaStage& stage = simple.stages().front();
    source_count = stage.shape.size();
    for (std::size_t k = 0; k < source_count; ++k) {
      const std::size_t old = stage.transpose.empty() ? k : stage.transpose[k];
      sources.emplace_back(old, stage.shape[old]);
    }
  }
  const auto pieces = refine(sources, table.extents);
  if (!pieces) return std::nullopt;
  std::vector<Axis> axes;
  std::vector<std::size_t> axis_of(pieces->size());
  for (std::size_t source = 0; source < source_count; ++source) {
    for (std::size_t k = 0; k < pieces->size(); ++k) {
      if ((*pieces)[k].source != source) continue;
      axis_of[k] = axes.size();
      axes.push_back({numbered_axis(axes.size()), (*pieces)[k].size});
    }
  }
  std::vector<WrittenAxes> out;
  for (const Token<Size>& extent : table.extents) out.push_back({{}, extent.place});
  for (std::size_t k = 0; k < pieces->size(); ++k) {
    const std::size_t target = (*pieces)[k].target;
    out[target].parts.push_back(whole(axis_of[k], table.extents[target].place));
  }
  mesh = {.value = {.mesh = Mesh::make(std::move(axes)).value()}, .place = table.place};
  return out;
}

/// The axes that cut each extent: one each, in an order of the devices.
std::vector<WrittenAxes> in_order(const Table& table, Token<PlacedMesh>& mesh) {
  std::vector<Axis> axes;
  std::vector<WrittenAxes> out;
  for (const Token<Size>& extent : table.extents) {
    out.push_back({{}, extent.place});
    if (extent.value == 1) continue;
    out.back().parts.push_back(whole(axes.size(), extent.place));
    axes.push_back({numbered_axis(axes.size()), extent.value});
  }
  Mesh over = Mesh::make(std::move(axes)).value();
  PlacedMesh placed = table.chain ? placed_by_chain(std::move(over), *table.chain)
                                  : placed_by_list(std::move(over), table.list, table.place);
  mesh = {.value = std::move(placed), .place = table.place};
  return out;
}

void put_table(const Table& table, Written& out) {
  Token<PlacedMesh> mesh{.value = {}, .place = table.place};
  std::optional<std::vector<WrittenAxes>> axes;
  if (table.chain) axes = refined(table, mesh);
  if (!axes) axes = in_order(table, mesh);
  const std::size_t rank = table.extents.size() - table.trailing.size();
  for (std::size_t k = 0; k < table.trailing.size(); ++k) {
    if (table.trailing[k] == Trailing::replicated) continue;
    out.addends.place = table.place;
    auto& parts = (*axes)[rank + k].parts;
    out.addends.parts.insert(out.addends.parts.end(), parts.begin(), parts.end());
  }
  axes->resize(rank);
  out.dims = *std::move(axes);
  out.mesh = std::move(mesh);
  out.table = true;
}

/// Reads `, device_ids=(..)`, if it comes next.
PlacedMesh read_order(Scanner& scanner, Mesh mesh, std::size_t begin) {
  Scanner ahead = scanner;
  if (!ahead.accept(",") || !ahead.accept("device_ids")) return {.mesh = std::move(mesh)};
  scanner = ahead;
  scanner.expect("=");
  scanner.expect("(");
  if (!scanner.accept("[")) {
    const auto devices = read_numbers(scanner, ")");
    return placed_by_list(std::move(mesh), devices, scanner.since(begin));
  }
  const auto shape = read_numbers(scanner, "]");
  std::vector<Token<Size>> transpose;
  if (scanner.accept("T(")) transpose = read_numbers(scanner, ")");
  scanner.expect(")");
  const Place all = scanner.since(begin);
  const IotaStage stage = stage_of(shape, transpose, all);
  IotaChain chain(count_of(shape));
  if (chain.size() != mesh.device_count()) {
    text::fail(all, {.code = Code::bad_device,
                     .message = fmt::format("{} for a mesh of {} positions",
                                            counted(chain.size(), "device"), mesh.device_count())});
  }
  chain.append(stage);
  return placed_by_chain(std::move(mesh), chain);
}

void read_unreduced(Scanner& scanner, Written& out, std::size_t begin) {
  const bool given = scanner.accept("=");
  if (given || scanner.sees_word()) out.addition = accept_addition(scanner).value_or(Addition::sum);
  if (scanner.accept("{")) {
    out.addends = read_parts(scanner);
  } else {
    out.all_addends = true;
  }
  out.addends.place = scanner.since(begin);
}

/// What stands behind the mesh.
void read_named(Scanner& scanner, Written& out) {
  static_cast<void>(scanner.accept(","));
  const std::size_t begin = scanner.next();
  if (!scanner.sees('[')) {
    out.may_be_short = true;
    if (scanner.accept("replicated")) return;
    if (scanner.accept("manual")) fail_manual(scanner.since(begin));
    if (!scanner.accept("unreduced"))
      scanner.fail_expected("dimensions, 'replicated' or 'unreduced'");
    read_unreduced(scanner, out, begin);
    return;
  }
  out.dims = read_braced_dims(scanner);
  while (scanner.accept(",")) {
    const std::size_t at = scanner.next();
    if (scanner.accept("unreduced")) {
      read_unreduced(scanner, out, at);
      continue;
    }
    const bool manual = scanner.accept("manual");
    if (!manual && !scanner.accept("replicated")) {
      scanner.fail_expected("'replicated', 'unreduced' or 'manual'");
    }
    scanner.expect("=");
    scanner.expect("{");
    const WrittenAxes axes = read_parts(scanner);
    if (manual && !axes.parts.empty()) fail_manual(scanner.since(at));
  }
}

/// What stands in the braces.
void read_single(Scanner& scanner, Written& out) {
  const std::size_t begin = scanner.next();
  if (scanner.sees('{') || scanner.sees('}')) {
    fail_unsupported(scanner.since(begin), "a tuple of shardings",
                     "give the one sharding of the array that moves");
  }
  if (scanner.accept("devices")) {
    scanner.expect("=");
    put_table(read_table(scanner), out);
    return;
  }
  if (scanner.accept("maximal_mesh")) {
    scanner.expect("[");
    scanner.expect("device_id");
    scanner.expect("=");
    out.only_device = scanner.number();
    scanner.expect("]");
    return;
  }
  if (scanner.accept("mesh")) {
    PlacedMesh mesh = read_hlo_mesh(scanner);
    // `mesh[]` says nothing of how many devices there are: all of them.
    if (!mesh.mesh.axes().empty()) {
      out.mesh = Token<PlacedMesh>{.value = std::move(mesh), .place = scanner.since(begin)};
    }
    read_named(scanner, out);
    return;
  }
  out.may_be_short = true;
  const auto word = scanner.word("devices=, replicated, maximal or mesh[..]");
  if (word.value == "replicated") return;
  if (word.value == "manual") fail_manual(word.place);
  if (word.value == "unreduced") {
    out.all_addends = true;
    out.addends.place = word.place;
    return;
  }
  if (word.value != "maximal") {
    fail_unsupported(word.place,
                     fmt::format("{} says nothing of where the array is", shortened(word.value)),
                     "shardings are devices=.., replicated, maximal device=.. and mesh[..]");
  }
  scanner.expect("device");
  scanner.expect("=");
  out.only_device = scanner.number();
}

}  // namespace

PlacedMesh read_hlo_mesh(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  static_cast<void>(scanner.accept("mesh"));
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
  return read_order(scanner, mesh_of(axes, scanner.since(begin)), begin);
}

Written read_hlo(Scanner& scanner) {
  Written out{.notation = Notation::hlo};
  const std::size_t begin = scanner.next();
  scanner.expect("{");
  read_single(scanner, out);
  for (const std::string_view key : {"shard_as", "shard_like"}) {
    if (scanner.accept(key)) static_cast<void>(scanner.number());
  }
  if (scanner.accept("metadata")) {
    scanner.expect("=");
    skip_value(scanner);
  }
  if (!scanner.accept("}")) scanner.fail_expected("'}' after a sharding");
  out.place = scanner.since(begin);
  return out;
}

}  // namespace retile::notation
