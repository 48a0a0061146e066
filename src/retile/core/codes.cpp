#include "retile/core/codes.h"

#include <array>
#include <cstddef>

#include "retile/core/assert.h"

namespace retile {
namespace {

constexpr int no = 1;
constexpr int unusable = 2;
constexpr int undecided = 3;
constexpr int environment = 4;

constexpr std::array code_table = {
    CodeRow{Code::syntax, "syntax",
            "The text does not follow the grammar: a bracket is not closed, a comma is missing, or "
            "there are bytes that mean nothing.",
            "the grammar of meshes, types and Programs", unusable},
    CodeRow{Code::bad_number, "bad_number",
            "A number is zero, negative, or does not fit in 63 bits where it stands.",
            "sizes are whole numbers from 1 and below 2^63", unusable},
    CodeRow{Code::size_overflow, "size_overflow",
            "A product of sizes does not fit in 63 bits: the elements of an array, the bytes of a "
            "tile, or the cost of a plan.",
            "an array has less than 2^63 elements", unusable},
    CodeRow{Code::empty_mesh, "empty_mesh", "A mesh has no axes. A single device is `x:1`.",
            "a mesh has at least one axis", unusable},
    CodeRow{Code::duplicate_axis, "duplicate_axis",
            "An axis name stands twice in a mesh. A quoted name is the same axis as the bare one.",
            "Fig. 6, names are distinct", unusable},
    CodeRow{Code::too_many_devices, "too_many_devices",
            "The product of the axis sizes, or the number of `devices`, is more than 2^31.",
            "at most 2147483648 devices", unusable},
    CodeRow{Code::unknown_axis, "unknown_axis", "A type names an axis that the mesh does not have.",
            "WF-DIM (Fig. 7b)", unusable},
    CodeRow{Code::axis_used_twice, "axis_used_twice", "An axis stands twice in one type.",
            "WF-DIM within a dimension, WF-TYPE between dimensions (Fig. 7b)", unusable},
    CodeRow{Code::axis_size_mismatch, "axis_size_mismatch",
            "A type repeats the size of an axis, and it is not the size in the mesh.",
            "WF-DIM (Fig. 7b)", unusable},
    CodeRow{Code::ill_formed_type, "ill_formed_type",
            "Tile size times axis sizes is not the global size. In a Program it also means that "
            "digits of the device number overlap, or that tiles lie outside the array.",
            "WF-DIM, WF-TYPE (Fig. 7b)", unusable},
    CodeRow{Code::rank_mismatch, "rank_mismatch", "The two types have different ranks.",
            "Sec. 2.5, a redistribution keeps the array", unusable},
    CodeRow{Code::globaltype_mismatch, "globaltype_mismatch",
            "The two types have different global shapes.",
            "Sec. 2.5, a redistribution keeps the array", unusable},
    CodeRow{
        Code::bad_program, "bad_program",
        "A Program cannot be read. A key is unknown, missing or doubled, a table is none, sizes "
        "disagree, or a line stands where it must not.",
        "the program form, [program.md](program.md)", unusable},
    CodeRow{Code::bad_device, "bad_device",
            "A table names a device that the Program does not have.", "devices are numbered from 0",
            unusable},
    CodeRow{Code::bad_dimension, "bad_dimension",
            "A step or a typing rule names a dimension that the array does not have.",
            "dimensions are numbered from 0", unusable},
    CodeRow{Code::inapplicable, "inapplicable",
            "A step cannot be applied where it stands: the tile is not divisible, no axis splits "
            "the dimension, or the types of an allpermute differ in their tiles. Executors and the "
            "typing rules refuse that. `retile check` calls such a Program wrong, with a verdict, "
            "so no verb ends with this code.",
            "T-ALLGATHER, T-DYNSLICE, T-ALLTOALL, T-PERMUTE (Fig. 8)", unusable},
    CodeRow{Code::unsupported, "unsupported",
            "The input is well formed, but this build or this function does not handle it, such as "
            "tiles that differ, or a backend that is not built in. The exit code is 4 when a "
            "backend is not built in, finds no "
            "GPU, moves no files or runs no modules.",
            "", unusable},
    CodeRow{Code::file_error, "file_error",
            "A file cannot be opened, read or written. An output that cannot be written ends with "
            "exit code 4.",
            "", unusable},
    CodeRow{Code::bad_file, "bad_file",
            "A file is not what is needed: it has no `.npy` header, its data is cut short, or its "
            "shape or element type is not the problem's. Or a text is longer than 512 MiB, or "
            "begins with a byte order mark.",
            "the `.npy` format, versions 1 to 3, in C order", unusable},
    CodeRow{Code::bad_argument, "bad_argument",
            "An option or argument is missing, unknown or out of its range.",
            "`retile --help`, [options.md](options.md)", unusable},
    CodeRow{
        Code::limit_reached, "limit_reached",
        "A search or a replay stopped at a limit, or the call as a whole reached `--timeout` or "
        "`--memory`: neither yes nor no. The exit code is 4 when the machine has less memory "
        "than `--memory` allows.",
        "limits are stated where they are set", undecided},
    CodeRow{Code::infeasible, "infeasible",
            "No plan keeps to the memory limit, collectives alone do not reach the end, or adding "
            "does not make its addends. The command line prints that as its answer, on stdout.",
            "the tiles before and after each step stay within the limit together", no},
    CodeRow{Code::disagreement, "disagreement",
            "The processes of a job were given different arguments. All processes find that out "
            "before the first collective is posted.",
            "a redistribution is one operation of all processes", unusable},
    CodeRow{Code::mpi_error, "mpi_error",
            "MPI reported an error, a process of the job ended early, or `mpirun` cannot be "
            "started. The job ends with this message.",
            "", environment},
    CodeRow{Code::team_broken, "team_broken",
            "One of the processes that work through shared memory gave up or died. All waits of "
            "the others end with this error within seconds, now and later.",
            "", environment},
    CodeRow{Code::shared_memory_error, "shared_memory_error",
            "Memory that several processes can write cannot be made, filled with pages or reached: "
            "limits of the process forbid it, `/dev/shm` is too small, or the processes may not "
            "see each other. All members of a team get this error when one of them does.",
            "", environment},
    CodeRow{Code::cuda_error, "cuda_error",
            "The machine has no GPU or no driver for it, or CUDA reported an error, whose words "
            "end the message. All processes of a run get this error when one of them does.",
            "", environment},
};

constexpr bool is_in_order() {
  for (std::size_t k = 0; k < code_table.size(); ++k) {
    if (code_table[k].code != static_cast<Code>(k)) return false;
  }
  return code_table.back().code == Code::cuda_error;
}
static_assert(is_in_order());

constexpr std::array codes = [] {
  std::array<Code, code_table.size()> out{};
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = code_table[k].code;
  return out;
}();

}  // namespace

std::span<const CodeRow> code_rows() { return code_table; }

std::span<const Code> all_codes() { return codes; }

std::string_view code_name(Code code) { return code_row(code).name; }

const CodeRow& code_row(Code code) {
  const auto place = static_cast<std::size_t>(code);
  RETILE_ASSERT(place < code_table.size(), "a code that the enumeration does not have");
  return code_table[place];
}

}  // namespace retile
