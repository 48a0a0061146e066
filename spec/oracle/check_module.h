/// retile-oracle check, of modules: whether their statements have types and denote what they say.
#pragma once

#include "../programs/spmd_judge.h"
#include "../programs/spmd_text.h"
#include "common.h"

namespace spec::oracle {

inline void print(std::ostream& out, const char* name, const std::optional<Sizes>& numbers) {
  out << name << ": " << (numbers ? "[" : "null");
  for (Index i = 0; numbers && i < numbers->size(); ++i) out << (i > 0 ? "," : "") << (*numbers)[i];
  out << (numbers ? "]\n" : "\n");
}

inline int print(std::ostream& out, const spmd::Module& module,
                 const spmd::ModuleVerdict& verdict) {
  if (!verdict.decided) {
    out << "right: undecided\nreason: limit\n# undecided: " << verdict.why_undecided << "\n";
    return undecided;
  }
  out << std::boolalpha << "right: " << verdict.right << "\ndevices: " << module.devices
      << "\nstatements: " << module.body.size()
      << "\nclaims: " << (module.denotes ? "denotes" : "nothing") << "\n";
  if (verdict.right) return yes;
  const spmd::WrongModule& wrong = *verdict.wrong;
  out << "reason: " << wrong.reason
      << "\nstatement: " << (wrong.statement ? to_text(*wrong.statement) : "return")
      << "\ndevice: " << (wrong.device ? std::to_string(*wrong.device) : "null") << "\n";
  print(out, "element", wrong.element);
  return no;
}

inline int check_module(const Refused& input, std::ostream& out) {
  try {
    const spmd::Module module = spmd::parse_module(input.text);
    return print(out, module, spmd::judge(module));
  } catch (const ParseError& error) {
    throw Refused{input.source, input.text, error};
  } catch (const TooLarge& limit) {
    return print(out, {}, {false, false, limit.why});
  }
}

}  // namespace spec::oracle
