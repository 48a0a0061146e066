/// retile-oracle: the paper's own definitions as a command. Its verbs stand in the headers beside it.
#include <csignal>

#include "apply.h"
#include "boxes.h"
#include "certify.h"
#include "check.h"
#include "help.h"
#include "normalize.h"
#include "optimum.h"
#include "rewrite.h"
#include "types.h"

namespace spec::oracle {

int answer(const Words& words, std::ostream& out) {
  using Verb = int (*)(const Words&, std::ostream&);
  static const std::map<std::string, Verb> verbs = {
      {"types", types},         {"apply", apply},     {"height", height}, {"cost", cost},
      {"normalize", normalize}, {"optimum", optimum}, {"check", check},   {"certify", certify},
      {"boxes", boxes},         {"rewrite", rewrite}};
  Index at = 0;  // of the verb; what asks about the program may stand in front of it
  while (at < words.size() && asks_about_itself(words[at])) ++at;
  const auto verb = verbs.find(at < words.size() ? words[at] : "");
  if (verb == verbs.end() && (at < words.size() || words.empty())) {
    refuse(words, at, "expected types, apply, check or another verb: --help lists them all");
  }
  return about_itself(words, out) ? yes : verb->second(words, out);
}

}  // namespace spec::oracle

int main(int argc, char** argv) {
  using namespace spec::oracle;
#ifdef SIGXFSZ
  std::signal(SIGXFSZ, SIG_IGN);  // an output that may not grow is one that cannot be written
#endif
  try {
    std::ostringstream out;
    const int code = answer(Words(argv + 1, argv + argc), out);
    std::cout << out.str() << std::flush;
    if (std::cout) return code;
    std::cerr << "error: cannot write to standard output\n";
  } catch (const Refused& what) {
    explain(what);
    return refused;
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of memory\n";
    return undecided;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
  }
  return environment;
}
