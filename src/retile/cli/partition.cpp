// retile partition: statements and how their work is cut, as a module of many devices.
#include "retile/array/partition.h"

#include "retile/cli/verb.h"

namespace retile::cli {

namespace {

constexpr const char* footer_text = R"HELP(
Exit codes: 0 printed, 2 FILE cannot be read, or no module says it.

Examples:
  retile partition mlp.array
  retile partition matmul.array --schedule c=i:2,k:2)HELP";

struct PartitionArguments {
  std::optional<std::string> file;
  std::optional<std::string> schedule;
};

Outcome work_on(const PartitionArguments& arguments) {
  const auto text = read_text(*arguments.file, "FILE");
  if (!text) return failed(text.error());
  const text::Input input = {*text, *arguments.file, true};
  auto statements = array::read_statements(input);
  if (!statements) return failed(statements.error());
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
  [[nodiscard]] std::string footer() const override { return footer_text; }
  void add_options(OptionList& options) override {
    options.text("FILE", given_.file, "statements, retile.array/1, or - for standard input",
                 "FILE");
    options.text("--schedule", given_.schedule,
                 "into how many pieces variables are cut, such as h=i:2,j:2;y=i:2,k:2, instead of "
                 "those in FILE",
                 "SCHEDULES");
  }
  [[nodiscard]] std::optional<Complaint> settle() override {
    if (!given_.file) return Complaint{"FILE is missing"};
    return std::nullopt;
  }
  [[nodiscard]] Outcome work() const override { return work_on(given_); }

 private:
  PartitionArguments given_;
};

}  // namespace

std::unique_ptr<Verb> make_partition_verb() { return std::make_unique<PartitionVerb>(); }

}  // namespace retile::cli
