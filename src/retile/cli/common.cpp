#include "retile/cli/common.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "retile/cli/caller.h"
#include "retile/cli/limits.h"
#include "retile/cli/open_file.h"
#include "retile/cli/verb.h"
#include "retile/core/atomic_file.h"
#include "retile/core/codes.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/notation/sharding.h"
#include "retile/program/forms/text.h"

namespace retile::cli {
namespace {

constexpr Size longest_text_bytes = Size{1} << 29;

/// What some editors write before a text, and in which encoding it then is.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> byte_order_marks = {
    {{"\xEF\xBB\xBF", "UTF-8"}, {"\xFF\xFE", "UTF-16"}, {"\xFE\xFF", "UTF-16"}}};

/// The digits at the start of `text`, or nothing when there are none or the number does not fit.
std::optional<Size> leading_number(std::string_view text, std::size_t& length) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  Size value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  length = static_cast<std::size_t>(end - text.data());
  return value;
}

/// The text of a file, which must not begin with a mark.
/// \error bad_file
Result<std::string> without_mark(std::string text, std::string_view path, std::string_view source) {
  for (const auto& [mark, name] : byte_order_marks) {
    if (!text.starts_with(mark)) continue;
    return refuse(about_argument(Code::bad_file, source, path,
                                 fmt::format("it begins with a byte order mark, that of {}", name),
                                 {"a text is UTF-8 without such a mark"}));
  }
  return text;
}

}  // namespace

Exit exit_of(std::optional<bool> right, bool is_over) {
  if (!right) return Exit::undecided;
  return *right && !is_over ? Exit::yes : Exit::no;
}

Exit exit_of(const Diagnostic& diagnostic) {
  return static_cast<Exit>(code_row(diagnostic.code).exit_code);
}

Outcome failed(Diagnostic diagnostic) {
  const Exit exit = exit_of(diagnostic);
  return failed(exit, std::move(diagnostic));
}

Outcome failed(Exit exit, Diagnostic diagnostic) {
  Outcome outcome;
  outcome.exit = exit;
  outcome.problems.push_back(std::move(diagnostic));
  return outcome;
}

Diagnostic about_argument(Code code, std::string_view source, std::string_view text,
                          std::string message, std::vector<std::string> notes) {
  return {.code = code,
          .message = std::move(message),
          .source = std::string(source),
          .input = std::string(text),
          .where = {0, text.size()},
          .notes = std::move(notes)};
}

namespace {

/// The name of a type of torch, `float32` or `torch.float32`, by those of HLO; other names stay.
std::string_view without_torch(std::string_view text) {
  constexpr std::array<std::array<std::string_view, 2>, 21> names = {
      {{"float32", "f32"},
       {"float", "f32"},
       {"float64", "f64"},
       {"double", "f64"},
       {"float16", "f16"},
       {"half", "f16"},
       {"bfloat16", "bf16"},
       {"int8", "i8"},
       {"int16", "i16"},
       {"int32", "i32"},
       {"int64", "i64"},
       {"uint8", "u8"},
       {"uint16", "u16"},
       {"uint32", "u32"},
       {"uint64", "u64"},
       {"complex64", "c64"},
       {"complex128", "c128"},
       {"bool", "pred"},
       {"float8_e4m3fn", "f8e4m3fn"},
       {"float8_e5m2", "f8e5m2"},
       {"float8_e8m0fnu", "f8e8m0fnu"}}};
  if (text.starts_with("torch.")) text.remove_prefix(std::string_view("torch.").size());
  for (const auto& [torch, name] : names) {
    if (text == torch) return name;
  }
  return text;
}

}  // namespace

Result<ElementType> parse_element_type(std::string_view text, std::string_view source) {
  std::vector<std::string_view> names;
  for (const NamedElementType& named : named_element_types()) names.push_back(named.name);
  const std::string_view name = without_torch(text);
  const bool is_known = std::find(names.begin(), names.end(), name) != names.end();
  return parse_choice(is_known ? name : text, source, names).map([](std::size_t index) {
    return named_element_types()[index].type;
  });
}

Result<operations::ElementKind> parse_element_name(std::string_view text, std::string_view source) {
  auto kind = operations::element_kind(without_torch(text));
  if (kind.form != operations::ElementKind::Form::other) return kind;
  auto known = parse_element_type(text, source);
  known.error().notes.emplace_back(
      "names of HLO and MLIR are read, too: s32, pred, f8e4m3fn, complex<f32>");
  return refuse(std::move(known.error()));
}

Result<Size> parse_element_bytes(std::string_view text, std::string_view source) {
  using Form = operations::ElementKind::Form;
  const auto kind = operations::element_kind(without_torch(text));
  if (kind.form == Form::other) {
    const auto type = parse_element_type(text, source);
    return type ? Result<Size>(type->bytes) : refuse(type.error());
  }
  if (kind.form == Form::truth || kind.bits % 8 == 0) return kind.bytes();
  return refuse(about_argument(Code::unsupported, source, text,
                               "elements of fewer than 8 bits, of which several share a byte"));
}

void add_answer(Outcome& outcome, bool as_json, const std::function<std::string()>& json,
                const std::function<std::string()>& text) {
  outcome.out += as_json ? json() : text();
  if (as_json && caller() != nullptr) outcome.texts.push_back(text());
}

Result<Size> parse_bytes(std::string_view text, std::string_view source) {
  constexpr std::array<std::pair<std::string_view, Size>, 10> units = {{{"", 1},
                                                                        {"B", 1},
                                                                        {"KiB", Size{1} << 10},
                                                                        {"MiB", Size{1} << 20},
                                                                        {"GiB", Size{1} << 30},
                                                                        {"TiB", Size{1} << 40},
                                                                        {"kB", 1'000},
                                                                        {"MB", 1'000'000},
                                                                        {"GB", 1'000'000'000},
                                                                        {"TB", 1'000'000'000'000}}};
  std::size_t length = 0;
  const std::optional<Size> number = leading_number(text, length);
  if (number) {
    for (const auto& [unit, unit_bytes] : units) {
      if (text.substr(length) != unit) continue;
      if (const auto bytes = checked_mul(*number, unit_bytes)) return *bytes;
    }
  }
  return refuse(about_argument(Code::bad_argument, source, text, "not a number of bytes below 2^63",
                               {"write 1000000 or 512KiB; the units are KiB, MiB, GiB and TiB, and "
                                "kB, MB, GB and TB of 1000"}));
}

Result<Size> parse_count(std::string_view text, std::string_view source, Size least, Size most,
                         std::string_view unit) {
  std::size_t length = 0;
  const std::optional<Size> number = leading_number(text, length);
  if (!number || length != text.size() || *number < least || *number > most) {
    return refuse(
        about_argument(Code::bad_argument, source, text,
                       fmt::format("not a whole number{} from {} to {}", unit, least, most)));
  }
  return *number;
}

Result<Size> parse_timeout(std::string_view text, std::string_view source) {
  constexpr Size most_seconds = 1'000'000;
  return parse_count(text, source, 1, most_seconds, " of seconds");
}

Result<std::size_t> parse_choice(std::string_view text, std::string_view source,
                                 const std::vector<std::string_view>& choices) {
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found == choices.end()) {
    return refuse(about_argument(Code::bad_argument, source, text, "not a value of this option",
                                 {fmt::format("the values are {}", fmt::join(choices, ", "))}));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

Result<std::string> read_text(const std::string& path, std::string_view source) {
  const auto refused = [&](Code code, std::string message) {
    return refuse(about_argument(code, source, path, std::move(message)));
  };
  if (const std::string* const text = text_of_caller(path))
    return without_mark(*text, path, source);
  OpenFile opened;
  std::FILE* file = stdin;
  std::optional<WaitForInput> wait;
  if (path == "-") wait.emplace();
  if (path != "-") {
    // A directory opens without complaint and fails only when it is read.
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
      return refused(Code::file_error, fmt::format("cannot open: {}", std::strerror(errno)));
    }
    if (S_ISDIR(status.st_mode)) {
      return refused(Code::file_error, "a directory, where a file is needed");
    }
    opened.reset(std::fopen(path.c_str(), "rb"));
    if (!opened) {
      return refused(Code::file_error, fmt::format("cannot open: {}", std::strerror(errno)));
    }
    file = opened.get();
  }
  // Piece by piece, as a text that grows would be there twice whenever it is copied.
  std::size_t piece_bytes = std::size_t{1} << 16;
  constexpr std::size_t longest_piece_bytes = std::size_t{1} << 20;
  std::vector<std::string> pieces;
  Size bytes = 0;
  while (true) {
    std::string& piece = pieces.emplace_back(piece_bytes, '\0');
    piece.resize(std::fread(piece.data(), 1, piece_bytes, file));
    bytes += static_cast<Size>(piece.size());
    if (bytes > longest_text_bytes) {
      return refused(Code::bad_file, "longer than 512 MiB, which no Program needs to be");
    }
    if (piece.size() < piece_bytes) break;
    piece_bytes = std::min(2 * piece_bytes, longest_piece_bytes);
  }
  if (std::ferror(file) != 0) {
    return refused(Code::file_error, fmt::format("cannot read: {}", std::strerror(errno)));
  }
  std::string text;
  text.reserve(static_cast<std::size_t>(bytes));
  for (std::string& piece : pieces) text += std::exchange(piece, {});
  return without_mark(std::move(text), path, source);
}

namespace {

Result<PlacedMesh> read_mesh(const std::string& text, std::string_view source) {
  if (text.find_first_not_of(" \t") == std::string::npos) {
    return refuse(about_argument(Code::empty_mesh, source, "''", "a mesh has at least one axis",
                                 {"one device is x:1"}));
  }
  return parse_any_mesh(text, source);
}

Result<void> read_order(PlacedMesh& mesh, const std::optional<std::string>& text,
                        std::string_view source) {
  if (!text) return {};
  if (mesh.order) {
    return refuse(about_argument(Code::bad_argument, source, *text,
                                 "the mesh says itself which device stands where"));
  }
  auto order = parse_order(*text, mesh.mesh.device_count(), source);
  if (!order) return refuse(std::move(order.error()));
  mesh.order_text = *text;
  if (text->find("..") != std::string::npos) {  // which no Program says
    mesh.order_text = fmt::format("[{}]", fmt::join(order->entries(), ","));
  }
  if (const IotaChain* chain = order->chain()) {  // which may be too long to be listed
    if (!chain->simplified().stages().empty()) mesh.order = *std::move(order);
    return {};
  }
  const std::vector<Size> devices = order->entries();
  if (!std::is_sorted(devices.begin(), devices.end()) ||
      devices.back() >= static_cast<Size>(devices.size())) {
    mesh.order = *std::move(order);
  }
  return {};
}

}  // namespace

Result<std::optional<PlacedMesh>> read_placed(const std::optional<std::string>& mesh,
                                              std::string_view mesh_source,
                                              const std::optional<std::string>& order,
                                              std::string_view order_source) {
  if (!mesh) {
    if (!order) return std::optional<PlacedMesh>();
    return refuse(
        about_argument(Code::bad_argument, order_source, *order,
                       fmt::format("an order is of a mesh, and there is no {}", mesh_source)));
  }
  auto out = read_mesh(*mesh, mesh_source);
  if (!out) return refuse(std::move(out.error()));
  if (auto read = read_order(*out, order, order_source); !read) return refuse(read.error());
  return std::optional(*std::move(out));
}

Result<Problem> ProblemArguments::read(bool may_divide) const {
  auto at_start = read_placed(mesh, "--mesh", order, "--order");
  if (!at_start) return refuse(std::move(at_start.error()));
  for (const auto& [text, source] : {std::pair(&from, "FROM"), std::pair(&to, "TO")}) {
    if ((*text)->find_first_not_of(" \t") == std::string::npos) {
      return refuse(about_argument(Code::syntax, source, "''", "a type is missing",
                                   {"a type is written [3{x}12, 2{y}12]; one element is []"}));
    }
  }
  ProblemText text{.mesh = *at_start, .mesh_to = {}, .shape = {}, .from = *from, .to = *to};
  if (mesh_to || order_to) {
    const auto& over = mesh_to ? mesh_to : mesh;
    auto at_end = read_placed(over, "--mesh-to", order_to, "--order-to");
    if (!at_end) return refuse(std::move(at_end.error()));
    text.mesh_to = *std::move(at_end);
  }
  if (shape) {
    auto read = parse_shape(*shape, "--shape");
    if (!read) return refuse(std::move(read.error()));
    text.shape = *std::move(read);
  }
  auto out = parse_problem(text);
  if (!out || may_divide || out->divisor == 1) return out;
  return refuse(about_argument(Code::unsupported, "FROM", *from,
                               "the addends of an average are divided, and steps of a Program "
                               "divide nothing",
                               {"with Partial(sum) the steps are the same"}));
}

Result<PlanOptions> PlanningArguments::read() const {
  PlanOptions options{.collectives = collectives};
  options.steps = one_dim ? Scope::one_dim : Scope::several_dims;
  if (cost) {
    const auto choice = parse_choice(*cost, "--cost", {"paper", "bytes"});
    if (!choice) return refuse(choice.error());
    options.cost_model = *choice == 0 ? CostModel::paper : CostModel::bytes;
  }
  if (dtype) {
    const auto bytes = parse_element_bytes(*dtype, "--dtype");
    if (!bytes) return refuse(bytes.error());
    options.element_bytes = *bytes;
  }
  if (memory_limit) {
    const auto limit = parse_bytes(*memory_limit, "--memory-limit");
    if (!limit) return refuse(limit.error());
    options.memory_limit_bytes = *limit;
  }
  return options;
}

Result<Sharding> ShardingArguments::read(bool by_position) const {
  ShardingContext context;
  auto placed = read_placed(mesh, "--mesh", order, "--order");
  if (!placed) return refuse(std::move(placed.error()));
  context.mesh = *std::move(placed);
  context.by_position = by_position;
  if (shape) {
    auto read = parse_shape(*shape, "--shape");
    if (!read) return refuse(std::move(read.error()));
    context.shape = *std::move(read);
  }
  return parse_sharding(*from, context, "FROM");
}

void ProblemArguments::add_options(OptionList& options) {
  add_mesh_options(options);
  options.text("FROM", from, "type at the start, such as '[3{x}12, 2{y}12]'", "TYPE");
  options.text("TO", to, "type at the end", "TYPE");
}

void ProblemArguments::add_mesh_options(OptionList& options) {
  options.text("--mesh", mesh, "axes of the mesh, such as x:4,y:6", "MESH");
  options.text("--order", order,
               "the device at each position of the mesh, such as [3,1,0,2] or [4]<=[2,2]T(1,0)",
               "ORDER");
  options.text("--mesh-to", mesh_to, "the mesh at the end, if it is another one", "MESH");
  options.text("--order-to", order_to,
               "the order at the end; without --mesh-to it is that of --order, if absent", "ORDER");
  options.text("--shape", shape, "the global shape, such as 16,8, where a notation does not say it",
               "SHAPE");
}

std::optional<Complaint> ProblemArguments::missing() const {
  const bool foreign = from && to && (is_foreign_sharding(*from) || is_foreign_sharding(*to));
  if (!mesh && !foreign) return Complaint{"--mesh is missing"};
  if (!from) return Complaint{"FROM is missing"};
  if (!to) return Complaint{"TO is missing"};
  return std::nullopt;
}

Result<void> not_empty(std::string_view option, const std::optional<std::string>& name,
                       std::string_view what) {
  if (!name || !name->empty()) return {};
  return refuse(
      about_argument(Code::bad_argument, option, "''", fmt::format("an empty {} name", what)));
}

std::optional<Outcome> write_named(std::string_view option, const std::string& path,
                                   std::string_view text) {
  if (write_file(path, text)) return std::nullopt;
  return failed(Exit::environment,
                about_argument(Code::file_error, option, path, "the file cannot be written"));
}

}  // namespace retile::cli
