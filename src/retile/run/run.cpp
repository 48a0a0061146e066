#include "retile/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "retile/core/hash.h"
#include "retile/run/comparison.h"
#include "retile/run/exact_sums.h"

namespace retile::run {
namespace {

/// The tiles of some devices one behind the other, in elements.
class TileOffsets {
 public:
  TileOffsets(const Layout& layout, const Executor::Devices& devices) : first_(devices.first) {
    for (Size device = first_; device < first_ + devices.count; ++device) {
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + layout.tile_size(device));
    }
  }
  [[nodiscard]] Size before(Size device) const {
    return device == first_ ? 0 : ends_[static_cast<std::size_t>(device - first_ - 1)];
  }
  [[nodiscard]] Size all() const { return ends_.back(); }

 private:
  Size first_;
  std::vector<Size> ends_;
};

/// The run of one process.
class Runner {
 public:
  Runner(Executor& executor, const Program& program, const Source& source,
         const RunOptions& options)
      : executor_(executor),
        processes_(executor.processes()),
        program_(program),
        source_(source),
        repetitions_(options.repetitions),
        output_(options.output),
        output_tiles_(options.output_tiles),
        old_(program.array_from(), executor.devices()),
        new_(program.array_to(), executor.devices()),
        addends_(source.tiles() ? std::nullopt : AddendData::make(program, source.type())) {
    if (processes_.is_first()) progress_ = options.progress;
    const Executor::Devices devices = executor.devices();
    first_ = devices.first;
    end_ = devices.first + devices.count;
  }

  Result<Report> run();

 private:
  Result<void> prepare_comparison();
  Result<void> fill_inputs();
  Result<void> read_tiles();
  Result<void> move();
  Result<void> verify();
  void measure();

  void tell(std::string_view stage, Size done, Size total) const {
    if (progress_) progress_(stage, done, total);
  }
  void note_mismatch(Size device, Size local_index) {
    if (!report_.mismatch) {
      report_.mismatch = Mismatch{.device = device, .local_index = local_index};
    }
  }
  [[nodiscard]] Size bytes(Size elements) const { return elements * source_.type().bytes; }

  Executor& executor_;
  const Processes& processes_;
  const Program& program_;
  const Source& source_;
  Size repetitions_;
  const std::string& output_;
  const std::string& output_tiles_;
  TileOffsets old_, new_;  // tiles of this process
  Progress progress_;
  Size first_ = 0, end_ = 0;              // of this process's devices
  std::optional<AddendData> addends_;     // generated, of a Program that has them
  std::optional<Comparison> comparison_;  // with tiles in files
  bool replicas_are_alike_ = false;
  Buffer buffer_;
  Report report_;
};

/// Before anything moves: all files that are needed to compare the end can be read.
Result<void> Runner::prepare_comparison() {
  const ElementKind kind = source_.type().kind;
  const bool rounds = kind == ElementKind::floating || kind == ElementKind::brain_floating ||
                      kind == ElementKind::complex;
  // The same on all processes.
  if (addition_of(program_) == Addition::sum && rounds && executor_.way() == "collectives") {
    return refuse({.code = Code::unsupported,
                   .message = "MPI chooses the order in which collectives add floating numbers, so "
                              "nothing says what sums of the input must be",
                   .notes = {"the strategy exchange adds them in the Program's order"}});
  }
  auto made = Comparison::make(*source_.tiles(), program_, executor_.devices());
  Result<void> mine;
  if (made) {
    comparison_ = std::move(*made);
    mine = comparison_->reach();
  } else {
    mine = tl::unexpected(made.error());
  }
  return processes_.agree(mine);
}

Result<void> Runner::read_tiles() {
  const Size total = bytes(old_.all());
  Result<void> mine;
  for (Size device = first_; device < end_ && mine; ++device) {
    mine = source_.tiles()->read(device, executor_.input(device), [&](Size begin) {
      tell("read", bytes(old_.before(device)) + begin, total);
    });
  }
  tell("read", total, total);
  if (mine && !std::exchange(replicas_are_alike_, true)) {
    mine = comparison_->compare_replicas(executor_, buffer_);
  }
  return processes_.agree(mine);
}

Result<void> Runner::fill_inputs() {
  const Size total = bytes(old_.all());
  Result<void> mine;
  if (source_.tiles()) return read_tiles();
  if (source_.is_file()) {
    tell("read", 0, total);
    mine = source_.each_piece(executor_, program_.array_from(), buffer_,
                              [&](Size device, Size begin, std::span<const std::byte> piece) {
                                std::memcpy(executor_.input(device).data() + begin, piece.data(),
                                            piece.size());
                                tell("read", bytes(old_.before(device)) + begin, total);
                              });
    tell("read", total, total);
    return mine;
  }
  for (Size device = first_; device < end_ && mine; ++device) {
    tell("generate", bytes(old_.before(device)), total);
    if (addends_) {
      addends_->generate(device, executor_.input(device));
      continue;
    }
    mine = executor_.generate(program_.array_from(), device, source_.type().bytes);
  }
  tell("generate", total, total);
  return processes_.agree(mine);
}

Result<void> Runner::move() {
  std::vector<double> seconds;
  for (Size repetition = 0; repetition < repetitions_; ++repetition) {
    if (repetition == 0 || !executor_.keeps_input()) {
      if (auto filled = fill_inputs(); !filled) return filled;
    }
    tell("move", repetition, repetitions_);
    if (auto cleared = processes_.agree(executor_.clear_output()); !cleared) return cleared;
    processes_.barrier();
    const auto start = std::chrono::steady_clock::now();
    if (auto moved = executor_.move(); !moved) return moved;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    seconds.push_back(processes_.maximum(taken.count()));
  }
  tell("move", repetitions_, repetitions_);
  report_.seconds = median(std::move(seconds));
  return {};
}

Result<void> Runner::verify() {
  const Size total = bytes(new_.all());
  const Size width = source_.type().bytes;
  Result<void> mine;
  tell("verify", 0, total);
  if (source_.is_file()) {
    mine = source_.each_piece(
        executor_, program_.array_to(), buffer_,
        [&](Size device, Size begin, std::span<const std::byte> expected) {
          const std::byte* const there = executor_.output(device).data() + begin;
          tell("verify", bytes(new_.before(device)) + begin, total);
          if (std::memcmp(there, expected.data(), expected.size()) == 0) return;
          const auto differing = std::mismatch(expected.begin(), expected.end(), there).first;
          note_mismatch(device, (begin + (differing - expected.begin())) / width);
        });
  } else if (comparison_) {
    const auto mismatch = comparison_->find_mismatch(
        executor_, buffer_, [&](Size elements) { tell("verify", bytes(elements), total); });
    if (!mismatch) mine = tl::unexpected(mismatch.error());
    if (mismatch && *mismatch) note_mismatch((*mismatch)->device, (*mismatch)->local_index);
    mine = processes_.agree(mine);
  } else if (addends_) {
    const auto mismatch = addends_->find_mismatch(executor_, buffer_);
    if (mismatch) note_mismatch(mismatch->device, mismatch->local_index);
  } else {
    for (Size device = first_; device < end_ && mine; ++device) {
      tell("verify", bytes(new_.before(device)), total);
      const auto mismatch = executor_.find_mismatch(program_.array_to(), device, width);
      if (!mismatch) mine = tl::unexpected(mismatch.error());
      if (mismatch && *mismatch) note_mismatch(device, **mismatch);
    }
    mine = processes_.agree(mine);
  }
  tell("verify", total, total);
  const std::optional<Mismatch>& mismatch = report_.mismatch;
  report_.elements_checked =
      mismatch ? new_.before(mismatch->device) + mismatch->local_index + 1 : new_.all();
  return mine;
}

/// Sums and maxima over all processes, and what follows from the Program alone.
void Runner::measure() {
  const ExecutorFigures figures = executor_.figures();
  const bool buffers = executor_.counts_processes();
  const bool files = source_.is_file() || source_.tiles() || !output_.empty() ||
                     (addends_ && addends_->compares_together());
  const Size sums = comparison_ ? comparison_->held_bytes() : 0;
  const auto number = [](Size value) { return static_cast<std::uint64_t>(value); };
  const auto processes = static_cast<std::uint64_t>(processes_.processes());
  // The largest of the last number belongs to the lowest process with a mismatch; 0 when there is
  // none.
  std::array<std::uint64_t, 4> most{
      number(figures.received), number(figures.peak + (buffers ? buffer_.most_bytes() + sums : 0)),
      number(figures.limit + (buffers && files ? file_buffer_limit_bytes + sums : 0)),
      report_.mismatch ? processes - static_cast<std::uint64_t>(processes_.process()) : 0};
  processes_.maximum(most);
  report_.bytes_per_process = static_cast<Size>(most[0]);
  report_.peak_bytes_per_process = static_cast<Size>(most[1]);
  report_.peak_limit_bytes = static_cast<Size>(most[2]);
  report_.right = most[3] == 0;
  if (!report_.right) {
    const auto finder = static_cast<int>(processes - most[3]);
    const Mismatch mine = report_.mismatch.value_or(Mismatch{});
    report_.mismatch =
        Mismatch{static_cast<Size>(processes_.broadcast(number(mine.device), finder)),
                 static_cast<Size>(processes_.broadcast(number(mine.local_index), finder))};
  }
  report_.way = executor_.way();
  report_.reasons = executor_.reasons();
  report_.processes = program_.devices;
  report_.repetitions = repetitions_;
  report_.element_bytes = source_.type().bytes;
  report_.bound_bytes =
      bytes(std::max(program_.array_from().tile_size(), program_.array_to().tile_size()));
  // The executor has taken all steps, so that their tiles fit.
  report_.resident_bytes = resident_elements(program_).value_or(0) * source_.type().bytes;
}

Result<Report> Runner::run() {
  const auto fail = [](const Result<void>& failed) { return tl::unexpected(failed.error()); };
  std::optional<Sink> sink;
  if (!output_.empty()) {
    auto created = Sink::create(processes_, output_, program_.array_to(), source_);
    if (!created) return tl::unexpected(created.error());
    sink = std::move(*created);
  }
  std::optional<TileSink> tile_sink;
  if (!output_tiles_.empty()) {
    auto created = TileSink::create(processes_, executor_.devices(), program_.numbers,
                                    output_tiles_, program_.array_to(), source_);
    if (!created) return tl::unexpected(created.error());
    tile_sink = std::move(*created);
  }
  if (source_.tiles()) {
    if (auto done = prepare_comparison(); !done) return fail(done);
  }
  if (auto done = move(); !done) return fail(done);
  if (auto done = verify(); !done) return fail(done);
  std::array<std::uint64_t, 1> checked{static_cast<std::uint64_t>(report_.elements_checked)};
  processes_.sum(checked);
  report_.elements_checked = static_cast<Size>(checked[0]);
  measure();
  if (!report_.right) return report_;
  const auto told = [this](std::string_view stage, Size done, Size total) {
    tell(stage, done, total);
  };
  if (tile_sink) {
    if (auto done = tile_sink->write(executor_, told); !done) return fail(done);
  }
  if (!sink) return report_;
  const auto tile_of = [this](Size device) {
    return std::span<const std::byte>(executor_.output(device));
  };
  if (auto done =
          sink->write(processes_, executor_.devices(), tile_of, program_.array_to(), buffer_, told);
      !done) {
    return fail(done);
  }
  measure();  // writing took buffers, too
  return report_;
}

Result<Source> open_source_of_tiles(const Processes& processes, const Program& program,
                                    const RunOptions& options) {
  auto files = TileFiles::open(processes, program.array_from(), program.numbers,
                               options.input_tiles, options.type);
  if (!files) return tl::unexpected(files.error());
  const char foreign = std::endian::native == std::endian::little ? '>' : '<';
  const auto addition = addition_of(program);
  if (addition && addition != Addition::stack && files->descr().front() == foreign &&
      files->type().bytes > 1) {
    return refuse({.code = Code::unsupported,
                   .message = fmt::format("elements of type {} have another byte order than this "
                                          "machine, and are not added",
                                          files->descr()),
                   .notes = {"array.astype(array.dtype.newbyteorder('=')) has this machine's"}});
  }
  return Source(*std::move(files));
}

}  // namespace

Result<Source> open_source(const Processes& processes, const Program& program,
                           const RunOptions& options) {
  const std::string text = fmt::format(
      "{} {} {} {} {} {} {}{}{}{}", options.type ? static_cast<int>(options.type->kind) : -1,
      options.type ? options.type->bytes : 0, options.repetitions, options.input.size(),
      options.output.size(), options.input_tiles.size(), options.input, options.output,
      options.input_tiles, options.output_tiles);
  const std::uint64_t hash = hash_bytes(hash_start, std::as_bytes(std::span(text)));
  std::array<std::uint64_t, 2> both{hash, ~hash};
  processes.maximum(both);
  if (both[0] != ~both[1]) {
    return refuse({.code = Code::disagreement,
                   .message = "the processes were given different options (element type, files, "
                              "repetitions)"});
  }
  // From here on all have the same options, so all come to the same answers.
  if (options.repetitions < 1) {
    return refuse(
        {.code = Code::bad_argument, .message = "the number of repetitions must be at least 1"});
  }
  const std::string& tiles = options.input_tiles;
  for (const std::string& pattern : {tiles, options.output_tiles}) {
    if (pattern.empty() || is_tile_pattern(pattern)) continue;
    return refuse({.code = Code::bad_argument,
                   .message = "a pattern of files must hold {} once, for the number of the device",
                   .source = pattern});
  }
  if ((!options.input.empty() && !tiles.empty()) ||
      (!options.output.empty() && !options.output_tiles.empty())) {
    return refuse({.code = Code::bad_argument,
                   .message = "an array is one file, or its tiles are files: not both"});
  }
  if (addition_of(program) && !options.input.empty()) {
    return refuse({.code = Code::unsupported,
                   .message =
                       "a Program with addends is run with the generated arrays, as a file has "
                       "but one",
                   .notes = {"or with files of tiles, one for the addend of each device"}});
  }
  if (!tiles.empty()) return open_source_of_tiles(processes, program, options);
  if (options.input.empty()) return Source(options.type.value_or(ElementType{}));
  return Source::open(processes, options.input, program.array_from().global(), options.type);
}

Result<Report> run(Executor& executor, const Program& program, const Source& source,
                   const RunOptions& options) {
  return Runner(executor, program, source, options).run();
}

}  // namespace retile::run
