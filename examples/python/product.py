# A product of matrices on four processes, its rows and its inner dimension cut in two: python examples/python/product.py
# It needs NumPy and a program `retile` with MPI, on PATH or in $RETILE.
import numpy as np

import pyretile as rt


def product(a, b):
    return a @ b


statements = rt.trace(product, (7, 5), (5, 6))
print(statements)
module = statements.partition("out=i:2,k:2")
assert rt.check(module)[0].right

a, b = np.arange(35.0).reshape(7, 5), np.arange(30.0).reshape(5, 6)
assert (statements.run(module, a, b) == product(a, b)).all()
