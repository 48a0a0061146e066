"""JAX, where it is installed, has one device of the CPU. The program with MPI must be there: nothing here says anything without."""

import os

import pytest

os.environ["JAX_PLATFORMS"] = "cpu"


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="all functions, and not a handful")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: runs with --long alone")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if "long" in item.keywords and not config.getoption("--long"):
            item.add_marker(pytest.mark.skip(reason="runs with --long"))


@pytest.fixture(scope="session", autouse=True)
def has_mpi():
    from pyretile._trace.statements import program_with_mpi

    return program_with_mpi()
