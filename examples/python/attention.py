# Attention with four heads; the schedule that moves fewest elements among four devices is looked for. python examples/python/attention.py
# It needs NumPy and a program `retile` with MPI, on PATH or in $RETILE.
import numpy as np

import pyretile as rt


def attention(x, wq, wk, wv, wo):
    q, k, v = (np.einsum("bik,khj->bhij", x, w) for w in (wq, wk, wv))
    s = np.einsum("bhik,bhjk->bhij", q, k) / np.sqrt(2)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return np.einsum("bhik,bhkj,hje->bie", p, v, wo)


shapes = (2, 4, 8), (8, 4, 2), (8, 4, 2), (8, 4, 2), (4, 2, 8)
statements = rt.trace(attention, *shapes)
print(statements)
module = statements.partition(choose=True, devices=4)
print("\n".join(line for line in module.splitlines() if line.startswith("#")))
assert rt.check(module)[0].right

arrays = [np.random.default_rng(1).standard_normal(shape) / 2 for shape in shapes]
assert np.allclose(statements.run(module, *arrays), attention(*arrays), rtol=1e-12)
