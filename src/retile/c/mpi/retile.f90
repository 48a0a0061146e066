! The library for Fortran 2008, over the C of retile.h and retile_mpi.h, whose comments say what each of these does.
! Compile this file with your own compiler, and link the libraries retile_c and retile_c_mpi.
!
! What a plan, Program or mover held before it is made is freed. A copy of one is not one of its own: free either.
!
! Arrays of Fortran lie with the first index fastest, and tiles with the last. So a layout says the dimensions of an
! array in the opposite order: a(16, 8), whose second index is cut, is "[2{x}8, 16]".
module retile
  use, intrinsic :: iso_c_binding
  use mpi_f08, only: MPI_Comm
  implicit none
  private
  public :: retile_plan_t, retile_program_t, retile_mover_t, retile_verdict_t
  public :: retile_plan, retile_program_of, retile_program_direct, retile_program_read, retile_check
  public :: retile_redistribute, retile_mover_make, retile_mover_run, retile_free, retile_error, retile_text
  public :: RETILE_OK, RETILE_NO, RETILE_REFUSED, RETILE_UNDECIDED, RETILE_ENVIRONMENT

  integer(c_int), parameter :: RETILE_OK = 0, RETILE_NO = 1, RETILE_REFUSED = 2, RETILE_UNDECIDED = 3, RETILE_ENVIRONMENT = 4

  type :: retile_plan_t
    integer(c_int64_t) :: cost = 0, height = 0, bound = 0, resident = 0
    logical :: is_optimal = .false., is_exchange = .false.
    type(c_ptr), private :: object = c_null_ptr
  end type

  type :: retile_program_t
    type(c_ptr), private :: object = c_null_ptr
  end type

  type :: retile_mover_t
    integer(c_int64_t) :: in_bytes = 0, out_bytes = 0, peak_limit_bytes = 0
    type(c_ptr), private :: object = c_null_ptr
  end type

  type, bind(c) :: retile_verdict_t
    integer(c_int) :: right = 0, within_bound = 0
    integer(c_int64_t) :: cost = 0, height = 0, bound = 0
  end type

  type, bind(c) :: plan_options
    integer(c_int64_t) :: element_bytes = 0, memory_limit_bytes = 0
    integer(c_int) :: collectives = 0
  end type

  !> Frees a plan, a Program or a mover; those of movers on all processes, before MPI_Finalize.
  interface retile_free
    module procedure free_plan, free_program, free_mover
  end interface

  interface
    function c_plan_make(mesh, shape, from, to, options, plan) bind(c, name="retile_plan_make") result(status)
      import :: c_ptr, c_int, plan_options
      type(c_ptr), value :: mesh, shape, from, to
      type(plan_options), intent(in) :: options
      type(c_ptr), intent(out) :: plan
      integer(c_int) :: status
    end function
    subroutine c_plan_free(plan) bind(c, name="retile_plan_free")
      import :: c_ptr
      type(c_ptr), value :: plan
    end subroutine
    function c_plan_cost(plan) bind(c, name="retile_plan_cost") result(n)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: plan
      integer(c_int64_t) :: n
    end function
    function c_plan_height(plan) bind(c, name="retile_plan_height") result(n)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: plan
      integer(c_int64_t) :: n
    end function
    function c_plan_bound(plan) bind(c, name="retile_plan_bound") result(n)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: plan
      integer(c_int64_t) :: n
    end function
    function c_plan_resident(plan) bind(c, name="retile_plan_resident") result(n)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: plan
      integer(c_int64_t) :: n
    end function
    function c_plan_is_optimal(plan) bind(c, name="retile_plan_is_optimal") result(n)
      import :: c_ptr, c_int
      type(c_ptr), value :: plan
      integer(c_int) :: n
    end function
    function c_plan_is_exchange(plan) bind(c, name="retile_plan_is_exchange") result(n)
      import :: c_ptr, c_int
      type(c_ptr), value :: plan
      integer(c_int) :: n
    end function
    function c_program_of(plan, program) bind(c, name="retile_program_of") result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: plan
      type(c_ptr), intent(out) :: program
      integer(c_int) :: status
    end function
    function c_program_direct(mesh, shape, from, to, program) bind(c, name="retile_program_direct") result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: mesh, shape, from, to
      type(c_ptr), intent(out) :: program
      integer(c_int) :: status
    end function
    function c_program_read(text, program) bind(c, name="retile_program_read") result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: text
      type(c_ptr), intent(out) :: program
      integer(c_int) :: status
    end function
    subroutine c_program_free(program) bind(c, name="retile_program_free")
      import :: c_ptr
      type(c_ptr), value :: program
    end subroutine
    function c_program_text(program) bind(c, name="retile_program_text") result(text)
      import :: c_ptr
      type(c_ptr), value :: program
      type(c_ptr) :: text
    end function
    function c_check(program, seconds, verdict) bind(c, name="retile_check") result(status)
      import :: c_ptr, c_int, c_double, retile_verdict_t
      type(c_ptr), value :: program
      real(c_double), value :: seconds
      type(retile_verdict_t), intent(out) :: verdict
      integer(c_int) :: status
    end function
    function c_redistribute(comm, program, in, in_bytes, out, out_bytes, element_bytes) &
        bind(c, name="retile_redistribute_f") result(status)
      import :: c_ptr, c_int, c_size_t, c_int64_t
      integer(c_int), value :: comm
      type(c_ptr), value :: program, in, out
      integer(c_size_t), value :: in_bytes, out_bytes
      integer(c_int64_t), value :: element_bytes
      integer(c_int) :: status
    end function
    function c_mover_make(comm, program, element_bytes, memory_limit_bytes, mover) &
        bind(c, name="retile_mover_make_f") result(status)
      import :: c_ptr, c_int, c_int64_t
      integer(c_int), value :: comm
      type(c_ptr), value :: program
      integer(c_int64_t), value :: element_bytes, memory_limit_bytes
      type(c_ptr), intent(out) :: mover
      integer(c_int) :: status
    end function
    function c_mover_run(mover, in, in_bytes, out, out_bytes) bind(c, name="retile_mover_run") result(status)
      import :: c_ptr, c_int, c_size_t
      type(c_ptr), value :: mover, in, out
      integer(c_size_t), value :: in_bytes, out_bytes
      integer(c_int) :: status
    end function
    subroutine c_mover_free(mover) bind(c, name="retile_mover_free")
      import :: c_ptr
      type(c_ptr), value :: mover
    end subroutine
    function c_mover_in_bytes(mover) bind(c, name="retile_mover_in_bytes") result(n)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: mover
      integer(c_int64_t) :: n
    end function
    function c_mover_out_bytes(mover) bind(c, name="retile_mover_out_bytes") result(n)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: mover
      integer(c_int64_t) :: n
    end function
    function c_mover_peak_limit_bytes(mover) bind(c, name="retile_mover_peak_limit_bytes") result(n)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: mover
      integer(c_int64_t) :: n
    end function
    function c_error_text() bind(c, name="retile_error_text") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_length(text) bind(c, name="strlen") result(n)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: n
    end function
  end interface

contains

  !> The cheapest sequence from one tiling to another. An empty mesh or shape is one that the ends say.
  subroutine retile_plan(mesh, shape, from, to, plan, status, element_bytes, memory_limit_bytes, collectives)
    character(*), intent(in) :: mesh, shape, from, to
    type(retile_plan_t), intent(inout) :: plan
    integer(c_int), intent(out) :: status
    integer(c_int64_t), intent(in), optional :: element_bytes, memory_limit_bytes
    logical, intent(in), optional :: collectives
    character(kind=c_char), allocatable, target :: m(:), s(:), f(:), t(:)
    type(plan_options) :: options

    call free_plan(plan)
    if (present(element_bytes)) options%element_bytes = element_bytes
    if (present(memory_limit_bytes)) options%memory_limit_bytes = memory_limit_bytes
    if (present(collectives)) options%collectives = merge(1_c_int, 0_c_int, collectives)
    m = as_c(mesh)
    s = as_c(shape)
    f = as_c(from)
    t = as_c(to)
    status = c_plan_make(or_null(m), or_null(s), c_loc(f), c_loc(t), options, plan%object)
    if (status /= RETILE_OK) return
    plan%cost = c_plan_cost(plan%object)
    plan%height = c_plan_height(plan%object)
    plan%bound = c_plan_bound(plan%object)
    plan%resident = c_plan_resident(plan%object)
    plan%is_optimal = c_plan_is_optimal(plan%object) /= 0
    plan%is_exchange = c_plan_is_exchange(plan%object) /= 0
  end subroutine

  subroutine retile_program_of(plan, program, status)
    type(retile_plan_t), intent(in) :: plan
    type(retile_program_t), intent(inout) :: program
    integer(c_int), intent(out) :: status

    call free_program(program)
    status = c_program_of(plan%object, program%object)
  end subroutine

  subroutine retile_program_direct(mesh, shape, from, to, program, status)
    character(*), intent(in) :: mesh, shape, from, to
    type(retile_program_t), intent(inout) :: program
    integer(c_int), intent(out) :: status
    character(kind=c_char), allocatable, target :: m(:), s(:), f(:), t(:)

    call free_program(program)
    m = as_c(mesh)
    s = as_c(shape)
    f = as_c(from)
    t = as_c(to)
    status = c_program_direct(or_null(m), or_null(s), c_loc(f), c_loc(t), program%object)
  end subroutine

  subroutine retile_program_read(text, program, status)
    character(*), intent(in) :: text
    type(retile_program_t), intent(inout) :: program
    integer(c_int), intent(out) :: status
    character(kind=c_char), allocatable, target :: t(:)

    call free_program(program)
    t = as_c(text)
    status = c_program_read(c_loc(t), program%object)
  end subroutine

  !> Replays a Program on all of its devices.
  subroutine retile_check(program, verdict, status, seconds)
    type(retile_program_t), intent(in) :: program
    type(retile_verdict_t), intent(out) :: verdict
    integer(c_int), intent(out) :: status
    real(c_double), intent(in), optional :: seconds
    real(c_double) :: limit

    limit = 0
    if (present(seconds)) limit = seconds
    status = c_check(program%object, limit, verdict)
  end subroutine

  !> Moves once. in and out are the addresses (c_loc) of this process's tiles, of so many bytes.
  subroutine retile_redistribute(comm, program, in, in_bytes, out, out_bytes, element_bytes, status)
    type(MPI_Comm), intent(in) :: comm
    type(retile_program_t), intent(in) :: program
    type(c_ptr), intent(in) :: in, out
    integer(c_size_t), intent(in) :: in_bytes, out_bytes
    integer, intent(in) :: element_bytes
    integer(c_int), intent(out) :: status

    status = c_redistribute(int(comm%MPI_VAL, c_int), program%object, in, in_bytes, out, out_bytes, &
                            int(element_bytes, c_int64_t))
  end subroutine

  subroutine retile_mover_make(comm, program, element_bytes, mover, status, memory_limit_bytes)
    type(MPI_Comm), intent(in) :: comm
    type(retile_program_t), intent(in) :: program
    integer, intent(in) :: element_bytes
    type(retile_mover_t), intent(inout) :: mover
    integer(c_int), intent(out) :: status
    integer(c_int64_t), intent(in), optional :: memory_limit_bytes
    integer(c_int64_t) :: limit

    call free_mover(mover)
    limit = 0
    if (present(memory_limit_bytes)) limit = memory_limit_bytes
    status = c_mover_make(int(comm%MPI_VAL, c_int), program%object, int(element_bytes, c_int64_t), limit, mover%object)
    if (status /= RETILE_OK) return
    mover%in_bytes = c_mover_in_bytes(mover%object)
    mover%out_bytes = c_mover_out_bytes(mover%object)
    mover%peak_limit_bytes = c_mover_peak_limit_bytes(mover%object)
  end subroutine

  subroutine retile_mover_run(mover, in, in_bytes, out, out_bytes, status)
    type(retile_mover_t), intent(in) :: mover
    type(c_ptr), intent(in) :: in, out
    integer(c_size_t), intent(in) :: in_bytes, out_bytes
    integer(c_int), intent(out) :: status

    status = c_mover_run(mover%object, in, in_bytes, out, out_bytes)
  end subroutine

  !> What the last call that failed has said.
  function retile_error() result(text)
    character(:), allocatable :: text

    text = from_c(c_error_text())
  end function

  !> The text form of a Program.
  function retile_text(program) result(text)
    type(retile_program_t), intent(in) :: program
    character(:), allocatable :: text

    text = from_c(c_program_text(program%object))
  end function

  subroutine free_plan(plan)
    type(retile_plan_t), intent(inout) :: plan

    call c_plan_free(plan%object)
    plan = retile_plan_t()
  end subroutine

  subroutine free_program(program)
    type(retile_program_t), intent(inout) :: program

    call c_program_free(program%object)
    program%object = c_null_ptr
  end subroutine

  subroutine free_mover(mover)
    type(retile_mover_t), intent(inout) :: mover

    call c_mover_free(mover%object)
    mover = retile_mover_t()
  end subroutine

  function as_c(text) result(out)
    character(*), intent(in) :: text
    character(kind=c_char), allocatable :: out(:)
    integer :: i, n

    n = len_trim(text)
    allocate(out(n + 1))
    do i = 1, n
      out(i) = text(i:i)
    end do
    out(n + 1) = c_null_char
  end function

  function or_null(text) result(out)
    character(kind=c_char), target, intent(in) :: text(:)
    type(c_ptr) :: out

    out = c_null_ptr
    if (size(text) > 1) out = c_loc(text)
  end function

  function from_c(text) result(out)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: out
    character(kind=c_char), pointer :: letters(:)
    integer :: i

    call c_f_pointer(text, letters, [c_length(text)])
    allocate(character(size(letters)) :: out)
    do i = 1, size(letters)
      out(i:i) = letters(i)
    end do
  end function

end module retile
