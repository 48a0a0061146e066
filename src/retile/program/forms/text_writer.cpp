// The text form, out. The reader is text_reader.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "numbered.h"
#include "retile/notation/paper/notation.h"
#include "retile/program/forms/text.h"

namespace retile {
namespace {

void append(std::string& out, Size number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}

template <typename Iterator>
void append_list(std::string& out, Iterator begin, Iterator end) {
  out += '[';
  for (Iterator i = begin; i != end; ++i) {
    if (i != begin) out += ',';
    append(out, *i);
  }
  out += ']';
}

void append_list(std::string& out, const std::vector<Size>& list) {
  append_list(out, list.begin(), list.end());
}

void append_offsets(std::string& out, const std::vector<Size>& at, std::size_t rank, Size devices) {
  out += '[';
  auto row = at.begin();
  for (Size d = 0; d < devices; ++d) {
    if (d > 0) out += ',';
    const auto end = row + static_cast<std::ptrdiff_t>(rank);
    append_list(out, row, end);
    row = end;
  }
  out += ']';
}

void append_chain(std::string& out, const IotaChain& chain) {
  const auto& stages = chain.stages();
  if (stages.empty()) {
    out += "<=";
    append_list(out, Shape{chain.size()});
  }
  for (std::size_t s = stages.size(); s-- > 0;) {
    out += "<=";
    append_list(out, stages[s].shape);
    if (stages[s].transpose.empty()) continue;
    out += "T(";
    for (std::size_t k = 0; k < stages[s].transpose.size(); ++k) {
      if (k > 0) out += ',';
      append(out, static_cast<Size>(stages[s].transpose[k]));
    }
    out += ')';
  }
}

/// What the text of a Program says about its places that a single step cannot know.
struct Context {
  const Mesh* mesh = nullptr;
  std::size_t rank = 0;
  Size devices = 0;
  bool exchange = false;  ///< the step says the shapes of its tiles before all else
};

void append_shapes(std::string& out, const std::vector<Size>& shapes, const Context& context) {
  out += " shapes=";
  append_offsets(out, shapes, context.rank, context.devices);
}

void append_claims(std::string& out, const Claims& claims, const Context& context) {
  if (claims.tile) {
    out += " tile=";
    append_list(out, *claims.tile);
  }
  if (claims.shapes && context.exchange) append_shapes(out, *claims.shapes, context);
  const bool digits = claims.map && claims.map->is_compact();
  if (digits) out += " map=" + to_text(*claims.map, context.mesh);
  if (claims.at) {
    out += " at=";
    append_offsets(out, *claims.at, context.rank, context.devices);
  } else if (claims.map &&
             !digits) {  // the form says in digits what digits can say, the rest by offsets
    out += " at=";
    append_offsets(out, claims.map->base_offsets(), claims.map->rank(), claims.map->devices());
    if (const auto extents = claims.map->extents()) append_shapes(out, *extents, context);
  }
  if (claims.shapes && !context.exchange) append_shapes(out, *claims.shapes, context);
}

class TextSink final : public KeySink {
 public:
  explicit TextSink(std::string& out) : out_(out) {}

  void number(std::string_view key, Size value) override { begin(key) += fmt::to_string(value); }
  void piece(std::string_view key, PieceSize value) override {
    begin(key) += value.is_balanced() ? std::string(balanced_word) : fmt::to_string(value.extent());
  }
  void groups(std::string_view key, const DeviceTable& table) override {
    begin(key) += groups_to_text(table);
  }
  void list(std::string_view key, const DeviceTable& table) override {
    begin(key) += list_to_text(table);
  }
  void rows(std::string_view key, std::size_t count,
            const std::function<std::vector<Size>(std::size_t)>& row) override {
    begin(key) += '[';
    for (std::size_t r = 0; r < count; ++r) {
      if (r > 0) out_ += ',';
      append_list(out_, row(r));
    }
    out_ += ']';
  }
  void ints(std::string_view key, const std::vector<Size>& values) override {
    append_list(begin(key), values);
  }
  void addition(std::string_view key, Addition value) override { begin(key) += name_of(value); }

 private:
  std::string& begin(std::string_view key) { return out_ += fmt::format(" {}=", key); }

  std::string& out_;
};

void append_op(std::string& out, const Step& step, const DeviceNumbers& numbers) {
  out += op_name(step);
  TextSink sink(out);
  forms::write_keys(step.op, numbers, sink);
}

void append_tiling(std::string& out, const Layout& map, const Mesh* mesh) {
  if (map.is_compact()) {
    out += to_text(map, mesh);
    return;
  }
  out += "tile=";
  append_list(out, map.tile());
  out += " global=";
  append_list(out, map.global());
  out += " at=";
  append_offsets(out, map.base_offsets(), map.rank(), map.devices());
  const auto extents = map.extents();
  if (!extents) return;
  out += " shapes=";
  append_offsets(out, *extents, map.rank(), map.devices());
}

}  // namespace

std::string groups_to_text(const DeviceTable& table) {
  std::string out;
  if (const IotaChain* chain = table.chain()) {
    append_list(out, Shape{table.row_count(), table.columns()});
    append_chain(out, *chain);
    return out;
  }
  out += '[';
  bool first = true;
  for (const auto& row : table.to_rows()) {
    if (!std::exchange(first, false)) out += ',';
    append_list(out, row);
  }
  out += ']';
  return out;
}

std::string list_to_text(const DeviceTable& table) {
  std::string out;
  if (const IotaChain* chain = table.chain()) {
    append_list(out, Shape{table.size()});
    append_chain(out, *chain);
    return out;
  }
  append_list(out, table.entries());
  return out;
}

std::string tiling_to_text(const Layout& map, const Mesh* mesh) {
  std::string out;
  append_tiling(out, map, mesh);
  return out;
}

std::string to_text(const Step& step, const Mesh* mesh) {
  std::string out;
  append_op(out, step, {});
  // The rows of `at` are as long as the array has dimensions, which only the other claims can tell
  // here.
  Context context{.mesh = mesh, .exchange = is_exchange(step)};
  if (step.claims.at) {
    if (step.claims.map) {
      context.rank = step.claims.map->rank();
    } else if (step.claims.tile) {
      context.rank = step.claims.tile->size();
    } else {
      context.rank = 1;
    }
    const Size rank = static_cast<Size>(std::max<std::size_t>(context.rank, 1));
    context.devices = static_cast<Size>(step.claims.at->size()) / rank;
  }
  append_claims(out, step.claims, context);
  return out;
}

std::string certificate_text(const Program& program, std::string_view lines) {
  return fmt::format("{}{}end\n", to_text(program), lines);
}

std::string schema_of(const Program& program) {
  return fmt::format("retile.program/{}", traits_of(program).version);
}

std::string to_text(const Program& program) {
  std::string out = schema_of(program) + "\n";
  const Mesh* mesh = program.mesh ? &*program.mesh : nullptr;
  if (program.numbers.are_listed()) {
    out += fmt::format("devices {}\n", program.numbers.text());
  } else if (mesh == nullptr) {
    out += fmt::format("devices {}\n", program.devices);
  }
  if (mesh != nullptr) out += "mesh " + to_text(*mesh) + "\n";
  out += "from ";
  append_tiling(out, program.array_from(), mesh);
  if (program.mesh_to) {
    mesh = &*program.mesh_to;
    out += "\nmesh " + to_text(*mesh);
  }
  out += "\nto ";
  append_tiling(out, program.array_to(), mesh);
  out += '\n';
  if (program.array) {
    out += "view ";
    append_list(out, program.from.global());
    out += '\n';
  }
  Context context{.mesh = mesh, .rank = program.to.rank(), .devices = program.devices};
  for (const Step& step : program.steps) {
    context.exchange = is_exchange(step);
    append_op(out, step, program.numbers);
    append_claims(out, step.claims, context);
    out += '\n';
  }
  return out;
}

}  // namespace retile
