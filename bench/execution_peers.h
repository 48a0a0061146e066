// Other ways to do what bench/execution.cpp measures: MPI's own, ScaLAPACK's and FFTW's.
//
// A peer is made for one problem, by all processes, and then moves the data as often as it is told
// to. Where a library cannot say a problem, make() returns nothing, on all processes.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"
#include "retile/program/ops.h"

namespace execution_bench {

using retile::Exchange;
using retile::Layout;
using retile::Shape;
using retile::Size;
using retile::Transfer;

/// The boxes of an exchange as MPI subarray types, one type for each other process.
class MpiTypes {
 public:
  MpiTypes(const Exchange& exchange, const Shape& in_tile, const Shape& out_tile);
  ~MpiTypes();
  MpiTypes(const MpiTypes&) = delete;
  MpiTypes& operator=(const MpiTypes&) = delete;

  /// MPI_Alltoallw on the boxes where they lie.
  void alltoallw(const std::byte* in, std::byte* out) const;
  /// MPI_Pack, MPI_Alltoallv, MPI_Unpack, through buffers of packed_bytes() and unpacked_bytes().
  void pack_alltoallv(const std::byte* in, std::byte* out, std::byte* packed,
                      std::byte* unpacked) const;
  [[nodiscard]] Size packed_bytes() const { return send_.bytes; }
  [[nodiscard]] Size unpacked_bytes() const { return receive_.bytes; }

 private:
  struct Side {
    std::vector<MPI_Datatype> types;
    std::vector<int> counts, piece_bytes, at;
    Size bytes = 0;
  };
  static Side side(const std::vector<std::vector<const Transfer*>>& boxes, const Shape& tile,
                   bool source);

  Side send_, receive_;
  std::vector<int> zeros_;
};

/// ScaLAPACK's redistribution of block-cyclic matrices, p?gemr2d, in single precision.
///
/// An array of more dimensions is a matrix of its first and its last ones, where then at most one
/// dimension of either is split: splits behind whole dimensions are cyclic. Nothing where the new
/// tiles are replicated. Of replicas of old ones the first is taken.
class Scalapack {
 public:
  /// Null where this was built without ScaLAPACK, or the problem does not fit.
  [[nodiscard]] static std::unique_ptr<Scalapack> make(const Layout& from, const Layout& to);
  [[nodiscard]] static bool available();
  virtual ~Scalapack() = default;
  Scalapack(const Scalapack&) = delete;
  Scalapack& operator=(const Scalapack&) = delete;
  virtual void run(const std::byte* in, std::byte* out) = 0;

 protected:
  Scalapack() = default;
};

/// FFTW's distributed transpose of slabs, as its planner finds it (FFTW_MEASURE), between buffers
/// of its own; it may overwrite its input, which spares it a buffer.
///
/// Fits where all processes, in order, split one dimension before and another after, and the first
/// of the two has no whole dimension in front of it. Both tiles lie as here, not transposed
/// (FFTW_MPI_TRANSPOSED_OUT, FFTW_MPI_TRANSPOSED_IN).
class Fftw {
 public:
  /// Null where this was built without FFTW, or the problem does not fit.
  [[nodiscard]] static std::unique_ptr<Fftw> make(const Layout& from, const Layout& to);
  [[nodiscard]] static bool available();
  virtual ~Fftw() = default;
  Fftw(const Fftw&) = delete;
  Fftw& operator=(const Fftw&) = delete;
  virtual void run() = 0;
  [[nodiscard]] virtual std::byte* input() = 0;
  [[nodiscard]] virtual std::byte* output() = 0;

 protected:
  Fftw() = default;
};

/// What a peer is built from, for the record.
[[nodiscard]] std::string fftw_version();

}  // namespace execution_bench
