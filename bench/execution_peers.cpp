#include "execution_peers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#ifdef RETILE_BENCH_FFTW
#include <fftw3-mpi.h>
#endif

#ifdef RETILE_BENCH_SCALAPACK
#include "blacs.h"
#endif

namespace execution_bench {

// ---- MPI ---------------------------------------------------------------------------------------

namespace {

/// Where boxes lie in a tile, as an MPI type.
MPI_Datatype box_type(const std::vector<const Transfer*>& boxes, const Shape& tile, bool source) {
  std::vector<MPI_Datatype> types;
  for (const Transfer* box : boxes) {
    const Shape& at = source ? box->source_start : box->target_start;
    std::vector<int> sizes(tile.begin(), tile.end());
    std::vector<int> extents(box->shape.begin(), box->shape.end());
    std::vector<int> starts(at.begin(), at.end());
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(static_cast<int>(tile.size()), sizes.data(), extents.data(),
                             starts.data(), MPI_ORDER_C, MPI_FLOAT, &type);
    types.push_back(type);
  }
  MPI_Datatype all = MPI_DATATYPE_NULL;
  const std::vector<int> ones(types.size(), 1);
  const std::vector<MPI_Aint> zeros(types.size(), 0);
  MPI_Type_create_struct(static_cast<int>(types.size()), ones.data(), zeros.data(), types.data(),
                         &all);
  MPI_Type_commit(&all);
  for (MPI_Datatype& type : types) MPI_Type_free(&type);
  return all;
}

int number_of_processes() {
  int out = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &out);
  return out;
}

int this_process() {
  int out = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &out);
  return out;
}

}  // namespace

MpiTypes::Side MpiTypes::side(const std::vector<std::vector<const Transfer*>>& boxes,
                              const Shape& tile, bool source) {
  Side out;
  for (const auto& of_process : boxes) {
    out.counts.push_back(of_process.empty() ? 0 : 1);
    out.types.push_back(of_process.empty() ? MPI_FLOAT : box_type(of_process, tile, source));
    int size = 0;
    if (!of_process.empty()) MPI_Type_size(out.types.back(), &size);
    out.piece_bytes.push_back(size);
    out.at.push_back(static_cast<int>(out.bytes));
    out.bytes += size;
  }
  return out;
}

MpiTypes::MpiTypes(const Exchange& exchange, const Shape& in_tile, const Shape& out_tile) {
  const auto count = static_cast<std::size_t>(number_of_processes());
  const int process = this_process();
  std::vector<std::vector<const Transfer*>> to(count);
  std::vector<std::vector<const Transfer*>> from(count);
  for (const Transfer& transfer : exchange.transfers) {
    if (transfer.source == process)
      to[static_cast<std::size_t>(transfer.target)].push_back(&transfer);
    if (transfer.target == process)
      from[static_cast<std::size_t>(transfer.source)].push_back(&transfer);
  }
  zeros_.assign(count, 0);
  send_ = side(to, in_tile, true);
  receive_ = side(from, out_tile, false);
}

MpiTypes::~MpiTypes() {
  for (Side* const each : {&send_, &receive_}) {
    for (MPI_Datatype& type : each->types) {
      if (type != MPI_FLOAT) MPI_Type_free(&type);
    }
  }
}

void MpiTypes::alltoallw(const std::byte* in, std::byte* out) const {
  MPI_Alltoallw(in, send_.counts.data(), zeros_.data(), send_.types.data(), out,
                receive_.counts.data(), zeros_.data(), receive_.types.data(), MPI_COMM_WORLD);
}

void MpiTypes::pack_alltoallv(const std::byte* in, std::byte* out, std::byte* packed,
                              std::byte* unpacked) const {
  int position = 0;
  for (std::size_t k = 0; k < send_.types.size(); ++k) {
    if (send_.counts[k] == 0) continue;
    MPI_Pack(in, 1, send_.types[k], packed, static_cast<int>(send_.bytes), &position,
             MPI_COMM_WORLD);
  }
  MPI_Alltoallv(packed, send_.piece_bytes.data(), send_.at.data(), MPI_BYTE, unpacked,
                receive_.piece_bytes.data(), receive_.at.data(), MPI_BYTE, MPI_COMM_WORLD);
  position = 0;
  for (std::size_t k = 0; k < receive_.types.size(); ++k) {
    if (receive_.counts[k] == 0) continue;
    MPI_Unpack(unpacked, static_cast<int>(receive_.bytes), &position, out, 1, receive_.types[k],
               MPI_COMM_WORLD);
  }
}

// ---- ScaLAPACK ---------------------------------------------------------------------------------

bool Scalapack::available() {
#ifdef RETILE_BENCH_SCALAPACK
  return true;
#else
  return false;
#endif
}

#ifdef RETILE_BENCH_SCALAPACK
namespace {

/// One end of a redistribution as a block-cyclic matrix: dimensions before `cut` are its rows, the
/// others its columns.
struct Matrix {
  int rows = 1, columns = 1;
  int row_block = 1, column_block = 1;
  int row_parts = 1, column_parts = 1;
  std::vector<int> processes;  ///< of part (r, c), at number r * column_parts + c
};

/// Parts and block of the dimensions first .. last - 1 as one. Nothing where two of them are split.
bool fuse(const Layout& map, std::size_t first, std::size_t last, int& extent, int& block,
          int& parts) {
  Size whole = 1;
  Size together = 1;
  parts = 1;
  for (std::size_t i = last; i-- > first;) {
    const Size pieces = map.global()[i] / map.tile()[i];
    if (pieces > 1 && parts > 1) return false;
    // What lies in front of a split dimension goes round the same processes again.
    if (parts == 1) together *= map.tile()[i];
    if (pieces > 1) parts = static_cast<int>(pieces);
    whole *= map.global()[i];
  }
  extent = static_cast<int>(whole);
  block = static_cast<int>(together);
  return true;
}

std::optional<Matrix> matrix_of(const Layout& map, std::size_t cut) {
  Matrix out;
  if (!fuse(map, 0, cut, out.rows, out.row_block, out.row_parts) ||
      !fuse(map, cut, map.rank(), out.columns, out.column_block, out.column_parts)) {
    return std::nullopt;
  }
  out.processes.assign(static_cast<std::size_t>(out.row_parts * out.column_parts), -1);
  for (Size device = map.devices(); device-- > 0;) {
    const Shape at = map.base_offset(device);
    Size row = 0;
    Size column = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      (i < cut ? row : column) += at[i] / map.tile()[i];
    }
    out.processes[static_cast<std::size_t>(row * out.column_parts + column)] =
        static_cast<int>(device);
  }
  return out;
}

/// A matrix on a grid of processes. To ScaLAPACK, which counts by columns, it is its transpose.
class OnGrid {
 public:
  explicit OnGrid(const Matrix& matrix) {
    Cblacs_get(0, 0, &context_);
    std::vector<int> processes = matrix.processes;
    Cblacs_gridmap(&context_, processes.data(), matrix.column_parts, matrix.column_parts,
                   matrix.row_parts);
    // The columns of a tile that lie together: all of its share.
    const int leading = matrix.columns / matrix.column_parts;
    descriptor_ = {1, context_, matrix.columns, matrix.rows, matrix.column_block, matrix.row_block,
                   0, 0,        leading};
  }
  ~OnGrid() {
    if (context_ >= 0) Cblacs_gridexit(context_);
  }
  OnGrid(const OnGrid&) = delete;
  OnGrid& operator=(const OnGrid&) = delete;
  [[nodiscard]] int* descriptor() { return descriptor_.data(); }

 private:
  int context_ = -1;
  std::array<int, 9> descriptor_{};
};

/// All processes in a row.
Matrix everybody() {
  Matrix out;
  out.column_parts = number_of_processes();
  out.columns = out.column_parts;
  for (int process = 0; process < out.column_parts; ++process) out.processes.push_back(process);
  return out;
}

class Redistribution final : public Scalapack {
 public:
  Redistribution(const Matrix& from, const Matrix& to)
      : rows_(from.columns), columns_(from.rows), all_(everybody()), from_(from), to_(to) {}

  void run(const std::byte* in, std::byte* out) override {
    auto* const source = static_cast<float*>(static_cast<void*>(const_cast<std::byte*>(in)));
    auto* const target = static_cast<float*>(static_cast<void*>(out));
    Cpsgemr2d(rows_, columns_, source, 1, 1, from_.descriptor(), target, 1, 1, to_.descriptor(),
              all_.descriptor()[1]);
  }

 private:
  int rows_, columns_;
  OnGrid all_, from_, to_;
};

}  // namespace
#endif

std::unique_ptr<Scalapack> Scalapack::make([[maybe_unused]] const Layout& from,
                                           [[maybe_unused]] const Layout& to) {
#ifdef RETILE_BENCH_SCALAPACK
  const auto split = [](const Layout& map, std::size_t i) {
    return map.tile()[i] != map.global()[i];
  };
  Size parts = 1;
  std::size_t last_split = 0;
  for (std::size_t i = 0; i < to.rank(); ++i) {
    parts *= to.global()[i] / to.tile()[i];
    if (split(from, i) || split(to, i)) last_split = i;
  }
  if (parts != to.devices() || from.global_size() >= (Size{1} << 31)) return nullptr;
  // As many rows as possible: then what lies together in the columns does so in the tiles.
  for (std::size_t cut = last_split + 1; cut-- > 0;) {
    const auto before = matrix_of(from, cut);
    const auto after = matrix_of(to, cut);
    if (before && after) return std::make_unique<Redistribution>(*before, *after);
  }
#endif
  return nullptr;
}

// ---- FFTW --------------------------------------------------------------------------------------

bool Fftw::available() {
#ifdef RETILE_BENCH_FFTW
  return true;
#else
  return false;
#endif
}

std::string fftw_version() {
#ifdef RETILE_BENCH_FFTW
  return fftwf_version;
#else
  return "none";
#endif
}

#ifdef RETILE_BENCH_FFTW
namespace {

class Transpose final : public Fftw {
 public:
  /// A matrix of tuples; `n0` is split before and `n1` after.
  Transpose(Size n0, Size n1, Size tuple, unsigned flags) {
    fftwf_mpi_init();
    const Size processes = number_of_processes();
    const std::array<std::ptrdiff_t, 2> extents{n0, n1};
    std::array<std::ptrdiff_t, 4> unused{};
    const std::ptrdiff_t elements = fftwf_mpi_local_size_many_transposed(
        2, extents.data(), tuple, n0 / processes, n1 / processes, MPI_COMM_WORLD, &unused[0],
        &unused[1], &unused[2], &unused[3]);
    in_ = fftwf_alloc_real(static_cast<std::size_t>(elements));
    out_ = fftwf_alloc_real(static_cast<std::size_t>(elements));
    if (in_ != nullptr && out_ != nullptr) {
      std::memset(in_, 0, static_cast<std::size_t>(elements) * sizeof(float));
      std::memset(out_, 0, static_cast<std::size_t>(elements) * sizeof(float));
      plan_ =
          fftwf_mpi_plan_many_transpose(n0, n1, tuple, n0 / processes, n1 / processes, in_, out_,
                                        MPI_COMM_WORLD, FFTW_MEASURE | FFTW_DESTROY_INPUT | flags);
    }
  }
  ~Transpose() override {
    if (plan_ != nullptr) fftwf_destroy_plan(plan_);
    fftwf_free(in_);
    fftwf_free(out_);
  }
  Transpose(const Transpose&) = delete;
  Transpose& operator=(const Transpose&) = delete;

  [[nodiscard]] bool planned() const { return plan_ != nullptr; }
  void run() override { fftwf_execute(plan_); }
  [[nodiscard]] std::byte* input() override {
    return static_cast<std::byte*>(static_cast<void*>(in_));
  }
  [[nodiscard]] std::byte* output() override {
    return static_cast<std::byte*>(static_cast<void*>(out_));
  }

 private:
  float* in_ = nullptr;
  float* out_ = nullptr;
  fftwf_plan plan_ = nullptr;
};

/// The one dimension that all devices split in their order.
std::optional<std::size_t> only_split(const Layout& map) {
  std::optional<std::size_t> out;
  for (std::size_t i = 0; i < map.rank(); ++i) {
    if (map.tile()[i] == map.global()[i]) continue;
    if (out) return std::nullopt;
    out = i;
  }
  if (!out || map.global()[*out] / map.tile()[*out] != map.devices()) return std::nullopt;
  for (Size device = 0; device < map.devices(); ++device) {
    if (map.base_offset(device)[*out] != device * map.tile()[*out]) return std::nullopt;
  }
  return out;
}

}  // namespace
#endif

std::unique_ptr<Fftw> Fftw::make([[maybe_unused]] const Layout& from,
                                 [[maybe_unused]] const Layout& to) {
#ifdef RETILE_BENCH_FFTW
  const auto before = only_split(from);
  const auto after = only_split(to);
  if (!before || !after || *before == *after) return nullptr;
  const std::size_t first = std::min(*before, *after);
  const std::size_t second = std::max(*before, *after);
  Size front = 1;
  Size slabs = 1;
  Size tuple = 1;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    (i < first ? front : i < second ? slabs : tuple) *= from.global()[i];
  }
  if (front != 1) return nullptr;
  // What every process gets of a row stays together: a matrix of one tuple for each of them.
  const Size processes = from.devices();
  tuple /= processes;
  auto out = *before == first
                 ? std::make_unique<Transpose>(slabs, processes, tuple, FFTW_MPI_TRANSPOSED_OUT)
                 : std::make_unique<Transpose>(processes, slabs, tuple, FFTW_MPI_TRANSPOSED_IN);
  if (out->planned()) return out;
#endif
  return nullptr;
}

}  // namespace execution_bench
