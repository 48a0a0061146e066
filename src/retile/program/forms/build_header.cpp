#include <fmt/format.h>

#include <unordered_set>
#include <utility>

#include "builder.h"
#include "retile/core/layout_facts.h"
#include "retile/core/names.h"
#include "retile/core/problem.h"
#include "tilings.h"

namespace retile::forms {
namespace {

void fail_doubled_line(const Place& place, std::string_view word) {
  fail(place, {.code = Code::bad_program,
               .message = fmt::format("this Program has a {} line already", word),
               .notes = {"a new Program begins with retile.program/1"}});
}

/// Where global shapes differ: a dimension of the draft, or all of it.
Place place_of(const ShapeViolation& violation, const TilingDraft& draft) {
  if (!violation.dim) return draft.place;
  if (draft.is_listed) return number_place(draft.global.place, *violation.dim);
  return draft.dims[*violation.dim].place;
}

}  // namespace

void Builder::set_devices(Size count, const Place& place, std::string_view what) {
  if (count < 1) {
    fail(place, {.code = Code::bad_number, .message = "a Program has at least one device"});
  }
  if (count > max_devices) {
    fail(place, {.code = Code::too_many_devices, .message = "a Program has at most 2^31 devices"});
  }
  if (devices_ && *devices_ != count) {
    fail(place, {.code = Code::bad_program,
                 .message = fmt::format("{} says {} devices, but {} said {}", what, count,
                                        devices_from_, *devices_),
                 .notes = {"mesh, devices and the number of rows of at must agree"}});
  }
  if (!devices_) devices_from_ = what == "this mesh" ? "the mesh above" : what;
  devices_ = count;
}

void Builder::mesh(const std::vector<paper::WrittenAxis>& axes, const Place& place,
                   std::optional<Token<TableDraft>> order) {
  if (++mesh_count_ > 2) {
    fail(place, {.code = Code::bad_program,
                 .message = "a Program has at most two mesh lines",
                 .notes = {"one for from, and one for to if it has a mesh of its own"}});
  }
  axes_.emplace(axes, place);
  if (version_ >= 2) {
    meshes_.push_back({{axes_->mesh().device_count(), place}, std::move(order)});
    return;
  }
  set_devices(axes_->mesh().device_count(), place, "this mesh");
}

void Builder::devices(const Token<Size>& count) {
  if (std::exchange(has_devices_line_, true)) fail_doubled_line(count.place, "devices");
  set_devices(count.value, count.place, "devices");
}

void Builder::devices(const Token<std::vector<Size>>& numbers) {
  if (std::exchange(has_devices_line_, true)) fail_doubled_line(numbers.place, "devices");
  std::unordered_set<Size> seen;
  for (std::size_t k = 0; k < numbers.value.size(); ++k) {
    const Size number = numbers.value[k];
    if (number < max_devices && seen.insert(number).second) continue;
    fail(number_place(numbers.place, k),
         {.code = Code::bad_device,
          .message = number < max_devices ? fmt::format("device {} stands twice", number)
                                          : "a device beyond 2^31"});
  }
  set_devices(static_cast<Size>(numbers.value.size()), numbers.place, "devices");
  numbers_ = numbers;
}

void Builder::from(TilingDraft tiling) {
  if (from_) fail_doubled_line(tiling.place, "from");
  if (axes_) program_.mesh = axes_->mesh();
  from_mesh_ = meshes_.size();
  from_ = std::move(tiling);
}

void Builder::to(TilingDraft tiling) {
  if (to_) fail_doubled_line(tiling.place, "to");
  to_mesh_ = meshes_.size();
  to_ = std::move(tiling);
}

void Builder::view(Token<std::vector<Size>> shape) {
  if (version_ == 1) {
    fail(shape.place,
         {.code = Code::bad_program, .message = "retile.program/1 has no view of the array"});
  }
  if (view_) fail_doubled_line(shape.place, "view");
  view_ = std::move(shape);
}

/// From here on the Program is one of the view.
void Builder::take_view() {
  const auto viewed = [this](const Layout& end) {
    auto out = end.viewed(view_->value);
    if (!out) fail_with(view_->place, std::move(out.error()));
    return *std::move(out);
  };
  program_.array = {std::move(program_.from), std::move(program_.to)};
  program_.from = viewed(program_.array->from);
  program_.to = viewed(program_.array->to);
}

/// A tiling line must be there, and agree about the number of devices.
void Builder::check_tiling_line(const std::optional<TilingDraft>& tiling, std::string_view word) {
  if (!tiling) {
    fail(start_, {.code = Code::bad_program,
                  .message = fmt::format("this Program has no {} line before its steps", word),
                  .notes = {"from says what the devices hold at the start, to what at the end"}});
  }
  if (!tiling->is_listed) return;
  set_devices(static_cast<Size>(tiling->at.value.lengths.size()), tiling->at.place,
              fmt::format("at of {}", word));
}

/// Without a devices line, meshes say how many there are; with one they may have fewer positions.
void Builder::check_positions(const Token<Size>& count) {
  if (!has_devices_line_) {
    set_devices(count.value, count.place, "this mesh");
    return;
  }
  if (count.value <= *devices_) return;
  fail(count.place, {.code = Code::bad_program,
                     .message = fmt::format("this mesh has {} positions for {} devices",
                                            count.value, *devices_)});
}

/// Devices that are listed stand on a mesh as they are listed.
void Builder::check_numbers() const {
  for (const Positions& mesh : meshes_) {
    if (!numbers_ || !mesh.order) continue;
    fail(mesh.order->place, {.code = Code::bad_program,
                             .message = "a mesh of devices that are listed has no order",
                             .notes = {"list them in this order: position p is the p-th of them"}});
  }
}

TilingDraft Builder::called(TilingDraft draft) const {
  if (draft.root && numbers_) {
    draft.root->value = called_->called(draft.root->value, draft.root->place, 0);
  }
  return draft;
}

Ground Builder::ground_of(std::size_t meshes_above) const {
  Ground out{.devices = *devices_, .version = version_, .positions = *devices_};
  if (meshes_above == 0) return out;
  const Positions& mesh = meshes_[meshes_above - 1];
  out.positions = mesh.count.value;
  if (mesh.order) out.order = build_order(*mesh.order, out.positions, out.devices);
  return out;
}

void Builder::finish_header() {
  if (std::exchange(header_done_, true)) return;
  for (const Positions& mesh : meshes_) check_positions(mesh.count);
  check_tiling_line(from_, "from");
  check_tiling_line(to_, "to");
  if (!devices_) {
    fail(start_, {.code = Code::bad_program,
                  .message = "the number of devices is not given",
                  .notes = {"a line `mesh x:4,y:6` or `devices 24` says it"}});
  }
  program_.devices = *devices_;
  check_numbers();
  if (numbers_) program_.numbers = DeviceNumbers(numbers_->value);
  called_.emplace(*devices_, program_.numbers);
  std::vector<Ground> grounds;
  for (std::size_t above = 0; above <= meshes_.size(); ++above) grounds.push_back(ground_of(above));
  ground_ = grounds.back();
  const Ground& from_ground = grounds[from_mesh_];
  program_.from = build_tiling(called(*from_), from_ground);
  program_.to = build_tiling(called(*to_), grounds[to_mesh_]);
  check_global(program_.to, *to_, "to");
  addition_ = addition_of(program_.from);
  check_addition(program_.to, *to_, "to");
  if (view_) take_view();
  addition_ = addition_of(program_.from, program_.to);
  // Whatever mesh is in force at the end names the axes of the claims.
  if (axes_ && axes_->mesh() != program_.mesh) program_.mesh_to = axes_->mesh();
  // A mesh names digits of positions. Where these are no devices, layouts are lists.
  const auto names_devices = [](const Ground& ground) {
    return !ground.order && ground.positions == ground.devices;
  };
  if (!names_devices(from_ground) || !names_devices(ground_)) {
    if (!names_devices(from_ground)) program_.mesh.reset();
    if (!names_devices(ground_)) program_.mesh_to.reset();
    if (!program_.mesh && program_.mesh_to) program_.mesh = std::exchange(program_.mesh_to, {});
  }
  from_.reset();
  to_.reset();
}

void Builder::check_global(const Layout& layout, const TilingDraft& draft,
                           std::string_view what) const {
  auto violation = find_violation("from", program_.from.global(), what, layout.global());
  if (!violation) return;
  violation->diagnostic.notes.emplace_back("all tilings of a Program cut the same array");
  fail_with(place_of(*violation, draft), std::move(violation->diagnostic));
}

void Builder::check_addition(const Layout& layout, const TilingDraft& draft,
                             std::string_view what) const {
  const auto fail_here = [&draft](std::string message, std::string note) {
    fail(draft.place,
         {.code = Code::bad_program, .message = std::move(message), .notes = {std::move(note)}});
  };
  const std::optional<Addition> own = addition_of(layout);
  const Size addends = program_.from.addend_count();
  if ((addition_ == Addition::stack || own == Addition::stack) &&
      layout.addend_count() != addends) {
    fail_here(fmt::format("{} has {} of a stack, from has {}", what,
                          counted(layout.addend_count(), "array"), addends),
              "a stack stays a stack: nothing adds its arrays");
  }
  if (!own || !addition_ || own == addition_) return;
  fail_here(fmt::format("{} is a {}, but another tiling of this Program is a {}", what,
                        name_of(*own), name_of(*addition_)),
            "a Program adds in one way");
}

Program Builder::finish() {
  finish_header();
  return std::move(program_);
}

}  // namespace retile::forms
