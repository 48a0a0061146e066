// Redistribution on MPI processes: mpi::redistribute moves once, mpi::Redistributor many times.
// Device d of a Program is process d of the communicator. Shows <mpi.h>.
//
// Programs come from <retile/retile.h>.
#pragma once

#include "retile/exec/mpi/options.h"
#include "retile/exec/mpi/redistribute.h"
