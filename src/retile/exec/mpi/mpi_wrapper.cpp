#include "retile/exec/mpi/mpi_wrapper.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "retile/core/assert.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

namespace retile::mpi {
namespace {

constexpr int data_tag = 7;
constexpr int refusing_tag = 8;  // of messages, from who was given wrong buffers

tl::unexpected<Diagnostic> failed(int code, const char* call) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  return refuse({.code = Code::mpi_error,
                 .message = fmt::format(
                     "{} failed: {}", call,
                     length > 0 ? std::string(text.data(), static_cast<std::size_t>(length))
                                : fmt::format("code {}", code))});
}

Result<void> outcome(int code, const char* call) {
  if (code != MPI_SUCCESS) return failed(code, call);
  return {};
}

int count_of(Size bytes) {
  RETILE_ASSERT(bytes >= 0 && bytes <= std::numeric_limits<int>::max(),
                "a message that was not split");
  return static_cast<int>(bytes);
}

int count_of(std::size_t bytes) { return count_of(static_cast<Size>(bytes)); }

bool mpi_runs() {
  int started = 0;
  int ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started != 0 && ended == 0;
}

}  // namespace

namespace {

/// What MPI calls to add; a function for each adder, as it hands over nothing that says which.
template <std::size_t number>
void add_elements(void* more, void* into, int* elements, MPI_Datatype* /*type*/) {
  add::Adder::numbered(number).add(static_cast<std::byte*>(into),
                                   static_cast<const std::byte*>(more),
                                   static_cast<std::size_t>(*elements));
}

template <std::size_t... numbers>
constexpr std::array<MPI_User_function*, sizeof...(numbers)> functions_of(
    std::index_sequence<numbers...>) {
  return {add_elements<numbers>...};
}

constexpr auto add_functions = functions_of(std::make_index_sequence<add::Adder::count>());

}  // namespace

Result<Reduction> Reduction::make(const add::Adder& adder) {
  Reduction out;
  // Operations and types are of this process alone. The order of what is added is MPI's choice.
  constexpr int commutes = 1;
  int code = MPI_Op_create(add_functions[adder.number()], commutes, &out.op_);
  if (code != MPI_SUCCESS) return failed(code, "MPI_Op_create");
  code = MPI_Type_contiguous(count_of(adder.element_bytes()), MPI_BYTE, &out.type_);
  if (code != MPI_SUCCESS) return failed(code, "MPI_Type_contiguous");
  code = MPI_Type_commit(&out.type_);
  if (code != MPI_SUCCESS) return failed(code, "MPI_Type_commit");
  return out;
}

Reduction::Reduction(Reduction&& other) noexcept
    : op_(std::exchange(other.op_, MPI_OP_NULL)),
      type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}

Reduction& Reduction::operator=(Reduction&& other) noexcept {
  std::swap(op_, other.op_);
  std::swap(type_, other.type_);
  return *this;
}

Reduction::~Reduction() {
  if (!mpi_runs()) return;
  if (op_ != MPI_OP_NULL) MPI_Op_free(&op_);
  if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
}

TileType TileType::make(const std::vector<Box>& boxes) {
  std::vector<TileType> parts(boxes.size());
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> offsets;
  const std::vector<int> ones(boxes.size(), 1);
  for (std::size_t k = 0; k < boxes.size(); ++k) {
    int code = MPI_Type_contiguous(count_of(boxes[k].run_bytes), MPI_BYTE, &parts[k].type_);
    for (const auto& [count, stride] : boxes[k].repeats) {
      if (code != MPI_SUCCESS) return {};
      TileType repeated;
      code = MPI_Type_create_hvector(count_of(count), 1, stride, parts[k].type_, &repeated.type_);
      parts[k] = std::move(repeated);
    }
    if (code != MPI_SUCCESS) return {};
    types.push_back(parts[k].type_);
    offsets.push_back(boxes[k].offset);
  }
  TileType out;
  if (MPI_Type_create_struct(count_of(boxes.size()), ones.data(), offsets.data(), types.data(),
                             &out.type_) != MPI_SUCCESS ||
      MPI_Type_commit(&out.type_) != MPI_SUCCESS) {
    return {};
  }
  return out;
}

TileType::TileType(TileType&& other) noexcept
    : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}

TileType& TileType::operator=(TileType&& other) noexcept {
  std::swap(type_, other.type_);
  return *this;
}

TileType::~TileType() {
  if (type_ != MPI_DATATYPE_NULL && mpi_runs()) MPI_Type_free(&type_);
}

Communicator::Communicator(MPI_Comm handle) : handle_(handle) {
  // The handler comes with the communicator it was made from; ours must never be the one that kills
  // the job silently.
  MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(handle_, &process_);
  MPI_Comm_size(handle_, &processes_);
}

Result<Communicator> Communicator::duplicate(MPI_Comm comm) {
  if (!mpi_runs()) {
    return refuse({.code = Code::bad_argument,
                   .message = "MPI is not running: it was not started, or ended already"});
  }
  if (comm == MPI_COMM_NULL) {
    return refuse({.code = Code::bad_argument, .message = "the communicator is MPI_COMM_NULL"});
  }
  int between_groups = 0;
  if (const int code = MPI_Comm_test_inter(comm, &between_groups); code != MPI_SUCCESS) {
    return failed(code, "MPI_Comm_test_inter");
  }
  if (between_groups != 0) {
    return refuse({.code = Code::bad_argument, .message = "an inter-communicator cannot be used"});
  }
  MPI_Comm handle = MPI_COMM_NULL;
  if (const int code = MPI_Comm_dup(comm, &handle); code != MPI_SUCCESS)
    return failed(code, "MPI_Comm_dup");
  return Communicator(handle);
}

Communicator::Communicator(Communicator&& other) noexcept
    : Processes(),
      handle_(std::exchange(other.handle_, MPI_COMM_NULL)),
      process_(other.process_),
      processes_(other.processes_) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(process_, other.process_);
  std::swap(processes_, other.processes_);
  return *this;
}

Communicator::~Communicator() {
  // After MPI_Finalize there is nothing left to free, and no call is allowed.
  if (handle_ != MPI_COMM_NULL && mpi_runs()) MPI_Comm_free(&handle_);
}

Communicator Communicator::split(int color, int key) const {
  MPI_Comm handle = MPI_COMM_NULL;
  or_abort(MPI_Comm_split(handle_, color, key, &handle), "MPI_Comm_split");
  return Communicator(handle);
}

Communicator Communicator::node() const {
  MPI_Comm handle = MPI_COMM_NULL;
  or_abort(MPI_Comm_split_type(handle_, MPI_COMM_TYPE_SHARED, process_, MPI_INFO_NULL, &handle),
           "MPI_Comm_split_type");
  return Communicator(handle);
}

Result<void> Communicator::allgather(const std::byte* send, std::byte* receive, Size bytes) const {
  const int count = count_of(bytes);
  return outcome(MPI_Allgather(send, count, MPI_BYTE, receive, count, MPI_BYTE, handle_),
                 "MPI_Allgather");
}

Result<void> Communicator::alltoall(const std::byte* send, std::byte* receive, Size bytes) const {
  const int count = count_of(bytes);
  return outcome(MPI_Alltoall(send, count, MPI_BYTE, receive, count, MPI_BYTE, handle_),
                 "MPI_Alltoall");
}

Result<void> Communicator::allgather(std::span<const std::byte> send, std::byte* receive,
                                     const Parts& received) const {
  return outcome(MPI_Allgatherv(send.data(), count_of(send.size()), MPI_BYTE, receive,
                                received.counts.data(), received.offsets.data(), MPI_BYTE, handle_),
                 "MPI_Allgatherv");
}

Result<void> Communicator::allgather_in_place(std::byte* receive, const Parts& received) const {
  return outcome(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, receive, received.counts.data(),
                                received.offsets.data(), MPI_BYTE, handle_),
                 "MPI_Allgatherv");
}

Result<void> Communicator::alltoall(const std::byte* send, const Parts& sent, std::byte* receive,
                                    const Parts& received) const {
  return outcome(MPI_Alltoallv(send, sent.counts.data(), sent.offsets.data(), MPI_BYTE, receive,
                               received.counts.data(), received.offsets.data(), MPI_BYTE, handle_),
                 "MPI_Alltoallv");
}

Result<void> Communicator::allreduce(const std::byte* send, std::byte* receive, Size elements,
                                     const Reduction& reduction) const {
  return outcome(
      MPI_Allreduce(send, receive, count_of(elements), reduction.type(), reduction.op(), handle_),
      "MPI_Allreduce");
}

Result<void> Communicator::reduce_scatter(const std::byte* send, std::byte* receive,
                                          const std::vector<int>& counts,
                                          const Reduction& reduction) const {
  const bool alike =
      std::all_of(counts.begin(), counts.end(), [&](int count) { return count == counts.front(); });
  if (alike) {
    return outcome(MPI_Reduce_scatter_block(send, receive, counts.front(), reduction.type(),
                                            reduction.op(), handle_),
                   "MPI_Reduce_scatter_block");
  }
  return outcome(
      MPI_Reduce_scatter(send, receive, counts.data(), reduction.type(), reduction.op(), handle_),
      "MPI_Reduce_scatter");
}

Result<void> Communicator::send_receive(std::span<const std::byte> send, int target,
                                        std::span<std::byte> receive, int source) const {
  return outcome(MPI_Sendrecv(send.data(), count_of(send.size()), MPI_BYTE, target, data_tag,
                              receive.data(), count_of(receive.size()), MPI_BYTE, source, data_tag,
                              handle_, MPI_STATUS_IGNORE),
                 "MPI_Sendrecv");
}

void Communicator::barrier() const { or_abort(MPI_Barrier(handle_), "MPI_Barrier"); }

void Communicator::broadcast(std::span<std::byte> bytes, int root) const {
  or_abort(MPI_Bcast(bytes.data(), count_of(bytes.size()), MPI_BYTE, root, handle_), "MPI_Bcast");
}

std::uint64_t Communicator::broadcast(std::uint64_t number, int root) const {
  broadcast(std::as_writable_bytes(std::span(&number, 1)), root);
  return number;
}

std::string Communicator::broadcast(const std::string& text, int root) const {
  const auto length = static_cast<std::size_t>(broadcast(std::uint64_t{text.size()}, root));
  std::string copy = process_ == root ? text : std::string(length, '\0');
  constexpr std::size_t part = std::size_t{1} << 30;
  auto rest = std::as_writable_bytes(std::span(copy.data(), copy.size()));
  while (!rest.empty()) {
    const auto now = rest.first(std::min(rest.size(), part));
    broadcast(now, root);
    rest = rest.subspan(now.size());
  }
  return copy;
}

void Communicator::gather(std::span<const std::byte> mine, std::span<std::byte> all) const {
  if (auto done = allgather(mine.data(), all.data(), static_cast<Size>(mine.size())); !done) {
    abort(environment_failed, done.error().message);
  }
}

std::vector<bool> Communicator::gather(bool mine) const {
  std::vector<char> flags(static_cast<std::size_t>(processes_), 0);
  const char flag = mine ? 1 : 0;
  gather(std::as_bytes(std::span(&flag, 1)), std::as_writable_bytes(std::span(flags)));
  return {flags.begin(), flags.end()};
}

void Communicator::maximum(std::span<std::uint64_t> numbers) const {
  or_abort(MPI_Allreduce(MPI_IN_PLACE, numbers.data(), count_of(numbers.size()), MPI_UINT64_T,
                         MPI_MAX, handle_),
           "MPI_Allreduce");
}

void Communicator::sum(std::span<std::uint64_t> numbers) const {
  or_abort(MPI_Allreduce(MPI_IN_PLACE, numbers.data(), count_of(numbers.size()), MPI_UINT64_T,
                         MPI_SUM, handle_),
           "MPI_Allreduce");
}

double Communicator::maximum(double number) const {
  or_abort(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_DOUBLE, MPI_MAX, handle_), "MPI_Allreduce");
  return number;
}

void Communicator::send(std::span<const std::byte> bytes, int target) const {
  or_abort(MPI_Send(bytes.data(), count_of(bytes.size()), MPI_BYTE, target, data_tag, handle_),
           "MPI_Send");
}

void Communicator::receive(std::span<std::byte> bytes, int source) const {
  or_abort(MPI_Recv(bytes.data(), count_of(bytes.size()), MPI_BYTE, source, data_tag, handle_,
                    MPI_STATUS_IGNORE),
           "MPI_Recv");
}

Messages::Messages(const Communicator& comm, std::size_t places)
    : comm_(&comm), requests_(places, MPI_REQUEST_NULL) {}

Result<void> Messages::send(std::size_t place, std::span<const std::byte> bytes, int target,
                            bool refusing) {
  const int tag = refusing ? refusing_tag : data_tag;
  return outcome(MPI_Isend(bytes.data(), count_of(bytes.size()), MPI_BYTE, target, tag,
                           comm_->handle(), &requests_[place]),
                 "MPI_Isend");
}

Result<void> Messages::receive(std::size_t place, std::span<std::byte> bytes, int source) {
  return outcome(MPI_Irecv(bytes.data(), count_of(bytes.size()), MPI_BYTE, source, MPI_ANY_TAG,
                           comm_->handle(), &requests_[place]),
                 "MPI_Irecv");
}

Result<void> Messages::send(std::size_t place, const std::byte* tile, const TileType& type,
                            int target) {
  return outcome(
      MPI_Isend(tile, 1, type.handle(), target, data_tag, comm_->handle(), &requests_[place]),
      "MPI_Isend");
}

Result<void> Messages::receive(std::size_t place, std::byte* tile, const TileType& type,
                               int source) {
  return outcome(
      MPI_Irecv(tile, 1, type.handle(), source, MPI_ANY_TAG, comm_->handle(), &requests_[place]),
      "MPI_Irecv");
}

Result<Messages::Through> Messages::wait() {
  int place = MPI_UNDEFINED;
  MPI_Status status{};
  const int code = MPI_Waitany(count_of(requests_.size()), requests_.data(), &place, &status);
  if (code != MPI_SUCCESS) return failed(code, "MPI_Waitany");
  RETILE_ASSERT(place != MPI_UNDEFINED, "a wait for no message");
  return Through{static_cast<std::size_t>(place), status.MPI_TAG == refusing_tag};
}

Result<void> Poll::begin(std::uint64_t number) {
  number_ = number;
  return outcome(
      MPI_Iallreduce(&number_, &largest_, 1, MPI_UINT64_T, MPI_MAX, comm_->handle(), &request_),
      "MPI_Iallreduce");
}

Result<std::uint64_t> Poll::finish() {
  const int code = MPI_Wait(&request_, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) return failed(code, "MPI_Wait");
  return largest_;
}

void Communicator::or_abort(int code, const char* call) const {
  if (code != MPI_SUCCESS) abort(environment_failed, failed(code, call).value().message);
}

void Communicator::abort(int exit_code, const std::string& message) const {
  abort_job(process_, exit_code, message);
}

void abort_job(int process, int exit_code, std::string_view message) {
  std::fprintf(stderr, "retile: process %d: ", process);
  std::fwrite(message.data(), 1, message.size(), stderr);
  std::fputc('\n', stderr);
  std::fflush(stderr);
  if (mpi_runs()) MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);  // MPI_Abort does not return, but nothing in its declaration says so
}

namespace {

/// What an attribute of a communicator points to.
struct Holder {
  std::shared_ptr<void> kept;
};

/// All of them, in the order in which they came, and the keys of their attributes.
struct Holders {
  std::mutex mutex;
  std::vector<Holder*> all;
  int of_communicator = MPI_KEYVAL_INVALID;
  int of_the_end = MPI_KEYVAL_INVALID;
};

Holders& holders() {
  static Holders out;
  return out;
}

/// MPI calls it when a communicator is freed.
int let_go(MPI_Comm /*comm*/, int /*key*/, void* value, void* /*extra*/) {
  auto* const holder = static_cast<Holder*>(value);
  {
    const std::lock_guard lock(holders().mutex);
    std::erase(holders().all, holder);
  }
  delete holder;
  return MPI_SUCCESS;
}

/// MPI calls it when it begins to end, as long as communicators can be freed: all processes free theirs
/// in the same order.
int let_all_go(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  std::vector<Holder*> all;
  {
    const std::lock_guard lock(holders().mutex);
    all = holders().all;
  }
  for (Holder* const holder : all) holder->kept.reset();
  return MPI_SUCCESS;
}

/// Makes the keys, once. Whether they are there.
bool have_keys(Holders& known) {
  if (known.of_the_end != MPI_KEYVAL_INVALID) return true;
  return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, let_go, &known.of_communicator, nullptr) ==
             MPI_SUCCESS &&
         MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, let_all_go, &known.of_the_end, nullptr) ==
             MPI_SUCCESS &&
         MPI_Comm_set_attr(MPI_COMM_SELF, known.of_the_end, nullptr) == MPI_SUCCESS;
}

}  // namespace

std::shared_ptr<void> kept_with(MPI_Comm comm) {
  if (!mpi_runs() || comm == MPI_COMM_NULL) return nullptr;
  Holders& known = holders();
  const std::lock_guard lock(known.mutex);
  void* value = nullptr;
  int found = 0;
  if (known.of_communicator == MPI_KEYVAL_INVALID ||
      MPI_Comm_get_attr(comm, known.of_communicator, &value, &found) != MPI_SUCCESS || found == 0) {
    return nullptr;
  }
  return static_cast<Holder*>(value)->kept;
}

void keep_with(MPI_Comm comm, std::shared_ptr<void> kept) {
  Holders& known = holders();
  auto holder = std::make_unique<Holder>(Holder{std::move(kept)});
  const std::lock_guard lock(known.mutex);
  known.all.reserve(known.all.size() + 1);
  if (!have_keys(known) ||
      MPI_Comm_set_attr(comm, known.of_communicator, holder.get()) != MPI_SUCCESS) {
    int process = 0;
    MPI_Comm_rank(comm, &process);
    abort_job(process, environment_failed, "MPI does not keep an attribute with the communicator");
  }
  known.all.push_back(holder.release());
}

bool takes_cuda_memory() {
#ifdef MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

Result<bool> start_mpi(int* argc, char*** argv) {
  int started = 0;
  int ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (ended != 0) return refuse({.code = Code::mpi_error, .message = "MPI was ended already"});
  if (started != 0) return false;
  int provided = MPI_THREAD_SINGLE;
  const int code = MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  if (code == MPI_SUCCESS) return true;
  return refuse(
      {.code = Code::mpi_error, .message = fmt::format("MPI_Init_thread failed: code {}", code)});
}

void end_mpi() {
  if (mpi_runs()) MPI_Finalize();
}

}  // namespace retile::mpi
