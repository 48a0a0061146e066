#include "retile/whole/stablehlo_details.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "retile/core/names.h"
#include "retile/foreign/hlo/attributes.h"
#include "retile/text/scanner.h"
#include "retile/whole/array.h"
#include "retile/whole/read.h"
#include "retile/whole/scalar.h"

namespace retile::whole {
namespace {

namespace mlir = foreign::mlir;

/// Lists and numbers in the brackets of an attribute: `<offset_dims = [1], index_vector_dim = 1>`.
class NamedLists {
 public:
  explicit NamedLists(const mlir::Attribute& attribute) : place_(mlir::body_of(attribute)) {
    text::Scanner scanner(*place_.input, place_.span);
    scanner.read_over_lines();
    scanner.expect("<");
    while (!scanner.accept(">")) {
      const auto name = scanner.word("a name");
      scanner.expect("=");
      lists_[name.value] = list(scanner);
      if (!scanner.accept(",") && !scanner.sees('>')) scanner.fail_expected("',' or '>'");
    }
    scanner.expect_end();
  }
  /// None where it does not stand there.
  [[nodiscard]] std::vector<std::size_t> dims(const std::string& name) const {
    const auto found = lists_.find(name);
    return found == lists_.end() ? std::vector<std::size_t>() : found->second;
  }
  [[nodiscard]] std::size_t dim(const std::string& name) const {
    const std::vector<std::size_t> out = dims(name);
    return out.empty() ? 0 : out.front();
  }

 private:
  static std::vector<std::size_t> list(text::Scanner& scanner) {
    std::vector<std::size_t> out;
    if (!scanner.accept("[")) return {static_cast<std::size_t>(scanner.number().value)};
    while (!scanner.accept("]")) {
      out.push_back(static_cast<std::size_t>(scanner.number().value));
      if (!scanner.accept(",") && !scanner.sees(']')) scanner.fail_expected("',' or ']'");
    }
    return out;
  }

  mlir::Place place_;
  std::map<std::string, std::vector<std::size_t>> lists_;
};

class StablehloDetails {
 public:
  StablehloDetails(const mlir::ModuleContext& context, const mlir::Op& op,
                   const std::vector<ArrayType>& operands)
      : context_(context), op_(op), operands_(operands) {}

  [[nodiscard]] Detail of(Id id) const {
    switch (id) {
      case Id::iota:
        return Dims{{dim("iota_dimension", "dim")}};
      case Id::transpose:
        return Dims{mlir::dims_of(mlir::need(op_, "permutation", "dims"))};
      case Id::reverse:
        return Dims{mlir::dims_of(mlir::need(op_, "dimensions", "dims"))};
      case Id::broadcast:
        return Dims{mlir::dims_of(mlir::need(op_, "broadcast_dimensions", "dims"))};
      case Id::reduce:
      case Id::map:
        return Dims{mlir::dims_of(mlir::need(op_, "dimensions"))};
      case Id::concatenate:
        return Dims{{dim("dimension", "dim")}};
      case Id::sort:
        return Dims{{sorted_dim()}};
      case Id::slice:
        return SliceDetail{per_dim("start_indices"), per_dim("limit_indices"), per_dim("strides")};
      case Id::pad:
        return PadDetail{per_dim("edge_padding_low", "low"), per_dim("edge_padding_high", "high"),
                         per_dim("interior_padding", "interior")};
      case Id::compare: {
        const foreign::Compare compare = mlir::comparison_of(op_);
        return CompareDetail{compare.comparison, compare.order};
      }
      default:
        return of_arrays(id);
    }
  }

 private:
  [[nodiscard]] Detail of_arrays(Id id) const {
    switch (id) {
      case Id::dot:
        return dot();
      case Id::convolution:
        return convolution();
      case Id::reduce_window:
      case Id::select_and_scatter:
        return WindowDetail{window()};
      case Id::gather:
        return gather();
      case Id::scatter:
        return scatter();
      case Id::fft:
        return fft();
      case Id::reduce_precision:
        return rounding();
      case Id::triangular_solve:
        return triangular();
      case Id::top_k:
        return Dims{{number("largest", 1) != 0 ? std::size_t{1} : std::size_t{0}}};
      case Id::cholesky:
        return UnknownDetail{unknown_cholesky(number("lower", 0) != 0)};
      case Id::custom_call:
      case Id::rng:
      case Id::rng_bit_generator:
        return UnknownDetail{unknown_text(id)};
      default:
        return of_devices(id);
    }
  }
  [[nodiscard]] Detail of_devices(Id id) const {
    switch (id) {
      case Id::all_gather:
        return groups(true, "all_gather_dim");
      case Id::reduce_scatter:
        return groups(true, "scatter_dimension");
      case Id::all_reduce:
        return groups(true, "");
      case Id::all_to_all:
        return groups(false, "split_dimension");
      case Id::collective_broadcast:
        return groups(false, "");
      case Id::collective_permute:
        return PairsDetail{mlir::pairs_of(context_, op_)};
      default:
        return NoDetail{};
    }
  }

  [[nodiscard]] std::size_t dim(std::string_view name, std::string_view other = "") const {
    return mlir::dim_of(mlir::need(op_, name, other));
  }
  [[nodiscard]] const ArrayType& operand(std::size_t k) const {
    if (k < operands_.size()) return operands_[k];
    mlir::refuse_at(op_.place, Code::syntax, "an operand is missing");
  }
  [[nodiscard]] std::size_t rank() const { return operand(0).extents.size(); }
  /// A number for each dimension of the operand.
  [[nodiscard]] Shape per_dim(std::string_view name, std::string_view other = "") const {
    const mlir::Attribute& attribute = mlir::need(op_, name, other);
    Shape out = mlir::shape_of(attribute, rank());
    if (out.size() == rank()) return out;
    mlir::refuse_at(attribute.place, Code::rank_mismatch, fmt::format("{} has another rank", name));
  }
  [[nodiscard]] Size number(std::string_view name, Size missing) const {
    const mlir::Attribute* attribute = mlir::find(op_, name);
    return attribute == nullptr ? missing : mlir::number_of(*attribute);
  }
  /// The last one where nothing is said.
  [[nodiscard]] std::size_t sorted_dim() const {
    const Size out = number("dimension", -1);
    return static_cast<std::size_t>(out < 0 ? out + static_cast<Size>(rank()) : out);
  }

  /// `[0, 1] x [1, 2]`
  [[nodiscard]] std::pair<std::vector<std::size_t>, std::vector<std::size_t>> two_lists(
      std::string_view name) const {
    const mlir::Attribute* attribute = mlir::find(op_, name);
    if (attribute == nullptr) return {};
    if (attribute->items.size() != 2) {
      mlir::refuse_at(attribute->place, Code::syntax, "a list for each operand");
    }
    return {mlir::dims_of(*attribute->items[0]), mlir::dims_of(*attribute->items[1])};
  }
  [[nodiscard]] DotDetail dot() const {
    DotDetail out;
    if (op_.name == "stablehlo.dot") {
      out.left_contracting = {rank() == 0 ? 0 : rank() - 1};
      out.right_contracting = {0};
    } else if (const mlir::Attribute* generic = mlir::find(op_, "dot_dimension_numbers")) {
      const NamedLists lists(*generic);
      out = {.left_contracting = lists.dims("lhs_contracting_dimensions"),
             .right_contracting = lists.dims("rhs_contracting_dimensions"),
             .left_batch = lists.dims("lhs_batching_dimensions"),
             .right_batch = lists.dims("rhs_batching_dimensions")};
    } else {
      std::tie(out.left_contracting, out.right_contracting) = two_lists("contracting_dims");
      std::tie(out.left_batch, out.right_batch) = two_lists("batching_dims");
    }
    return out;
  }

  // Windows.

  using Member = Size WindowDim::*;
  /// Numbers of the window's dimensions, where they stand there.
  static void set(std::vector<WindowDim>& window, const mlir::Attribute* attribute, Member member) {
    if (attribute == nullptr) return;
    const Shape numbers = mlir::shape_of(*attribute, window.size());
    if (numbers.size() != window.size()) {
      mlir::refuse_at(attribute->place, Code::rank_mismatch, "a window of another rank");
    }
    for (std::size_t k = 0; k < window.size(); ++k) window[k].*member = numbers[k];
  }
  static void set_reversed(std::vector<WindowDim>& window, const mlir::Attribute* attribute) {
    std::vector<WindowDim> out(window.size(), WindowDim{.size = 0});
    set(out, attribute, &WindowDim::size);
    for (std::size_t k = 0; k < window.size(); ++k) window[k].is_reversed = out[k].size != 0;
  }
  /// Pairs of low and high: `[[0, 1], [0, 1]]`, or `dense<0> : tensor<2x2xi64>`.
  static void set_padding(std::vector<WindowDim>& window, const mlir::Attribute* attribute) {
    if (attribute == nullptr) return;
    std::vector<std::int64_t> numbers;
    if (attribute->kind == mlir::Attribute::Kind::list) {
      for (const mlir::AttributePtr& pair : attribute->items) {
        const std::vector<std::int64_t>& two = mlir::numbers_of(*pair);
        numbers.insert(numbers.end(), two.begin(), two.end());
      }
    } else {
      numbers = mlir::numbers_of(*attribute);
      if (numbers.size() == 1) numbers.assign(2 * window.size(), numbers.front());
    }
    if (numbers.size() != 2 * window.size()) {
      mlir::refuse_at(attribute->place, Code::rank_mismatch, "padding of another rank");
    }
    for (std::size_t k = 0; k < window.size(); ++k) {
      window[k].low = numbers[2 * k];
      window[k].high = numbers[2 * k + 1];
    }
  }
  void check(const std::vector<WindowDim>& window) const {
    if (std::all_of(window.begin(), window.end(), is_window)) return;
    mlir::refuse_at(op_.place, Code::bad_number,
                    "sizes, strides and dilations of a window are at least 1");
  }
  [[nodiscard]] std::vector<WindowDim> window() const {
    std::vector<WindowDim> out(rank());
    set(out, &mlir::need(op_, "window_dimensions"), &WindowDim::size);
    set(out, mlir::find(op_, "window_strides"), &WindowDim::stride);
    set(out, mlir::find(op_, "base_dilations"), &WindowDim::base_dilation);
    set(out, mlir::find(op_, "window_dilations"), &WindowDim::window_dilation);
    set_padding(out, mlir::find(op_, "padding"));
    check(out);
    return out;
  }

  /// What stands in one bracket of `[b, 0, f]x[0, i, o]->[b, 0, f]`.
  struct Labels {
    std::map<std::string, std::size_t> places;
    text::Place place;

    [[nodiscard]] std::size_t at(const std::string& label) const {
      const auto found = places.find(label);
      if (found != places.end()) return found->second;
      mlir::refuse_at(place, Code::syntax, fmt::format("'{}' is missing", label));
    }
    [[nodiscard]] std::vector<std::size_t> spatial() const {
      std::vector<std::size_t> out;
      for (std::size_t k = 0; k + 2 < places.size(); ++k) out.push_back(at(fmt::format("{}", k)));
      return out;
    }
  };
  static Labels labels(text::Scanner& scanner) {
    Labels out;
    const std::size_t begin = scanner.next();
    scanner.expect("[");
    do {
      std::string label = scanner.sees_number() ? fmt::format("{}", scanner.number().value)
                                                : scanner.word("a label").value;
      const std::size_t at = out.places.size();
      if (!out.places.emplace(std::move(label), at).second) {
        scanner.fail_expected("each label once");
      }
    } while (scanner.accept(","));
    scanner.expect("]");
    out.place = scanner.since(begin);
    return out;
  }
  [[nodiscard]] ConvolutionDetail convolution() const {
    const mlir::Place& body = mlir::body_of(mlir::need(op_, "dimension_numbers"));
    text::Scanner scanner(*body.input, body.span);
    scanner.read_over_lines();
    static_cast<void>(scanner.accept("<"));
    const Labels input = labels(scanner);
    scanner.expect("x");
    const Labels kernel = labels(scanner);
    scanner.expect("->");
    const Labels output = labels(scanner);
    ConvolutionDetail out{.window = {},
                          .input_batch = input.at("b"),
                          .input_feature = input.at("f"),
                          .input_spatial = input.spatial(),
                          .kernel_input = kernel.at("i"),
                          .kernel_output = kernel.at("o"),
                          .kernel_spatial = kernel.spatial(),
                          .output_batch = output.at("b"),
                          .output_feature = output.at("f"),
                          .output_spatial = output.spatial()};
    if (input.places.size() != rank() || kernel.places.size() != operand(1).extents.size() ||
        kernel.places.size() != rank() || output.places.size() != rank()) {
      mlir::refuse_at(body, Code::rank_mismatch, "labels of another rank");
    }
    out.window = convolved(out.kernel_spatial);
    out.feature_groups = number("feature_group_count", 1);
    out.batch_groups = number("batch_group_count", 1);
    return out;
  }
  /// Its window: in the own form in braces, of which all that is missing says nothing.
  [[nodiscard]] std::vector<WindowDim> convolved(const std::vector<std::size_t>& spatial) const {
    std::vector<WindowDim> out(spatial.size());
    for (std::size_t k = 0; k < spatial.size(); ++k) out[k].size = operand(1).extents[spatial[k]];
    const mlir::Attribute* own = mlir::find(op_, "window");
    const auto find = [&](std::string_view name, std::string_view short_name) {
      return own == nullptr ? mlir::find(op_, name) : mlir::find_in(own->entries, short_name);
    };
    set(out, find("window_strides", "stride"), &WindowDim::stride);
    set(out, find("lhs_dilation", "lhs_dilate"), &WindowDim::base_dilation);
    set(out, find("rhs_dilation", "rhs_dilate"), &WindowDim::window_dilation);
    set_padding(out, find("padding", "pad"));
    set_reversed(out, find("window_reversal", "reverse"));
    check(out);
    return out;
  }

  // Indices.

  [[nodiscard]] GatherDetail gather() const {
    const NamedLists lists(mlir::need(op_, "dimension_numbers"));
    return {.window_dims = lists.dims("offset_dims"),
            .collapsed = lists.dims("collapsed_slice_dims"),
            .index_map = lists.dims("start_index_map"),
            .operand_batch = lists.dims("operand_batching_dims"),
            .indices_batch = lists.dims("start_indices_batching_dims"),
            .index_vector = lists.dim("index_vector_dim"),
            .sizes = per_dim("slice_sizes")};
  }
  [[nodiscard]] GatherDetail scatter() const {
    const NamedLists lists(mlir::need(op_, "scatter_dimension_numbers"));
    return {.window_dims = lists.dims("update_window_dims"),
            .collapsed = lists.dims("inserted_window_dims"),
            .index_map = lists.dims("scatter_dims_to_operand_dims"),
            .operand_batch = lists.dims("input_batching_dims"),
            .indices_batch = lists.dims("scatter_indices_batching_dims"),
            .index_vector = lists.dim("index_vector_dim"),
            .sizes = {}};
  }

  // Others.

  [[nodiscard]] FftDetail fft() const {
    constexpr std::array<std::pair<std::string_view, FftDetail::Kind>, 4> kinds = {{
        {"FFT", FftDetail::Kind::forward},
        {"IFFT", FftDetail::Kind::inverse},
        {"RFFT", FftDetail::Kind::real_forward},
        {"IRFFT", FftDetail::Kind::real_inverse},
    }};
    const mlir::Attribute& type = mlir::need(op_, "fft_type", "type");
    for (const auto& [name, kind] : kinds) {
      if (name != mlir::last_word(type)) continue;
      const mlir::Attribute& lengths = mlir::need(op_, "fft_length", "length");
      const std::vector<std::int64_t>& numbers = mlir::numbers_of(lengths);
      return {.kind = kind, .lengths = Shape(numbers.begin(), numbers.end())};
    }
    mlir::refuse_at(type.place, Code::syntax, "FFT, IFFT, RFFT or IRFFT");
  }
  /// `format = e5m10`
  [[nodiscard]] RoundDetail rounding() const {
    const mlir::Attribute* format = mlir::find(op_, "format");
    if (format == nullptr) {
      return {mlir::number_of(mlir::need(op_, "exponent_bits")),
              mlir::number_of(mlir::need(op_, "mantissa_bits"))};
    }
    const std::string_view text = format->text;
    const std::size_t m = text.find('m');
    const auto bits = [&](std::string_view digits) {
      const bool is_number = !digits.empty() && digits.size() < 4 &&
                             std::all_of(digits.begin(), digits.end(), is_digit);
      if (is_number) return static_cast<Size>(std::stoi(std::string(digits)));
      mlir::refuse_at(format->place, Code::syntax, "a format is eEXPONENTmMANTISSA");
    };
    if (text.empty() || text.front() != 'e' || m == std::string_view::npos) return {bits(""), 0};
    return {bits(text.substr(1, m - 1)), bits(text.substr(m + 1))};
  }
  [[nodiscard]] TriangularDetail triangular() const {
    const std::string_view transposed = mlir::last_word(mlir::need(op_, "transpose_a"));
    return {.is_left = number("left_side", 0) != 0,
            .is_lower = number("lower", 0) != 0,
            .has_unit_diagonal = number("unit_diagonal", 0) != 0,
            .is_transposed = transposed == "TRANSPOSE" || transposed == "ADJOINT"};
  }
  [[nodiscard]] GroupsDetail groups(bool has_global_ids, std::string_view dim_name) const {
    GroupsDetail out{.groups = mlir::groups_of(context_, op_, has_global_ids)};
    out.has_dim = !dim_name.empty();
    if (out.has_dim) out.dim = dim(dim_name);
    return out;
  }
  /// `{f32[4,2]{0,1}, f32[]}`
  [[nodiscard]] std::string layouts_text(const mlir::Attribute& layouts) const {
    if (layouts.items.size() != operands_.size()) {
      mlir::refuse_at(layouts.place, Code::syntax, "it has a layout for every operand");
    }
    std::vector<std::string> out;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const auto& order = mlir::numbers_of(*layouts.items[k]);
      out.push_back(text_of(operands_[k]));
      if (!order.empty()) out.back() += fmt::format("{{{}}}", fmt::join(order, ","));
    }
    return fmt::format("{{{}}}", fmt::join(out, ", "));
  }
  /// The same as HLO's reader makes of the same.
  [[nodiscard]] std::string unknown_text(Id id) const {
    std::string out(operations::row_of(id).hlo);
    const auto add = [&](std::string_view name, std::string_view text) {
      out += fmt::format(" {}={}", name, text);
    };
    if (id == Id::custom_call) {
      const mlir::Attribute& target = mlir::need(op_, "call_target_name", "callee");
      add("custom_call_target", fmt::format("\"{}\"", target.text));
      const mlir::Attribute* config = mlir::find(op_, "mhlo.backend_config");
      if (config == nullptr) config = mlir::find(op_, "backend_config");
      const bool says_nothing =
          config != nullptr && config->kind == mlir::Attribute::Kind::text && config->text.empty();
      if (config != nullptr && !says_nothing) add("backend_config", mlir::text_at(config->place));
      if (const mlir::Attribute* layouts = mlir::find(op_, "operand_layouts")) {
        add("operand_layout_constraints", layouts_text(*layouts));
      }
      return out;
    }
    const bool is_rng = id == Id::rng;
    std::string word(mlir::last_word(is_rng ? mlir::need(op_, "rng_distribution", "distribution")
                                            : mlir::need(op_, "rng_algorithm", "algorithm")));
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    add(is_rng ? "distribution" : "algorithm", "rng_" + word);
    return out;
  }

  const mlir::ModuleContext& context_;
  const mlir::Op& op_;
  const std::vector<ArrayType>& operands_;
};

/// Numbers with a point of a type, the lowest byte first: `0000803F..`, two digits a byte.
std::vector<Word> words_of_bytes(std::string_view digits, const ElementKind& kind,
                                 const mlir::Place& place) {
  const auto width = static_cast<std::size_t>(kind.bits) / 4;
  std::vector<Word> out;
  for (std::size_t k = 0; k + width <= digits.size(); k += width) {
    std::uint64_t bits = 0;
    for (std::size_t byte = 0; byte < width; byte += 2) {
      unsigned two = 0;
      const char* const first = digits.data() + k + byte;
      if (std::from_chars(first, first + 2, two, 16).ptr != first + 2) {
        mlir::refuse_at(place, Code::bad_number, "no bytes in hexadecimal");
      }
      bits |= std::uint64_t{two} << (4 * byte);
    }
    out.push_back(operations::word_of(operations::real_of_bits(bits, *kind.format)));
  }
  return out;
}

/// One part of `(1.0, 0x7F800000)`.
Word part_of_complex(std::string_view text, const ElementKind& kind, const mlir::Place& place) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  text = text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  if (text.starts_with("0x")) {
    std::uint64_t bits = 0;
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data() + 2, end, bits, 16).ptr == end) {
      return operations::word_of(operations::real_of_bits(bits, *kind.format));
    }
  } else if (const auto number = foreign::hlo::literal(text, kind)) {
    return *number;
  }
  mlir::refuse_at(place, Code::bad_number, "no complex number");
}

/// Of complex numbers two words each. Their text is read again: the tree only has whether they are 0.
std::vector<Word> complex_words(const mlir::Attribute& value, const ElementKind& kind) {
  const ElementKind part{
      .form = ElementKind::Form::real, .bits = kind.bits / 2, .format = kind.format};
  const std::string_view text = mlir::text_at(value.place);
  const std::string_view body = text.substr(0, text.rfind(": tensor"));
  const std::size_t bytes = body.find("\"0x");
  if (bytes != std::string_view::npos) {
    const std::size_t begin = bytes + 3;
    return words_of_bytes(body.substr(begin, body.find('"', begin) - begin), part, value.place);
  }
  std::vector<Word> out;
  for (std::size_t open = body.find('('); open != std::string_view::npos;
       open = body.find('(', open + 1)) {
    const std::string_view pair = body.substr(open + 1, body.find(')', open) - open - 1);
    const std::size_t comma = std::min(pair.find(','), pair.size());
    out.push_back(part_of_complex(pair.substr(0, comma), part, value.place));
    const std::size_t second = std::min(comma + 1, pair.size());
    out.push_back(part_of_complex(pair.substr(second), part, value.place));
  }
  return out;
}

/// What an operation's own form says by words that are no attributes.
bool is_of_own_form(Id id, const mlir::NamedAttribute& attribute) {
  const bool is_word =
      attribute.value->kind == mlir::Attribute::Kind::unit && !attribute.value->text.empty();
  switch (id) {
    case Id::compare:
      return is_word;
    case Id::convolution:
      return attribute.name == "window";
    case Id::custom_call:
      return attribute.name == "callee";
    case Id::reduce:
      return attribute.name == "applies";
    case Id::reduce_precision:
      return attribute.name == "format";
    case Id::top_k:
      return attribute.name == "k";
    default:
      return false;
  }
}

}  // namespace

ArrayType array_type(const mlir::Type& type) {
  if (type.kind != mlir::Type::Kind::tensor || !type.is_known) {
    mlir::refuse_at(type.place, Code::unsupported, "a type that is no tensor of known extents");
  }
  return {.kind = operations::element_kind(type.element), .extents = type.extents};
}

Detail stablehlo_detail(const mlir::ModuleContext& context, const mlir::Op& op, Id id,
                        const std::vector<ArrayType>& operands) {
  return StablehloDetails(context, op, operands).of(id);
}

std::vector<Word> constant_words(const mlir::Op& op) {
  const mlir::Attribute& value = mlir::need(op, "value");
  const ElementKind kind = operations::element_kind(value.type().element);
  if (is_complex(kind)) return complex_words(value, kind);
  return mlir::numbers_of(value);
}

void check_stablehlo_attributes(const mlir::Op& op, const operations::Row& row) {
  for (const mlir::NamedAttribute& attribute : op.attributes) {
    // Names with a point are of other dialects, and say nothing of the operation.
    if (attribute.name.find('.') != std::string::npos) continue;
    if (has_stablehlo_attribute(row, attribute.name) || is_of_own_form(row.id, attribute)) continue;
    mlir::refuse_at(
        attribute.place, Code::unsupported,
        fmt::format("{} with {} is not read", shown_name(op.name), shown_name(attribute.name)));
  }
}

}  // namespace retile::whole
