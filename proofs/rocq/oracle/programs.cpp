// What spec/ or src/ say of many texts, as `retile-kernel check --batch` prints it (retile_kernel.ml), or
// what spec/ says of certificates, as `retile-kernel certify --batch` does.
//
// usage: programs spec | src | certify < TEXTS > ANSWERS
//
// Each text stands behind a line with the number of its bytes. Standard error says how long reading and replaying took. Work is
// limited more than in retile-oracle, so that drawn texts with large numbers are soon left undecided.
#include <chrono>
#include <iostream>
#include <sstream>

#include "retile/check/check.h"
#include "retile/program/forms/text.h"
#include "spec/oracle/certify.h"

namespace {

constexpr spec::Size most_work = spec::Size{1} << 25;

spec::Verdict judge(const spec::Program& program) {
  spec::Verdict undecided;
  undecided.decided = false;
  try {
    if (spec::addition_of(program) != spec::Addition::none) {
      return spec::AddendsReplay(program, most_work).run();
    }
    if (program.version == 2) return spec::LayoutReplay(program, most_work).run();
    return spec::Replay(program, most_work).run();
  } catch (const spec::TooLarge&) {
    return undecided;
  } catch (const std::bad_alloc&) {
    return undecided;
  }
}

int answer(std::ostream& out, const std::string& text) {
  const spec::Programs read = spec::parse_programs(text);
  if (read.error) return spec::oracle::refused;
  int code = 0;
  for (const spec::Program& program : read.programs) {
    if (&program != &read.programs.front()) out << '\n';
    code = std::max(code, spec::oracle::print(out, judge(program)));
  }
  return code;
}

int answer_of_src(std::ostream& out, const std::string& text) {
  const auto read = retile::parse_programs(text);
  if (!read) return spec::oracle::refused;
  int code = 0;
  for (const retile::Program& program : *read) {
    if (&program != &read->front()) out << '\n';
    const retile::Verdict verdict = retile::check(program, {.timeout_seconds = 1});
    if (verdict.answer == retile::Answer::undecided) {
      out << "right: undecided\nreason: limit\n";
      code = spec::oracle::undecided;
      continue;
    }
    out << std::boolalpha << "right: " << (verdict.answer == retile::Answer::right)
        << "\nwithin_bound: " << verdict.within_bound << "\nheight: " << verdict.height
        << "\nbound: " << verdict.bound << "\ncost: " << verdict.cost
        << "\nsteps: " << verdict.steps << '\n';
    if (!verdict.wrong) continue;
    out << "first_wrong_step: " << verdict.wrong->step
        << "\nreason: " << reason_name(verdict.wrong->reason) << '\n';
    code = std::max<int>(code, spec::oracle::no);
  }
  return code;
}

int answer_of_certificate(std::ostream& out, const std::string& text) {
  try {
    return spec::oracle::certify_text(text, false, out);
  } catch (const spec::ParseError&) {
    return spec::oracle::refused;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string whose = argc == 2 ? argv[1] : "";
  if (whose != "spec" && whose != "src" && whose != "certify") {
    std::cerr << "usage: programs spec | src | certify < TEXTS > ANSWERS\n";
    return 2;
  }
  double seconds = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::string text(std::stoul(line), '\0');
    std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
    const auto start = std::chrono::steady_clock::now();
    std::ostringstream out;
    const int code = whose == "spec"  ? answer(out, text)
                     : whose == "src" ? answer_of_src(out, text)
                                      : answer_of_certificate(out, text);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::cout << out.str() << "exit: " << code << "\n\n";
  }
  std::cerr << "seconds " << seconds << '\n';
  return 0;
}
