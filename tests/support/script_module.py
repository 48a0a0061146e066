"""A script of scripts/, which has no ending, as a module."""

import importlib.machinery
import importlib.util


def load(root, name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(root / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
