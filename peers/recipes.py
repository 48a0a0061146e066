"""Random programs for peers/whole_fuzz.py: recipes of steps, which can be made smaller, and the JAX programs that they stand for.

A recipe is a dictionary: `mesh`, `inputs` with shapes and specs, `steps`, and whether the program is the gradient of the sum of what
the steps make. A step names its operation, its operands by number, and a seed of its own. Its parameters are drawn from that seed
and the shapes of its operands, so a recipe stays a program when a step before it goes, or an extent changes.
"""

import random
from math import prod

import jax
from jax import lax, nn
from jax import numpy as jnp

from programs.kit import Listed, P

MOST = 4096
EXTENTS = [2, 3, 4, 5, 6, 8, 8, 12, 16]
MESHES = [{"x": 2}, {"x": 4}, {"x": 8}, {"x": 2, "y": 2}, {"x": 4, "y": 2}, {"x": 2, "y": 4}, {"x": 2, "y": 2, "z": 2}]


class Context:
    """What a step may use besides its operands: the draws of its seed, the mesh, numbers that come at run time."""

    def __init__(self, seed, kit, mesh, index, flag, ids):
        self.draw, self.kit, self.mesh, self.index, self.flag, self.ids = random.Random(seed), kit, mesh, index, flag, ids

    def axis(self, x):
        return self.draw.randrange(x.ndim)

    def upto(self, most):
        return self.draw.randint(1, max(1, most))

    def spec(self, rank):
        names = list(self.mesh)
        self.draw.shuffle(names)
        dims = [[] for _ in range(rank)]
        for name in names:
            if self.draw.random() < 0.75:
                dims[self.draw.randrange(rank)].append(name)
        return P(*(None if not one else one[0] if len(one) == 1 else tuple(one) for one in dims))


def small(x):
    """Numbers of about one, whatever they were."""
    return jnp.tanh(x)


def unary(c, x):
    return c.draw.choice([jnp.sin, jnp.tanh, jnp.square, nn.relu, lambda x: jnp.exp(-jnp.abs(x)), nn.sigmoid, lambda x: 1 / (2 + x * x), jnp.negative])(x)


def fitted(x, y):
    """The part of y that both have, and the same of x; a rank too many is summed away, one too few is new."""
    while y.ndim > x.ndim:
        y = y.sum(0)
    while y.ndim < x.ndim:
        y = y[None]
    shape = tuple(min(a, b) for a, b in zip(x.shape, y.shape))
    part = tuple(slice(0, extent) for extent in shape)
    return x[part], y[part]


def binary(c, x, y):
    x, y = fitted(x, y)
    return c.draw.choice([jnp.add, jnp.multiply, jnp.subtract, jnp.maximum, lambda a, b: jnp.where(a > b, a, 2 * b)])(x, y)


def broadcast_binary(c, x, y):
    row = y.reshape(-1)[:1] if c.draw.random() < 0.3 else jnp.resize(y.reshape(-1), (x.shape[-1],))
    return x * row + 1


def transpose(c, x):
    order = list(range(x.ndim))
    c.draw.shuffle(order)
    return x.transpose(order)


def slices(c, x):
    parts = []
    for extent in x.shape:
        start = c.draw.randrange(0, max(1, extent // 2))
        step = c.draw.choice([1, 1, 1, 2, 3])
        parts.append(slice(start, c.draw.randint(start + 1, extent), step))
    return x[tuple(parts)]


def pad(c, x):
    config = [(c.draw.choice([0, 0, 1, 2, 3, -1]), c.draw.choice([0, 1, 0, 4, -1]), c.draw.choice([0, 0, 0, 1])) for _ in x.shape]
    config = [one if extent > 2 else (1, 0, 0) for one, extent in zip(config, x.shape)]
    return lax.pad(x, jnp.asarray(c.draw.choice([0.0, 1.5]), x.dtype), config)


def concatenate(c, x, y):
    axis = c.axis(x)
    whole = x
    x, y = fitted(x, y)
    if c.draw.random() < 0.4:
        x, y = whole, whole * 2
    return jnp.concatenate([x, y, x] if c.draw.random() < 0.3 else [x, y], axis)


def reshape(c, x):
    sizes, shape = x.size, []
    while sizes > 1 and len(shape) < 3:
        divisors = [k for k in range(2, sizes + 1) if sizes % k == 0]
        shape.append(c.draw.choice(divisors))
        sizes //= shape[-1]
    if sizes > 1:
        shape[c.draw.randrange(len(shape))] *= sizes
    return x.reshape(shape)


def merge(c, x):
    at = c.draw.randrange(max(1, x.ndim - 1))
    return x.reshape(*x.shape[:at], -1, *x.shape[at + 2:])


def reduce(c, x):
    axes = c.draw.sample(range(x.ndim), c.draw.randint(1, max(1, x.ndim - 1)))
    function = c.draw.choice([jnp.sum, jnp.max, jnp.min, jnp.mean, jnp.prod, nn.logsumexp, jnp.var])
    return function(small(x), axis=tuple(axes), keepdims=x.ndim == len(axes) or c.draw.random() < 0.5)


def dot(c, x, y):
    a, b = c.axis(x), c.axis(y)
    size = min(x.shape[a], y.shape[b])
    return jnp.tensordot(lax.slice_in_dim(x, 0, size, axis=a), lax.slice_in_dim(y, 0, size, axis=b), ((a,), (b,)))


def batch_dot(c, x, y):
    x, y = fitted(x, y)
    letters = "abcd"[:x.ndim]
    kept = c.axis(x)
    out = letters if c.draw.random() < 0.5 or x.ndim == 1 else letters[:kept] + letters[kept + 1:]
    other = letters.replace(letters[-1], "z")
    made = out.replace(letters[-1], "") + (letters[-1] if letters[-1] in out else "") + "z"
    return jnp.einsum(f"{letters},{other}->{made}", x, y)


def window(c, x):
    size = [min(extent, c.draw.choice([1, 2, 3])) for extent in x.shape]
    steps = [c.draw.choice([1, 1, 2]) for _ in x.shape]
    padding = c.draw.choice(["SAME", "VALID"])
    if c.draw.random() < 0.5:
        return lax.reduce_window(x, -jnp.inf, lax.max, size, steps, padding)
    return lax.reduce_window(x, 0.0, lax.add, size, steps, padding)


def convolution(c, x, y):
    """Along the last dimension but one, with a kernel cut out of y."""
    x = x.reshape(-1, *x.shape[-2:])[:4] if x.ndim >= 2 else x.reshape(1, -1, 1)
    channels, wide = x.shape[-1], min(3, x.shape[1])
    kernel = jnp.resize(y.reshape(-1), (wide, channels, c.upto(4)))
    return lax.conv_general_dilated(x, kernel, (c.draw.choice([1, 1, 2]),), c.draw.choice(["SAME", "VALID", ((2, 1),)]), rhs_dilation=(c.draw.choice([1, 1, 2]),),
                                    dimension_numbers=("NWC", "WIO", "NWC"))


def roll(c, x):
    return jnp.roll(x, c.draw.randint(-5, 5), c.axis(x))


def roll_at_run_time(c, x):
    return jnp.roll(x, c.index, c.axis(x))


def dynamic_slice(c, x):
    axis = c.axis(x)
    return lax.dynamic_slice_in_dim(x, c.index, c.upto(x.shape[axis] - 1), axis)


def dynamic_update(c, x, y):
    part, value = fitted(x, y)
    axis = c.axis(x)
    value = lax.slice_in_dim(value, 0, c.upto(value.shape[axis] - 1), axis=axis)
    start = [jnp.zeros_like(c.index)] * x.ndim
    start[axis] = c.index
    return lax.dynamic_update_slice(x, value.astype(x.dtype), start)


def take(c, x):
    axis = c.axis(x)
    return jnp.take(x, c.ids, axis=axis, mode=c.draw.choice(["clip", "wrap"]))


def take_along(c, x):
    order = jnp.argsort(x, axis=c.axis(x))
    return jnp.take_along_axis(x, order, axis=c.axis(x)) if c.draw.random() < 0.3 else x + order


def scatter(c, x, y):
    whole = x
    row = jnp.resize(y.reshape(-1), (c.ids.shape[0], *x.shape[1:]))
    at = whole.at[c.ids]
    if c.draw.random() < 0.6:
        return at.add(row, mode="drop")
    return at.max(row, mode="drop")


def segments(c, x):
    ids = jnp.arange(x.shape[0]) * c.upto(5) % c.upto(6)
    return jax.ops.segment_sum(x, ids, num_segments=6)


def cumulative(c, x):
    function = c.draw.choice([lax.cumsum, lax.cummax, lax.cumprod, lax.cumlogsumexp])
    return function(small(x), axis=c.axis(x), reverse=c.draw.random() < 0.3)


def sort(c, x):
    return jnp.sort(x, axis=c.axis(x))


def top(c, x):
    return lax.top_k(x, c.upto(x.shape[-1]))[0]


def argmax(c, x):
    axis = c.axis(x)
    return nn.one_hot(jnp.argmax(x, axis), 4, dtype=x.dtype, axis=-1) + x.sum()


def mask(c, x):
    at = lax.broadcasted_iota(jnp.int32, x.shape, c.axis(x))
    return jnp.where(c.draw.choice([at < c.index, at % 3 == 1, at >= 2]), x, c.draw.choice([0.0, -2.0]))


def triangle(c, x):
    return jnp.tril(x, c.draw.randint(-1, 2)) if x.ndim > 1 else x[::-1]


def softmax(c, x):
    return nn.softmax(x, axis=c.axis(x))


def norm(c, x):
    axis = c.axis(x)
    center = x - x.mean(axis, keepdims=True)
    return center * lax.rsqrt((center * center).mean(axis, keepdims=True) + 0.1)


def scan(c, x):
    start = jnp.zeros(x.shape[1:], x.dtype)
    reverse = c.draw.random() < 0.3
    return lax.scan(lambda total, row: (0.5 * total + row, total * row + 1), start, x, reverse=reverse)[1]


def loop(c, x):
    shift = c.draw.randint(1, 3)
    spec = c.spec(x.ndim)
    return lax.fori_loop(0, 3, lambda k, v: c.kit.hold(jnp.roll(v, shift, 0), *spec) * 0.5 + x, x)


def branch(c, x):
    axis = c.axis(x)
    return lax.cond(c.flag, lambda x: jnp.flip(x, axis), lambda x: x * x.sum(axis, keepdims=True), x)


def repeat(c, x):
    axis = c.axis(x)
    return jnp.repeat(x, 2, axis) if c.draw.random() < 0.5 else jnp.concatenate([x] * 3, axis)


def split(c, x):
    axis = c.axis(x)
    parts = jnp.array_split(x, 3, axis) if x.shape[axis] >= 3 else [x, x]
    return parts[0] + (parts[-1].sum() if parts[0].shape != parts[-1].shape else parts[-1])


def difference(c, x):
    axis = c.axis(x)
    return jnp.diff(x, axis=axis) if x.shape[axis] > 1 else x + 1


def fourier(c, x):
    return jnp.abs(jnp.fft.fft(x, axis=c.axis(x)) + 3)


def stack(c, x, y):
    return jnp.stack(fitted(x, y), axis=c.draw.randrange(min(x.ndim, 3) + 1))


def broadcast(c, x):
    return jnp.repeat(jnp.expand_dims(x, c.axis(x)), c.upto(4), c.axis(x))


def flip(c, x):
    return jnp.flip(x, c.axis(x))


def clip(c, x):
    return jnp.clip(x, -0.7, 0.9)


def hold(c, x):
    return c.kit.hold(x, *c.spec(x.ndim))


ONE = [unary, transpose, slices, pad, reshape, merge, reduce, window, roll, roll_at_run_time, dynamic_slice, take, take_along, segments, cumulative, sort, top, argmax,
       mask, triangle, softmax, norm, scan, loop, branch, repeat, split, difference, fourier, broadcast, flip, clip, hold]
TWO = [binary, broadcast_binary, concatenate, dot, batch_dot, convolution, dynamic_update, scatter, stack]
KINDS = {one.__name__: (one, 1) for one in ONE} | {one.__name__: (one, 2) for one in TWO}
# How often a kind is drawn; others once.
WEIGHTS = {"hold": 7, "dot": 3, "concatenate": 3, "slices": 2, "pad": 2, "reshape": 2, "dynamic_update": 2, "unary": 2, "binary": 3, "convolution": 2}


def values_of(recipe, kit, inputs, index, flag, ids):
    """What all steps make; a step is made of what stands before it."""
    values = list(inputs)
    for step in recipe["steps"]:
        function, arity = KINDS[step["kind"]]
        context = Context(step["seed"], kit, recipe["mesh"], index, flag, ids)
        values.append(function(context, *[values[k] for k in step["of"][:arity]]))
    return values


def used(recipe):
    return {k for step in recipe["steps"] for k in step["of"][:KINDS[step["kind"]][1]]}


def program_of(recipe, kit):
    """The function and its arguments, as a maker of peers/programs returns them."""
    inputs = [kit.real(*one["shape"], spec=P(*(tuple(axes) if isinstance(axes, list) else axes for axes in one["spec"]))) for one in recipe["inputs"]]
    first, unused = len(inputs), used(recipe)

    def results(real, index, flag, ids):
        values = values_of(recipe, kit, real, index, flag, ids)
        return [one for k, one in enumerate(values) if k not in unused and (k >= first or not recipe["steps"])]

    def loss(real, index, flag, ids):
        made = results(real, index, flag, ids)
        return sum(jnp.sum(one * jnp.cos(jnp.arange(one.size, dtype=one.dtype)).reshape(one.shape)) for one in made)
    function = jax.grad(loss) if recipe["gradient"] else results
    return function, (inputs, kit.integer(high=6, loose=True), kit.predicate(), kit.integer(5, low=0, high=8)), None


def listed(name, recipe):
    return Listed(name, lambda kit: program_of(recipe, kit), recipe["mesh"])


class Plain:
    """In place of a kit where only shapes are asked for."""

    def hold(self, x, *spec):
        return x


def shapes_of(recipe):
    """The shapes of all values, or None where the recipe is no program."""
    given = [jax.ShapeDtypeStruct(tuple(one["shape"]), jnp.float32) for one in recipe["inputs"]]
    scalar = jax.ShapeDtypeStruct((), jnp.int32)
    try:
        made = jax.eval_shape(lambda *arguments: values_of(recipe, Plain(), *arguments), given, scalar, jax.ShapeDtypeStruct((), bool),
                              jax.ShapeDtypeStruct((5,), jnp.int32))
    except Exception:  # whatever JAX says of parameters that do not fit
        return None
    shapes = [one.shape for one in made]
    fits = all(0 < len(shape) <= 4 and 0 < prod(shape) <= MOST for shape in shapes)
    return shapes if fits else None


def divides(recipe):
    """Whether the tiles of all inputs are full: JAX takes no others."""
    for one in recipe["inputs"]:
        for extent, axes in zip(one["shape"], one["spec"]):
            parts = 1
            for axis in ([] if axes is None else [axes] if isinstance(axes, str) else axes):
                parts *= recipe["mesh"].get(axis, 0)
            if parts == 0 or extent % parts:
                return False
    return True


def draw_input(draw, mesh):
    shape, spec = [], []
    names = list(mesh)
    draw.shuffle(names)
    for _ in range(draw.choice([1, 2, 2, 2, 3])):
        axes = [names.pop() for _ in range(draw.choice([0, 1, 1, 2])) if names]
        parts = 1
        for axis in axes:
            parts *= mesh[axis]
        shape.append(parts * draw.choice([1, 2, 3]) if parts > 1 else draw.choice(EXTENTS))
        spec.append(None if not axes else axes[0] if len(axes) == 1 else axes)
    return {"shape": shape, "spec": spec}


def drawn(seed):
    """A recipe of two to eight steps that is a program. Every second one is a gradient."""
    draw = random.Random(seed)
    while True:
        recipe = drawn_by(draw, seed)
        if recipe["steps"]:
            return recipe


def drawn_by(draw, seed):
    mesh = draw.choice(MESHES)
    recipe = {"seed": seed, "mesh": mesh, "inputs": [draw_input(draw, mesh) for _ in range(draw.choice([1, 2, 2, 3]))], "steps": [], "gradient": seed % 2 == 1}
    kinds = [name for name in KINDS for _ in range(WEIGHTS.get(name, 1))]
    wanted, tries = draw.randint(2, 8), 0
    while len(recipe["steps"]) < wanted and tries < 60:
        tries += 1
        count = len(recipe["inputs"]) + len(recipe["steps"])
        last = count - 1 if draw.random() < 0.7 else draw.randrange(count)
        step = {"kind": draw.choice(kinds), "of": [last, draw.randrange(count)], "seed": draw.randrange(1 << 30)}
        if shapes_of({**recipe, "steps": [*recipe["steps"], step]}):
            recipe["steps"].append(step)
    return recipe


# Smaller ones.

def without_step(recipe, k):
    """Whoever used what the step made uses its first operand."""
    first = len(recipe["inputs"])
    number, instead = first + k, recipe["steps"][k]["of"][0]

    def of(one):
        one = instead if one == number else one
        return one - 1 if one > number else one
    steps = [{**step, "of": [of(one) for one in step["of"]]} for at, step in enumerate(recipe["steps"]) if at != k]
    return {**recipe, "steps": steps}


def without_input(recipe, k):
    """The first of the others in its place."""
    other = 0 if k else 1

    def of(one):
        one = other if one == k else one
        return one - 1 if one > k else one
    return {**recipe, "inputs": [one for at, one in enumerate(recipe["inputs"]) if at != k], "steps": [{**step, "of": [of(one) for one in step["of"]]} for step in recipe["steps"]]}


def without_axis(recipe, name):
    mesh = {axis: size for axis, size in recipe["mesh"].items() if axis != name}

    def kept(axes):
        left = [axis for axis in ([] if axes is None else [axes] if isinstance(axes, str) else axes) if axis != name]
        return None if not left else left[0] if len(left) == 1 else left
    return {**recipe, "mesh": mesh, "inputs": [{**one, "spec": [kept(axes) for axes in one["spec"]]} for one in recipe["inputs"]]}


def smaller(recipe):
    """All that are one change smaller, the boldest first."""
    for k in reversed(range(len(recipe["steps"]))):
        yield without_step(recipe, k)
    if recipe["gradient"]:
        yield {**recipe, "gradient": False}
    if len(recipe["inputs"]) > 1:
        for k in range(len(recipe["inputs"])):
            yield without_input(recipe, k)
    for name, size in recipe["mesh"].items():
        if len(recipe["mesh"]) > 1:
            yield without_axis(recipe, name)
        if size > 2:
            yield {**recipe, "mesh": {**recipe["mesh"], name: size // 2}}
    for k, one in enumerate(recipe["inputs"]):
        for dim, (extent, axes) in enumerate(zip(one["shape"], one["spec"])):
            for less in sorted({extent // 2, extent - 1} - {0, extent}):
                yield {**recipe, "inputs": [{**other, "shape": [less if d == dim else e for d, e in enumerate(other["shape"])]} if at == k else other
                                            for at, other in enumerate(recipe["inputs"])]}
            if axes is not None:
                yield {**recipe, "inputs": [{**other, "spec": [None if d == dim else e for d, e in enumerate(other["spec"])]} if at == k else other
                                            for at, other in enumerate(recipe["inputs"])]}
