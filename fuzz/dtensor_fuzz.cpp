// Traces of DTensor: read and judged, and again with blanks between the tokens.
//
// An input is a trace, retile.dtensor-trace/1: examples/foreign/*.dtensor.json.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "fuzz/judged.h"

const fuzz::Target fuzz::target = {"dtensor", 0.3};

namespace {

using retile::foreign::Language;

/// The text with a line end and blanks behind every token that is no part of a string.
std::string spread(const std::string& text) {
  std::string out;
  bool quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    out += text[k];
    if (quoted && text[k] == '\\' && k + 1 < text.size()) {
      out += text[++k];
    } else if (text[k] == '"') {
      quoted = !quoted;
    } else if (!quoted && std::string_view("[]{},:").find(text[k]) != std::string_view::npos) {
      out += " \n\t";
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::input(data, size));
  std::string once;
  const bool any = fuzz::judged(text, Language::dtensor, once);
  fuzz::tally(any ? "judged" : once.substr(0, once.find(':')));
  std::string twice;
  const bool again = fuzz::judged(spread(text), Language::dtensor, twice);
  if (fuzz::control() && any) twice += "otherwise";
  if (any) fuzz::reached();
  fuzz::require(any == again, "blanks make a trace another", text);
  fuzz::require(!any || once == twice, "blanks change a verdict:\n" + once + twice, text);
  return 0;
}

static const std::vector<std::string> vocabulary = {
    R"x({"op": "split", "dim": 1, "in": [0], "out": [1, 2], "sizes": [[2, 2], [2, 2]]},)x",
    R"x({"op": "cat", "dim": 0, "in": [1, 2], "out": [3], "sizes": [[4, 2]]},)x",
    R"x({"op": "all_to_all", "group": [0, 1], "send": [2, 2], "receive": [2, 2], "in": [3], "out": [4], "sizes": [[4, 2]]})x",
    R"x({"op": "all_gather", "group": [0, 1], "in": [0], "out": [1], "sizes": [[4, 4]]})x",
    R"x({"op": "all_reduce", "group": [0, 1], "reduction": "sum", "in": [0], "out": [1], "sizes": [[4, 4]]})x",
    R"x({"op": "slice", "dim": 0, "start": 1, "in": [0], "out": [1], "sizes": [[1, 4]]},)x",
    R"x({"op": "pad", "padding": [0, 0, 0, 1], "in": [0], "out": [1], "sizes": [[3, 4]]},)x",
    R"x({"op": "transpose", "order": [1, 0], "in": [0], "out": [1], "sizes": [[4, 2]]},)x",
    R"x({"op": "reshape", "in": [0], "out": [1], "sizes": [[8]]},)x",
    R"x({"op": "empty", "in": [], "out": [1], "sizes": [[2, 4]]},)x",
    R"x("mesh": {"names": ["x"], "sizes": [2], "ranks": [0, 1]},)x",
    R"x("shape": [4, 4],)x",
    R"x("from": ["Shard(0)"],)x",
    R"x("to": ["Replicate()"],)x",
    R"x("Shard(1)")x",
    R"x("Partial()")x",
    R"x("_StridedShard(0, sf=2)")x",
    R"x("result": 1)x",
    R"x("start": [2, 4])x",
    R"x("rank": 1)x",
    "\"op\"",
    "-1",
    "0",
    "1",
    "2",
    "9223372036854775807",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "null",
    "1e3",
};

/// Rows to columns on two ranks, which is right.
static std::string fresh(std::uint64_t seed) {
  const std::string n = std::to_string(1 + seed % 4), all = std::to_string(2 * (1 + seed % 4));
  const std::string half = "[" + n + ", " + n + "]", long_half = "[" + all + ", " + n + "]";
  std::string out =
      "{\"schema\": \"retile.dtensor-trace/1\", \"mesh\": {\"names\": [\"x\"], \"sizes\": "
      "[2], \"ranks\": [0, 1]}, \"shape\": [" +
      all + ", " + all + "], \"from\": [\"Shard(0)\"], \"to\": [\"Shard(1)\"], \"ranks\": [";
  for (const std::string rank : {"0", "1"}) {
    out += "{\"rank\": " + rank + ", \"start\": [" + n + ", " + all +
           "], \"operations\": [{\"op\": \"split\", \"dim\": 1, \"in\": [0], \"out\": [1, 2], "
           "\"sizes\": [" +
           half + ", " + half +
           "]}, {\"op\": \"cat\", \"dim\": 0, \"in\": [1, 2], \"out\": [3], \"sizes\": [" +
           long_half + "]}, {\"op\": \"all_to_all\", \"group\": [0, 1], \"send\": [" + n + ", " +
           n + "], \"receive\": [" + n + ", " + n + "], \"in\": [3], \"out\": [4], \"sizes\": [" +
           long_half + "]}], \"result\": 4}" + (rank == "0" ? ", " : "");
  }
  return out + "]}";
}
RETILE_FUZZ_TEXT_MUTATORS(vocabulary, fresh)
