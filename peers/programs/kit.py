"""What programs are written with: how one is listed, what its arguments are, and how it says its shardings.

    @program(mesh={"x": 8})
    def mlp(kit):
        def function(weights, x): ..
        return function, ({"w": kit.real(64, 64, spec=P(None, "x"))}, kit.real(8, 64)), P("x")

A maker returns the function, its arguments and the shardings of its results: a tree of partition specs that is a prefix of the
result's, or None where the compiler chooses. Only the modules of programs import JAX; this one needs none before a kit is made.
"""

from dataclasses import dataclass, field

PROGRAMS = {}


class P(tuple):
    """A partition spec. It is no plain tuple, so that a tree of them has them as leaves."""

    def __new__(cls, *axes):
        return super().__new__(cls, axes)


@dataclass(frozen=True)
class Argument:
    """An array of one of these kinds: `real`, normal numbers times `scale`; `integer`, from `low` to below `high`; `predicate`; `key`.

    An `integer` that is an index at run time is `loose`: the second and the third draw go past both ends of its range.
    """

    kind: str
    shape: tuple
    spec: P
    dtype: str
    scale: float = 1.0
    low: int = 0
    high: int = 0
    loose: bool = False


@dataclass(frozen=True)
class Listed:
    name: str
    make: object
    mesh: dict
    needs: tuple = ()
    more: dict = field(default_factory=dict)


def program(mesh, *more_meshes, needs=(), **variants):
    """Lists a maker under its name, once for every mesh, and once for every value of the one keyword that it may have."""
    def listed(make):
        choices = [{}] if not variants else [{key: value} for key, values in variants.items() for value in values]
        for one in (mesh, *more_meshes):
            for choice in choices:
                words = [make.__name__, *map(str, choice.values())]
                if more_meshes:
                    words.append("on_" + "x".join(map(str, one.values())))
                name = "_".join(words)
                if name in PROGRAMS:
                    raise ValueError(f"two programs are named {name}")
                PROGRAMS[name] = Listed(name, make, one, tuple(needs), choice)
        return make
    return listed


class Kit:
    """`axes` is the mesh, or None for one device. `wide` makes f64 of every f32."""

    def __init__(self, axes, wide=False):
        import jax
        self.jax, self.axes, self.wide, self.mesh = jax, axes, wide, None
        self.float = jax.numpy.float64 if wide else jax.numpy.float32
        if axes:
            import numpy
            count = int(numpy.prod(list(axes.values())))
            self.mesh = jax.sharding.Mesh(numpy.array(jax.devices()[:count]).reshape(tuple(axes.values())), tuple(axes))

    @property
    def alone(self):
        return self.mesh is None

    def named(self, spec):
        return self.jax.sharding.NamedSharding(self.mesh, self.jax.sharding.PartitionSpec(*spec))

    def shardings(self, tree):
        """A tree of shardings from one of specs, or what JAX takes for `choose`."""
        if tree is None:
            return None
        return self.jax.tree_util.tree_map(lambda spec: None if spec is None else self.named(spec), tree, is_leaf=lambda one: one is None or isinstance(one, P))

    def hold(self, tree, *spec):
        """The value with a sharding asked for."""
        if self.alone:
            return tree
        return self.jax.tree_util.tree_map(lambda one: self.jax.lax.with_sharding_constraint(one, self.named(spec)), tree)

    def manual(self, function, in_specs, out_specs):
        """`shard_map` of the release."""
        real = self.jax.sharding.PartitionSpec
        specs = [self.jax.tree_util.tree_map(lambda spec: real(*spec), one, is_leaf=lambda one: isinstance(one, P)) for one in (in_specs, out_specs)]
        if hasattr(self.jax, "shard_map"):
            return self.jax.shard_map(function, mesh=self.mesh, in_specs=specs[0], out_specs=specs[1], check_vma=False)
        from jax.experimental.shard_map import shard_map
        return shard_map(function, mesh=self.mesh, in_specs=specs[0], out_specs=specs[1], check_rep=False)

    def real(self, *shape, spec=P(), scale=1.0, dtype=None):
        return Argument("real", shape, spec, dtype or ("float64" if self.wide else "float32"), scale=scale)

    def weight(self, *shape, spec=P()):
        """Of a layer: as large as keeps the layer's results about as large as what it is given."""
        return self.real(*shape, spec=spec, scale=1.0 / max(1, shape[-2] if len(shape) > 1 else shape[0]) ** 0.5)

    def integer(self, *shape, high, low=0, spec=P(), dtype="int32", loose=False):
        return Argument("integer", shape, spec, dtype, low=low, high=high, loose=loose)

    def predicate(self, *shape, spec=P()):
        return Argument("predicate", shape, spec, "bool")

    def key(self):
        return Argument("key", (2,), P(), "uint32")


def drawn(argument, random, draw):
    """The values of one argument; `random` is a generator of numpy."""
    import numpy
    if argument.kind == "real":
        return numpy.asarray(random.standard_normal(argument.shape) * argument.scale).astype(argument.dtype)
    if argument.kind == "predicate":
        return random.random(argument.shape) < 0.5
    if argument.kind == "key":
        return random.integers(0, 1 << 32, argument.shape, dtype=numpy.uint32)
    low, high = argument.low, argument.high
    if argument.loose and draw:
        low, high = (low - 40 if argument.dtype.startswith("int") else low, low + 1) if draw == 1 else (high - 1, high + 40)
    return random.integers(low, high, argument.shape).astype(argument.dtype)
