#include "retile/emit/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "retile/core/cases.h"
#include "retile/core/digits.h"
#include "retile/core/layout_facts.h"
#include "retile/core/names.h"
#include "retile/notation/paper/notation.h"
#include "retile/program/apply.h"
#include "retile/program/forms/text.h"

namespace retile::emit {
namespace {

std::string at_step(const Traced& traced) {
  return fmt::format("step {} ({})", traced.number, op_name(*traced.step));
}

[[noreturn]] void fail_digits(const Traced& traced) {
  refuse_form(fmt::format("{} moves no digits of the device number", at_step(traced)));
}

std::vector<Digit> digits_of(const Layout& layout, std::size_t dim) {
  return joined(layout.digits()[dim]);
}

std::vector<Digit> addends_of(const Layout& layout) { return joined(addend_digits(layout)); }

/// Takes n off the minor end of `list`.
std::vector<Digit> taken(const Traced& traced, std::vector<Digit> list, Size n) {
  auto out = take_minor(list, n);
  if (!out) fail_digits(traced);
  return *std::move(out);
}

/// What `whole` has and `part` has not; both as sets of places in the device number.
std::vector<Digit> without(const Traced& traced, const std::vector<Digit>& whole,
                           const std::vector<Digit>& part) {
  std::vector<Size> bounds;
  for (const auto* list : {&whole, &part}) {
    for (const Digit& digit : *list) {
      bounds.push_back(digit.stride);
      bounds.push_back(digit.stride * digit.size);
    }
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  const auto has = [](const std::vector<Digit>& list, Size stride) {
    return std::any_of(list.begin(), list.end(), [&](const Digit& digit) {
      return digit.stride <= stride && stride < digit.stride * digit.size;
    });
  };
  std::vector<Digit> out;
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k) {
    if (bounds[k + 1] % bounds[k] != 0) fail_digits(traced);
    if (!has(whole, bounds[k]) || has(part, bounds[k])) continue;
    out.push_back({bounds[k], bounds[k + 1] / bounds[k]});
  }
  return joined(out);
}

/// Whether every device keeps the piece that these digits say.
void check_slice(const Traced& traced, const Dynslice& op) {
  const Size devices = traced.before.devices();
  for (Size device = 0; device < devices; ++device) {
    Size want = 0;
    Size reach = 1;
    for (const Digit& digit : traced.digits) {
      want += device / digit.stride % digit.size * reach;
      reach *= digit.size;
    }
    if (piece_of(op.pieces, device) != want) {
      refuse_form(fmt::format("{} slices by no axes", at_step(traced)),
                  {"it mixes who holds which addend; `lower` without --as prints it"});
    }
  }
}

std::vector<Digit> moved_digits(const Traced& traced) {
  const Layout& before = traced.before;
  const Layout& after = traced.after;
  const OpFacts facts = facts_of(traced.step->op);
  if (facts.transfers != nullptr) {
    refuse_form(fmt::format("{} is no collective", at_step(traced)),
                {"--collectives plans without an exchange"});
  }
  if (facts.counts != nullptr) refuse_over_dims(*traced.step, "collectives over axes");
  if (facts.sources != nullptr) return {};
  const Size n = group_size(facts);
  if (!facts.joins.empty()) return taken(traced, digits_of(before, facts.joins.front()), n);
  if (!facts.cuts.empty()) return taken(traced, digits_of(after, facts.cuts.front()), n);
  return facts.spreads() ? without(traced, addends_of(after), addends_of(before))
                         : without(traced, addends_of(before), addends_of(after));
}

/// The layout that a step claims, or the end after the last one.
Layout claimed(const Program& program, std::size_t k, bool by_digits) {
  const Claims& claims = program.steps[k].claims;
  Layout out = k + 1 == program.steps.size() ? program.to : claims.map.value_or(Layout());
  if (k + 1 == program.steps.size() && claims.map && !program.to.is_compact()) out = *claims.map;
  if (by_digits && (!out.is_compact() || out.rank() != program.from.rank())) {
    refuse_form(fmt::format("no axes say what is held after step {} ({})", k + 1,
                            op_name(program.steps[k])));
  }
  return out;
}

}  // namespace

void refuse_form(std::string message, std::vector<std::string> notes, Code code) {
  throw Unsayable{{.code = code, .message = std::move(message), .notes = std::move(notes)}};
}

void refuse_over_dims(const Step& step, std::string_view form) {
  refuse_form(fmt::format("{} is not written as {} yet", op_name(step), form),
              {"steps along one dimension each are"});
}

std::vector<std::vector<Size>> rows_of(const DeviceTable& table) { return table.to_rows(); }

std::vector<Size> slice_starts(const Program& program, const Dynslice& op, const Shape& after) {
  std::vector<Size> out;
  for (Size d = 0; d < program.devices; ++d) {
    out.push_back(piece_of(op.pieces, d) * after[op.dim]);
    if (out.back() > INT32_MAX) refuse_form("an offset of 2^31 or more", {}, Code::limit_reached);
  }
  return out;
}

std::vector<Size> places_in(const DeviceTable& groups, Size devices) {
  std::vector<Size> out(static_cast<std::size_t>(devices), 0);
  for (const auto& row : rows_of(groups)) {
    for (std::size_t place = 0; place < row.size(); ++place) {
      out[static_cast<std::size_t>(row[place])] = static_cast<Size>(place);
    }
  }
  return out;
}

std::string tensor(const Shape& shape, std::string_view element) {
  std::string out = "tensor<";
  for (const Size extent : shape) out += fmt::format("{}x", extent);
  return fmt::format("{}{}>", out, element);
}

std::vector<Digit> factors_of(Size devices, const std::vector<Digit>& digits) {
  auto out = common_factors(devices, digits);
  if (!out) refuse_form("no mesh of whole axes has all these tiles");
  return *std::move(out);
}

void check_listable(const Program& program, std::string_view form) {
  if (program.devices <= most_listed_devices) return;
  refuse_form(fmt::format("{} lists devices one by one, and there are {}", form, program.devices),
              {}, Code::limit_reached);
}

std::vector<Traced> trace(const Program& program, bool by_digits) {
  if (by_digits && !program.from.is_compact()) refuse_form("no axes say what is held at the start");
  std::vector<Traced> out;
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    Traced traced{.step = &program.steps[k],
                  .number = k + 1,
                  .before = k == 0 ? program.from : out.back().after,
                  .after = claimed(program, k, by_digits)};
    if (by_digits) {
      traced.digits = moved_digits(traced);
      if (const auto* slice = std::get_if<Dynslice>(&traced.step->op)) check_slice(traced, *slice);
    }
    out.push_back(std::move(traced));
  }
  return out;
}

std::vector<Shape> even_tiles(const Program& program, std::string_view form,
                              std::vector<std::string> notes) {
  if (!traits_of(program).alike) {
    refuse_form(fmt::format("tiles that are not all alike are not written as {} yet", form),
                std::move(notes));
  }
  std::vector<Shape> out = {program.from.tile()};
  for (const Step& step : program.steps) {
    auto shape = shape_after(step, out.back(), program.devices);
    if (!shape) {
      refuse_form(fmt::format("step {} ({}) cannot be applied", out.size(), op_name(step)));
    }
    out.push_back(*std::move(shape));
  }
  return out;
}

std::string devices_text(const DeviceNumbers& numbers, std::string_view mark) {
  if (!numbers.are_listed()) return "";
  return fmt::format("{}devices {}, counted as they are listed\n", mark, numbers.text());
}

std::string ends_text(const Program& program, std::string_view mark) {
  const Mesh* mesh = program.mesh ? &*program.mesh : nullptr;
  const Mesh* mesh_to = program.mesh_to ? &*program.mesh_to : mesh;
  std::string out = devices_text(program.numbers, mark);
  if (mesh != nullptr) out += fmt::format("{}mesh {}\n", mark, to_text(*mesh));
  if (program.mesh_to) out += fmt::format("{}mesh at the end {}\n", mark, to_text(*mesh_to));
  const auto add = [&](std::string_view word, const Layout& end, const Layout& of_array,
                       const Mesh* names) {
    out += fmt::format("{}{} {}", mark, word, tiling_to_text(end, names));
    if (program.array) out += fmt::format(", a view of {}", tiling_to_text(of_array, names));
    out += '\n';
  };
  add("from", program.from, program.array_from(), mesh);
  add("to", program.to, program.array_to(), mesh_to);
  return out;
}

}  // namespace retile::emit
