# A stencil of three points: each device needs elements of its neighbour, a halo. python examples/python/stencil.py
# It needs NumPy and a program `retile` with MPI, on PATH or in $RETILE.
import numpy as np

import pyretile as rt


def stencil(x):
    return x[:-2] - 2 * x[1:-1] + x[2:]


statements = rt.trace(stencil, (12,))
print(statements)
module = statements.partition("out=i:4")
print(module)
assert rt.check(module)[0].right

x = np.arange(12) ** 3
assert (statements.run(module, x) == stencil(x)).all()
