#include "retile/exec/npy/npy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/hash.h"
#include "retile/exec/npy/file_support.h"

namespace retile {
namespace {

constexpr std::size_t usual_header_bytes = 4096;
constexpr std::size_t longest_header_bytes = std::size_t{1} << 20;
constexpr std::string_view magic = "\x93NUMPY";

tl::unexpected<Diagnostic> bad(std::string_view source, std::string message,
                               std::vector<std::string> notes = {}) {
  return refuse({.code = Code::bad_file,
                 .message = std::move(message),
                 .rule = "npy",
                 .source = std::string(source),
                 .notes = std::move(notes)});
}

/// Reads the dictionary of a header: a Python literal of which only three keys with three kinds of
/// values may occur.
class DictionaryReader {
 public:
  DictionaryReader(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  Result<NpyHeader> read() {
    NpyHeader header;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    if (!take('{')) return syntax("a dictionary {...} is expected");
    while (!take('}')) {
      auto key = string();
      if (!key) return tl::unexpected(key.error());
      if (!take(':')) return syntax("`:` is expected after a key");
      const bool repeated = (*key == "descr" && std::exchange(has_descr, true)) ||
                            (*key == "fortran_order" && std::exchange(has_order, true)) ||
                            (*key == "shape" && std::exchange(has_shape, true));
      if (repeated) return bad(source_, fmt::format("the header has the key `{}` twice", *key));
      if (*key == "descr") {
        if (auto done = descr(header); !done) return tl::unexpected(done.error());
      } else if (*key == "fortran_order") {
        if (auto done = order(); !done) return tl::unexpected(done.error());
      } else if (*key == "shape") {
        if (auto done = shape(header); !done) return tl::unexpected(done.error());
      } else {
        return bad(source_, "the header has a key that .npy files do not have",
                   {"the keys are descr, fortran_order and shape"});
      }
      if (take(',')) continue;
      if (take('}')) break;
      return syntax("`,` or `}` is expected after a value");
    }
    skip_blanks();
    if (position_ != text_.size()) return syntax("nothing may follow the dictionary");
    if (!has_descr || !has_order || !has_shape) {
      return bad(source_,
                 fmt::format("the header lacks the key `{}`", !has_descr   ? "descr"
                                                              : !has_order ? "fortran_order"
                                                                           : "shape"));
    }
    if (fortran_order_ && header.shape.size() > 1) {
      return bad(source_, "the array is stored in Fortran order; only C order can be read",
                 {"numpy.save(path, numpy.ascontiguousarray(array)) writes C order"});
    }
    const auto elements = checked_product(header.shape);
    if (!elements || !checked_mul(*elements, header.type.bytes)) {
      return bad(source_, "the shape in the header has more than 2^63 bytes");
    }
    return header;
  }

 private:
  tl::unexpected<Diagnostic> syntax(std::string_view what) const {
    return bad(source_, fmt::format("the header cannot be read: {} at byte {} of its dictionary",
                                    what, position_));
  }

  void skip_blanks() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n\f").find(text_[position_]) != std::string_view::npos) {
      ++position_;
    }
  }

  bool at(char wanted) {
    skip_blanks();
    return position_ < text_.size() && text_[position_] == wanted;
  }

  bool take(char wanted) {
    if (!at(wanted)) return false;
    ++position_;
    return true;
  }

  bool take_word(std::string_view word) {
    skip_blanks();
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }

  Result<std::string> string() {
    skip_blanks();
    if (!at('\'') && !at('"')) return syntax("a quoted string is expected");
    const char quote = text_[position_];
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) return syntax("a quoted string is not closed");
    std::string value(text_.substr(position_ + 1, end - position_ - 1));
    if (value.find('\\') != std::string::npos) return syntax("an escape is not understood");
    position_ = end + 1;
    return value;
  }

  Result<void> descr(NpyHeader& header) {
    if (at('[') || at('(')) {
      return bad(source_, "structured element types cannot be read",
                 {"save each field as an array of its own"});
    }
    auto value = string();
    if (!value) return tl::unexpected(value.error());
    auto type = npy_element_type(*value);
    if (!type) {
      Diagnostic diagnostic = type.error();
      diagnostic.source = source_;
      return refuse(std::move(diagnostic));
    }
    header.descr = std::move(*value);
    header.type = *type;
    return {};
  }

  Result<void> order() {
    if (take_word("False")) {
      fortran_order_ = false;
    } else if (take_word("True")) {
      fortran_order_ = true;
    } else {
      return syntax("fortran_order is neither True nor False");
    }
    return {};
  }

  Result<void> shape(NpyHeader& header) {
    if (!take('(')) return syntax("the shape is no tuple");
    bool comma = true;  // whether the last thing was a comma (or the opening parenthesis)
    while (!take(')')) {
      if (!comma) return syntax("`,` or `)` is expected in the shape");
      auto extent = number();
      if (!extent) return tl::unexpected(extent.error());
      header.shape.push_back(*extent);
      comma = take(',');
    }
    if (header.shape.size() == 1 && !comma) return syntax("the shape is no tuple, (n,) is one");
    return {};
  }

  Result<Size> number() {
    skip_blanks();
    if (at('-')) return bad(source_, "the shape in the header has a negative extent");
    const std::size_t begin = position_;
    Size value = 0;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
      const auto tens = checked_mul(value, 10);
      const auto next = tens ? checked_add(*tens, text_[position_] - '0') : std::nullopt;
      if (!next) return bad(source_, "the shape in the header has an extent of 2^63 or more");
      value = *next;
      ++position_;
    }
    if (position_ == begin) return syntax("a number is expected in the shape");
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // Python 2 wrote 3L
    if (value == 0) return bad(source_, "the array is empty: its shape has an extent of 0");
    return value;
  }

  std::string_view text_;
  std::string_view source_;
  std::size_t position_ = 0;
  bool fortran_order_ = false;
};

}  // namespace

Size NpyHeader::file_bytes() const {
  const auto elements = checked_product(shape);
  RETILE_ASSERT(elements, "a header whose shape overflows");
  const auto bytes = checked_mul(*elements, type.bytes);
  const auto all = bytes ? checked_add(*bytes, data_offset_bytes) : std::nullopt;
  RETILE_ASSERT(all, "a header whose file overflows");
  return *all;
}

namespace {

/// A letter of .npy element types, the sizes that it has, and what it means.
struct Letter {
  char letter;
  std::array<Size, 4> sizes;
  ElementKind kind;
};

constexpr std::array<Letter, 8> letters{{
    {'b', {1}, ElementKind::boolean},
    {'i', {1, 2, 4, 8}, ElementKind::signed_integer},
    {'u', {1, 2, 4, 8}, ElementKind::unsigned_integer},
    {'f', {2, 4, 8, 16}, ElementKind::floating},
    {'V', {2}, ElementKind::brain_floating},
    {'c', {8, 16}, ElementKind::complex},
    {'M', {8}, ElementKind::datetime},
    {'m', {8}, ElementKind::timedelta},
}};

/// Takes a number of up to nine digits from the front; the rest stays.
std::optional<Size> take_number(std::string_view& text) {
  Size value = 0;
  std::size_t digits = 0;
  while (digits < text.size() && digits < 9 && text[digits] >= '0' && text[digits] <= '9') {
    value = value * 10 + (text[digits++] - '0');
  }
  if (digits == 0 || text.front() == '0') return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

/// `[ns]`, `[25s]`, `[D/2]`, or nothing, as numpy reads what stands behind M8 and m8. Nothing else
/// may stand there: the text is written to files, and sent to other processes.
bool is_unit_of_time(std::string_view text) {
  constexpr std::array<std::string_view, 13> units{"Y",  "M",  "W",  "D",  "h",  "m", "s",
                                                   "ms", "us", "ns", "ps", "fs", "as"};
  if (text.empty() || text == "[generic]") return true;
  if (text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  take_number(text);
  const std::size_t slash = std::min(text.find('/'), text.size());
  if (std::find(units.begin(), units.end(), text.substr(0, slash)) == units.end()) return false;
  if (slash == text.size()) return true;
  text.remove_prefix(slash + 1);
  return take_number(text).has_value() && text.empty();
}

}  // namespace

std::string npy_descr(const ElementType& type) {
  const auto letter = std::find_if(letters.begin(), letters.end(),
                                   [&](const Letter& it) { return it.kind == type.kind; });
  // More than one byte per part, so that the order of bytes matters.
  const bool ordered = type.bytes > 1 && type.kind != ElementKind::brain_floating;
  const char order = !ordered ? '|' : std::endian::native == std::endian::little ? '<' : '>';
  return fmt::format("{}{}{}", order, letter->letter, type.bytes);
}

Result<ElementType> npy_element_type(std::string_view descr) {
  const std::vector<std::string> notes{
      "readable are numbers of 1, 2, 4, 8 or 16 bytes, such as <f4, >i8, |u1, <c16, and |V2 for "
      "bf16"};
  const auto refused = [&](std::string_view what) {
    std::string shown;  // the text comes from a file: only what can be printed safely
    for (const char letter : descr.substr(0, 32)) {
      shown += letter >= ' ' && letter <= '~' ? letter : '?';
    }
    return bad("", fmt::format("{} cannot be read: `{}`", what, shown), notes);
  };
  std::string_view rest = descr;
  if (!rest.empty() && std::string_view("<>=|").find(rest.front()) != std::string_view::npos) {
    rest.remove_prefix(1);
  }
  if (rest.empty()) return refused("an element type without a name");
  const char kind = rest.front();
  rest.remove_prefix(1);
  if (kind == 'O') return refused("elements that are Python objects");
  if (kind == 'S' || kind == 'U' || kind == 'a') return refused("elements that are strings");
  const auto bytes = take_number(rest);
  if (!bytes) return refused("an unknown element type");
  if (kind == 'V' && (*bytes != 2 || !rest.empty())) return refused("void or structured elements");
  const auto letter = std::find_if(letters.begin(), letters.end(),
                                   [&](const Letter& it) { return it.letter == kind; });
  if (letter == letters.end() ||
      std::find(letter->sizes.begin(), letter->sizes.end(), *bytes) == letter->sizes.end()) {
    return refused("an unknown element type");
  }
  const bool time = kind == 'M' || kind == 'm';
  if (time ? !is_unit_of_time(rest) : !rest.empty()) return refused("an unknown element type");
  return ElementType{.kind = letter->kind, .bytes = *bytes};
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes, std::string_view source) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(bytes[i]); };
  if (bytes.size() < magic.size() || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0) {
    return bad(source, "this is no .npy file: it does not start with \\x93NUMPY");
  }
  if (bytes.size() < magic.size() + 2) return bad(source, "the file ends inside its header");
  const std::size_t major = byte(6);
  const std::size_t minor = byte(7);
  if (major < 1 || major > 3 || minor != 0) {
    return bad(source, fmt::format("version {}.{} of the .npy format is unknown", major, minor),
               {"versions 1.0, 2.0 and 3.0 can be read"});
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t begin = magic.size() + 2 + length_bytes;
  if (bytes.size() < begin) return bad(source, "the file ends inside its header");
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length * 256 + byte(8 + i);
  if (length > longest_header_bytes) {
    return bad(source, fmt::format("the header claims to be {} bytes long", length),
               {"headers of up to 1 MiB are read"});
  }
  if (length > bytes.size() - begin) {
    return bad(source, fmt::format("the header claims {} bytes, the file has {} behind its start",
                                   length, bytes.size() - begin));
  }
  std::string text;
  for (std::size_t i = begin; i < begin + length; ++i) {
    const std::size_t value = byte(i);
    if (value == 0 || value > 126) {
      return bad(source,
                 fmt::format("the header has the byte {:#04x} where only text may stand", value));
    }
    text.push_back(static_cast<char>(value));
  }
  auto header = DictionaryReader(text, source).read();
  if (!header) return header;
  header->data_offset_bytes = static_cast<Size>(begin + length);
  const Size elements = *checked_product(header->shape);
  if (!checked_add(elements * header->type.bytes, header->data_offset_bytes)) {
    return bad(source, "the shape in the header has more than 2^63 bytes");
  }
  return header;
}

std::vector<std::byte> make_npy_header(NpyHeader& header) {
  RETILE_ASSERT(npy_element_type(header.descr), "an element type that nobody could read again");
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", header.descr);
  for (std::size_t i = 0; i < header.shape.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", header.shape[i]);
  }
  text += header.shape.size() == 1 ? ",), }" : "), }";
  // Version 1 counts its header in two bytes; an array needs thousands of dimensions to get beyond
  // that.
  constexpr std::size_t alignment = 64;
  const auto padded = [&](std::size_t prefix) {
    return (prefix + text.size() + 1 + alignment - 1) / alignment * alignment - prefix;
  };
  const bool version_1 = padded(10) <= 0xffff;
  const std::size_t prefix = version_1 ? 10 : 12;
  const std::size_t length = padded(prefix);
  text.append(length - text.size() - 1, ' ');
  text.push_back('\n');
  std::string all(magic);
  all.push_back(version_1 ? '\x01' : '\x02');
  all.push_back('\0');
  for (std::size_t i = 0; i < (version_1 ? 2U : 4U); ++i) {
    all.push_back(static_cast<char>(static_cast<unsigned char>((length >> (8U * i)) & 0xffU)));
  }
  all += text;
  header.data_offset_bytes = static_cast<Size>(all.size());
  std::vector<std::byte> bytes(all.size());
  std::memcpy(bytes.data(), all.data(), all.size());
  return bytes;
}

Result<NpyFile> NpyFile::open(const std::string& path) {
  NpyFile file;
  file.path_ = path;
  // Without O_NONBLOCK, opening a named pipe would wait for a writer before we can see what it is.
  file.descriptor_ = Descriptor::open(path, O_RDONLY | O_NONBLOCK);
  if (!file.descriptor_.is_open()) {
    return bad(path, fmt::format("the file cannot be opened: {}", detail::error_text(errno)));
  }
  struct stat status {};
  if (::fstat(file.descriptor_.number(), &status) != 0) {
    return bad(path, fmt::format("the file cannot be looked at: {}", detail::error_text(errno)));
  }
  if (S_ISDIR(status.st_mode)) return bad(path, "this is a directory, not a .npy file");
  if (!S_ISREG(status.st_mode)) return bad(path, "this is not a regular file");

  // Whoever compares tiles opens many files, and few headers are longer than what is read at first.
  std::vector<std::byte> bytes;
  const auto read_header = [&](std::size_t most) -> Result<NpyHeader> {
    bytes.resize(static_cast<std::size_t>(std::min(status.st_size, static_cast<off_t>(most))));
    if (auto read = file.read_at(0, bytes); !read) return tl::unexpected(read.error());
    return parse_npy_header(bytes, path);
  };
  auto header = read_header(usual_header_bytes);
  if (!header && status.st_size > static_cast<off_t>(usual_header_bytes)) {
    header = read_header(longest_header_bytes + 12);
  }
  if (!header) return tl::unexpected(header.error());
  const Size expected = header->file_bytes();
  if (status.st_size < expected) {
    return bad(path, fmt::format("the file is truncated: its header promises {} bytes, it has {}",
                                 expected, status.st_size));
  }
  if (status.st_size > expected) {
    return bad(
        path, fmt::format(
                  "{} bytes follow the last element: the header promises {} bytes, the file has {}",
                  status.st_size - expected, expected, status.st_size));
  }
  file.header_ = std::move(*header);
  std::uint64_t hash = hash_start;
  hash = hash_bytes(
      hash, std::span(bytes).first(static_cast<std::size_t>(file.header_.data_offset_bytes)));
  hash = hash_number(hash, static_cast<std::uint64_t>(status.st_size));
  hash = hash_number(hash, static_cast<std::uint64_t>(status.st_mtim.tv_sec));
  hash = hash_number(hash, static_cast<std::uint64_t>(status.st_mtim.tv_nsec));
  file.fingerprint_ = hash;
  return file;
}

Result<void> NpyFile::read_at(Size offset_bytes, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    // Linux moves at most 2^31 - 4096 bytes per call; asking for less keeps the count positive
    // everywhere.
    const std::size_t part = std::min(bytes.size(), std::size_t{1} << 30);
    const ssize_t got =
        ::pread(descriptor_.number(), bytes.data(), part, static_cast<off_t>(offset_bytes));
    if (got < 0) {
      if (errno == EINTR) continue;
      return refuse({.code = Code::file_error,
                     .message = fmt::format("reading failed at byte {}: {}", offset_bytes,
                                            detail::error_text(errno)),
                     .source = path_});
    }
    if (got == 0) return bad(path_, fmt::format("the file ended early, at byte {}", offset_bytes));
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset_bytes += got;
  }
  return {};
}

namespace {

constexpr std::size_t read_buffer_bytes = std::size_t{1} << 20;
constexpr Size longest_gap_bytes = 4096;
constexpr std::size_t longest_batch = 16384;

}  // namespace

TileReader::TileReader(const NpyFile& file, const Shape& tile, const Shape& base)
    : file_(&file), runs_(file.header().shape, tile, base) {
  batch_.reserve(longest_batch);
}

TileReader::TileReader(const NpyFile& file, const Layout& layout, Size device)
    : file_(&file), runs_(layout, device) {
  RETILE_ASSERT(file.header().shape == layout.global(), "a tile of another array");
  batch_.reserve(longest_batch);
}

Result<void> TileReader::read(std::span<std::byte> out) {
  const Size width = file_->header().type.bytes;
  const Size offset = file_->header().data_offset_bytes;
  const auto size = static_cast<Size>(out.size());
  RETILE_ASSERT(size % width == 0, "part of an element was asked for");
  Size wanted = size / width;
  std::byte* destination = out.data();
  while (wanted > 0) {
    const Run first = runs_.next(wanted);
    batch_.assign(1, first);
    wanted -= first.elements;
    // Collect the following runs as long as reading the gaps along costs less than another call.
    while (wanted > 0 && batch_.size() < longest_batch) {
      const Run following = runs_.peek(wanted);
      const Run& last = batch_.back();
      const Size gap = following.global - (last.global + last.elements);
      const Size span = following.global + following.elements - first.global;
      if (gap > longest_gap_bytes / width || span > static_cast<Size>(read_buffer_bytes) / width)
        break;
      batch_.push_back(runs_.next(wanted));
      wanted -= following.elements;
    }
    if (batch_.size() == 1) {
      const auto bytes = static_cast<std::size_t>(first.elements * width);
      if (auto read = file_->read_at(offset + first.global * width, {destination, bytes}); !read)
        return read;
      destination += bytes;
      continue;
    }
    const Run& last = batch_.back();
    const auto bytes =
        static_cast<std::size_t>((last.global + last.elements - first.global) * width);
    if (buffer_.empty()) buffer_.resize(read_buffer_bytes);
    if (auto read = file_->read_at(offset + first.global * width, {buffer_.data(), bytes}); !read)
      return read;
    for (const Run& run : batch_) {
      const auto run_bytes = static_cast<std::size_t>(run.elements * width);
      std::memcpy(destination, buffer_.data() + (run.global - first.global) * width, run_bytes);
      destination += run_bytes;
    }
  }
  return {};
}

}  // namespace retile
