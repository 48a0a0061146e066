// The extension module: calls of verbs, and what devices hold. Everything else is Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/cli/engines.h"
#include "retile/cli/in_process.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using retile::Diagnostic;
using retile::Size;
using retile::cli::Call;
using retile::cli::Outcome;
using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Names in somebody's file may be no UTF-8.
nb::object str_of(std::string_view text) {
  PyObject* const made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::tuple tuple_of(const Diagnostic& problem) {
  nb::list notes;
  for (const std::string& note : problem.notes) notes.append(str_of(note));
  return nb::make_tuple(str_of(retile::code_name(problem.code)), str_of(problem.message),
                        str_of(problem.source), str_of(problem.input), problem.where.begin,
                        problem.where.end, nb::tuple(notes),
                        str_of(retile::cli::rendered(problem)));
}

Call call_of(std::string_view verb, Pairs options, Pairs texts, std::optional<Size> seconds,
             Size memory) {
  Call out{.verb = verb, .options = std::move(options), .caller = {}};
  for (auto& [name, text] : texts) out.caller.texts.emplace(std::move(name), std::move(text));
  out.caller.seconds = seconds;
  out.caller.memory_bytes = memory;
  return out;
}

/// Work of ours, while other threads of Python go on.
template <typename Work>
auto beside_others(const Work& work) {
  const nb::gil_scoped_release others;
  try {
    return work();
  } catch (const std::length_error&) {  // more elements than any memory has room for
    throw std::bad_alloc();
  }
}

nb::tuple call(std::string_view verb, Pairs options, Pairs texts, std::optional<Size> seconds,
               Size memory) {
  const Call call = call_of(verb, std::move(options), std::move(texts), seconds, memory);
  const Outcome outcome = beside_others([&] { return retile::cli::call(call); });
  nb::list problems;
  for (const Diagnostic& problem : outcome.problems) problems.append(tuple_of(problem));
  nb::list answers;
  for (const std::string& text : outcome.texts) answers.append(str_of(text));
  return nb::make_tuple(static_cast<int>(outcome.exit), str_of(outcome.out), answers, problems);
}

nb::tuple boxes(Pairs options) {
  const Call call = call_of("", std::move(options), {}, std::nullopt, 0);
  const auto boxes = beside_others([&] { return retile::cli::boxes_of(call); });
  if (!boxes) return nb::make_tuple(tuple_of(boxes.error()), 0, 0, nb::bytes("", 0));
  std::vector<Size> numbers;
  numbers.reserve(2 * boxes->rank * boxes->boxes.size());
  for (const retile::Box& box : boxes->boxes) {
    for (std::size_t i = 0; i < boxes->rank; ++i) {
      numbers.push_back(box.at[i]);
      numbers.push_back(box.at[i] + box.extent[i]);
    }
  }
  return nb::make_tuple(nb::none(), boxes->boxes.size(), boxes->rank,
                        nb::bytes(numbers.data(), numbers.size() * sizeof(Size)));
}

nb::tuple bytes_of(std::string_view text, std::string_view source) {
  const auto bytes = retile::cli::parse_bytes(text, source);
  if (!bytes) return nb::make_tuple(tuple_of(bytes.error()), 0);
  return nb::make_tuple(nb::none(), *bytes);
}

/// The program `retile`, which has this process for itself.
int main_of(const std::vector<std::string>& words) {
  std::vector<const char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  return retile::cli::main_of(static_cast<int>(words.size()), argv.data(), {});
}

}  // namespace

NB_MODULE(_retile, m) {
  m.doc() = "What pyretile is made of; not for users.";
  m.attr("version") = RETILE_VERSION;
  m.def("call", &call, "verb"_a, "options"_a, "texts"_a, "seconds"_a.none(), "memory"_a,
        "Does what a command does: (exit code, output, texts, problems). Options are pairs of the\n"
        "command line's name and a value; texts stand in the place of files of their names. With\n"
        "--json the answers to check, explain and validate are there as texts, too.");
  m.def("main", &main_of, "argv"_a, "Is the program `retile`, and gives its exit code.");
  m.def("boxes", &boxes, "options"_a,
        "(problem or None, devices, rank, int64 of [devices, rank, 2]): begin and end of what every\n"
        "device holds.");
  m.def("bytes_of", &bytes_of, "text"_a, "source"_a,
        "(problem or None, bytes) of a text such as 80GB.");
}
