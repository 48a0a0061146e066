#include "retile/exec/mpi/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/hash.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/exec/npy/npy.h"
#include "retile/exec/npy/pattern.h"
#include "retile/program/apply.h"

namespace retile::mpi {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
// In front of every streamed piece: whether process 0 could read it.
constexpr std::size_t status_bytes = 8;

tl::unexpected<Diagnostic> refused(Code code, std::string message, std::string source = {},
                                   std::vector<std::string> notes = {}) {
  return refuse({.code = code,
                 .message = std::move(message),
                 .source = std::move(source),
                 .notes = std::move(notes)});
}

// Headers travel as text. The descr is one that was parsed, so it holds neither blanks nor line
// ends but in units of time.
std::string pack_header(const NpyHeader& header) {
  std::string text = fmt::format("{}\n{} {} {}", header.descr, header.element_bytes,
                                 header.data_offset_bytes, header.shape.size());
  for (const Size extent : header.shape) text += fmt::format(" {}", extent);
  return text + " ";
}

/// Reads numbers that end with a blank each.
class NumberReader {
 public:
  explicit NumberReader(std::string_view text) : text_(text) {}
  std::uint64_t next() {
    std::uint64_t value = 0;
    while (position_ < text_.size() && text_[position_] != ' ') {
      value = value * 10 + static_cast<std::uint64_t>(text_[position_++] - '0');
    }
    ++position_;
    return value;
  }
  Size next_size() { return static_cast<Size>(next()); }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

NpyHeader unpack_header(const std::string& text) {
  NpyHeader header;
  const std::size_t line = text.find('\n');
  header.descr = text.substr(0, line);
  NumberReader numbers(std::string_view(text).substr(line + 1));
  header.element_bytes = numbers.next_size();
  header.data_offset_bytes = numbers.next_size();
  header.shape.resize(static_cast<std::size_t>(numbers.next()));
  for (Size& extent : header.shape) extent = numbers.next_size();
  return header;
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + "]";
}

/// `<f4` and `>f4` are one element type in two byte orders.
std::string_view without_byte_order(std::string_view descr) {
  if (!descr.empty() && std::string_view("<>=|").find(descr.front()) != std::string_view::npos)
    descr.remove_prefix(1);
  return descr;
}

/// The run of one process.
class Runner {
 public:
  Runner(Communicator comm, const Program& program, const RunOptions& options)
      : comm_(std::move(comm)), program_(program), options_(options) {}

  Result<RunReport> run();

 private:
  using Consume = std::function<void(Size begin_bytes, std::span<const std::byte> piece)>;

  Result<void> agree_on_options() const;
  Result<void> open_input();
  Result<void> open_output();
  Result<void> prepare();
  Result<void> read_tile();
  Result<void> move();
  Result<void> verify();
  Result<void> write_tile();
  Result<void> measure();

  [[nodiscard]] std::vector<char> others_with(bool flag) const;
  Result<void> for_each_input_piece(const Layout& map, std::string_view stage,
                                    const Consume& consume);
  Result<void> serve_input(const Layout& map, int process);
  Result<void> receive_input(Size tile_bytes, std::string_view stage, const Consume& consume);
  Result<void> receive_output(int process);
  void send_output();
  void note_mismatch(Size local_index) {
    if (!mismatch_) mismatch_ = local_index;
  }
  std::span<std::byte> piece() {
    if (piece_.empty()) piece_.resize(status_bytes + piece_bytes);
    return piece_;
  }
  void note_buffers(Size reader_bytes) {
    file_buffer_bytes_ =
        std::max(file_buffer_bytes_, reader_bytes + static_cast<Size>(piece_.capacity()));
  }
  void progress(std::string_view stage, Size done, Size total) const {
    if (comm_.process() == 0 && options_.progress) options_.progress(stage, done, total);
  }
  [[nodiscard]] std::span<std::byte> in() const { return mover_->input(); }
  [[nodiscard]] std::span<std::byte> out() const { return mover_->output(); }
  [[nodiscard]] Shape base(const Layout& map, int process) const {
    return map.base_offset(process);
  }

  Communicator comm_;
  const Program& program_;
  const RunOptions& options_;
  RunReport report_;

  std::optional<NpyHeader> input_header_;
  std::optional<NpyFile> input_;        // nothing where process 0 reads for us
  std::vector<char> reads_by_stream_;   // per process
  std::optional<NpyOutput> output_;     // nothing where process 0 writes for us
  std::vector<char> writes_by_stream_;  // per process
  Size element_bytes_ = 0;
  std::optional<Redistributor> mover_;
  std::vector<std::byte> piece_;
  Size file_buffer_bytes_ = 0;
  Size checked_ = 0;
  std::optional<Size> mismatch_;  // local index
};

Result<void> Runner::agree_on_options() const {
  const std::string text =
      fmt::format("{} {} {}\n{}\n{}\n", options_.element_bytes.value_or(0), options_.repetitions,
                  options_.npy_descr, options_.input, options_.output);
  const std::uint64_t hash = hash_bytes(hash_start, std::as_bytes(std::span(text)));
  std::array<std::uint64_t, 2> values{hash, ~hash};
  or_abort(comm_, comm_.maximum(values));
  if (values[0] != ~values[1]) {
    return refused(Code::disagreement,
                   "the processes were given different options (element type, files, repetitions)");
  }
  // From here on all have the same options, so all come to the same answers.
  if (options_.repetitions < 1)
    return refused(Code::bad_argument, "the number of repetitions must be at least 1");
  // The Redistributor finds the rest; this much must hold before a file is looked at.
  Result<void> mine;
  if (program_.devices != comm_.processes()) {
    mine = refused(Code::bad_argument,
                   fmt::format("the Program is for {} devices, the job has {} processes",
                               program_.devices, comm_.processes()));
  } else if (program_.from.devices() != program_.devices ||
             program_.to.devices() != program_.devices ||
             program_.from.global() != program_.to.global()) {
    mine = refused(Code::bad_program,
                   "the Program's ends are not tilings of one array over its devices");
  }
  return agree(comm_, mine);
}

std::vector<char> Runner::others_with(bool flag) const {
  std::vector<char> flags(static_cast<std::size_t>(comm_.processes()), 0);
  const char mine = flag ? 1 : 0;
  or_abort(comm_, comm_.allgather(std::as_bytes(std::span(&mine, 1)).data(),
                                  std::as_writable_bytes(std::span(flags)).data(), 1));
  return flags;
}

Result<void> Runner::open_input() {
  const bool first = comm_.process() == 0;
  Result<void> mine;
  std::string text;
  if (first) {
    auto file = NpyFile::open(options_.input);
    if (file) {
      text = fmt::format("{} {}", file->fingerprint(), pack_header(file->header()));
      input_ = std::move(*file);
    } else {
      mine = tl::unexpected(file.error());
    }
  }
  if (auto agreed = agree(comm_, mine); !agreed) return agreed;
  const std::string shared = or_abort(comm_, comm_.broadcast_text(text, 0));
  const std::uint64_t fingerprint = NumberReader(shared).next();
  input_header_ = unpack_header(shared.substr(shared.find(' ') + 1));
  if (!first && options_.opens_input) {
    auto file = NpyFile::open(options_.input);
    // A file of that name that is another one, on a host of its own, does not count.
    if (file && file->fingerprint() == fingerprint) input_ = std::move(*file);
  }
  reads_by_stream_ = others_with(!input_.has_value());

  const NpyHeader& header = *input_header_;
  if (header.shape != program_.from.global()) {
    return refused(Code::bad_file,
                   fmt::format("the file's array has shape {}, the Program's has {}",
                               shape_text(header.shape), shape_text(program_.from.global())),
                   options_.input);
  }
  if (options_.element_bytes && *options_.element_bytes != header.element_bytes) {
    return refused(Code::bad_file,
                   fmt::format("the file's elements ({}) have {} bytes, {} were asked for",
                               header.descr, header.element_bytes, *options_.element_bytes),
                   options_.input);
  }
  if (!options_.npy_descr.empty() &&
      without_byte_order(options_.npy_descr) != without_byte_order(header.descr)) {
    return refused(Code::bad_file,
                   fmt::format("the file's elements are {}, {} was asked for", header.descr,
                               options_.npy_descr),
                   options_.input);
  }
  element_bytes_ = header.element_bytes;
  return {};
}

/// Which devices write: of those that hold the same tile, the first.
std::vector<char> writers(const Layout& map) {
  const std::vector<Size> at = map.base_offsets();
  const std::size_t rank = map.rank();
  const auto devices = static_cast<std::size_t>(map.devices());
  const auto start = [&](std::size_t d) {
    return at.begin() + static_cast<std::ptrdiff_t>(d * rank);
  };
  const auto end = [&](std::size_t d) { return start(d) + static_cast<std::ptrdiff_t>(rank); };
  std::vector<std::size_t> order(devices);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::lexicographical_compare(start(a), end(a), start(b), end(b));
  });
  std::vector<char> writes(devices, 0);
  for (std::size_t i = 0; i < devices; ++i) {
    writes[order[i]] =
        i == 0 || !std::equal(start(order[i]), end(order[i]), start(order[i - 1])) ? 1 : 0;
  }
  return writes;
}

Result<void> Runner::open_output() {
  if (!program_.to.covers_once()) {
    return refused(Code::unsupported,
                   "the target tiles do not cover the array exactly once, so they make no file",
                   options_.output);
  }
  NpyHeader header;
  header.shape = program_.to.global();
  header.element_bytes = element_bytes_;
  header.descr = input_header_ ? input_header_->descr : options_.npy_descr;
  if (!input_header_) {
    const auto bytes = npy_element_bytes(header.descr);
    if (!bytes || *bytes != element_bytes_) {
      return refused(Code::bad_argument,
                     fmt::format("an output needs an element type; `{}` is none of {} bytes",
                                 header.descr, element_bytes_),
                     options_.output);
    }
  }
  const auto elements = checked_product(header.shape);
  const auto bytes = elements ? checked_mul(*elements, element_bytes_) : std::nullopt;
  constexpr Size header_allowance = Size{1} << 21;
  if (!bytes || !checked_add(*bytes, header_allowance)) {
    return refused(Code::size_overflow, "the output would have more than 2^63 bytes",
                   options_.output);
  }

  const bool first = comm_.process() == 0;
  Result<void> mine;
  std::string text;
  if (first) {
    auto file = NpyOutput::create(options_.output, header);
    if (file) {
      output_ = std::move(*file);
      text = fmt::format("{} {} {}", output_->identity(), output_->header().data_offset_bytes,
                         output_->temporary_path());
    } else {
      mine = tl::unexpected(file.error());
    }
  }
  if (auto agreed = agree(comm_, mine); !agreed) return agreed;
  const std::string shared = or_abort(comm_, comm_.broadcast_text(text, 0));
  NumberReader numbers(shared);
  const std::uint64_t identity = numbers.next();
  header.data_offset_bytes = numbers.next_size();
  if (!first && options_.opens_output) {
    const std::size_t path = shared.find(' ', shared.find(' ') + 1) + 1;
    auto file = NpyOutput::join(shared.substr(path), header, identity);
    if (file) output_ = std::move(*file);
  }
  writes_by_stream_ = others_with(!output_.has_value());
  return {};
}

Result<void> Runner::prepare() {
  Options options = options_.options;
  options.own_buffers = true;
  auto mover = Redistributor::make(comm_.handle(), program_, element_bytes_, options);
  if (!mover) return tl::unexpected(mover.error());
  mover_ = std::move(*mover);
  report_.strategy = mover_->strategy();
  report_.reasons = mover_->reasons();
  return {};
}

Result<void> Runner::serve_input(const Layout& map, int process) {
  TileReader reader(*input_, map.tile(), base(map, process));
  note_buffers(reader.buffer_bytes());
  Size left = map.tile_size() * element_bytes_;
  Result<void> mine;
  while (left > 0 && mine) {
    const auto bytes =
        static_cast<std::size_t>(std::min<Size>(left, static_cast<Size>(piece_bytes)));
    const auto message = piece().first(status_bytes + bytes);
    mine = reader.read(message.subspan(status_bytes));
    note_buffers(reader.buffer_bytes());
    const std::uint64_t good = mine ? 1 : 0;
    std::memcpy(message.data(), &good, status_bytes);
    or_abort(comm_, comm_.send(message, process));
    left -= static_cast<Size>(bytes);
  }
  return mine;
}

Result<void> Runner::receive_input(Size tile_bytes, std::string_view stage,
                                   const Consume& consume) {
  for (Size begin = 0; begin < tile_bytes; begin += static_cast<Size>(piece_bytes)) {
    const auto bytes = static_cast<std::size_t>(
        std::min<Size>(tile_bytes - begin, static_cast<Size>(piece_bytes)));
    const auto message = piece().first(status_bytes + bytes);
    note_buffers(0);
    or_abort(comm_, comm_.receive(message, 0));
    std::uint64_t good = 0;
    std::memcpy(&good, message.data(), status_bytes);
    if (good == 0)
      return refused(Code::file_error, "process 0 could not read the input any further",
                     options_.input);
    consume(begin, message.subspan(status_bytes));
    progress(stage, begin, tile_bytes);
  }
  return {};
}

/// Hands every piece of this process's tile of `map`, as the input file has it, to `consume`.
/// Collective.
Result<void> Runner::for_each_input_piece(const Layout& map, std::string_view stage,
                                          const Consume& consume) {
  const Size tile_bytes = map.tile_size() * element_bytes_;
  Result<void> mine;
  if (!input_) {
    mine = receive_input(tile_bytes, stage, consume);
  } else {
    TileReader reader(*input_, map.tile(), base(map, comm_.process()));
    for (Size begin = 0; begin < tile_bytes && mine; begin += static_cast<Size>(piece_bytes)) {
      const auto bytes = static_cast<std::size_t>(
          std::min<Size>(tile_bytes - begin, static_cast<Size>(piece_bytes)));
      const auto part = piece().subspan(status_bytes, bytes);
      mine = reader.read(part);
      note_buffers(reader.buffer_bytes());
      if (mine) consume(begin, part);
      progress(stage, begin, tile_bytes);
    }
  }
  if (comm_.process() == 0) {
    for (int process = 1; process < comm_.processes(); ++process) {
      if (reads_by_stream_[static_cast<std::size_t>(process)] == 0) continue;
      auto served = serve_input(map, process);
      if (mine) mine = served;  // the first failure is the one to tell
    }
  }
  return agree(comm_, mine);
}

Result<void> Runner::read_tile() {
  const Size total = mover_->in_bytes();
  progress("read", 0, total);
  if (!input_header_) {
    fill_pattern(program_.from, comm_.process(), element_bytes_, in());
  } else {
    auto read = for_each_input_piece(program_.from, "read",
                                     [&](Size begin, std::span<const std::byte> part) {
                                       std::memcpy(in().data() + begin, part.data(), part.size());
                                     });
    if (!read) return read;
  }
  progress("read", total, total);
  return {};
}

Result<void> Runner::move() {
  std::vector<double> seconds;
  for (Size repetition = 0; repetition < options_.repetitions; ++repetition) {
    progress("move", repetition, options_.repetitions);
    // What an earlier repetition left must not make up for this one.
    if (mover_->strategy() != Strategy::in_place) {
      std::memset(out().data(), 0, out().size());
    } else if (repetition > 0) {
      if (auto again = read_tile(); !again) return again;
    }
    or_abort(comm_, comm_.barrier());
    const double start = seconds_now();
    if (auto moved = mover_->run(); !moved) return moved;
    seconds.push_back(or_abort(comm_, comm_.maximum(seconds_now() - start)));
  }
  progress("move", options_.repetitions, options_.repetitions);
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  report_.seconds =
      seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  return {};
}

Result<void> Runner::verify() {
  const Size total = mover_->out_bytes();
  progress("verify", 0, total);
  if (!input_header_) {
    const auto mismatch =
        find_pattern_mismatch(program_.to, comm_.process(), element_bytes_, out());
    if (mismatch) note_mismatch(*mismatch);
  } else {
    auto read = for_each_input_piece(
        program_.to, "verify", [&](Size begin, std::span<const std::byte> expected) {
          if (std::memcmp(out().data() + begin, expected.data(), expected.size()) == 0) return;
          const auto differing =
              std::mismatch(expected.begin(), expected.end(), out().data() + begin).first;
          note_mismatch((begin + (differing - expected.begin())) / element_bytes_);
        });
    if (!read) return read;
  }
  checked_ = mismatch_ ? *mismatch_ + 1 : total / element_bytes_;
  progress("verify", total, total);
  return {};
}

Result<void> Runner::receive_output(int process) {
  TileRuns runs(program_.to.global(), program_.to.tile(), base(program_.to, process));
  Result<void> mine;
  // Pieces keep coming after a failure: the sender does not know, and waits for no answer.
  for (Size left = program_.to.tile_size() * element_bytes_; left > 0;) {
    const auto bytes =
        static_cast<std::size_t>(std::min<Size>(left, static_cast<Size>(piece_bytes)));
    const auto part = piece().first(bytes);
    note_buffers(0);
    or_abort(comm_, comm_.receive(part, process));
    if (mine) mine = output_->write(runs, part);
    left -= static_cast<Size>(bytes);
  }
  return mine;
}

void Runner::send_output() {
  auto left = std::span<const std::byte>(out());
  while (!left.empty()) {
    const auto part = left.first(std::min(left.size(), piece_bytes));
    or_abort(comm_, comm_.send(part, 0));
    left = left.subspan(part.size());
  }
}

Result<void> Runner::write_tile() {
  const Size total = mover_->out_bytes();
  progress("write", 0, total);
  const std::vector<char> writes = writers(program_.to);
  Result<void> mine;
  if (writes[static_cast<std::size_t>(comm_.process())] != 0) {
    if (output_) {
      TileRuns runs(program_.to.global(), program_.to.tile(), base(program_.to, comm_.process()));
      auto left = std::span<const std::byte>(out());
      while (!left.empty() && mine) {
        const auto part = left.first(std::min(left.size(), piece_bytes));
        mine = output_->write(runs, part);
        left = left.subspan(part.size());
        progress("write", total - static_cast<Size>(left.size()), total);
      }
    } else {
      send_output();
    }
  }
  if (comm_.process() == 0) {
    for (int process = 1; process < comm_.processes(); ++process) {
      const auto p = static_cast<std::size_t>(process);
      if (writes[p] == 0 || writes_by_stream_[p] == 0) continue;
      auto received = receive_output(process);
      if (mine) mine = received;
    }
  } else if (output_ && mine) {
    mine = output_->sync();
  }
  if (auto agreed = agree(comm_, mine); !agreed) return agreed;
  if (comm_.process() == 0) mine = output_->commit();
  if (auto agreed = agree(comm_, mine); !agreed) return agreed;
  progress("write", total, total);
  return {};
}

/// Sums and maxima over all processes, and what follows from the Program alone.
Result<void> Runner::measure() {
  report_.processes = comm_.processes();
  report_.repetitions = options_.repetitions;
  report_.element_bytes = element_bytes_;
  const bool files = input_header_ || output_ || !options_.output.empty();
  const auto number = [](Size value) { return static_cast<std::uint64_t>(value); };
  const auto processes = number(comm_.processes());
  const auto process = number(comm_.process());
  // The largest of the last number belongs to the lowest process with a mismatch; 0 when there is
  // none.
  std::array<std::uint64_t, 4> most{
      number(mover_->received_bytes()), number(mover_->peak_bytes() + file_buffer_bytes_),
      number(mover_->peak_limit_bytes() + (files ? file_buffer_limit_bytes : 0)),
      mismatch_ ? processes - process : 0};
  or_abort(comm_, comm_.maximum(most));
  report_.bytes_per_process = static_cast<Size>(most[0]);
  report_.peak_bytes_per_process = static_cast<Size>(most[1]);
  report_.peak_limit_bytes = static_cast<Size>(most[2]);
  std::array<std::uint64_t, 1> checked{number(checked_)};
  or_abort(comm_, comm_.sum(checked));
  report_.elements_checked = static_cast<Size>(checked[0]);
  report_.right = most[3] == 0;
  if (!report_.right) {
    const auto finder = static_cast<int>(processes - most[3]);
    std::array<Size, 1> local{mismatch_.value_or(0)};
    or_abort(comm_, comm_.broadcast(std::as_writable_bytes(std::span(local)), finder));
    report_.mismatch = Mismatch{.device = finder, .local_index = local[0]};
  }

  Shape shape = program_.from.tile();
  const auto bytes_of = [&](const Shape& tile) {
    return checked_product(tile).value_or(0) * element_bytes_;
  };
  report_.bound_bytes = std::max(mover_->in_bytes(), mover_->out_bytes());
  report_.resident_bytes = mover_->in_bytes();
  for (const Step& step : program_.steps) {
    const auto after = shape_after(step, shape, program_.devices);
    if (!after) break;  // cannot be: the Redistributor took them all
    const bool slice = std::holds_alternative<Dynslice>(step.op);
    const Size resident = slice ? bytes_of(shape) : bytes_of(shape) + bytes_of(*after);
    report_.resident_bytes = std::max(report_.resident_bytes, resident);
    shape = *after;
  }
  return {};
}

Result<RunReport> Runner::run() {
  const auto fail = [](const Result<void>& failed) { return tl::unexpected(failed.error()); };
  if (auto done = agree_on_options(); !done) return fail(done);
  constexpr Size default_element_bytes = 4;
  element_bytes_ = options_.element_bytes.value_or(
      npy_element_bytes(options_.npy_descr).value_or(default_element_bytes));
  if (!options_.input.empty()) {
    if (auto done = open_input(); !done) return fail(done);
  }
  // A Program that cannot run leaves no trace in the file system, so it is made ready first.
  if (auto done = prepare(); !done) return fail(done);
  if (!options_.output.empty()) {
    if (auto done = open_output(); !done) return fail(done);
  }
  if (auto done = read_tile(); !done) return fail(done);
  if (auto done = move(); !done) return fail(done);
  if (auto done = verify(); !done) return fail(done);
  if (auto done = measure(); !done) return fail(done);
  if (!options_.output.empty() && report_.right) {
    if (auto done = write_tile(); !done) return fail(done);
    if (auto done = measure(); !done) return fail(done);  // writing took buffers, too
  }
  return report_;
}

}  // namespace

Result<RunReport> run(const Environment& environment, const Program& program,
                      const RunOptions& options) {
  static_cast<void>(environment);  // proof that MPI runs
  auto world = Communicator::world();
  if (!world) return tl::unexpected(world.error());
  return Runner(std::move(*world), program, options).run();
}

}  // namespace retile::mpi
