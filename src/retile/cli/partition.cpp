// retile partition: statements and how their work is cut, as a module of many devices.
#include "retile/array/partition.h"

#include <utility>

#include "retile/cli/choice.h"
#include "retile/cli/verb.h"

namespace retile::cli {

namespace {

constexpr const char* partition_footer = R"HELP(
With --choose the schedule is looked for that moves fewest elements, as the planner's best
redistributions do, of those in which every device has work. Tactics of the file are kept, and what they
leave is chosen. With --network it is the one whose redistributions take the least time together, each by the plan for that network.
`retile lower MODULE --network LINKS` prints these plans.

With --what-if a table says what the cheapest schedule costs for each number of devices within each limit.

Exit codes: 0 printed, 1 no schedule keeps --memory-limit, 2 FILE cannot be read, or no module says it,
3 more candidates than are looked at.

Examples:
  retile partition mlp.array
  retile partition matmul.array --schedule c=i:2,k:2
  retile partition chain.array --devices 64 --choose
  retile partition chain.array --devices 8 --choose --memory-limit 64MiB --json
  retile partition chain.array --devices 4,8,16 --choose --what-if --memory-limit none,64MiB
  retile partition chain.array --devices 8 --choose --network '4:450GB/s:5us,*:50GB/s:15us')HELP";

struct PartitionArguments {
  std::optional<std::string> file;
  std::optional<std::string> schedule;
  ChoiceArguments choice;
};

Outcome work_on(const PartitionArguments& arguments) {
  const auto text = read_text(*arguments.file, "FILE");
  if (!text) return failed(text.error());
  const text::Input input = {*text, *arguments.file, true};
  auto statements = array::read_statements(input);
  if (!statements) return failed(statements.error());
  if (arguments.choice.choose) return choose_schedule(arguments.choice, *statements);
  const std::string given = arguments.schedule.value_or("");
  const text::Input option = {given, "--schedule", false};
  if (arguments.schedule) {
    auto schedules = array::read_schedules(option);
    if (!schedules) return failed(schedules.error());
    statements->schedules = *std::move(schedules);
  }
  auto module = array::partition(*statements);
  if (!module) return failed(module.error());
  return {.exit = Exit::yes, .out = *std::move(module)};
}

class PartitionVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "partition"; }
  [[nodiscard]] std::string summary() const override {
    return "cut statements on arrays among devices";
  }
  [[nodiscard]] std::string footer() const override { return partition_footer; }
  void add_options(OptionList& options) override {
    options.text("FILE", given_.file, "statements, retile.array/1, or - for standard input",
                 "FILE");
    options.text("--schedule", given_.schedule,
                 "into how many pieces variables are cut, such as h=i:2,j:2;y=i:2,k:2, instead of "
                 "those in FILE",
                 "SCHEDULES");
    options.flag("--choose", given_.choice.choose, "the cheapest schedule, and the second best");
    options.text("--devices", given_.choice.devices, "of --choose: how many devices", "N");
    options.text("--memory-limit", given_.choice.memory_limit,
                 "of --choose: most bytes of the local inputs of all statements; B, KiB, MiB, GiB, "
                 "TiB, kB, MB, GB, TB",
                 "BYTES");
    options.text(
        "--repeat", given_.choice.repeat,
        "of --choose: cheap statements may be done by several devices, as long as that adds at "
        "most so many percent to a device's work (default: 0)",
        "PERCENT");
    options.text("--dtype", given_.choice.dtype, std::string(element_type_help), "TYPE");
    options.text("--network", given_.choice.network,
                 "of --choose: the schedule whose redistributions take the least time: links as "
                 "'8:450GB/s:5us,*:50GB/s:15us', by groups of successive devices; or a file",
                 "LINKS");
    options.flag("--what-if", given_.choice.what_if,
                 "of --choose: a table of what the cheapest schedule costs, for lists as --devices "
                 "4,8 and --memory-limit none,1GiB");
    options.flag(
        "--json", given_.choice.json,
        "of --choose: print one JSON object, retile.choice/1; with --what-if retile.what_if/1");
  }
  [[nodiscard]] std::optional<Complaint> settle() override {
    if (!given_.file) return Complaint{"FILE is missing"};
    if (given_.choice.choose && !given_.choice.devices)
      return Complaint{"--choose needs --devices"};
    if (given_.choice.choose && given_.schedule) {
      return Complaint{"--choose finds the schedule that --schedule says"};
    }
    if (!given_.choice.choose &&
        (given_.choice.devices || given_.choice.memory_limit || given_.choice.dtype ||
         given_.choice.repeat || given_.choice.network || given_.choice.what_if ||
         given_.choice.json)) {
      return Complaint{
          "--devices, --memory-limit, --repeat, --dtype, --network, --what-if and --json are for "
          "--choose"};
    }
    return std::nullopt;
  }
  [[nodiscard]] Outcome work() const override { return work_on(given_); }

 private:
  PartitionArguments given_;
};

}  // namespace

std::unique_ptr<Verb> make_partition_verb() { return std::make_unique<PartitionVerb>(); }

}  // namespace retile::cli
