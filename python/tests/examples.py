"""The examples in the docstrings of a module and of its public names, as scripts/reference puts them on a page."""

import doctest


def failures(home):
    """(how many examples there are, those that print something else). The names of the module's own are there for all others."""
    finder, names, out, count = doctest.DocTestFinder(recurse=False), {}, [], 0
    for name in ("", *home.__all__):
        for one in finder.find(getattr(home, name) if name else home, name or home.__name__, module=False, globs=dict(names)):
            said = []
            doctest.DocTestRunner(verbose=False).run(one, out=said.append, clear_globs=False)
            names = names or one.globs
            count += len(one.examples)
            out += ["".join(said)] if said else []
    return count, out
