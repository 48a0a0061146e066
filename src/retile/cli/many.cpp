#include "retile/cli/many.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "retile/core/names.h"
#include "retile/text/json.h"
#include "retile/text/words.h"

namespace retile::cli {
namespace {

using text::Token;
using Text = std::optional<std::string>;

/// What is said of an array, or of all arrays below.
struct Said {
  ProblemArguments problem;
  Text dtype;
};

/// A key of an object, the option that says the same, and what it says.
struct Key {
  std::string_view name;
  std::string_view option;
  Text ProblemArguments::*value;
};
constexpr std::array<Key, 7> problem_keys = {
    {{"shape", "--shape", &ProblemArguments::shape},
     {"from", "FROM", &ProblemArguments::from},
     {"to", "TO", &ProblemArguments::to},
     {"mesh", "--mesh", &ProblemArguments::mesh},
     {"order", "--order", &ProblemArguments::order},
     {"mesh_to", "--mesh-to", &ProblemArguments::mesh_to},
     {"order_to", "--order-to", &ProblemArguments::order_to}}};

/// What messages about options call a thing, as files call it.
std::string name_in_file(std::string_view option) {
  for (const Key& key : problem_keys) {
    if (option == key.option) return std::string(key.name);
  }
  return option == "--dtype" ? "dtype" : std::string(option);
}

[[noreturn]] void fail_key(const Token<std::string>& key) {
  std::vector<std::string> names = {"name", "dtype"};
  for (const Key& known : problem_keys) names.emplace_back(known.name);
  std::vector<std::string> notes = {"the keys are " + text::enumerate(names, "and", names.size())};
  if (const auto meant = text::nearest(key.value, names)) {
    notes.insert(notes.begin(), fmt::format("did you mean {}?", *meant));
  }
  text::fail(key.place, {.code = Code::bad_program,
                         .message = fmt::format("{} is no key of an array", shown_name(key.value)),
                         .notes = std::move(notes)});
}

class ArraysReader {
 public:
  ArraysReader(const text::Input& input, Said said)
      : input_(input), json_(input), said_(std::move(said)) {}

  ReadArrays read() {
    while (!json_.scanner.done()) object();
    if (out_.arrays.names.empty()) {
      text::fail(json_.scanner.rest(),
                 {.code = Code::bad_file,
                  .message = "no array is in this file",
                  .notes = {"an array is an object: {\"name\": \"w\", \"shape\": [16, 8], "
                            "\"from\": \"P('x')\", \"to\": \"P(None, 'x')\"}"}});
    }
    return std::move(out_);
  }

 private:
  void object() {
    const std::size_t begin = json_.scanner.next();
    Said said = said_;
    std::optional<Token<std::string>> name;
    std::vector<std::string> keys;
    json_.object([&](const Token<std::string>& key) {
      keys.push_back(key.value);
      if (key.value == "name") return static_cast<void>(name = json_.scanner.json_text("a name"));
      said_by(key, said);
    });
    const auto has = [&keys](std::string_view key) {
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    };
    // An order is of the mesh beside it.
    if (has("mesh") && !has("order")) said.problem.order.reset();
    if (has("mesh_to") && !has("order_to")) said.problem.order_to.reset();
    if (!name) return static_cast<void>(said_ = std::move(said));
    const text::Place place = json_.scanner.at({begin, begin + 1});
    note_name(*name);
    add(said, place);
    out_.arrays.names.push_back(std::move(name->value));
  }

  void said_by(const Token<std::string>& key, Said& said) {
    if (key.value == "dtype") {
      said.dtype = json_.scanner.json_text("a type of elements").value;
      return;
    }
    for (const Key& known : problem_keys) {
      if (key.value != known.name) continue;
      const bool is_list = known.value == &ProblemArguments::shape && json_.scanner.sees('[');
      said.problem.*known.value = is_list ? fmt::format("[{}]", fmt::join(json_.sizes(), ", "))
                                          : json_.scanner.json_text("a text").value;
      return;
    }
    fail_key(key);
  }

  void note_name(const Token<std::string>& name) {
    if (name.value.empty()) {
      text::fail(name.place, {.code = Code::bad_file, .message = "an array has an empty name"});
    }
    const auto [found, is_new] = lines_.emplace(name.value, line_of(name.place));
    if (is_new) return;
    text::fail(name.place,
               {.code = Code::bad_file,
                .message = fmt::format("a second array {}", shown_name(name.value)),
                .notes = {fmt::format("the first one stands in line {}", found->second)}});
  }

  /// The line of a place. They are asked for one behind the other, so each line is counted once.
  std::size_t line_of(const text::Place& place) {
    for (; counted_ < place.span.begin; ++counted_) {
      if (input_.text[counted_] == '\n') ++line_;
    }
    return line_;
  }

  void add(const Said& said, const text::Place& place) {
    std::string all_said;
    const auto note = [&all_said](const Text& text) {
      all_said += text ? fmt::format("{}:{}", text->size(), *text) : "-";
    };
    for (const Key& key : problem_keys) note(said.problem.*key.value);
    note(said.dtype);
    const auto [found, is_new] = kinds_.emplace(std::move(all_said), out_.arrays.kinds.size());
    if (is_new) out_.arrays.kinds.push_back(kind_of(said, place));
    out_.arrays.kinds[found->second].arrays.push_back(out_.arrays.names.size());
  }

  many::Kind kind_of(const Said& said, const text::Place& place) {
    if (const auto complaint = said.problem.missing()) {
      const std::string_view lacking = complaint->message;
      text::fail(place,
                 {.code = Code::bad_file,
                  .message = name_in_file(lacking.substr(0, lacking.find(' '))) + " is missing",
                  .notes = {"an array says it, or an object without a name above it, or an "
                            "option beside --many"}});
    }
    auto problem = said.problem.read();
    if (!problem) refuse_at(place, std::move(problem.error()));
    many::Kind out{.problem = *std::move(problem), .arrays = {}};
    if (said.dtype) {
      const auto bytes = parse_element_bytes(*said.dtype, "--dtype");
      if (!bytes) refuse_at(place, bytes.error());
      out.element_bytes = *bytes;
    }
    out_.texts.push_back(said.problem);
    out_.elements.push_back(said.dtype.value_or(""));
    return out;
  }

  /// A refusal of a text that this object says, or one above it: the text is shown, as a line may be long.
  [[noreturn]] void refuse_at(const text::Place& place, Diagnostic diagnostic) {
    if (diagnostic.input.empty()) text::fail_with(place, std::move(diagnostic));
    const std::string name = name_in_file(diagnostic.source);
    diagnostic.source = fmt::format("{}:{}", input_.source, line_of(place));
    if (!name.empty()) diagnostic.source += ": " + name;
    throw text::Failure{std::move(diagnostic)};
  }

  const text::Input& input_;
  text::JsonReader json_;
  Said said_;
  ReadArrays out_;
  std::unordered_map<std::string, std::size_t> lines_;  // by name
  std::unordered_map<std::string, std::size_t> kinds_;  // by all that is said
  std::size_t counted_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

std::optional<Complaint> beside_many(const ProblemArguments& problem) {
  if (!problem.from && !problem.to && !problem.shape) return std::nullopt;
  return Complaint{"the file of --many says FROM, TO and the shape of every array",
                   {"meshes, orders and --dtype beside it hold for arrays that do not say them"}};
}

Result<ReadArrays> read_arrays_of(std::string_view text, const std::string& source,
                                  const ProblemArguments& problem,
                                  const std::optional<std::string>& dtype) {
  const text::Input input{.text = text, .source = source, .numbered = true};
  return text::result_of([&] { return ArraysReader(input, {problem, dtype}).read(); });
}

Result<ReadArrays> read_arrays(const std::string& path, const ProblemArguments& problem,
                               const std::optional<std::string>& dtype) {
  const auto text = read_text(path, "--many");
  if (!text) return refuse(text.error());
  return read_arrays_of(*text, path == "-" ? "stdin" : path, problem, dtype);
}

}  // namespace retile::cli
