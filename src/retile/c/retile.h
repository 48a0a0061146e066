/* The library for C and, through retile.f90, for Fortran: plans, Programs, verdicts. <retile/c/mpi/retile_mpi.h> moves data.
 *
 * Functions that can fail return a retile_status, and leave what is wrong in the calling thread: retile_error_text() has it with a
 * caret, as the command prints it, and retile_error_name() its identifier, such as `unknown_axis` (docs/reference/errors.md).
 * An object that was not made is NULL; numbers of NULL are 0, and its texts empty. Objects may be used by several threads as long as none frees them.
 * Sizes are elements unless a name says bytes. Layouts are texts in any notation (docs/reference/notations.md).
 */
#ifndef RETILE_C_RETILE_H
#define RETILE_C_RETILE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The exit codes of the command, too. */
typedef enum retile_status {
  RETILE_OK = 0,
  RETILE_NO = 1,         /* no plan within the limit, or by collectives alone */
  RETILE_REFUSED = 2,    /* an argument cannot be read, or is out of range */
  RETILE_UNDECIDED = 3,  /* a limit was reached */
  RETILE_ENVIRONMENT = 4 /* the machine failed: MPI, memory */
} retile_status;

typedef struct retile_plan retile_plan;
typedef struct retile_program retile_program;

typedef struct retile_plan_options {
  int64_t element_bytes; /* for the limit; 0: 4 */
  int64_t
      memory_limit_bytes; /* the most that tiles before and after a step take together; 0: no limit */
  int collectives;        /* not 0: no exchange, also where that takes larger tiles than the ends */
} retile_plan_options;

/* The cheapest sequence from one tiling of an array to another.
 * mesh: its axes, "x:4,y:6", or NULL where the ends say them. shape: the global shape, "16,8", or NULL where they say it.
 * options may be NULL. RETILE_NO: no plan is within the limit, or collectives alone do not reach the end. */
retile_status retile_plan_make(const char* mesh, const char* shape, const char* from,
                               const char* to, const retile_plan_options* options,
                               retile_plan** plan);
void retile_plan_free(retile_plan* plan);
int64_t retile_plan_cost(const retile_plan* plan);   /* per device */
int64_t retile_plan_height(const retile_plan* plan); /* the largest tile, both ends included */
int64_t retile_plan_bound(const retile_plan* plan);  /* the larger end */
int64_t retile_plan_resident(
    const retile_plan* plan); /* the most held in one step, before and after together */
int retile_plan_is_optimal(
    const retile_plan* plan); /* whether the cost is proved to be the least within the limit, of all
                                 collectives, or of some plans of those along one dimension each */
int retile_plan_is_exchange(const retile_plan* plan);

/* The plan step by step for every device. */
retile_status retile_program_of(const retile_plan* plan, retile_program** program);
/* One exchange that moves every element straight to its new tile; arguments as of retile_plan_make. */
retile_status retile_program_direct(const char* mesh, const char* shape, const char* from,
                                    const char* to, retile_program** program);
/* A text or JSON that holds one Program. */
retile_status retile_program_read(const char* text, retile_program** program);
void retile_program_free(retile_program* program);
int64_t retile_program_devices(const retile_program* program);
/* Both belong to the Program; "" where there is no memory for them. */
const char* retile_program_text(const retile_program* program);
const char* retile_program_json(const retile_program* program);

typedef struct retile_verdict {
  int right; /* not 0: every device ends with the elements that it must have */
  int within_bound;
  int64_t cost;
  int64_t height;
  int64_t bound;
} retile_verdict;

/* Replays a Program. RETILE_UNDECIDED: a limit was reached, such as that of seconds, where they are more than 0. */
retile_status retile_check(const retile_program* program, double seconds, retile_verdict* verdict);

/* What the last call of this thread that failed has said; "" before that. They are valid until it fails again. */
const char* retile_error_text(void);
const char* retile_error_name(void);
const char* retile_version(void);

#ifdef __cplusplus
}
#endif

#endif
