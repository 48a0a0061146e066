"""JAX, where it is installed, has one device of the CPU, and the program with MPI is there: without it nothing here says anything."""

import os

import pytest

os.environ["JAX_PLATFORMS"] = "cpu"


@pytest.fixture(scope="session", autouse=True)
def has_mpi():
    from pyretile._trace.statements import program_with_mpi

    return program_with_mpi()
