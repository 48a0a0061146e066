#include "retile/cli/shrink.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "retile/cli/json.h"
#include "retile/cli/limits.h"
#include "retile/cli/peer.h"
#include "retile/cli/progress.h"
#include "retile/core/names.h"
#include "retile/core/primes.h"
#include "retile/foreign/reader.h"
#include "retile/foreign/shrink.h"
#include "retile/notation/convert.h"
#include "retile/notation/paper/notation.h"
#include "retile/report/foreign.h"

namespace retile::cli {
namespace {

using foreign::Reshard;

constexpr Size usual_runs = 500;
constexpr Size most_runs = 1000000;
constexpr Size usual_peer_seconds = 60;

/// What a command's answer comes to.
struct Finding {
  /// `right`, `wrong: end`, `above the bound`, `aborted`, `refused`, `late`, `too long`, `undecided` or
  /// `unreadable`.
  std::string kind;
  std::string program = {};
  std::string words = {};  ///< of the command
  std::optional<foreign::JudgedFunction> judged = {};
  std::optional<Diagnostic> unreadable = {};

  /// Whether there is anything to make smaller.
  [[nodiscard]] bool is_fault() const {
    return kind == "aborted" || kind == "above the bound" || kind.rfind("wrong", 0) == 0;
  }
  /// Precondition: its program was judged.
  [[nodiscard]] std::string verdict_text(bool must_be_within_bound) const {
    return report::text_of(*judged, program, must_be_within_bound);
  }
};

std::string kind_of(const foreign::Verdict& verdict, bool must_be_within_bound) {
  if (!verdict.right) return "undecided";
  if (!*verdict.right) return fmt::format("wrong: {}", verdict.reason());
  return must_be_within_bound && !verdict.within_bound() ? "above the bound" : "right";
}

std::string kind_of(const PeerAnswer& answer) {
  using End = PeerAnswer::End;
  if (answer.end == End::aborted) return "aborted";
  if (answer.end == End::too_long) return "too long, more than 256 MiB";
  return answer.end == End::late ? "late" : "refused";
}

/// A refusal of a command's line.
struct AboutPeer {
  const std::string& command;
  [[nodiscard]] Diagnostic operator()(std::string message,
                                      std::vector<std::string> notes = {}) const {
    return about_argument(Code::bad_argument, "--peer", command, std::move(message),
                          std::move(notes));
  }
};

Result<ShardingForm> form_named(std::string_view name, const AboutPeer& about_peer) {
  if (name.empty()) return ShardingForm::paper;
  const auto* const found = std::find(sharding_form_names.begin(), sharding_form_names.end(), name);
  if (found != sharding_form_names.end()) {
    return static_cast<ShardingForm>(found - sharding_form_names.begin());
  }
  return refuse(about_peer(fmt::format("{} is no form of shardings", clean(std::string(name))),
                           {fmt::format("forms: {}", fmt::join(sharding_form_names, ", "))}));
}

class Asker {
 public:
  Asker(const ForeignArguments& arguments, std::string command, Size peer_seconds)
      : arguments_(arguments), command_(std::move(command)), peer_seconds_(peer_seconds) {}

  /// What the command makes of a reshard.
  /// \error limit_reached: the time of the search is over
  Result<Finding> ask(const Reshard& reshard) const {
    const Deadline limit = time_limit();
    const auto ends = foreign::shardings_of(reshard);
    if (!ends) return refuse(ends.error());
    Result<PeerCommand> command =
        filled_in(command_, reshard_names,
                  [&](std::string_view name, std::string_view form) -> Result<std::string> {
                    return text_of(reshard, *ends, name, form);
                  });
    if (!command) return refuse(command.error());
    const double seconds = std::min(static_cast<double>(peer_seconds_), limit.seconds_left());
    if (seconds <= 0) return refuse(time_is_over());
    Result<PeerAnswer> answer = ask_peer(*std::move(command), seconds);
    if (!answer) return refuse(std::move(answer.error()));
    if (answer->end == PeerAnswer::End::late && limit.passed()) return refuse(time_is_over());
    if (answer->end != PeerAnswer::End::done) {
      return Finding{.kind = kind_of(*answer), .words = std::move(answer->words)};
    }
    return finding_of(std::move(*answer), reshard, *ends);
  }

 private:
  Result<std::string> text_of(const Reshard& reshard, const std::array<Sharding, 2>& ends,
                              std::string_view name, std::string_view form_name) const {
    const AboutPeer about_peer{command_};
    if (name == "shape") return fmt::format("{}", fmt::join(reshard.shape, ","));
    if (name == "order") return order_text(reshard.mesh);
    const Result<ShardingForm> form = form_named(form_name, about_peer);
    if (!form) return refuse(form.error());
    const Result<std::string> text = name == "mesh" ? mesh_text(reshard.mesh, *form)
                                                    : to_text(ends[name == "from" ? 0 : 1], *form);
    if (text) return text;
    return refuse(about_peer(text.error().message, text.error().notes));
  }

  /// The device at each position, also where they are in order.
  static Result<std::string> order_text(const PlacedMesh& mesh) {
    if (mesh.order) return fmt::format("[{}]", fmt::join(mesh.order->entries(), ","));
    if (mesh.devices() > foreign::most_devices) {
      return refuse({.code = Code::unsupported, .message = "too many devices to list"});
    }
    std::vector<Size> devices(static_cast<std::size_t>(mesh.devices()));
    std::iota(devices.begin(), devices.end(), Size{0});
    return fmt::format("[{}]", fmt::join(devices, ","));
  }

  /// A verdict by the ends that were asked for, whatever the answer says of its own. A trace of DTensor is
  /// taken at its word.
  Result<Finding> finding_of(PeerAnswer answer, const Reshard& reshard,
                             const std::array<Sharding, 2>& ends) const {
    Finding out{.kind = "unreadable", .program = std::move(answer.out)};
    out.words = std::move(answer.words);
    const auto language = foreign::language_of(out.program);
    if (!language) {
      out.unreadable = Diagnostic{.code = Code::syntax,
                                  .message = out.program.empty()
                                                 ? "the command wrote nothing"
                                                 : "no program of a system whose programs are read",
                                  .source = "the command's answer"};
      return out;
    }
    foreign::EndOptions options{.mesh = reshard.mesh,
                                .shape = reshard.shape,
                                .from = type_text(ends[0]),
                                .to = type_text(ends[1])};
    // torch cuts what an axis has left by the next one, and uneven tiles are then others than ours.
    if (*language == foreign::Language::dtensor) options = {};
    const text::Input input{
        .text = out.program, .source = "the command's answer", .numbered = true};
    auto functions = foreign::judge_functions(input, *language, options, judging());
    if (!functions) {
      out.unreadable = functions.error();
    } else if (functions->size() == 1) {
      out.judged = std::move(functions->front());
      out.kind = kind_of(out.judged->verdict, arguments_.within_bound);
    } else {
      out.unreadable =
          Diagnostic{.code = Code::unsupported,
                     .message = fmt::format("{} functions, where one is wanted", functions->size()),
                     .source = "the command's answer"};
    }
    return out;
  }

  const ForeignArguments& arguments_;
  std::string command_;
  Size peer_seconds_;
};

/// Axes for layouts that are said over none: those of the options or of the file, else a prime factor each.
PlacedMesh mesh_for(const std::optional<Mesh>& mesh, const std::optional<PlacedMesh>& given,
                    Size devices) {
  if (given) return *given;
  if (mesh) return {.mesh = *mesh};
  std::vector<Axis> axes;
  for (const PrimePower& power : factorize(devices)) {
    for (Size k = 0; k < power.exponent; ++k) {
      axes.push_back({.name = fmt::format("a{}", axes.size()), .size = power.prime});
    }
  }
  return {.mesh = Mesh::make(std::move(axes)).value()};
}

/// Whether its axes have names: those of HLO's tables are made up.
bool has_axes(const Sharding& sharding) { return sharding.notation != Notation::hlo; }

/// Between the ends of a function, in their own axes where they have some.
Result<Reshard> reshard_between(const foreign::Ends& ends, const std::optional<PlacedMesh>& given) {
  if (ends.from_sharding && ends.to_sharding && has_axes(*ends.from_sharding)) {
    Result<Reshard> out = foreign::reshard_of(*ends.from_sharding, *ends.to_sharding);
    if (out) return out;
  }
  return foreign::reshard_of(ends.from, ends.to, mesh_for(ends.mesh, given, ends.from.devices()));
}

/// Says which rank stands at each position of the mesh, which a command is to hear.
void put_in_order(Reshard& reshard, const std::vector<Size>& ranks) {
  reshard.mesh.order = DeviceTable::list(ranks);
  reshard.mesh.order_text = fmt::format("[{}]", fmt::join(ranks, ","));
}

/// The ends of a text's one function.
Result<Reshard> reshard_in(const std::string& text, const std::string& source,
                           const foreign::EndOptions& options) {
  const auto language = foreign::language_of(text);
  if (!language) {
    return refuse({.code = Code::syntax,
                   .message = "no program of another system",
                   .source = source,
                   .notes = {"--shrink is for what other systems compile"}});
  }
  const auto all =
      foreign::read_tasks({.text = text, .source = source, .numbered = true}, *language, options);
  if (!all) return refuse(all.error());
  if (all->size() != 1) {
    return refuse({.code = Code::unsupported,
                   .message = fmt::format("{} functions: --shrink takes one", all->size()),
                   .source = source});
  }
  const foreign::Ends& ends = all->front().ends;
  // Devices of a trace are places on its mesh.
  const bool has_ranks = !ends.ranks.empty();
  std::optional<PlacedMesh> given = options.mesh;
  if (has_ranks && given) given = PlacedMesh{.mesh = given->mesh};
  Result<Reshard> out = reshard_between(ends, given);
  if (out && has_ranks) put_in_order(*out, ends.ranks);
  if (!out) {
    out.error().source = source;
    out.error().notes.emplace_back("--mesh x:4,y:2 says other axes");
  }
  return out;
}

/// The ends that options alone say.
Result<Reshard> reshard_of_options(const foreign::EndOptions& options) {
  std::array<Sharding, 2> ends;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    auto sharding =
        parse_sharding(k == 0 ? *options.from : *options.to,
                       {.mesh = options.mesh, .shape = options.shape}, k == 0 ? "--from" : "--to");
    if (!sharding) return refuse(std::move(sharding.error()));
    ends[k] = *std::move(sharding);
  }
  const auto refuse_ends = [](Code code, std::string message) {
    return refuse({.code = code, .message = std::move(message), .source = "--to"});
  };
  if (ends[0].layout.devices() != ends[1].layout.devices()) {
    return refuse_ends(Code::bad_argument, "the ends are of different numbers of devices");
  }
  if (ends[0].layout.global() != ends[1].layout.global()) {
    return refuse_ends(Code::globaltype_mismatch, "the ends are of different arrays");
  }
  if (const auto why = check_addends(ends[0].layout, ends[1].layout); !why) {
    return refuse_ends(why.error().code, why.error().message);
  }
  return foreign::reshard_of(ends[0], ends[1]);
}

/// The command's own words, indented.
std::string words_text(const std::string& words) {
  std::string out;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find('\n', begin), words.size());
    if (end > begin) out += fmt::format("  | {}\n", clean(words.substr(begin, end - begin)));
    begin = end + 1;
  }
  return out;
}

struct Found {
  foreign::Shrunk shrunk;
  Finding finding;
};

std::string found_text(const Found& found, bool must_be_within_bound) {
  const Reshard& reshard = found.shrunk.reshard;
  const auto ends = foreign::shardings_of(reshard).value();
  const auto mesh =
      mesh_text(reshard.mesh, reshard.mesh.order ? ShardingForm::sdy : ShardingForm::paper);
  std::string out = fmt::format(
      "{}, after {}: {}\n", found.finding.kind, counted(found.shrunk.runs, "question"),
      found.shrunk.complete ? "nothing smaller fails like this" : "the limit was reached");
  out += fmt::format("--mesh '{}' --from '{}' --to '{}'\n", mesh ? *mesh : "", type_text(ends[0]),
                     type_text(ends[1]));
  if (found.finding.judged) out += found.finding.verdict_text(must_be_within_bound);
  if (found.finding.kind == "aborted") out += words_text(found.finding.words);
  if (!found.finding.program.empty()) out += "\n" + found.finding.program;
  return out;
}

std::string found_json(const Found& found) {
  const Reshard& reshard = found.shrunk.reshard;
  const auto ends = foreign::shardings_of(reshard).value();
  Json json;
  json["schema"] = "retile.shrunk/1";
  json["kind"] = found.finding.kind;
  json["mesh"] = to_text(reshard.mesh.mesh);
  json["order"] = nullptr;
  if (reshard.mesh.order) json["order"] = reshard.mesh.order->entries();
  json["shape"] = reshard.shape;
  json["from"] = type_text(ends[0]);
  json["to"] = type_text(ends[1]);
  json["runs"] = found.shrunk.runs;
  json["complete"] = found.shrunk.complete;
  json["verdict"] = nullptr;
  if (found.finding.judged) json["verdict"] = report::json_of(*found.finding.judged);
  json["program"] = found.finding.program;
  json["words"] = found.finding.words;
  return line_of(json);
}

/// Why a first answer leaves nothing to do.
Outcome nothing_to_shrink(const Finding& first, const std::string& command,
                          bool must_be_within_bound) {
  if (first.kind == "right") {
    return {.exit = Exit::yes,
            .out = first.verdict_text(must_be_within_bound),
            .words = "note: the command's answer is right: there is nothing to make smaller\n"};
  }
  if (first.unreadable) {
    Diagnostic why = *first.unreadable;
    why.notes.emplace_back("this is what the command of --peer wrote for these ends");
    Outcome out = failed(std::move(why));
    out.words = words_text(first.words);
    return out;
  }
  Outcome out = failed(Exit::undecided,
                       AboutPeer{command}("the command's answer for these ends: " + first.kind));
  out.words = words_text(first.words);
  return out;
}

/// An axis whose name is more than a word. Commands hand texts on to other shells, by ssh or eval, and
/// no name of a file is to be a command there.
std::optional<Diagnostic> odd_axis(const Reshard& reshard) {
  const auto& axes = reshard.mesh.mesh.axes();
  const auto odd = std::find_if(axes.begin(), axes.end(),
                                [](const Axis& axis) { return name_text(axis.name) != axis.name; });
  if (odd == axes.end()) return std::nullopt;
  return Diagnostic{
      .code = Code::unsupported,
      .message = fmt::format("the axis {} is not handed to a command", shown_name(odd->name)),
      .notes = {"names of letters, digits, _, . and - are; --mesh says other axes"}};
}

/// Whether a placeholder says the order of the devices: what is written over a mesh has its own.
bool tells_order(std::string_view name, std::string_view form) {
  if (name == "order") return true;
  if (name == "shape") return false;
  const bool is_mesh = name == "mesh";
  return form == "sdy" || form == "hlo3" ||
         (!is_mesh && (form == "jax" || form == "hlo1" || form == "hlo2"));
}

/// A command that is not told the order of the devices would be asked for another reshard.
std::optional<Diagnostic> untold_order(const Reshard& reshard, const std::string& command) {
  if (!reshard.mesh.order) return std::nullopt;
  bool told = false;
  const auto used =
      filled_in(command, reshard_names,
                [&](std::string_view name, std::string_view form) -> Result<std::string> {
                  told = told || tells_order(name, form);
                  return std::string();
                });
  if (!used || told) return std::nullopt;
  return AboutPeer{command}(
      "the devices of this reshard stand in another order, which the command "
      "is not told",
      {"{order} hands it on, as [1,0]"});
}

Outcome search(const Asker& asker, const Reshard& whole, const std::string& command, Size runs,
               const ForeignArguments& arguments) {
  Result<Finding> first = asker.ask(whole);
  if (!first) return failed(first.error());
  if (!first->is_fault()) return nothing_to_shrink(*first, command, arguments.within_bound);
  Progress progress(stderr_of_this());
  Size asked = 0;
  // The smallest so far.
  Finding last = *first;
  Reshard at = whole;
  const auto goes_wrong = [&](const Reshard& reshard) -> Result<bool> {
    progress.update("shrink", asked++, runs);
    Result<Finding> finding = asker.ask(reshard);
    if (!finding) {
      // A form that cannot say this one says nothing about smaller ones.
      if (finding.error().code == Code::unsupported || finding.error().code == Code::bad_argument)
        return false;
      return refuse(std::move(finding.error()));
    }
    if (finding->kind != first->kind) return false;
    last = *std::move(finding);
    at = reshard;
    return true;
  };
  Result<foreign::Shrunk> shrunk = foreign::shrink(whole, goes_wrong, runs);
  if (!shrunk && shrunk.error().code == Code::limit_reached && time_limit().passed()) {
    shrunk = foreign::Shrunk{.reshard = std::move(at), .runs = asked};
  }
  if (!shrunk) return failed(shrunk.error());
  const Found found{.shrunk = *std::move(shrunk), .finding = std::move(last)};
  return {.exit = Exit::no,
          .out = arguments.json ? found_json(found) : found_text(found, arguments.within_bound)};
}

}  // namespace

Outcome shrink_foreign(const std::optional<std::string>& text, const std::string& source,
                       const ForeignArguments& arguments, const ShrinkArguments& shrink) {
  if (const auto place = quoted_placeholder(*shrink.peer)) {
    Diagnostic why = AboutPeer{*shrink.peer}(
        fmt::format("{} stands inside quotes",
                    std::string_view(*shrink.peer).substr(place->begin, place->end - place->begin)),
        {"it is one word by itself: leave the quotes out"});
    why.where = *place;
    return failed(std::move(why));
  }
  const Result<foreign::EndOptions> options = foreign::read_ends(arguments.ends);
  if (!options) return failed(options.error());
  Size runs = usual_runs;
  if (shrink.runs) {
    const Result<Size> given = parse_count(*shrink.runs, "--runs", 0, most_runs);
    if (!given) return failed(given.error());
    runs = *given;
  }
  Size peer_seconds = usual_peer_seconds;
  if (shrink.peer_timeout) {
    const Result<Size> given = parse_timeout(*shrink.peer_timeout, "--peer-timeout");
    if (!given) return failed(given.error());
    peer_seconds = *given;
  }
  const Result<Reshard> whole =
      text ? reshard_in(*text, source, *options) : reshard_of_options(*options);
  if (!whole) return failed(whole.error());
  if (const auto why = odd_axis(*whole)) return failed(*why);
  if (const auto why = untold_order(*whole, *shrink.peer)) return failed(*why);
  const Asker asker(arguments, *shrink.peer, peer_seconds);
  return search(asker, *whole, *shrink.peer, runs, arguments);
}

}  // namespace retile::cli
