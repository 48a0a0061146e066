/* Rows of a matrix become columns, on four processes: mpicc, mpirun -n 4. Every element is compared. */
#include <retile/c/mpi/retile_mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 1024, columns = 768, processes = 4, own_rows = rows / processes, own_columns = columns / processes };

static int rank;

/* All processes get the same status, so the first one speaks for all. */
static void expect_ok(retile_status status) {
  if (status == RETILE_OK) return;
  if (rank == 0) fprintf(stderr, "%s", retile_error_text());
  MPI_Finalize();
  exit((int)status);
}

int main(int argc, char** argv) {
  retile_plan* plan;
  retile_program* program;
  retile_verdict verdict;
  const size_t bytes = sizeof(double) * own_rows * columns;
  double* const before = malloc(bytes);
  double* const after = malloc(bytes);
  int wrong = 0;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  expect_ok(retile_plan_make("p:4", NULL, "[256{p}1024, 768]", "[1024, 192{p}768]", NULL, &plan));
  expect_ok(retile_program_of(plan, &program));
  expect_ok(retile_check(program, 0, &verdict));
  for (int i = 0; i < own_rows; ++i) {
    for (int j = 0; j < columns; ++j) before[i * columns + j] = (double)((rank * own_rows + i) * columns + j);
  }
  expect_ok(retile_redistribute(MPI_COMM_WORLD, program, before, bytes, after, bytes, sizeof(double)));
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < own_columns; ++j) wrong += after[i * own_columns + j] != (double)(i * columns + rank * own_columns + j);
  }
  if (rank == 0) {
    printf("%s: cost %lld, height %lld; %d wrong\n", verdict.right ? "right" : "wrong", (long long)retile_plan_cost(plan),
           (long long)retile_plan_height(plan), wrong);
  }
  retile_program_free(program);
  retile_plan_free(plan);
  free(before);
  free(after);
  MPI_Finalize();
  return wrong != 0 || !verdict.right;
}
