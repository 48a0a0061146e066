#include "retile/network/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/digits.h"
#include "retile/core/names.h"
#include "retile/text/json.h"
#include "retile/text/scanner.h"

namespace retile::network {
namespace {

using text::Place;
using text::Scanner;

struct Unit {
  std::string_view name;
  Size numerator;
  Size denominator = 1;
};

constexpr Size tera = 1'000'000'000'000;

constexpr std::array<Unit, 12> rates = {{{"B", 1},
                                         {"kB", 1'000},
                                         {"MB", 1'000'000},
                                         {"GB", 1'000'000'000},
                                         {"TB", tera},
                                         {"KiB", Size{1} << 10},
                                         {"MiB", Size{1} << 20},
                                         {"GiB", Size{1} << 30},
                                         {"TiB", Size{1} << 40},
                                         {"Mbit", 1'000'000, 8},
                                         {"Gbit", 1'000'000'000, 8},
                                         {"Tbit", tera, 8}}};
constexpr std::array<Unit, 5> durations = {
    {{"ps", 1}, {"ns", 1'000}, {"us", 1'000'000}, {"ms", 1'000'000'000}, {"s", tera}}};

/// A number with or without a fraction, and a unit, as a whole number of the smallest one, rounded down.
template <std::size_t N>
text::Token<Size> amount(Scanner& scanner, std::string_view what,
                         const std::array<Unit, N>& units) {
  const std::size_t begin = scanner.next();
  Size value = scanner.number().value;
  Size digits = 1;
  if (scanner.accept(".")) {
    const std::size_t fraction = scanner.next();
    const Size part = scanner.number().value;
    const Span span = scanner.since(fraction).span;
    for (std::size_t k = span.begin; k < span.end; ++k) {
      digits = checked_mul(digits, 10).value_or(std::numeric_limits<Size>::max());
    }
    const auto whole = checked_mul(value, digits);
    const auto sum = whole ? checked_add(*whole, part) : std::nullopt;
    if (!sum) text::fail(scanner.since(begin), {Code::bad_number, "too many digits"});
    value = *sum;
  }
  const auto unit = scanner.word(what, [&units] {
    std::string names;
    for (const Unit& one : units) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    return std::vector<std::string>{"the units are " + names};
  });
  const auto found = std::find_if(units.begin(), units.end(),
                                  [&](const Unit& one) { return one.name == unit.value; });
  if (found == units.end()) {
    text::fail(unit.place, {Code::syntax, fmt::format("{} is no unit of {}", unit.value, what)});
  }
  const auto product = checked_mul(value, found->numerator);
  if (!product) {
    text::fail(scanner.since(begin), {Code::bad_number, fmt::format("{} is too large", what)});
  }
  return {*product / digits / found->denominator, scanner.since(begin)};
}

/// An entry, and where it stands.
struct Entry {
  Level level;
  Size domain = 0;  ///< of so many successive devices; 0: an axis, or all others
  bool rest = false;
  Place place;
};

class NetworkReader {
 public:
  NetworkReader(Scanner& scanner, const Mesh& mesh, Size devices)
      : scanner_(scanner), mesh_(mesh), devices_(devices), free_{{1, devices}} {}

  Network read() {
    do {
      read_entry();
    } while (scanner_.accept(","));
    return done();
  }

  /// The same in JSON: an object with the levels as `--json` prints them.
  Network read(text::JsonReader& json) {
    bool has_levels = false;
    json.object([&](const text::Token<std::string>& key) {
      if (key.value == "schema") {
        const auto schema = scanner_.json_text("a schema");
        if (schema.value == network_schema) return;
        text::fail(schema.place, {Code::unsupported,
                                  fmt::format("the schema of a network is {}", network_schema)});
      }
      if (key.value != "levels") fail_key(key, "a network", "schema and levels");
      has_levels = true;
      json.list([&] { read_level(json); });
    });
    if (!has_levels) fail(0, Code::bad_file, "a network has levels");
    return done();
  }

 private:
  Network done() {
    scanner_.expect_end();
    give_rest();
    return Network(devices_, sorted());
  }

  [[noreturn]] static void fail_key(const text::Token<std::string>& key, std::string_view of,
                                    std::string_view known) {
    text::fail(key.place, {Code::bad_program,
                           fmt::format("{} is no key of {}", shown_name(key.value), of),
                           {fmt::format("the keys are {}", known)}});
  }

  void take_rest(Entry& entry, const Place& place) {
    entry.rest = true;
    if (has_rest_) text::fail(place, {Code::duplicate_axis, "* stands twice"});
    has_rest_ = true;
  }

  /// A level that has one name, or several with commas between them, as equal links are printed.
  void read_level(text::JsonReader& json) {
    const std::size_t begin = scanner_.next();
    std::optional<text::Token<std::string>> name;
    std::optional<Size> rate;
    std::optional<Size> latency;
    json.object([&](const text::Token<std::string>& key) {
      if (key.value == "name") {
        name = scanner_.json_text("an axis, a number of devices or *");
      } else if (key.value == "bytes_per_second") {
        rate = scanner_.size("a bandwidth").value;
      } else if (key.value == "latency_ps") {
        latency = scanner_.number().value;
      } else {
        fail_key(key, "a level", "name, bytes_per_second and latency_ps");
      }
    });
    if (!name || !rate || !latency) {
      fail(begin, Code::bad_file, "a level has a name, bytes_per_second and latency_ps");
    }
    for (std::size_t from = 0; from <= name->value.size();) {
      const std::size_t to = std::min(name->value.find(',', from), name->value.size());
      Entry entry;
      entry.level.name = name->value.substr(from, to - from);
      entry.level.link = {*rate, *latency};
      entry.place = name->place;
      take_named(entry, name->place);
      entries_.push_back(std::move(entry));
      from = to + 1;
    }
  }

  void take_named(Entry& entry, const Place& place) {
    const std::string& name = entry.level.name;
    if (name == "*") return take_rest(entry, place);
    const bool is_number = !name.empty() && name.find_first_not_of("0123456789") == name.npos;
    if (!is_number) return take_axis(entry, {name, place});
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), entry.domain);
    if (error != std::errc{} || entry.domain == 0) {
      text::fail(place, {Code::bad_number, fmt::format("{} is no number of devices", name)});
    }
    take_domain(entry, place);
  }

  void read_entry() {
    Entry entry;
    const std::size_t begin = scanner_.next();
    if (scanner_.accept("*")) {
      entry.level.name = "*";
      take_rest(entry, scanner_.since(begin));
    } else if (scanner_.sees_number()) {
      const auto number = scanner_.size("a number of devices");
      entry.domain = number.value;
      entry.level.name = fmt::format("{}", entry.domain);
      take_domain(entry, number.place);
    } else {
      const auto name = scanner_.name("an axis, a number of devices or *");
      entry.level.name = name.value;
      take_axis(entry, name);
    }
    entry.place = scanner_.since(begin);
    scanner_.expect(":");
    const auto rate = amount(scanner_, "a bandwidth", rates);
    scanner_.expect("/s");
    scanner_.expect(":");
    const auto latency = amount(scanner_, "a latency", durations);
    if (rate.value == 0) {
      text::fail(rate.place, {Code::bad_number, "a bandwidth is at least one byte per second"});
    }
    entry.level.link = {rate.value, latency.value};
    entries_.push_back(std::move(entry));
  }

  [[noreturn]] void fail(std::size_t begin, Code code, std::string message) {
    text::fail(scanner_.since(begin), {code, std::move(message)});
  }

  /// The digits below n that no smaller number has.
  void take_domain(Entry& entry, const Place& place) {
    if (has_axes_) mixed(place);
    const Size inside = domain_;
    if (devices_ % entry.domain != 0 || entry.domain % inside != 0 || entry.domain == inside) {
      text::fail(
          place,
          {Code::bad_number,
           inside == 1 && entry.domain > 1
               ? fmt::format("{} devices are not groups of {}", devices_, entry.domain)
               : fmt::format("a group of {} is not made of groups of {}", entry.domain, inside),
           {"numbers go from the inside out, each a multiple of the one before"}});
    }
    entry.level.digits = {{inside, entry.domain / inside}};
    domain_ = entry.domain;
    free_ = {{domain_, devices_ / domain_}};
  }

  void take_axis(Entry& entry, const text::Token<std::string>& name) {
    if (domain_ > 1) mixed(name.place);
    has_axes_ = true;
    const auto digit = mesh_.digit(name.value);
    if (!digit) {
      std::string names;
      for (const Axis& axis : mesh_.axes()) names += (names.empty() ? "" : ", ") + axis.name;
      text::fail(name.place, {Code::unknown_axis,
                              fmt::format("the mesh has no axis {}", name.value),
                              {names.empty() ? "say how many successive devices are a group"
                                             : "its axes are " + names}});
    }
    for (const Entry& other : entries_) {
      if (other.level.name == name.value) {
        text::fail(name.place, {Code::duplicate_axis, fmt::format("{} stands twice", name.value)});
      }
    }
    if (digit->size > 1) entry.level.digits = {*digit};
    free_ = without(free_, *digit);
  }

  [[noreturn]] static void mixed(const Place& place) {
    text::fail(place, {Code::bad_argument, "a network names axes or numbers of devices, not both"});
  }

  void give_rest() {
    std::sort(free_.begin(), free_.end(),
              [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
    free_ = joined(free_);
    for (Entry& entry : entries_) {
      if (entry.rest) entry.level.digits = std::exchange(free_, {});
    }
    if (free_.empty()) return;
    std::string names;
    for (const Axis& axis : mesh_.axes()) {
      const bool named = std::any_of(entries_.begin(), entries_.end(), [&axis](const Entry& entry) {
        return entry.level.name == axis.name;
      });
      if (!named && axis.size > 1) names += (names.empty() ? "" : ", ") + axis.name;
    }
    const std::string who = domain_ > 1 || names.empty() ? "devices of different groups"
                                                         : "devices that differ in " + names;
    text::fail(scanner_.since(0), {Code::bad_argument,
                                   fmt::format("{} have no link", who),
                                   {"* stands for all that no other entry names"}});
  }

  /// From the inside out, equal links as one.
  std::vector<Level> sorted() {
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      const Link& left = a.level.link;
      const Link& right = b.level.link;
      return left.bytes_per_second != right.bytes_per_second
                 ? left.bytes_per_second > right.bytes_per_second
                 : left.latency < right.latency;
    });
    std::vector<Level> out;
    const Entry* inner = nullptr;
    Size reach = 1;
    for (Entry& entry : entries_) {
      if (entry.level.digits.empty()) continue;
      if (inner != nullptr && entry.level.link.latency < inner->level.link.latency) {
        text::fail(entry.place,
                   {Code::bad_argument, fmt::format("{} is slower than {}, and has less latency",
                                                    entry.level.name, inner->level.name)});
      }
      if (entry.domain > 0 || (entry.rest && domain_ > 1)) {
        if (entry.level.digits.front().stride != reach) {
          text::fail(entry.place,
                     {Code::bad_argument, "a larger group is faster than a smaller one inside it"});
        }
        reach *= entry.level.digits.front().size;
      }
      inner = &entry;
      if (!out.empty() && out.back().link == entry.level.link) {
        out.back().name += "," + entry.level.name;
        out.back().digits.insert(out.back().digits.end(), entry.level.digits.begin(),
                                 entry.level.digits.end());
        continue;
      }
      out.push_back(entry.level);
    }
    for (Level& level : out) {
      std::sort(level.digits.begin(), level.digits.end(),
                [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
    }
    return out;
  }

  Scanner& scanner_;
  const Mesh& mesh_;
  Size devices_;
  std::vector<Digit> free_;
  std::vector<Entry> entries_;
  Size domain_ = 1;
  bool has_axes_ = false;
  bool has_rest_ = false;
};

}  // namespace

Result<Network> read_network(std::string_view text, std::string_view source, const Mesh& mesh,
                             Size devices, bool in_lines) {
  const text::Input input{.text = text, .source = std::string(source), .numbered = in_lines};
  return text::result_of([&] {
    Scanner scanner(input);
    if (in_lines) scanner.read_over_lines();
    if (scanner.sees('{')) {
      text::JsonReader json(input);
      return NetworkReader(json.scanner, mesh, devices).read(json);
    }
    return NetworkReader(scanner, mesh, devices).read();
  });
}

}  // namespace retile::network
