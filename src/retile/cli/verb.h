// What a verb is: its options, what they lack, and its work. Each verb has a file of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/cli/common.h"
#include "retile/cli/engines.h"
#include "retile/cli/limits.h"
#include "retile/notation/sharding.h"
#include "retile/plan/plan.h"

namespace retile::cli {

/// The options of a verb, as whoever reads the command line takes them down. Targets outlive the
/// reading.
class OptionList {
 public:
  OptionList() = default;
  OptionList(const OptionList&) = delete;
  OptionList& operator=(const OptionList&) = delete;
  virtual ~OptionList() = default;
  /// An option with a value, or a positional argument. Absent ones stay empty optionals, so that ""
  /// can be told from nothing.
  /// \param type  what the help calls the value
  virtual void text(const std::string& name, std::optional<std::string>& target,
                    const std::string& help, const std::string& type) = 0;
  virtual void flag(const std::string& name, bool& target, const std::string& help) = 0;
};

/// What is wrong with a command line that was read.
struct Complaint {
  std::string message;
  std::vector<std::string> notes = {};  ///< none: where the verb's help is
};

struct Job;

class Verb {
 public:
  Verb() = default;
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;
  virtual ~Verb() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string summary() const = 0;
  /// Exit codes and examples, below the options.
  [[nodiscard]] virtual std::string footer() const = 0;
  virtual void add_options(OptionList& options) = 0;
  /// How many seconds it takes at most where --timeout says nothing; nothing: as long as it takes.
  [[nodiscard]] virtual std::optional<Size> usual_timeout() const { return usual_seconds; }
  /// What takes as long as it takes, of a verb that has a limit otherwise; empty: nothing does.
  [[nodiscard]] virtual std::string without_timeout() const { return {}; }
  /// What to do where a positional argument is one too many; empty: nothing comes to mind.
  [[nodiscard]] virtual std::string where_too_many() const { return {}; }
  /// Called once after reading.
  [[nodiscard]] virtual std::optional<Complaint> settle() = 0;
  [[nodiscard]] virtual Outcome work() const = 0;

  /// Whether processes that mpirun started do this together, and what each of them then does.
  [[nodiscard]] virtual bool works_in_job() const { return false; }
  [[nodiscard]] virtual Outcome work_in_job(const Job&) const { return work(); }

  /// The program that does the work (beside.h), where this one does not.
  [[nodiscard]] virtual std::string_view beside() const { return {}; }
};

[[nodiscard]] std::unique_ptr<Verb> make_plan_verb();
[[nodiscard]] std::unique_ptr<Verb> make_lower_verb();
[[nodiscard]] std::unique_ptr<Verb> make_check_verb();
[[nodiscard]] std::unique_ptr<Verb> make_prove_verb(const Engines& engines);
[[nodiscard]] std::unique_ptr<Verb> make_run_verb(const Engines& engines);
[[nodiscard]] std::unique_ptr<Verb> make_convert_verb();
[[nodiscard]] std::unique_ptr<Verb> make_explain_verb();
[[nodiscard]] std::unique_ptr<Verb> make_grad_verb();
[[nodiscard]] std::unique_ptr<Verb> make_partition_verb();
[[nodiscard]] std::unique_ptr<Verb> make_validate_verb();
[[nodiscard]] std::unique_ptr<Verb> make_rewrite_verb();

/// --mesh M FROM TO, in any notations, and who stands where.
struct ProblemArguments {
  std::optional<std::string> mesh;
  std::optional<std::string> order;
  std::optional<std::string> mesh_to;
  std::optional<std::string> order_to;
  std::optional<std::string> shape;
  std::optional<std::string> from;
  std::optional<std::string> to;

  void add_options(OptionList& options);
  /// All but FROM and TO.
  void add_mesh_options(OptionList& options);
  /// What is missing of them.
  [[nodiscard]] std::optional<Complaint> missing() const;
  /// All are parsed as `parse_order` and `parse_problem` do. Without --mesh-to the mesh is the same at
  /// the end, and without --order-to the order, too.
  /// \param may_divide  whether the addends may be those of an average, whose sum no step divides
  [[nodiscard]] Result<Problem> read(bool may_divide = false) const;
};

/// How a plan is to be made.
struct PlanningArguments {
  std::optional<std::string> cost = {};
  std::optional<std::string> memory_limit = {};
  std::optional<std::string> dtype = {};
  bool collectives = false;
  bool one_dim = false;

  /// \error bad_argument
  [[nodiscard]] Result<PlanOptions> read() const;
};

/// --mesh M FROM: one sharding, in any notation.
struct ShardingArguments {
  std::optional<std::string> mesh = {};
  std::optional<std::string> order = {};
  std::optional<std::string> shape = {};
  std::optional<std::string> from = {};

  /// \param by_position  as that of ShardingContext
  /// \error as read_placed, parse_shape and parse_sharding
  [[nodiscard]] Result<Sharding> read(bool by_position) const;
};

/// What --dtype takes.
inline constexpr std::string_view element_type_help =
    "i8 u8 i16 u16 f16 bf16 i32 u32 f32 i64 u64 f64 c64 c128; default f32";

/// What --collectives does, in the help of several verbs.
inline constexpr std::string_view one_dim_help =
    "only steps along one dimension each, as in the paper";
inline constexpr std::string_view cost_help =
    "paper: elements per device (default); bytes: bytes received from others";
inline constexpr std::string_view collectives_help =
    "no exchange: collectives alone, also where that takes larger tiles than the ends";

/// The answer when no plan keeps to the memory limit: exit code no, with the least limit that
/// suffices; or when collectives alone do not reach the end, with the reason.
/// \param why  what plan() said
[[nodiscard]] Outcome infeasible(const Problem& problem, const PlanOptions& options,
                                 const Diagnostic& why, std::string_view schema, bool json);

}  // namespace retile::cli
