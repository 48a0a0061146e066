// Folders of dumps: which text of which module is of which pass, and the judgement of its pairs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/whole/validate.h"

namespace retile::whole {

/// A text of a folder, as its name says.
struct Dump {
  std::string file;
  std::string pipeline = {};
  std::string after = {};   ///< the pass behind which it was printed, `pipeline-start` included
  std::string before = {};  ///< the pass before which it was printed
};

struct DumpedModule {
  std::string name;         ///< `module_0000 jit_f`
  std::vector<Dump> texts;  ///< in the order of their numbers
};

/// The modules of a folder in the order of their names; other files are left out.
/// \param files  names without the folder
[[nodiscard]] std::vector<DumpedModule> dumped_modules(const std::vector<std::string>& files);

/// Two texts of a module, and what came of them.
struct JudgedPair {
  Dump before;
  Dump after;
  std::string pass;  ///< whose work is between them; `a or b` where texts between were not read
  std::optional<Validation> validation;  ///< or
  std::optional<Diagnostic> refused;     ///< why there is none
};

struct JudgedModule {
  std::string name;
  std::size_t texts = 0;
  std::size_t equal = 0;  ///< pairs of texts that are the same, byte by byte
  std::string missing;    ///< why there is no pair to judge
  bool has_ends = true;   ///< whether the first text and the last one were read
  std::vector<JudgedPair> pairs;

  /// wrong, where any pair is; right, where all were judged up to the last text; else undecided.
  [[nodiscard]] Answer answer() const;
  /// Whether any two of its texts could be compared.
  [[nodiscard]] bool is_judged() const;
};

/// The contents of a file of the folder.
using ReadDump = std::function<Result<std::string>(const std::string& file)>;
using ValidatePair = std::function<Result<Validation>(
    const std::string& before, const Dump& first, const std::string& after, const Dump& second)>;

/// The pair around the SPMD partitioner; where there is none, that of the texts before and after all
/// optimisations.
[[nodiscard]] JudgedModule judged_around_partitioner(const DumpedModule& module,
                                                     const ReadDump& read,
                                                     const ValidatePair& validate);
/// Neighbours, up to the first pair that is wrong. A text that is not read is stepped over: the last
/// one that was is compared with the next, and all passes since then are named.
[[nodiscard]] JudgedModule judged_by_passes(const DumpedModule& module, const ReadDump& read,
                                            const ValidatePair& validate);

}  // namespace retile::whole
