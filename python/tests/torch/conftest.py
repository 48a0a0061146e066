import importlib.util
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also the campaigns that take minutes")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes, runs with --long alone")


def pytest_collection_modifyitems(config, items):
    here = pathlib.Path(__file__).parent
    for item in items:
        if here not in item.path.parents:
            continue
        if importlib.util.find_spec("torch") is None:
            item.add_marker(pytest.mark.skip(reason="torch is not installed"))
        if "long" in item.keywords and not config.getoption("--long"):
            item.add_marker(pytest.mark.skip(reason="runs with --long"))
