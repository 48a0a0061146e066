// What all C programs of modules share. Room-internal.
#pragma once

#include <string_view>

namespace retile::spmd {

constexpr std::string_view c_head =
    R"C(/* A module of retile as C:
 *   mpicc -std=c11 -O2 this.c -lblas -lm && mpirun -n DEVICES ./a.out [SEED [print]]
 * With -DNO_CBLAS loops compute all products, and no BLAS is needed.
 *
 * `module` computes and moves on the tiles of one process, of doubles. main makes parameters from SEED, which
 * every process does for itself, and compares every element of the result on process 0 with `denoted`, which
 * has doubles beside a bound of what rounding may do. It exits with 0 if all are right and 1 if not, with 2
 * for a wrong number of processes or argument, and 3 if rounding leaves nothing to compare. */
)C";

constexpr std::string_view c_types = R"C(
typedef double element;
#define ELEMENT MPI_DOUBLE

)C";

/// Behind the helpers of steps: what the loops of a module call.
constexpr std::string_view c_elements =
    R"C(/* A copy of what a step frees or reuses and something behind it still reads. */
element *copy_of(const element *tile, int64_t count) {
  element *out = space(count);
  memcpy(out, tile, (size_t)count * sizeof(element));
  return out;
}

/* An index of a dimension, which is looked at. */
static inline int64_t index_in(double index, int64_t extent) {
  if (index >= 0 && index < (double)extent) return (int64_t)index;
  fprintf(stderr, "an index, %g, that a dimension of %lld does not have\n", index, (long long)extent);
  MPI_Abort(MPI_COMM_WORLD, 2);
  return 0;
}

element element_max(element a, element b) { return a < b ? b : a; }
element element_min(element a, element b) { return b < a ? b : a; }

)C";

/// Parameters, and numbers beside what rounding may do.
constexpr std::string_view c_numbers = R"C(
/* ---- parameters ---- */

static uint64_t seed = 1;
static int drawing = 0; /* smaller parameters, or positive ones, where others have no value */

uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* The element at a position of one addend of a parameter: a fraction up to 1 of 11 bits, or of a parameter of indices
 * a whole number below BELOW. */
double drawn(int parameter, int64_t addend, int64_t position) {
  static const double divisors[] = {0x1p10, 0x1p14, 0x1p18};
  const uint64_t stream = mixed(seed ^ mixed(((uint64_t)parameter << 32) ^ (uint64_t)addend));
  if (BELOW[parameter] > 0) return (double)(mixed(stream ^ (uint64_t)position) % (uint64_t)BELOW[parameter]);
  const int64_t least = drawing % 2 == 0 ? -1024 : 512;
  const uint64_t count = (uint64_t)(1024 - least + 1);
  return (double)((int64_t)(mixed(stream ^ (uint64_t)position) % count) + least) / divisors[drawing / 2];
}

/* The next index of a box; 0 behind the last one. */
int next_index(int64_t *at, const int64_t *box) {
  int i = RANK;
  while (i-- > 0) {
    if (++at[i] < box[i]) return 1;
    at[i] = 0;
  }
  return 0;
}

/* Where an index of a box lies in an array that has the box at `start`. */
int64_t place_of(const int64_t *at, const int64_t *start, const int64_t *shape) {
  int64_t out = 0;
  for (int i = 0; i < RANK; ++i) out = out * shape[i] + start[i] + at[i];
  return out;
}

/* Rows of boxes: the device, where the box lies in its tile and in the array, and its extents. */
enum { BOX = 1 + 3 * RANK };

/* This process's tile of a parameter. */
element *tile_of(int parameter, const int64_t *shape, const int64_t *global, const int64_t (*boxes)[BOX], int count,
                 int64_t addend) {
  element *out = space(product(shape, 0, RANK));
  for (int b = 0; b < count; ++b) {
    const int64_t *place = boxes[b] + 1, *start = place + RANK, *extents = start + RANK;
    int64_t at[RANK] = {0};
    if (boxes[b][0] != rank) continue;
    do {
      out[place_of(at, place, shape)] = drawn(parameter, addend, place_of(at, start, global));
    } while (next_index(at, extents));
  }
  return out;
}

/* ---- numbers and what rounding may do ----
 * A value is a sum of products whose magnitudes add up to `magnitude`, and so many sums and products stand behind
 * each other. Whatever the order of a sum of n terms is, these are n - 1 at most, and each is off by at most UNIT
 * times that much (Higham 2002, chapter 3). What functions are off by is `off`, and comes on top. */

typedef struct {
  double number, magnitude, roundings, off;
} num;
#define UNIT (DBL_EPSILON / 2)

static int is_no_number = 0; /* a value is none, or has no bound */

num *num_space(int64_t count) {
  num *out = calloc(count > 0 ? (size_t)count : 1, sizeof(num));
  if (out == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  return out;
}

/* How far from the number a value may be. */
double num_error(num a) {
  const double all = a.roundings * UNIT;
  if (!(all < 0.5)) is_no_number = 1;
  return all / (1 - all) * (a.magnitude + a.off) + a.off;
}
/* How far from the number another computation of it may be: once for that, once for these doubles, and twice
 * for operations in another order. */
double num_tolerance(num a) { return 4 * num_error(a) + DBL_MIN; }

num num_of(double number) { return (num){number, fabs(number), 1, 0}; }
num num_made(double number, double off) { /* rounded by a function to two units */
  if (!isfinite(number) || !isfinite(off)) is_no_number = 1;
  return (num){number, fabs(number), 2, off};
}
num num_add(num a, num b) {
  return (num){a.number + b.number, a.magnitude + b.magnitude, fmax(a.roundings, b.roundings) + 1, a.off + b.off};
}
num num_sub(num a, num b) {
  return (num){a.number - b.number, a.magnitude + b.magnitude, fmax(a.roundings, b.roundings) + 1, a.off + b.off};
}
num num_mul(num a, num b) {
  return (num){a.number * b.number, a.magnitude * b.magnitude, a.roundings + b.roundings + 1,
               a.off * (b.magnitude + b.off) + a.magnitude * b.off};
}
num num_div(num a, num b) {
  const double least = fabs(b.number) - num_error(b), number = a.number / b.number;
  if (!(least > 0)) is_no_number = 1;
  return num_made(number, (num_error(a) + fabs(number) * num_error(b)) / least);
}
num num_max(num a, num b) {
  return (num){fmax(a.number, b.number), fmax(a.magnitude, b.magnitude), fmax(a.roundings, b.roundings),
               fmax(a.off, b.off)};
}
num num_min(num a, num b) {
  num out = num_max(a, b);
  out.number = fmin(a.number, b.number);
  return out;
}
num num_exp(num a) {
  const double number = exp(a.number);
  return num_made(number, number * expm1(num_error(a)));
}
num num_sqrt(num a) {
  const double least = a.number - num_error(a), number = sqrt(a.number);
  if (!(least >= 0)) is_no_number = 1;
  return num_made(number, number > 0 ? num_error(a) / (number + sqrt(least)) : 0);
}

/* A whole parameter: what its addends mean together. */
num *whole(int parameter, int64_t count, int64_t addends, MPI_Op add) {
  num *out = num_space(count);
  for (int64_t i = 0; i < count; ++i) {
    out[i] = num_of(drawn(parameter, 0, i));
    for (int64_t k = 1; k < addends; ++k) {
      const num next = num_of(drawn(parameter, k, i));
      out[i] = add == MPI_MAX ? num_max(out[i], next) : add == MPI_MIN ? num_min(out[i], next) : num_add(out[i], next);
    }
  }
  return out;
}

)C";

constexpr std::string_view c_tail = R"C(
/* ---- the comparison ---- */

/* Chooses parameters of which `denoted` has a value: those where rounding changes elements by no more than 1e-9 of
 * the largest one, or else by the least part of it that is below a thousandth. */
static num *wanted_result(void) {
  const int64_t count = product(GLOBAL, 0, RANK);
  double least = 1e-3;
  int best = -1;
  for (drawing = 0; drawing < (HAS_FUNCTIONS ? 6 : 1); ++drawing) {
    is_no_number = 0;
    num *out = denoted();
    double largest = 0, most = 0;
    for (int64_t i = 0; i < count; ++i) {
      largest = fmax(largest, fabs(out[i].number));
      most = fmax(most, num_tolerance(out[i]));
      if (!isfinite(out[i].number)) is_no_number = 1;
    }
    if (!is_no_number && (!HAS_FUNCTIONS || most <= 1e-9 * largest)) return out;
    free(out);
    if (!is_no_number && most <= least * largest) {
      least = most / largest;
      best = drawing;
    }
  }
  drawing = best;
  return best < 0 ? NULL : denoted();
}

/* The tile of a device, on process 0. */
static element *received(int device, const element *own) {
  const int64_t count = product(SHAPE[device], 0, RANK);
  element *out = space(count);
  if (device == 0) {
    memcpy(out, own, (size_t)count * sizeof(element));
  } else {
    MPI_Recv(out, (int)count, ELEMENT, device, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return out;
}

/* What the devices of a row hold together: each has one addend of the same tile. */
static element *together(const int *devices, const element *own) {
  element *out = received(devices[0], own);
  for (int k = 1; k < ADDENDS; ++k) {
    element *next = received(devices[k], own);
    for (int64_t i = 0; i < product(SHAPE[devices[0]], 0, RANK); ++i) {
      out[i] = ADD == MPI_MAX   ? element_max(out[i], next[i])
               : ADD == MPI_MIN ? element_min(out[i], next[i])
                                : out[i] + next[i];
    }
    free(next);
  }
  return out;
}

static void say_element(int64_t position) {
  int64_t at[RANK];
  for (int i = RANK; i-- > 0; position /= GLOBAL[i]) at[i] = position % GLOBAL[i];
  printf("element [");
  for (int i = FIRST_DIM; i < RANK; ++i) printf("%s%lld", i > FIRST_DIM ? ", " : "", (long long)at[i]);
  printf("]");
}

/* Compares on process 0 what all hold, and says the first element that is wrong. */
static int compared(const element *own, const num *wanted, int prints) {
  const int64_t size = product(GLOBAL, 0, RANK);
  element *held = space(size);
  char *is_held = calloc(size > 0 ? (size_t)size : 1, 1);
  int64_t count = 0, wrong = 0;
  double most = 0;
  if (is_held == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int row = 0; row < ROWS; ++row) {
    const int device = DEVICES_OF[row][0];
    element *tile = together(DEVICES_OF[row], own);
    for (int b = 0; b < BOXES; ++b) {
      const int64_t *place = RESULT_BOXES[b] + 1, *start = place + RANK, *extents = start + RANK;
      int64_t at[RANK] = {0};
      if (RESULT_BOXES[b][0] != device) continue;
      do {
        const int64_t position = place_of(at, start, GLOBAL);
        const element found = tile[place_of(at, place, SHAPE[device])];
        num bounded = wanted[position];
        bounded.roundings += ADDENDS;
        const double tolerance = num_tolerance(bounded);
        most = fmax(most, tolerance);
        held[position] = found;
        is_held[position] = 1;
        ++count;
        if (fabs(found - bounded.number) <= tolerance || wrong++ > 0) continue;
        printf("wrong: device %d holds %.17g at ", device, found);
        say_element(position);
        printf(", denotes says %.17g\n", bounded.number);
      } while (next_index(at, extents));
    }
    free(tile);
  }
  for (int64_t i = 0; i < size; ++i) {
    if (is_held[i] || wrong++ > 0) continue;
    printf("wrong: no device holds ");
    say_element(i);
    printf("\n");
  }
  for (int64_t i = 0; prints && i < size; ++i) printf("%.17g\n", held[i]);
  if (wrong == 0) {
    printf("right: %lld elements compared on %d processes, none off by more than rounding, %.1e\n", (long long)count,
           DEVICES, most);
  }
  free(held);
  free(is_held);
  return wrong == 0 ? 0 : 1;
}

static int read_arguments(int argc, char **argv) {
  char *end = NULL;
  if (argc > 3 || (argc == 3 && strcmp(argv[2], "print") != 0)) return 0;
  if (argc > 1) seed = strtoull(argv[1], &end, 10);
  return argc == 1 || (argv[1][0] >= '0' && argv[1][0] <= '9' && *end == '\0');
}

int main(int argc, char **argv) {
  int processes, code = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (processes != DEVICES || !read_arguments(argc, argv)) {
    if (rank == 0) {
      fprintf(stderr, "this module is for %d processes, not %d, with arguments [SEED [print]]\n", DEVICES, processes);
    }
    MPI_Finalize();
    return 2;
  }
  num *wanted = rank == 0 ? wanted_result() : NULL;
  MPI_Bcast(&drawing, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (drawing < 0) {
    if (rank == 0) fprintf(stderr, "undecided: an element is no number, or rounding may change it too much\n");
    MPI_Finalize();
    return 3;
  }
  element *tile = run_module();
  if (rank == 0) {
    code = compared(tile, wanted, argc == 3);
  } else {
    MPI_Send(tile, (int)product(SHAPE[rank], 0, RANK), ELEMENT, 0, 0, MPI_COMM_WORLD);
  }
  free(tile);
  free(wanted);
  MPI_Finalize();
  return code;
}
)C";

}  // namespace retile::spmd
