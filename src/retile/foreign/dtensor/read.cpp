// The JSON of a trace, with places.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <string>
#include <unordered_map>

#include "retile/core/division.h"
#include "retile/core/names.h"
#include "retile/foreign/dtensor/dtensor.h"
#include "retile/foreign/dtensor/lower.h"
#include "retile/foreign/reader.h"
#include "retile/notation/sharding.h"
#include "retile/text/json.h"
#include "retile/text/scanner.h"

namespace retile::foreign {
namespace {

using dtensor::RankTrace;
using dtensor::TraceOp;
using dtensor::TraceStep;
using text::Place;
using text::Scanner;
using text::Token;

constexpr std::string_view schema_name = "retile.dtensor-trace/1";

[[noreturn]] void refuse_at(const Place& place, Code code, std::string message) {
  text::fail(place, {.code = code, .message = std::move(message)});
}

/// The parts of JSON that a trace is made of.
class Json : public text::JsonReader {
 public:
  explicit Json(const text::Input& input) : JsonReader(input) {
    for (std::size_t at = 0; at < input.text.size(); ++at) {
      if (input.text[at] == '\n') lines_.push_back(at + 1);
    }
  }

  std::vector<Size> signed_sizes() {
    std::vector<Size> out;
    list([&] {
      const bool negative = scanner.accept("-");
      const Size size = scanner.number().value;
      out.push_back(negative ? -size : size);
    });
    return out;
  }
  std::vector<std::size_t> numbers() {
    std::vector<std::size_t> out;
    list([&] { out.push_back(number()); });
    return out;
  }
  std::size_t number() { return static_cast<std::size_t>(scanner.number().value); }
  std::vector<std::string> texts() {
    std::vector<std::string> out;
    list([&] { out.push_back(scanner.quoted("a text").value); });
    return out;
  }
  [[nodiscard]] FilePlace file_place(const Place& place) const {
    const auto line = std::upper_bound(lines_.begin(), lines_.end(), place.span.begin) - 1;
    return {.line = static_cast<std::size_t>(line - lines_.begin()) + 1,
            .column = place.span.begin - *line + 1};
  }

 private:
  std::vector<std::size_t> lines_ = {0};
};

[[noreturn]] void fail_key(const Token<std::string>& key, std::string_view of) {
  refuse_at(key.place, Code::bad_program,
            fmt::format("{} is no key of {}", shown_name(key.value), of));
}

/// The words of one end, `["Shard(0)", "Replicate()"]`.
struct Placements {
  std::vector<std::string> texts;
  Place place;
  [[nodiscard]] std::string text() const { return fmt::format("({})", fmt::join(texts, ", ")); }
};

struct MeshWords {
  std::vector<std::string> names;
  std::vector<Size> sizes;
  std::vector<Size> ranks;
  Place place;
};

/// `DeviceMesh([[0, 1], [2, 3]], mesh_dim_names=('x', 'y'))`, of positions instead of ranks.
std::string mesh_text(const MeshWords& mesh) {
  std::vector<std::string> rows;
  for (std::size_t k = 0; k < mesh.ranks.size(); ++k) rows.push_back(fmt::format("{}", k));
  for (std::size_t k = mesh.sizes.size(); k-- > 0;) {
    std::vector<std::string> outer;
    const auto width = static_cast<std::size_t>(mesh.sizes[k]);
    for (std::size_t begin = 0; begin < rows.size(); begin += width) {
      const auto first = rows.begin() + static_cast<std::ptrdiff_t>(begin);
      outer.push_back(
          fmt::format("[{}]", fmt::join(first, first + static_cast<std::ptrdiff_t>(width), ", ")));
    }
    rows = std::move(outer);
  }
  return fmt::format("DeviceMesh({}, mesh_dim_names=('{}'))", rows.front(),
                     fmt::join(mesh.names, "', '"));
}

class TraceReader {
 public:
  explicit TraceReader(Json& json) : json_(json), scanner_(json.scanner) {}

  Function read() {
    const std::size_t begin = scanner_.next();
    json_.object([&](const Token<std::string>& key) { member(key); });
    const Place all = scanner_.at({begin, begin + 1});
    if (!named_ || !mesh_ || !shape_ || !from_ || !to_ || !has_ranks_) {
      refuse_at(all, Code::bad_program,
                "a trace has the keys schema, mesh, shape, from, to and ranks");
    }
    order_ranks();
    return function(all);
  }

 private:
  void member(const Token<std::string>& key) {
    if (key.value == "schema") return schema();
    if (key.value == "peer" || key.value == "dtype") {
      return static_cast<void>(scanner_.quoted("a text"));
    }
    if (key.value == "source") return static_cast<void>(source_ = scanner_.quoted("a text").value);
    if (key.value == "mesh") return mesh();
    if (key.value == "shape") return shape();
    if (key.value == "from") return end(from_);
    if (key.value == "to") return end(to_);
    if (key.value == "ranks") return ranks();
    fail_key(key, "a trace");
  }
  void schema() {
    const Token<std::string> name = scanner_.quoted("the schema");
    if (name.value != schema_name) {
      refuse_at(name.place, Code::unsupported, fmt::format("the schema is not {}", schema_name));
    }
    named_ = true;
  }
  void shape() {
    const std::size_t begin = scanner_.next();
    shape_ = json_.sizes();
    const Place place = scanner_.since(begin);
    for (const Size extent : *shape_) {
      if (extent < 1) refuse_at(place, Code::bad_number, "the extents of an array are at least 1");
    }
    if (!checked_product(*shape_)) {
      refuse_at(place, Code::size_overflow, "the global size does not fit in 63 bits");
    }
  }
  void mesh() {
    MeshWords out;
    const std::size_t begin = scanner_.next();
    json_.object([&](const Token<std::string>& key) {
      if (key.value == "names") return static_cast<void>(out.names = json_.texts());
      if (key.value == "sizes") return static_cast<void>(out.sizes = json_.sizes());
      if (key.value == "ranks") return static_cast<void>(out.ranks = json_.sizes());
      fail_key(key, "a mesh");
    });
    out.place = scanner_.since(begin);
    const auto count = checked_product(out.sizes);
    if (out.sizes.empty() || out.names.size() != out.sizes.size() || !count || *count < 1 ||
        static_cast<std::size_t>(*count) != out.ranks.size()) {
      refuse_at(out.place, Code::bad_program,
                "a mesh has a name and a size for every axis, and as many ranks as the sizes say");
    }
    mesh_ = std::move(out);
  }
  void end(std::optional<Placements>& out) {
    const std::size_t begin = scanner_.next();
    out.emplace();
    out->texts = json_.texts();
    out->place = scanner_.since(begin);
  }

  // Ranks.

  void ranks() {
    has_ranks_ = true;
    json_.list([&] { rank(); });
  }
  /// Brings the ranks into the order of the mesh, in which they are counted from here on.
  void order_ranks() {
    std::unordered_map<Size, std::size_t> position;
    for (const Size rank : mesh_->ranks) {
      if (!position.emplace(rank, position.size()).second) {
        refuse_at(mesh_->place, Code::bad_device, fmt::format("rank {} is there twice", rank));
      }
    }
    std::vector<std::optional<RankTrace>> ordered(position.size());
    places_.resize(position.size());
    for (Read& one : read_) {
      const auto found = position.find(one.trace.number);
      if (found == position.end() || ordered[found->second]) {
        refuse_at(one.places.back(), Code::bad_device, "the mesh lists every rank once");
      }
      for (std::size_t k = 0; k < one.trace.steps.size(); ++k) {
        renumber(one.trace.steps[k], position, one.places[k]);
      }
      places_[found->second] = std::move(one.places);
      ordered[found->second] = std::move(one.trace);
    }
    for (auto& one : ordered) {
      if (!one) refuse_at(mesh_->place, Code::bad_device, "the mesh has ranks that are not listed");
      ranks_.push_back(*std::move(one));
    }
  }
  static void renumber(TraceStep& step, const std::unordered_map<Size, std::size_t>& position,
                       const Place& place) {
    if (!dtensor::is_collective(step.op)) return;
    const auto find = [&](Size rank) {
      const auto found = position.find(rank);
      if (found == position.end()) {
        refuse_at(place, Code::bad_device, fmt::format("the mesh has no rank {}", rank));
      }
      return found->second;
    };
    for (Size& rank : step.group) rank = static_cast<Size>(find(rank));
    if (step.op == TraceOp::broadcast) step.root = find(static_cast<Size>(step.root));
  }
  struct Read {
    RankTrace trace;
    std::vector<Place> places;  ///< of its steps, and at the end its own
  };
  void rank() {
    Read out;
    known_.clear();
    const std::size_t begin = scanner_.next();
    bool numbered = false;
    bool started = false;
    std::optional<Token<Size>> result;
    json_.object([&](const Token<std::string>& key) {
      if (key.value == "rank")
        return numbered = true, static_cast<void>(out.trace.number = scanner_.number().value);
      if (key.value == "start") {
        started = true;
        return new_value(out.trace, 0, json_.sizes(), key.place), void();
      }
      if (key.value == "operations") {
        if (!started) refuse_at(key.place, Code::bad_program, "the start comes before operations");
        return json_.list([&] { step(out); });
      }
      if (key.value == "result") return static_cast<void>(result = scanner_.number());
      fail_key(key, "a rank");
    });
    const Place all = scanner_.at({begin, begin + 1});
    if (!numbered || !started || !result) {
      refuse_at(all, Code::bad_program, "a rank has the keys rank, start, operations and result");
    }
    out.trace.result = old_value(static_cast<std::size_t>(result->value), result->place);
    out.trace.place = json_.file_place(all);
    out.places.push_back(all);
    read_.push_back(std::move(out));
  }
  /// Values are counted anew in the order in which they are made.
  std::size_t new_value(RankTrace& rank, std::size_t number, const Shape& shape,
                        const Place& place) {
    if (!known_.emplace(number, rank.shapes.size()).second) {
      refuse_at(place, Code::bad_program, fmt::format("value {} is made twice", number));
    }
    rank.shapes.push_back(shape);
    return rank.shapes.size() - 1;
  }
  [[nodiscard]] std::size_t old_value(std::size_t number, const Place& place) const {
    const auto found = known_.find(number);
    if (found == known_.end()) {
      refuse_at(place, Code::bad_program, fmt::format("no value {} so far", number));
    }
    return found->second;
  }
  void step(Read& rank) {
    TraceStep out;
    const std::size_t begin = scanner_.next();
    std::optional<TraceOp> op;
    std::vector<std::size_t> in;
    std::vector<std::size_t> made;
    std::vector<Token<std::string>> arguments;
    json_.object([&](const Token<std::string>& key) {
      if (key.value == "op") return static_cast<void>(op = operation());
      if (key.value == "in") return static_cast<void>(in = json_.numbers());
      if (key.value == "out") return static_cast<void>(made = json_.numbers());
      if (key.value == "sizes") return json_.list([&] { out.sizes.push_back(json_.sizes()); });
      argument(key, out);
      arguments.push_back(key);
    });
    const Place all = scanner_.at({begin, begin + 1});
    if (!op) refuse_at(all, Code::bad_program, "an operation without its op");
    check_keys(*op, arguments, all);
    out.op = *op;
    out.place = json_.file_place(all);
    if (made.size() != out.sizes.size()) {
      refuse_at(all, Code::bad_program, "as many sizes as values that are made");
    }
    for (const std::size_t number : in) out.in.push_back(old_value(number, all));
    if (out.op == TraceOp::pad && in.size() == 1) {  // of the first dimensions nothing is said
      const std::size_t dims = rank.trace.shapes[out.in[0]].size();
      while (out.padding.size() < dims) out.padding.emplace(out.padding.begin(), 0, 0);
    }
    for (std::size_t k = 0; k < made.size(); ++k) {
      out.out.push_back(new_value(rank.trace, made[k], out.sizes[k], all));
    }
    rank.trace.steps.push_back(std::move(out));
    rank.places.push_back(all);
  }
  [[nodiscard]] TraceOp operation() {
    const Token<std::string> name = scanner_.quoted("an operation");
    const auto op = dtensor::op_named(name.value);
    if (!op) refuse_at(name.place, Code::unsupported, shown_name(name.value) + " is not read");
    return *op;
  }
  /// Nothing is taken for granted of an operation, and nothing passed over.
  static void check_keys(TraceOp op, const std::vector<Token<std::string>>& arguments,
                         const Place& all) {
    const auto keys = dtensor::keys_of(op);
    for (const Token<std::string>& key : arguments) {
      if (std::find(keys.begin(), keys.end(), key.value) != keys.end()) continue;
      refuse_at(key.place, Code::bad_program,
                fmt::format("{} is no key of {}", shown_name(key.value), name_of(op)));
    }
    for (const std::string_view key : keys) {
      const auto has = [&](const Token<std::string>& one) { return one.value == key; };
      if (std::any_of(arguments.begin(), arguments.end(), has)) continue;
      refuse_at(all, Code::bad_program, fmt::format("{} without its {}", name_of(op), key));
    }
  }
  /// What one kind of operation has and others have not.
  void argument(const Token<std::string>& key, TraceStep& out) {
    if (key.value == "group") return static_cast<void>(out.group = json_.sizes());
    if (key.value == "dim") return static_cast<void>(out.dim = json_.number());
    if (key.value == "start") return static_cast<void>(out.start = scanner_.number().value);
    if (key.value == "root") return static_cast<void>(out.root = json_.number());
    if (key.value == "send") return static_cast<void>(out.send = json_.sizes());
    if (key.value == "receive") return static_cast<void>(out.receive = json_.sizes());
    if (key.value == "order") return static_cast<void>(out.order = json_.numbers());
    if (key.value == "divisor") return static_cast<void>(out.divisor = scanner_.number().value);
    if (key.value == "length") return static_cast<void>(out.length = scanner_.number().value);
    if (key.value == "degree") return static_cast<void>(out.degree = scanner_.number().value);
    if (key.value == "padding") return padding(key, out);
    if (key.value == "reduction") return reduction(out);
    fail_key(key, "an operation");
  }
  /// Low and high of the last dimension, then of the one before it, ..
  void padding(const Token<std::string>& key, TraceStep& out) {
    const std::vector<Size> numbers = json_.signed_sizes();
    if (numbers.size() % 2 != 0) refuse_at(key.place, Code::bad_program, "low without high");
    for (std::size_t k = 0; k < numbers.size(); k += 2) {
      out.padding.emplace(out.padding.begin(), numbers[k], numbers[k + 1]);
    }
  }
  void reduction(TraceStep& out) {
    const Token<std::string> name = scanner_.quoted("a reduction");
    out.is_average = name.value == "avg";
    const auto addition = addition_named(out.is_average ? "sum" : name.value);
    if (!addition || *addition == Addition::stack) {
      refuse_at(name.place, Code::unsupported,
                fmt::format("a reduction by {} is not read", shown_name(name.value)));
    }
    out.addition = *addition;
  }

  // The function.

  [[nodiscard]] Function function(const Place& all) {
    Function out;
    out.name = source_.empty() ? "redistribute" : "redistribute at " + shortened(source_);
    out.place = json_.file_place(all);
    const dtensor::Preparation preparation = prepare();
    out.prepares_addends = preparation.norm || preparation.has_mask || !preparation.rows.empty();
    dtensor::lower(std::move(ranks_), places_, preparation, out);
    if (out.devices > most_devices) {
      refuse_at(mesh_->place, Code::limit_reached, fmt::format("more than {} ranks", most_devices));
    }
    const PlacedMesh placed = placed_mesh();
    out.mesh = placed.mesh;
    out.from = written(*from_, placed);
    out.to = written(*to_, placed);
    return out;
  }
  /// Says addends of a norm as those of the sum that they are added by, and how both are made ready.
  [[nodiscard]] dtensor::Preparation prepare() {
    dtensor::Preparation out;
    const bool ends_masked = has_mask(*to_);
    out.has_mask = has_mask(*from_);
    out.keeps_mask = out.has_mask && ends_masked;
    for (Placements* end : {&*from_, &*to_}) {
      for (std::string& text : end->texts) {
        const auto norm = norm_of(text, end->place);
        if (!norm) continue;
        if (out.norm.value_or(*norm) != *norm || out.has_mask || ends_masked) {
          refuse_at(end->place, Code::unsupported, "addends of several kinds in one array");
        }
        out.norm = norm;
        text = "Partial(sum)";
      }
    }
    if (ends_masked && !out.has_mask) out.rows = own_rows();
    return out;
  }
  /// The rows of every rank for `_MaskPartial(sum, (128256, 4096), 0)`, where that says them. Its elements are indices
  /// that are moved nowhere, so that it is a copy.
  [[nodiscard]] std::vector<std::pair<Size, Size>> own_rows() {
    std::vector<std::pair<Size, Size>> out;
    Size below = static_cast<Size>(mesh_->ranks.size());
    for (std::size_t k = 0; k < std::min(to_->texts.size(), mesh_->sizes.size()); ++k) {
      const Size pieces = mesh_->sizes[k];
      below /= pieces;
      if (!is_mask(to_->texts[k]) || pieces == 1) continue;
      const auto extent = masked_extent(to_->texts[k]);
      if (!extent || !out.empty()) return {};
      for (std::size_t rank = 0; rank < mesh_->ranks.size(); ++rank) {
        const Size block = ceil_div(*extent, pieces);
        const Size at = static_cast<Size>(rank) / below % pieces;
        const Size start = at == 0 || block <= *extent / at ? at * block : *extent;
        out.emplace_back(start, std::min(block, *extent - start));
      }
      to_->texts[k] = "Replicate()";
    }
    return out;
  }
  /// The extent of the dimension that such a placement names: of its numbers the last is the dimension, and those in
  /// front of it are the extents.
  [[nodiscard]] static std::optional<Size> masked_extent(std::string_view text) {
    std::vector<Size> numbers;
    while (!text.empty()) {
      if (!is_digit(text.front())) {
        text.remove_prefix(1);
        continue;
      }
      const auto read =
          std::from_chars(text.data(), text.data() + text.size(), numbers.emplace_back());
      if (read.ec != std::errc()) return std::nullopt;
      text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    }
    if (numbers.empty() || numbers.back() >= static_cast<Size>(numbers.size()) - 1)
      return std::nullopt;
    return numbers[static_cast<std::size_t>(numbers.back())];
  }
  /// Whether an axis along which there are several devices has rows that are to become zeros.
  [[nodiscard]] bool has_mask(const Placements& end) const {
    for (std::size_t k = 0; k < std::min(end.texts.size(), mesh_->sizes.size()); ++k) {
      if (is_mask(end.texts[k]) && mesh_->sizes[k] > 1) return true;
    }
    return false;
  }
  [[nodiscard]] static bool is_mask(std::string_view text) {
    return text.starts_with("_MaskPartial(") || text.starts_with("MaskP(");
  }
  /// The degree of `_NormPartial(2.0)`.
  [[nodiscard]] static std::optional<Size> norm_of(std::string_view text, const Place& place) {
    for (const std::string_view name : {"_NormPartial(", "_NormP("}) {
      if (!text.starts_with(name)) continue;
      std::string_view degree = text.substr(name.size());
      for (const std::string_view end : {")", ".0"}) {
        if (degree.ends_with(end)) degree.remove_suffix(end.size());
      }
      if (degree.size() == 1 && degree >= "1" && degree <= "9") return degree.front() - '0';
      refuse_at(place, Code::unsupported, "the degree of a norm that is read is 1 to 9");
    }
    return std::nullopt;
  }
  [[nodiscard]] PlacedMesh placed_mesh() const {
    auto placed = parse_any_mesh(mesh_text(*mesh_), "mesh");
    if (!placed) refuse_at(mesh_->place, placed.error().code, placed.error().message);
    return *std::move(placed);
  }
  [[nodiscard]] WrittenEnd written(const Placements& end, const PlacedMesh& mesh) const {
    ShardingContext context;
    context.mesh = mesh;
    context.shape = *shape_;
    context.devices = static_cast<Size>(mesh_->ranks.size());
    context.in_boxes = true;
    const auto sharding = parse_sharding(end.text(), context, "placements");
    if (!sharding) {
      text::fail(end.place, {.code = sharding.error().code,
                             .message = sharding.error().message,
                             .notes = sharding.error().notes});
    }
    return {.text = end.text(),
            .place = json_.file_place(end.place),
            .layout = sharding->layout,
            .divisor = sharding->divisor};
  }

  Json& json_;
  Scanner& scanner_;
  bool named_ = false;
  std::string source_;
  std::optional<MeshWords> mesh_;
  std::optional<Shape> shape_;
  std::optional<Placements> from_;
  std::optional<Placements> to_;
  bool has_ranks_ = false;
  std::vector<Read> read_;
  std::vector<RankTrace> ranks_;
  dtensor::StepPlaces places_;
  std::unordered_map<std::size_t, std::size_t> known_;  // values of the rank at hand
};

}  // namespace

std::vector<Function> read_dtensor_trace(const text::Input& input) {
  Json json(input);
  std::vector<Function> out;
  do {
    out.push_back(TraceReader(json).read());
  } while (!json.scanner.done());
  return out;
}

}  // namespace retile::foreign
