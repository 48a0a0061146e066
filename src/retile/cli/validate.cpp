// retile validate: whether a pass changed what a whole program computes.
#include "retile/whole/validate.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/cli/limits.h"
#include "retile/cli/validate_folder.h"
#include "retile/cli/validate_shrink.h"
#include "retile/cli/verb.h"
#include "retile/notation/sharding.h"

namespace retile::cli {
namespace {

constexpr Size most_draws = 1000;

constexpr const char* validate_footer = R"HELP(
BEFORE and AFTER are texts in HLO, as XLA dumps them before and after its SPMD partitioner or any other pass, or in
StableHLO. BEFORE alone is a folder of dumps, of which the texts around the partitioner are taken, for each module.
Both are run on drawn arguments. Numbers with a point are elements of a prime field that is drawn in each run,
integers are themselves, and functions such as exp are functions of which nothing is known but that they are functions.

Exit codes: 0 right, 1 wrong, 2 a text cannot be read, 3 undecided; of a folder the worst that a module has, where 3 stands
for texts that are not read as well.

Examples:
  retile validate module_0001.before_spmd-partitioning.txt module_0001.after_spmd-partitioning.txt
  retile validate --draws 10 --seed 7 before.hlo after.hlo
  retile validate --json before.hlo after.hlo
  retile validate --extents full before.hlo after.hlo
  retile validate --from '{replicated}; {devices=[2,1]<=[2]}' before.hlo after.hlo
  retile validate --explain before.hlo after.hlo
  retile validate dump
  retile validate --passes dump
  retile validate --shrink --out small before.hlo after.hlo)HELP";

struct ValidateArguments {
  std::optional<std::string> before;
  std::optional<std::string> after;
  std::optional<std::string> draws;
  std::optional<std::string> seed;
  std::optional<std::string> extents;
  std::optional<std::string> from;
  std::optional<std::string> to;
  std::optional<std::string> mesh;
  ProgramShrinkArguments shrink;
  bool passes = false;
  bool explains = false;
  bool json = false;
};

/// `S; S`: what stands between semicolons, without blanks around it.
std::vector<std::string> between_semicolons(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    const std::string_view one = std::string_view(text).substr(begin, end - begin);
    const std::size_t first = std::min(one.find_first_not_of(' '), one.size());
    out.emplace_back(one.substr(first, one.find_last_not_of(' ') + 1 - first));
    begin = end + 1;
  }
  return out;
}

/// \error bad_argument
Result<whole::Extents> extents_of(const std::string& word) {
  const auto choice = parse_choice(word, "--extents", {"auto", "full", "reduced"});
  if (!choice) return refuse(choice.error());
  constexpr std::array all = {whole::Extents::automatic, whole::Extents::full,
                              whole::Extents::reduced};
  return all[*choice];
}

/// The numbers of the options.
/// \error bad_argument
Result<whole::ValidateOptions> options_of(const ValidateArguments& arguments) {
  whole::ValidateOptions out;
  out.timeout_seconds = time_limit().seconds_left();
  out.explains = arguments.explains;
  out.most_bytes = memory_limit() / 2;  // the other half is for texts and what is read of them
  if (arguments.draws) {
    const auto draws = parse_count(*arguments.draws, "--draws", 1, most_draws);
    if (!draws) return refuse(draws.error());
    out.draws = *draws;
  }
  if (arguments.extents) {
    const auto extents = extents_of(*arguments.extents);
    if (!extents) return refuse(extents.error());
    out.extents = *extents;
  }
  if (arguments.from) out.from = between_semicolons(*arguments.from);
  if (arguments.to) out.to = between_semicolons(*arguments.to);
  if (arguments.mesh) {
    auto mesh = parse_any_mesh(*arguments.mesh, "--mesh");
    if (!mesh) return refuse(mesh.error());
    out.mesh = *std::move(mesh);
  }
  if (arguments.seed) {
    const auto seed = parse_count(*arguments.seed, "--seed", 0, std::numeric_limits<Size>::max());
    if (!seed) return refuse(seed.error());
    out.seed = static_cast<std::uint64_t>(*seed);
  } else {
    std::random_device drawn;
    out.seed = drawn();
  }
  return out;
}

Outcome shrink(const ValidateArguments& arguments, const whole::ValidateOptions& options) {
  if (!arguments.after && !arguments.shrink.peer) {
    return shrink_folder({*arguments.before, arguments.passes, arguments.json}, options,
                         arguments.shrink);
  }
  const auto before = read_text(*arguments.before, "BEFORE");
  if (!before) return failed(before.error());
  ShrunkTexts texts{.before = *before, .before_name = name_of_source(*arguments.before)};
  if (arguments.after) {
    const auto after = read_text(*arguments.after, "AFTER");
    if (!after) return failed(after.error());
    texts.after = *after;
    texts.after_name = name_of_source(*arguments.after);
  }
  return shrink_programs(texts, options, arguments.shrink, arguments.json);
}

Outcome work_on(const ValidateArguments& arguments) {
  const auto options = options_of(arguments);
  if (!options) return failed(options.error());
  if (arguments.shrink.wanted) return shrink(arguments, *options);
  if (!arguments.after) {
    if (!is_folder(*arguments.before))
      return failed(read_text(*arguments.before, "BEFORE").error());
    return validate_folder({*arguments.before, arguments.passes, arguments.json}, *options);
  }
  return validate_pair(*arguments.before, *arguments.after, arguments.json, *options);
}

class ValidateVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "validate"; }
  [[nodiscard]] std::string summary() const override {
    return "say whether a pass changed what a whole program computes";
  }
  [[nodiscard]] std::string footer() const override { return validate_footer; }
  void add_options(OptionList& options) override {
    options.text("BEFORE", given_.before, "the text before the pass, - for stdin, or a folder",
                 "FILE");
    options.text("AFTER", given_.after, "the text after it", "FILE");
    options.text("--draws", given_.draws,
                 "at least so many draws of arguments (default 3; small programs may get more)",
                 "N");
    options.text("--seed", given_.seed, "what they are drawn by (default: drawn)", "N");
    options.text(
        "--extents", given_.extents,
        "full as they are, reduced where nothing can tell, auto if it takes long (default)",
        "WORD");
    options.text("--from", given_.from,
                 "shardings of the arguments where BEFORE says none, with ; between them", "S;..");
    options.text("--to", given_.to, "the same of the results", "S;..");
    options.text("--mesh", given_.mesh, "the mesh of --from and --to, where they name none",
                 "MESH");
    options.flag("--passes", given_.passes, "compare all neighbours of a folder of passes");
    options.flag("--explain", given_.explains,
                 "say what AFTER moves: its reshards beside plans, large values, collectives");
    options.flag("--shrink", given_.shrink.wanted,
                 "the smallest pair that is still wrong, or of --peer the smallest program");
    options.text("--peer", given_.shrink.peer,
                 "with --shrink: a command that makes AFTER of {before}, in {after} or on stdout",
                 "CMD");
    options.text("--runs", given_.shrink.runs,
                 "with --shrink: at most so many smaller programs (default 500)", "N");
    options.text("--peer-timeout", given_.shrink.peer_timeout,
                 "with --peer: seconds for each command (default 60)", "S");
    options.text("--out", given_.shrink.out, "with --shrink: a folder for the two texts", "DIR");
    options.flag(
        "--json", given_.json,
        "print one JSON object, retile.validation/1; with --shrink retile.shrunk-program/1");
  }
  [[nodiscard]] std::string without_timeout() const override { return "a folder or --shrink"; }
  /// A folder has as many texts as it has.
  [[nodiscard]] std::optional<Size> usual_timeout() const override {
    if ((given_.before && !given_.after) || given_.shrink.wanted) return std::nullopt;
    return usual_seconds;
  }
  [[nodiscard]] std::optional<Complaint> settle() override {
    if (given_.explains && given_.shrink.wanted) {
      return Complaint{"--explain is of the program as it stands, --shrink of a smaller one"};
    }
    if (const std::string lacks = given_.shrink.complaint(); !lacks.empty()) {
      return Complaint{lacks};
    }
    if (given_.shrink.peer && given_.before && !given_.after) return std::nullopt;
    if (given_.mesh && !given_.from && !given_.to) {
      return Complaint{"--mesh is that of --from and --to"};
    }
    const bool has_folder = given_.before && !given_.after && is_folder(*given_.before);
    const bool is_missing = given_.before && !given_.after && !exists(*given_.before);
    if (is_missing) return std::nullopt;  // reading it says so
    if (given_.passes && !has_folder) return Complaint{"--passes takes a folder: DIR --passes"};
    if (!given_.before || (!given_.after && !has_folder)) {
      return Complaint{"two texts are compared, BEFORE AFTER, or those of a folder, DIR"};
    }
    return std::nullopt;
  }
  [[nodiscard]] Outcome work() const override { return work_on(given_); }

 private:
  ValidateArguments given_;
};

}  // namespace

std::unique_ptr<Verb> make_validate_verb() { return std::make_unique<ValidateVerb>(); }

}  // namespace retile::cli
