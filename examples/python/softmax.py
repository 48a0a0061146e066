# Softmax along rows that are cut, too: a maximum and a sum join them. python examples/python/softmax.py
# It needs NumPy and a program `retile` with MPI, on PATH or in $RETILE.
import numpy as np

import pyretile as rt


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


statements = rt.trace(softmax, (8, 16))
print(statements)
schedule = ";".join(f"{name}=i:2,j:2" for name in ("t1", "t2", "t3", "out"))
module = statements.partition(schedule)
assert rt.check(module)[0].right

x = np.random.default_rng(1).standard_normal((8, 16))
assert np.allclose(statements.run(module, x), softmax(x), rtol=1e-13)
