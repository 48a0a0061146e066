// Headers of .npy files: what is accepted is consistent, and written again it is the same header.
//
// Accepted headers also open as a file of the length they promise, and as no other.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "retile/exec/npy/npy.h"

const fuzz::Target fuzz::target = {"npy_header", 0.1};

namespace {

using retile::NpyHeader;
using retile::Size;

/// A hex dump that `xxd -r -p` turns into the file again.
std::string dump(std::span<const std::byte> bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = std::to_integer<unsigned>(bytes[i]);
    out += digits[value / 16];
    out += digits[value % 16];
    if (i % 32 == 31) out += '\n';
  }
  return out;
}

std::string text(const NpyHeader& header) {
  std::string out = header.descr + " (";
  for (const Size extent : header.shape) out += std::to_string(extent) + ",";
  return out + ") from byte " + std::to_string(header.data_offset_bytes);
}

/// The size that the name of an element type ends with, its unit of time left out.
Size size_in_name(const std::string& descr) {
  const std::size_t unit = std::min(descr.find('['), descr.size());
  std::size_t begin = unit;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(descr[begin - 1])) != 0) --begin;
  return begin == unit ? 0 : std::stoll(descr.substr(begin, unit - begin));
}

void check_file(const NpyHeader& header, std::span<const std::byte> bytes) {
  const Size length = header.file_bytes();
  if (length > 1 << 16) return;
  const int descriptor = ::memfd_create("retile-fuzz", MFD_CLOEXEC);
  if (descriptor < 0) return;
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  const auto head = static_cast<std::size_t>(header.data_offset_bytes);
  const bool written = ::write(descriptor, bytes.data(), head) == static_cast<ssize_t>(head);
  const auto opens = [&](Size size) -> retile::Result<retile::NpyFile> {
    if (::ftruncate(descriptor, size) != 0) std::abort();
    return retile::NpyFile::open(path);
  };
  if (written && ::access(path.c_str(), R_OK) == 0) {
    fuzz::tally("opened as files");
    const auto file = opens(length);
    fuzz::require(file.has_value() && file->header() == header, "the file opens otherwise",
                  dump(bytes));
    fuzz::require(!opens(length + 1).has_value(), "a file with a byte too many opens", dump(bytes));
    fuzz::require(!opens(length - 1).has_value(), "a file without its last byte opens",
                  dump(bytes));
  }
  ::close(descriptor);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(fuzz::input(data, size)));
  const auto header = retile::parse_npy_header(bytes, "input");
  if (!header) {
    fuzz::tally("refused");
    fuzz::require(!header.error().message.empty() && !retile::render(header.error()).empty(),
                  "a refusal without a message", dump(bytes));
    return 0;
  }
  fuzz::reached();
  const auto type = retile::npy_element_type(header->descr);
  fuzz::require(type.has_value() && *type == header->type &&
                    header->type.bytes == size_in_name(header->descr),
                "another type of elements: " + text(*header), dump(bytes));
  fuzz::require(header->data_offset_bytes >= 10 &&
                    header->data_offset_bytes <= static_cast<Size>(bytes.size()),
                "the data begin beside the file: " + text(*header), dump(bytes));
  Size elements = 1;
  for (const Size extent : header->shape) {
    fuzz::require(extent >= 1 && !__builtin_mul_overflow(elements, extent, &elements),
                  "no shape: " + text(*header), dump(bytes));
  }
  fuzz::require(header->file_bytes() == header->data_offset_bytes + elements * header->type.bytes,
                "another length: " + text(*header), dump(bytes));
  // All before the data alone is the same header; one byte less is none.
  const auto head = bytes.first(static_cast<std::size_t>(header->data_offset_bytes));
  const auto alone = retile::parse_npy_header(head, "input");
  fuzz::require(alone.has_value() && *alone == *header, "the header depends on the data",
                dump(bytes));
  fuzz::require(!retile::parse_npy_header(head.first(head.size() - 1), "input").has_value(),
                "a header without its last byte is accepted", dump(bytes));
  check_file(*header, bytes);

  NpyHeader copy = *header;
  const auto written = retile::make_npy_header(copy);
  fuzz::require(
      written.size() % 64 == 0 && copy.data_offset_bytes == static_cast<Size>(written.size()),
      "written without alignment: " + text(copy), dump(bytes));
  if (fuzz::control()) std::reverse(copy.shape.begin(), copy.shape.end());
  auto again = retile::parse_npy_header(written, "written");
  fuzz::require(again.has_value() && *again == copy, "written and read again: " + text(copy),
                dump(bytes));
  again->data_offset_bytes = header->data_offset_bytes;
  fuzz::require(*again == *header, "written otherwise: " + text(*again), dump(bytes));
  NpyHeader third = copy;
  fuzz::require(retile::make_npy_header(third) == written, "writing is no fixpoint", dump(bytes));
  return 0;
}

static const std::vector<std::string> vocabulary = {"'descr'",
                                                    "'fortran_order'",
                                                    "'shape'",
                                                    "'<f4'",
                                                    "'>i8'",
                                                    "'|u1'",
                                                    "'|V2'",
                                                    "'<c16'",
                                                    "'<M8[ns]'",
                                                    "'<m8'",
                                                    "'|b1'",
                                                    "'|O'",
                                                    "'<U3'",
                                                    "'|S4'",
                                                    "'f8'",
                                                    "'=f2'",
                                                    "False",
                                                    "True",
                                                    "{",
                                                    "}",
                                                    "(",
                                                    ")",
                                                    "()",
                                                    "(3,)",
                                                    "(2, 3)",
                                                    "(2, 3,)",
                                                    "3L",
                                                    "-1",
                                                    ",",
                                                    ":",
                                                    "'",
                                                    "\"descr\"",
                                                    "[('a', '<f4')]",
                                                    "\\n",
                                                    " ",
                                                    "\n",
                                                    "\t",
                                                    "\f",
                                                    "\r"};

/// A dictionary that should be accepted, in any order and spelling.
static std::string fresh_dictionary(std::mt19937& engine) {
  const auto pick = [&engine](const std::vector<std::string>& from) {
    return from[engine() % from.size()];
  };
  std::string shape;
  const auto rank = engine() % 5;
  for (unsigned i = 0; i < rank; ++i) {
    shape += pick({"1", "2", "3", "16", "4096", "2147483648", "4294967296"}) +
             pick({"", "", "", "L"}) + (i + 1 < rank || rank == 1 ? pick({", ", ","}) : "");
  }
  const std::string quote = pick({"'", "'", "\""});
  const auto quoted = [&quote](const std::string& text) { return quote + text + quote; };
  std::vector<std::string> entries = {
      quoted("descr") + ": " +
          quoted(pick({"<f4", ">f8", "|u1", "<i2", "=u4", "i8", "|b1", "<c8", ">c16", "|V2",
                       "<M8[ns]", "<m8", "f2", "<f16"})),
      quoted("fortran_order") + ": " + (rank < 2 ? pick({"False", "True"}) : "False"),
      quoted("shape") + ": (" + shape + ")"};
  std::shuffle(entries.begin(), entries.end(), engine);
  const std::string blank = pick({" ", "", "\t", "\n"});
  return "{" + entries[0] + "," + blank + entries[1] + "," + blank + entries[2] +
         pick({"", ",", ", "}) + "}" + std::string(engine() % 3 == 0 ? engine() % 64 : 0, ' ');
}

/// Tokens of the dictionary, behind a start whose length is right; sometimes with wrong bytes.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::mt19937 engine(seed);
  const std::string_view old(reinterpret_cast<const char*>(data), size);
  const std::size_t start = size > 6 && data[6] == 1 ? 10 : 12;
  std::string next =
      engine() % 4 == 0 ? fresh_dictionary(engine) : std::string(old.substr(std::min(size, start)));
  if (engine() % 4 != 0) next = support::mutate_text(next, engine(), vocabulary);
  std::size_t length = next.size();
  if (engine() % 4 == 0) next += std::string(engine() % 40, '\0');  // data
  if (engine() % 16 == 0) length += engine() % 5;
  const auto version = static_cast<unsigned char>(
      engine() % 4 == 0 || size <= 6 ? std::size_t{1} + engine() % 3 : std::size_t{data[6]});
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += engine() % 32 == 0 ? '\x01' : '\0';
  for (unsigned i = 0; i < (version == 1 ? 2U : 4U); ++i) {
    out += static_cast<char>(static_cast<unsigned char>((length >> (8U * i)) & 0xffU));
  }
  return fuzz::store(out + next, data, max_size);
}
