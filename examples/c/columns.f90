! Columns of a matrix become rows, on four processes, three times. Every element is compared.
!
! The matrix is a(1024, 768). A layout names dimensions in the opposite order, the slowest first: each process has 192 columns,
! "[192{p}768, 1024]", and then 256 rows, "[768, 256{p}1024]".
program columns
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use retile
  implicit none
  integer, parameter :: rows = 1024, cols = 768, own_cols = 192, own_rows = 256
  integer(c_int64_t), target, allocatable :: before(:, :), after(:, :)
  type(retile_plan_t) :: plan
  type(retile_program_t) :: prog
  type(retile_mover_t) :: mover
  type(retile_verdict_t) :: verdict
  integer(c_int) :: status
  integer :: rank, i, j, turn, wrong

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call retile_plan("p:4", "", "[192{p}768, 1024]", "[768, 256{p}1024]", plan, status)
  call expect_ok()
  call retile_program_of(plan, prog, status)
  call expect_ok()
  call retile_check(prog, verdict, status)
  call expect_ok()
  call retile_mover_make(MPI_COMM_WORLD, prog, 8, mover, status)
  call expect_ok()
  allocate(before(rows, own_cols), after(own_rows, cols))
  wrong = 0
  do turn = 1, 3
    do j = 1, own_cols
      do i = 1, rows
        before(i, j) = element(i, rank * own_cols + j, turn)
      end do
    end do
    call retile_mover_run(mover, c_loc(before), mover%in_bytes, c_loc(after), mover%out_bytes, status)
    call expect_ok()
    do j = 1, cols
      do i = 1, own_rows
        if (after(i, j) /= element(rank * own_rows + i, j, turn)) wrong = wrong + 1
      end do
    end do
  end do
  if (rank == 0) print "(a, ': cost ', i0, ', height ', i0, '; ', i0, ' wrong')", &
    merge("right", "wrong", verdict%right /= 0), plan%cost, plan%height, wrong
  call retile_free(mover)
  call retile_free(prog)
  call retile_free(plan)
  call MPI_Finalize()
  if (wrong /= 0 .or. verdict%right == 0) stop 1

contains

  integer(c_int64_t) function element(i, j, turn)
    integer, intent(in) :: i, j, turn

    element = int(i * cols + j, c_int64_t) * turn
  end function

  ! All processes get the same status, so the first one speaks for all.
  subroutine expect_ok()
    if (status == RETILE_OK) return
    if (rank == 0) print "(a)", retile_error()
    call MPI_Finalize()
    stop 2
  end subroutine

end program columns
