# A convolution in two dimensions, each cut in two. python examples/python/convolution.py
# It needs NumPy and a program `retile` with MPI, on PATH or in $RETILE.
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import pyretile as rt


def convolution(x, w):
    return np.einsum("ijkl,kl->ij", sliding_window_view(x, w.shape), w)


statements = rt.trace(convolution, (10, 12), (3, 3))
print(statements)
module = statements.partition("out=i:2,j:2")
assert rt.check(module)[0].right

draw = np.random.default_rng(1)
x, w = draw.standard_normal((10, 12)), draw.standard_normal((3, 3))
assert np.allclose(statements.run(module, x, w), convolution(x, w), rtol=1e-13)
