#include "retile/notation/paper/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "retile/core/names.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/read.h"
#include "retile/notation/paper/wellformed.h"

namespace retile {
namespace {

using paper::WrittenLayout;
using paper::WrittenType;

constexpr std::string_view from_source = "FROM";
constexpr std::string_view to_source = "TO";

/// One end of a problem as it was written.
struct End {
  Shape global;
  std::string text;
  const TypeText& places;
};

/// The dimension with the global size of the other end, if its axes can cut that.
std::optional<std::string> repair(const Mesh& mesh, CutDim dim, Size global) {
  if (dim.cutting != paper::Cutting::tile) return std::nullopt;
  Size tiles = 1;
  for (const Splitter& splitter : splitters_of(mesh, dim)) tiles *= splitter.size;
  if (global % tiles != 0) return std::nullopt;
  dim.global = global;
  dim.tile = global / tiles;
  return fmt::format("{} has the global size of {}", dim_text(dim), from_source);
}

/// Fails, pointing into the target's text, where the two are not of one array.
/// \param dims  those of the target
void check(const Mesh& mesh, const End& from, const End& to, const std::vector<CutDim>& dims,
           const text::Input& to_input) {
  auto violation = find_violation(from_source, from.global, to_source, to.global);
  if (!violation) return;
  std::vector<std::string>& notes = violation->diagnostic.notes;
  Span where = to.places.closing;
  if (violation->dim) {
    where = to.places.dims[*violation->dim];
    notes.push_back(fmt::format("{} is {}", from_source, from.text));
    const Size global = from.global[*violation->dim];
    if (auto note = repair(mesh, dims[*violation->dim], global)) notes.push_back(*note);
  } else {
    // The first dimension too many, or the place where one is missing.
    if (to.global.size() > from.global.size()) where = to.places.dims[from.global.size()];
    notes.push_back(
        fmt::format("a redistribution keeps the array; {} is {}", from_source, from.text));
  }
  fail_with(text::Place{.input = &to_input, .span = where}, std::move(violation->diagnostic));
}

/// Fails where the ends add in two ways, or one is a stack that the other is not.
void check_additions(const WrittenLayout& from, const WrittenLayout& to, const text::Input& input) {
  const auto& before = from.layout.addends();
  const auto& after = to.layout.addends();
  const text::Place all{.input = &input, .span = {0, input.text.size()}};
  const bool stack = (before && before->addition == Addition::stack) ||
                     (after && after->addition == Addition::stack);
  if (stack && from.layout.addend_count() != to.layout.addend_count()) {
    fail(all, {.code = Code::bad_argument,
               .message = fmt::format("{} has {} of a stack, {} has {}", to_source,
                                      counted(to.layout.addend_count(), "array"), from_source,
                                      from.layout.addend_count()),
               .notes = {"a stack stays a stack: nothing adds its arrays"}});
  }
  if (!before || !after || before->addition == after->addition) return;
  fail(all, {.code = Code::bad_argument,
             .message = fmt::format("{} is a {}, {} a {}", from_source, name_of(before->addition),
                                    to_source, name_of(after->addition)),
             .notes = {"both ends of a redistribution add in one way"}});
}

bool is_list(const PlacedMesh& mesh) { return mesh.order && mesh.order->chain() == nullptr; }

/// What the devices hold that stand on a mesh.
Layout placed(const WrittenLayout& written, const PlacedMesh& mesh, Size devices,
              const text::Input& input) {
  const Layout& layout = written.layout;
  if (written.root) return layout;
  const text::Place all{.input = &input, .span = {0, input.text.size()}};
  const auto refuse_addends = [&all] {
    fail(all, {.code = Code::unsupported,
               .message = "a mesh with an order, or of fewer positions than devices, has no "
                          "addends yet"});
  };
  if (layout.addends() && (is_list(mesh) || layout.devices() != devices)) refuse_addends();
  if (layout.rank() == 0 && layout.devices() != devices) {
    fail(all, {.code = Code::unsupported,
               .message = "an array of rank 0 is held by every device, also by those on no mesh"});
  }
  if (is_list(mesh) || layout.devices() != devices) {
    if (auto listed = check_listed(devices, layout.rank()); !listed) fail_with(all, listed.error());
  }
  auto out = retile::placed(layout, mesh.order, devices);
  if (!out) fail_with(all, out.error());
  if (const auto& addends = out->addends()) {  // which the forms say in digits alone
    if (!out->is_compact() || !addends->numbers.is_compact()) refuse_addends();
  }
  return *std::move(out);
}

// ---- Ends on the same devices -------------------------------------------------------------------

/// What the devices are called on which both ends stand, and the meshes over them, by their places in
/// that list.
struct Group {
  DeviceNumbers numbers;
  PlacedMesh from;
  PlacedMesh to;
};

/// The device at each position.
std::vector<Size> standing(const PlacedMesh& mesh) {
  if (mesh.order) return mesh.order->entries();
  return from_zero(mesh.mesh.device_count());
}

/// The mesh with these devices, called by their places. Nothing where no iota lists them then.
std::optional<PlacedMesh> called_by_place(const Mesh& mesh, std::vector<Size> devices,
                                          const std::unordered_map<Size, Size>& places) {
  for (Size& device : devices) device = places.at(device);
  PlacedMesh out{mesh};
  const auto chain = chain_of(devices);
  if (!chain) return std::nullopt;
  if (chain->simplified().stages().empty()) return out;
  out.order = DeviceTable::iota(*chain, chain->size());
  return out;
}

/// The group, where both ends stand on the same devices and a list says which. Counted from the lowest
/// number up, or as the start lists them: whichever way makes digits of both ends.
/// \param adds  addends are digits: for them an iota, too, is a list
std::optional<Group> group_of(const PlacedMesh& from, const PlacedMesh& to, bool adds) {
  const bool is_listed = is_list(from) || is_list(to) || (adds && (from.order || to.order));
  const Size count = from.mesh.device_count();
  if (!is_listed || to.mesh.device_count() != count || !check_listed(count, 1)) return std::nullopt;
  const std::vector<Size> before = standing(from);
  const std::vector<Size> after = standing(to);
  std::vector<Size> sorted = before;
  std::vector<Size> others = after;
  std::sort(sorted.begin(), sorted.end());
  std::sort(others.begin(), others.end());
  if (sorted != others) return std::nullopt;
  const bool sorted_first = before != after || (!adds && !DeviceNumbers(sorted).are_listed());
  for (const std::vector<Size>* list : {sorted_first ? &sorted : &before, &before}) {
    const std::unordered_map<Size, Size> places = places_in(*list);
    auto start = called_by_place(from.mesh, before, places);
    auto end = called_by_place(to.mesh, after, places);
    if (start && end) return Group{DeviceNumbers(*list), *std::move(start), *std::move(end)};
  }
  return std::nullopt;
}

/// Whether one iota says who stands where at both ends.
bool is_one_iota(const PlacedMesh& from, const PlacedMesh& to) {
  if (!from.order || !to.order || is_list(from) || is_list(to)) return false;
  const auto chain = [](const PlacedMesh& mesh) { return mesh.order->chain()->simplified(); };
  return chain(from) == chain(to);
}

/// Counts the device that alone holds an end, if one does, as one of the group.
void take_into(const DeviceNumbers& numbers, Size devices, WrittenLayout& end) {
  if (!end.root || !numbers.are_listed()) return;
  end.layout = Layout::rooted(devices, end.layout.global(), *numbers.place_of(*end.root));
}

/// Whether the device that alone holds an end, if one does, is one of the group.
bool has_root(const Group& group, const WrittenLayout& end) {
  return !end.root || group.numbers.place_of(*end.root);
}

/// A refusal of too many devices, pointing to the largest one, which an order lists.
/// \param source  what the order is called
Diagnostic at_largest(Diagnostic refusal, const PlacedMesh& mesh, std::string_view source) {
  const std::vector<Size> entries = mesh.order->entries();
  const auto largest = std::max_element(entries.begin(), entries.end());
  const std::string text = mesh.order_text.value_or("");
  const text::Input input{.text = text, .source = std::string(source)};
  refusal.source = input.source;
  refusal.input = text;
  refusal.where = text::number_place({.input = &input, .span = {0, text.size()}},
                                     static_cast<std::size_t>(largest - entries.begin()))
                      .span;
  refusal.notes.push_back(fmt::format("the largest device says that there are {}", *largest + 1));
  return refusal;
}

/// Why an end that was placed is no tiling in digits any more, if so.
std::optional<std::string> scattered(const WrittenLayout& written, const PlacedMesh& mesh,
                                     const Layout& end, std::string_view name) {
  if (written.root || end.is_compact()) return std::nullopt;
  if (is_list(mesh)) {
    return fmt::format("the order of {} lists devices one by one", name);
  }
  if (end.is_listed()) {
    return fmt::format("{} stands on {} of {} devices", name, mesh.mesh.device_count(),
                       end.devices());
  }
  return fmt::format("the order of {} leaves no tiling in digits", name);
}

/// An end that was read, and the mesh on which its devices stand.
struct Standing {
  WrittenLayout& written;
  const PlacedMesh& mesh;
  const text::Input& input;
};

/// With a spelling, but for orders and the mesh of its end.
Problem problem_of(const Standing& from, const Standing& to, Size devices) {
  const bool adds = from.written.layout.addends() || to.written.layout.addends();
  auto group = group_of(from.mesh, to.mesh, adds);
  if (group && !(has_root(*group, from.written) && has_root(*group, to.written))) group.reset();
  if (group) {
    devices = group->from.mesh.device_count();
  } else {
    group = Group{{}, from.mesh, to.mesh};
  }
  for (const Standing* end : {&from, &to}) take_into(group->numbers, devices, end->written);
  Problem out = Problem::make(placed(from.written, group->from, devices, from.input),
                              placed(to.written, group->to, devices, to.input))
                    .value();
  out.numbers = group->numbers;
  if (!from.written.root && !to.written.root && is_one_iota(group->from, group->to)) {
    out.placed = Placed{from.written.layout, to.written.layout, *group->from.order};
  }
  out.spelling = Spelling{from.mesh.mesh, from.written.spelling, to.written.spelling};
  out.spelling->is_counted = !group->from.order && !group->to.order;
  out.spelling->scattered = scattered(from.written, group->from, out.from, "from");
  out.spelling->scattered_to = scattered(to.written, group->to, out.to, "to");
  return out;
}

Problem problem_of(const Mesh& mesh, const DistType& from, const DistType& to) {
  Problem out = Problem::make(layout_of(mesh, from), layout_of(mesh, to)).value();
  out.spelling = Spelling{mesh, to_text(from), to_text(to)};
  return out;
}

std::vector<CutDim> cut_dims(const DistType& type) {
  std::vector<CutDim> out;
  for (const DistDim& dim : type.dims()) {
    CutDim& whole = out.emplace_back();
    whole.tile = dim.tile;
    whole.global = dim.global;
    for (const std::string& axis : dim.axes) whole.parts.push_back({axis});
  }
  return out;
}

/// A type that came as a value, which must belong to the mesh beside it.
/// \param input  its canonical text
WrittenType written(const Mesh& mesh, const DistType& type, const text::Input& input) {
  TypeText text = type_text(type);
  if (auto violation = find_violation(mesh, type.dims())) {
    const Span where = violation->dim ? text.dims[*violation->dim] : Span{0, text.text.size()};
    fail_with(text::Place{.input = &input, .span = where}, std::move(violation->diagnostic));
  }
  return {DistType::make(mesh, type.dims()).value(), std::move(text)};
}

}  // namespace

Result<Problem> make_problem(const Mesh& mesh, const DistType& from, const DistType& to) {
  const std::string source_text = to_text(from);
  const std::string target_text = to_text(to);
  const text::Input source_input{.text = source_text, .source = "from"};
  const text::Input target_input{.text = target_text, .source = "to"};
  return text::result_of([&] {
    const WrittenType source = written(mesh, from, source_input);
    const WrittenType target = written(mesh, to, target_input);
    check(mesh, {source.type.globaltype(), source.text.text, source.text},
          {target.type.globaltype(), target.text.text, target.text}, cut_dims(target.type),
          target_input);
    return problem_of(mesh, source.type, target.type);
  });
}

Size PlacedMesh::devices() const {
  if (!order) return mesh.device_count();
  if (order->chain() != nullptr) return order->size();
  const std::vector<Size> entries = order->entries();
  return 1 + *std::max_element(entries.begin(), entries.end());
}

Result<Problem> parse_problem(const PlacedMesh& mesh, const std::optional<PlacedMesh>& to_mesh,
                              std::string_view from, std::string_view to) {
  const PlacedMesh& mesh_to = to_mesh ? *to_mesh : mesh;
  const Size devices = std::max(mesh.devices(), mesh_to.devices());
  const text::Input from_input{.text = from, .source = std::string(from_source)};
  const text::Input to_input{.text = to, .source = std::string(to_source)};
  auto out = text::result_of([&] {
    WrittenLayout source = paper::read_layout(from_input, mesh.mesh, devices);
    WrittenLayout target = paper::read_layout(to_input, mesh_to.mesh, devices);
    check(mesh_to.mesh, {source.layout.global(), source.text.text, source.text},
          {target.layout.global(), target.text.text, target.text}, target.dims, to_input);
    check_additions(source, target, to_input);
    Problem problem = problem_of({source, mesh, from_input}, {target, mesh_to, to_input}, devices);
    problem.spelling->order = mesh.order_text;
    problem.spelling->order_to = mesh_to.order_text;
    if (to_mesh && to_mesh->mesh != mesh.mesh) problem.spelling->mesh_to = to_mesh->mesh;
    return problem;
  });
  if (out || out.error().code != Code::limit_reached) return out;
  for (const auto& [placed, option] : {std::pair{&mesh, "--order"}, {&mesh_to, "--order-to"}}) {
    if (placed->devices() < devices || placed->mesh.device_count() == devices) continue;
    return refuse(at_largest(std::move(out.error()), *placed, option));
  }
  return out;
}

Result<Problem> parse_problem(std::string_view mesh, std::string_view from, std::string_view to) {
  auto over = parse_mesh(mesh, "--mesh");
  if (!over) return refuse(std::move(over.error()));
  return parse_problem({*std::move(over)}, {}, from, to);
}

}  // namespace retile
