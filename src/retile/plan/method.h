// What plans and certifies problems: those of an array, and those of its addends. Private to this room.
#pragma once

#include <optional>

#include "retile/core/problem.h"
#include "retile/plan/certificate.h"
#include "retile/plan/plan.h"

namespace retile {

/// How problems of one sort are planned.
struct PlanMethod {
  /// As plan(). Precondition: check_addends().
  Result<Plan> (*plan)(const Problem& problem, const PlanOptions& options);
  /// As smallest_feasible_bytes(), likewise. \param options  without a memory limit
  Result<Size> (*smallest)(const Problem& problem, const PlanOptions& options);
};

/// A problem whose devices may have other names.
struct Renamed {
  /// Nothing where no device needs another name: then it is the problem asked for.
  std::optional<Problem> other;
  std::optional<DeviceTable> device_at;

  [[nodiscard]] const Problem& problem(const Problem& asked) const {
    return other ? *other : asked;
  }
};

/// How an array is moved, and how its addends are, whether they are added up on the way or not.
struct Methods {
  /// Where both ends are types of the paper, under names that `renamed` gives.
  PlanMethod of_types;
  PlanMethod other;
  /// Names under which both ends are digits of the device number; nothing where there are none.
  std::optional<Renamed> (*renamed)(const Problem& problem);
  /// Of a plan that certify() takes.
  Result<Certificate> (*certify)(const Plan& plan, const CertificateOptions& options);
  std::optional<Scope> certified;  ///< the steps whose plans have certificates; nothing: all
  /// Whether devices receive what they lack of their new tiles, at least (docs/ledger/statements.md, U3).
  bool receive_what_they_lack;
};
[[nodiscard]] const Methods& methods_of(const Problem& problem);

/// Methods::certify of an array itself.
[[nodiscard]] Result<Certificate> certify_types(const Plan& plan,
                                                const CertificateOptions& options);

/// Between types of the paper, without addends.
extern const PlanMethod method_of_types;
/// `of_types` where both ends are types of the paper, else the other one.
[[nodiscard]] PlanMethod method_of(const Problem& problem, const PlanMethod& other,
                                   const PlanMethod& of_types = method_of_types);

}  // namespace retile
