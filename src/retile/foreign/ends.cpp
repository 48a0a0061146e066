#include "retile/foreign/ends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "retile/core/device_numbers.h"
#include "retile/core/digits.h"
#include "retile/core/names.h"
#include "retile/foreign/before.h"
#include "retile/foreign/compare.h"
#include "retile/foreign/typing.h"
#include "retile/notation/axes.h"
#include "retile/notation/sharding.h"

namespace retile::foreign {
namespace {

using text::fail;

/// The parts of a text between semicolons.
std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t end = text.find(';');
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

/// Whether a mesh's text lists its devices, which are not kept where they are in order.
bool lists_devices(std::string_view text) {
  if (text.find("device_ids") != std::string_view::npos) return true;
  for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
    const std::size_t next = text.find_first_not_of(" \n", at + 1);
    if (next != std::string_view::npos && text[next] >= '0' && text[next] <= '9') return true;
  }
  return false;
}

std::string shape_text(const Shape& shape) { return fmt::format("{}", fmt::join(shape, ",")); }

/// One end on its way to a layout.
struct End {
  std::string text;
  std::string source;                 ///< `--from`, or empty: the file
  FilePlace place;                    ///< in the file
  std::optional<Layout> layout = {};  ///< that the file's reader made
  std::optional<Sharding> sharding = {};
};

class Finder {
 public:
  Finder(const Function& function, const EndOptions& options, const text::Input& input)
      : function_(function), options_(options), input_(input) {}

  Ends find() {
    check_form();
    choose_options();
    take_ranks();
    check_rank();
    out_.notes = function_.notes;
    if (ranks_ != in_order()) out_.ranks = ranks_;
    End from = end_of("--from", options_.from, function_.from, "start");
    End to = end_of("--to", options_.to, function_.to, "end");
    brought_ = brought_mesh(from, to);
    const Shape global = shape(from, to);
    out_.from = layout(from, global);
    out_.to = layout(to, global);
    out_.from_text = std::move(from.text);
    out_.to_text = std::move(to.text);
    out_.from_sharding = std::move(from.sharding);
    out_.to_sharding = std::move(to.sharding);
    if (out_.from.global() != out_.to.global()) {
      refuse_function(
          Code::globaltype_mismatch,
          fmt::format("the start is of an array {}, the end of one {}",
                      shape_text(out_.from.global()), shape_text(out_.to.global())),
          {"a result of another shape is no reshard: check judges moves of one array, whose result "
           "is its argument (docs/reference/foreign.md)"});
    }
    compare_with_file(function_.from, out_.from, "--from");
    compare_with_file(function_.to, out_.to, "--to");
    if (const auto why = add_otherwise()) refuse_function(Code::infeasible, *why);
    check_tiles();
    if (options_.mesh) {
      out_.mesh = options_.mesh->order ? std::nullopt : std::optional(options_.mesh->mesh);
    } else {
      out_.mesh = function_.mesh;
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse_function(Code code, std::string message,
                                    std::vector<std::string> notes = {}) const {
    fail(place_in(input_, function_.place),
         {.code = code, .message = std::move(message), .notes = std::move(notes)});
  }
  [[noreturn]] void refuse_value(ValueId value, Code code, std::string message,
                                 std::vector<std::string> notes = {}) const {
    fail(place_in(input_, function_.values[value].place),
         {.code = code, .message = std::move(message), .notes = std::move(notes)});
  }
  void check_form() const {
    if (function_.parameters.size() == 1 && function_.results.size() == 1) return;
    refuse_function(
        Code::unsupported,
        fmt::format("result {} is made of {}: what is judged are moves of one array",
                    function_.array, counted(function_.parameters.size(), "parameter")));
  }
  /// Of options for several arrays those of this one.
  void choose_options() {
    options_.from = piece_of(options_.from, "--from");
    options_.to = piece_of(options_.to, "--to");
    if (options_.shapes.empty()) return;
    check_count(options_.shapes.size(), "--shape");
    options_.shape = options_.shapes[function_.array];
  }
  [[nodiscard]] std::optional<std::string> piece_of(const std::optional<std::string>& text,
                                                    std::string_view option) const {
    if (!text) return text;
    const std::vector<std::string> all = pieces_of(*text);
    if (all.size() == 1) return text;
    check_count(all.size(), option);
    return all[function_.array];
  }
  void check_count(std::size_t count, std::string_view option) const {
    if (count == function_.arrays) return;
    refuse_function(Code::bad_argument,
                    fmt::format("{} says {}, but this function moves {}", option,
                                counted(count, "array"), counted(function_.arrays, "array")));
  }
  /// A mesh of options that lists ranks must be that of the trace, whose devices are positions on it:
  /// its ranks are in order already, and are not put in order twice.
  void take_ranks() {
    if (ranks_.empty() || !options_.mesh || !options_.mesh->order_text) return;
    PlacedMesh& mesh = *options_.mesh;
    if (mesh.mesh.device_count() != function_.devices) return;  // its ends are refused
    const std::vector<Size> listed = mesh.order ? mesh.order->entries() : in_order();
    if (listed != ranks_) {
      refuse_function(Code::bad_argument,
                      fmt::format("--mesh lists the ranks {}, but the trace is of {}",
                                  list_text(listed), list_text(ranks_)),
                      {"leave --mesh out, or record the trace over that mesh"});
    }
    mesh = {.mesh = mesh.mesh};
  }
  /// Who numbers devices means ranks, and devices of a trace are positions on its mesh.
  void check_ranks(const End& end) const {
    if (end.source.empty() || ranks_ == in_order() || !numbers_devices(end)) return;
    refuse_end(
        end, Code::unsupported,
        fmt::format("this numbers devices, and the trace is of the ranks {}", list_text(ranks_)),
        {"placements, and types over the axes of the mesh, number none"});
  }
  /// Whether an end says by number which device holds what.
  [[nodiscard]] static bool numbers_devices(const End& end) {
    if (!end.sharding) return false;
    const Sharding& sharding = *end.sharding;
    if (sharding.only_device) return true;
    const bool is_whole = std::all_of(sharding.dims.begin(), sharding.dims.end(),
                                      [](const CutDim& dim) { return dim.parts.empty(); });
    if (is_whole && sharding.addends.empty()) return false;
    return sharding.mesh.order || end.text.find("device_ids") != std::string::npos ||
           end.text.find("devices=") != std::string::npos;
  }
  /// The ranks, were they the first ones.
  [[nodiscard]] std::vector<Size> in_order() const {
    return from_zero(static_cast<Size>(ranks_.size()));
  }
  [[nodiscard]] static std::string list_text(const std::vector<Size>& ranks) {
    return shortened(fmt::format("[{}]", fmt::join(ranks, ",")));
  }
  /// Tiles have as many dimensions as their array.
  void check_rank() const {
    if (!ranks_.empty() || parameter().extents.size() == result().extents.size()) return;
    refuse_value(
        function_.results.front(), Code::unsupported,
        fmt::format("the result has another shape than the argument: a tile {}, and a tile {}",
                    shape_text(result().extents), shape_text(parameter().extents)),
        {"so it is no reshard: check judges moves of one array, whose result is its "
         "argument, and no whole programs (docs/reference/foreign.md)"});
  }
  [[nodiscard]] const TileType& parameter() const {
    return function_.values[function_.parameters.front()].type;
  }
  [[nodiscard]] const TileType& result() const {
    return function_.values[function_.results.front()].type;
  }

  End end_of(std::string_view option, const std::optional<std::string>& given,
             const std::optional<WrittenEnd>& written, std::string_view what) {
    if (given) {
      return {.text = *given, .source = std::string(option), .place = {}};
    }
    if (!written) {
      refuse_function(Code::bad_argument,
                      fmt::format("the file does not say the {} of this function", what),
                      {fmt::format("{} '..' says it, in any notation", option)});
    }
    return {
        .text = written->text, .source = "", .place = written->place, .layout = written->layout};
  }
  [[nodiscard]] ShardingContext context(std::optional<Shape> shape) const {
    return {.mesh = options_.mesh,
            .shape = std::move(shape),
            .devices = function_.devices,
            .in_boxes = true};
  }
  /// The layout of an end that has one, or can have it where the shape is this one.
  [[nodiscard]] Layout layout(End& end, const std::optional<Shape>& global) const {
    if (!end.layout && !end.sharding) end.sharding = read(end, global);
    check_ranks(end);
    const Layout& out = end.layout ? *end.layout : end.sharding->layout;
    // Of fewer devices a layout could be made in which the others hold nothing: that is meant only
    // where one device holds it all.
    const bool all = end.layout || end.sharding->only_device;
    const Size devices = all ? out.devices() : end.sharding->mesh.devices();
    if (devices != function_.devices) {
      refuse_end(end, Code::bad_argument,
                 fmt::format("this is of {}, but the function of {}", counted(devices, "device"),
                             counted(function_.devices, "device")));
    }
    return out;
  }
  [[noreturn]] void refuse_end(const End& end, Code code, std::string message,
                               std::vector<std::string> notes = {}) const {
    text::Mistake why{.code = code, .message = std::move(message), .notes = std::move(notes)};
    if (end.source.empty()) fail(place_in(input_, end.place), std::move(why));
    const text::Input input{.text = end.text, .source = end.source};
    fail({.input = &input, .span = {0, end.text.size()}}, std::move(why));
  }
  [[nodiscard]] Sharding read(const End& end, const std::optional<Shape>& global) const {
    Result<Sharding> out = read_alone(end, global);
    if (!out) throw text::Failure{out.error()};
    return *std::move(out);
  }
  [[nodiscard]] Result<Sharding> read_alone(const End& end,
                                            const std::optional<Shape>& global) const {
    const std::string& source = end.source.empty() ? input_.source : end.source;
    const Result<Sharding> out = parse_sharding(end.text, context(global), source);
    if (out || !brought_) return out;
    ShardingContext over_brought = context(global);
    over_brought.mesh = brought_;
    Result<Sharding> again = parse_sharding(end.text, over_brought, source);
    const bool says_more = again || again.error().code == Code::unsupported;
    return says_more ? again : out;
  }
  /// The mesh that an option brings with its end, for one that brings none, as between the two ends
  /// of a problem.
  [[nodiscard]] std::optional<PlacedMesh> brought_mesh(const End& from, const End& to) const {
    if (options_.mesh) return std::nullopt;
    for (const End* end : {&from, &to}) {
      if (end->source.empty()) continue;
      // Which mesh it is does not depend on the extents.
      const auto alone = parse_sharding(end->text, context(Shape(parameter().extents.size(), 1)));
      if (alone) return alone->mesh;
    }
    return std::nullopt;
  }

  /// The global shape, which both ends may leave open.
  [[nodiscard]] Shape shape(End& from, End& to) {
    if (options_.shape) return *options_.shape;
    for (End* end : {&from, &to}) {
      if (end->layout) return end->layout->global();
    }
    // An end that says its shape itself can be read without one.
    for (End* end : {&from, &to}) {
      const Result<Sharding> alone = read_alone(*end, std::nullopt);
      if (!alone) continue;
      end->sharding = *alone;
      return alone->layout.global();
    }
    // Options may leave open what the text says.
    for (const auto* written : {&function_.from, &function_.to}) {
      if (*written && (*written)->layout) return (*written)->layout->global();
    }
    return largest(from, to);
  }
  /// The largest shape of which these are the tiles.
  [[nodiscard]] Shape largest(const End& from, const End& to) {
    const Shape begin = filled(from, parameter().extents);
    const Shape end = filled(to, result().extents);
    if (begin.size() != end.size()) {
      refuse_function(Code::bad_argument, "the ends differ in rank, and nobody says the shape",
                      {"--shape 24,8 says it"});
    }
    Shape out;
    for (std::size_t k = 0; k < begin.size(); ++k) out.push_back(std::min(begin[k], end[k]));
    out_.notes.push_back(
        fmt::format("nobody says the shape of the array: taken to be {}", shape_text(out)));
    return out;
  }
  /// Tile times number of tiles, in every dimension.
  [[nodiscard]] Shape filled(const End& end, const Shape& tile) const {
    // Into how many tiles a dimension is cut does not depend on its extent.
    const Sharding sharding = read(end, Shape(tile.size(), 1));
    Shape out;
    for (std::size_t k = 0; k < tile.size(); ++k) {
      const Size count =
          product_of(notation::digits_of(sharding.mesh.mesh, sharding.dims[k].parts));
      const auto product = checked_mul(tile[k], count);
      if (!product || *product == 0) {
        refuse_end(end, Code::bad_argument, "nobody says the shape of the array");
      }
      out.push_back(*product);
    }
    return out;
  }
  /// Says where an option contradicts the file.
  void compare_with_file(const std::optional<WrittenEnd>& written, const Layout& layout,
                         std::string_view option) {
    const auto& given = option == "--from" ? options_.from : options_.to;
    if (!given || !written) return;
    End end{
        .text = written->text, .source = "", .place = written->place, .layout = written->layout};
    if (!end.layout) {
      const Result<Sharding> sharding = parse_sharding(end.text, context(layout.global()));
      if (!sharding) return;
      end.layout = sharding->layout;
    }
    if (end.layout->devices() == layout.devices() && end.layout->global() == layout.global() &&
        end.layout->equivalent(layout)) {
      return;
    }
    out_.notes.push_back(fmt::format("{} says otherwise than the file, line {}: {}", option,
                                     written->place.line, clean(shortened(end.text))));
  }
  [[nodiscard]] std::optional<std::string> add_otherwise() const {
    // A text may make addends of an array, or more of fewer, though no plan of ours does.
    const auto& given = out_.from.addends();
    const auto& made = out_.to.addends();
    if (made && made->addition != Addition::stack &&
        (!given || given->addition == made->addition)) {
      return std::nullopt;
    }
    const Result<void> why = check_addends(out_.from, out_.to);
    return why ? std::nullopt : std::optional(why.error().message);
  }
  /// That the parameter has the tiles of the start, and the result those of the end.
  void check_tiles() const {
    if (!ranks_.empty()) return check_starts();
    if (parameter().extents == out_.from.tile()) return check_result();
    if (parameter().extents == out_.from.global() && !of_a_device()) {
      fail_unpartitioned(place_in(input_, function_.values[function_.parameters.front()].place),
                         Partitioner::xla, "the parameter is the whole array");
    }
    refuse_value(function_.parameters.front(), Code::bad_argument,
                 fmt::format("the parameter is a tile {}, but a tile of the start is {}",
                             shape_text(parameter().extents), shape_text(out_.from.tile())));
  }

  /// Where the text says the array's shape at both ends, it is the same, and the tiles are wrong.
  void check_result() const {
    if (result().extents == out_.to.tile()) return;
    const auto is_said = [](const std::optional<WrittenEnd>& end) { return end && end->layout; };
    if (is_said(function_.from) && is_said(function_.to) && says_as_file(out_.to)) return;
    refuse_value(
        function_.results.front(), Code::bad_argument,
        fmt::format("the result is a tile {}, but a tile of the end is {}",
                    shape_text(result().extents), shape_text(out_.to.tile())),
        {"another end may be meant, or a result of another shape, which is no reshard: check "
         "judges moves of one array, whose result is its argument (docs/reference/foreign.md)"});
  }

  /// Whether this end is that of the text, also where `--to` says it again.
  [[nodiscard]] bool says_as_file(const Layout& layout) const {
    const Layout& written = *function_.to->layout;
    return written.devices() == layout.devices() && written.global() == layout.global() &&
           written.equivalent(layout);
  }

  /// Whether something in it is of one device among several.
  [[nodiscard]] bool of_a_device() const {
    return std::any_of(function_.operations.begin(), function_.operations.end(),
                       [](const Operation& operation) {
                         const Action& action = operation.action;
                         return std::holds_alternative<PerDevice>(action) ||
                                std::holds_alternative<AllGather>(action) ||
                                std::holds_alternative<AllToAll>(action) ||
                                std::holds_alternative<CollectivePermute>(action) ||
                                std::holds_alternative<AllReduce>(action) ||
                                std::holds_alternative<ReduceScatter>(action) ||
                                std::holds_alternative<TakeBox>(action);
                       });
  }
  /// That every rank begins with its box of the start.
  void check_starts() const {
    const Value& start = function_.values[function_.parameters.front()];
    const auto rank = other_tile(start, out_.from);
    if (!rank) return;
    const auto own = std::find_if(function_.values.begin(), function_.values.end(),
                                  [&](const Value& value) { return value.device == *rank; });
    const auto k = static_cast<std::size_t>(*rank);
    fail(place_in(input_, own->place),
         {.code = Code::bad_argument,
          .message = fmt::format("rank {} begins with a tile {}, but its tile of the start is {}",
                                 ranks_[k], shape_text(start.tiles[k]),
                                 shape_text(out_.from.box(*rank).extent))});
  }

  const Function& function_;
  EndOptions options_;  // for this array
  const text::Input& input_;
  Ends out_;
  const std::vector<Size>& ranks_ = function_.ranks;
  std::optional<PlacedMesh> brought_ = {};  // by the end that an option says
};

}  // namespace

Result<EndOptions> read_ends(const EndTexts& texts) {
  EndOptions out{.mesh = {}, .shape = {}, .from = texts.from, .to = texts.to};
  if (texts.mesh) {
    auto mesh = parse_any_mesh(*texts.mesh, "--mesh");
    if (!mesh) return refuse(std::move(mesh.error()));
    out.mesh = *std::move(mesh);
    if (!out.mesh->order && lists_devices(*texts.mesh))
      out.mesh->order_text = "as they are numbered";
  }
  if (!texts.shape) return out;
  for (const std::string& one : pieces_of(*texts.shape)) {
    auto shape = parse_shape(one, "--shape");
    if (!shape) return refuse(std::move(shape.error()));
    out.shapes.push_back(*std::move(shape));
  }
  if (out.shapes.size() == 1) {
    out.shape = std::move(out.shapes.front());
    out.shapes.clear();
  }
  return out;
}

ReadOptions read_options(const EndOptions& options) {
  ReadOptions out;
  if (options.mesh) out.devices = options.mesh->devices();
  out.shape = options.shapes.empty() ? options.shape : options.shapes.front();
  for (const auto& end : {options.from, options.to}) {
    if (out.shape || !end) continue;
    const Result<Sharding> alone = parse_sharding(pieces_of(*end).front(), {.mesh = options.mesh});
    if (alone) out.shape = alone->layout.global();
  }
  return out;
}

Result<Ends> find_ends(const Function& function, const EndOptions& options,
                       const text::Input& input) {
  return text::result_of([&] { return Finder(function, options, input).find(); });
}

Result<std::vector<Task>> read_tasks(const text::Input& input, Language language,
                                     const EndOptions& options) {
  auto functions = read(input, language, read_options(options));
  if (!functions) return refuse(std::move(functions.error()));
  std::vector<Task> out;
  for (Function& function : *functions) {
    Result<Ends> ends = find_ends(function, options, input);
    if (!ends) return refuse(std::move(ends.error()));
    out.push_back({.function = std::move(function), .ends = *std::move(ends)});
  }
  return out;
}

}  // namespace retile::foreign
