"""JAX's shardings as problems that the core plans."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import jax
from jax.sharding import NamedSharding, PartitionSpec


@dataclass(frozen=True)
class End:
    """How one end of a reshard lies on its mesh: axes with their sizes, and for each dimension its axes, major to minor.

    Along the axes of `sums` devices hold addends, which JAX calls unreduced. Those of `reduced` hold replicas, and a gradient's addends.
    """

    mesh: tuple
    dims: tuple
    sums: tuple = ()
    reduced: tuple = ()

    @property
    def sizes(self):
        return dict(self.mesh)

    @property
    def devices(self):
        return prod(size for _, size in self.mesh)

    @property
    def parts(self):
        """Into how many tiles each dimension is cut."""
        return tuple(prod(self.sizes[axis] for axis in axes) for axes in self.dims)

    @property
    def spec(self):
        more = {name: set(axes) for name, axes in (("unreduced", self.sums), ("reduced", self.reduced)) if axes}
        return PartitionSpec(*[axes or None for axes in self.dims], **more)

    def tile(self, shape):
        """The shape of the largest tile, in elements."""
        return tuple(-(-extent // parts) for extent, parts in zip(shape, self.parts))

    def padded(self, shape):
        """The shape up to which all tiles have the same size."""
        return tuple(tile * parts for tile, parts in zip(self.tile(shape), self.parts))

    def text(self, shape):
        """The layout in the paper's notation, whose axes stand minor to major."""
        dims = ["{}{{{}}}{}".format(tile, ",".join(quoted(axis) for axis in reversed(axes)), extent) if axes else str(extent)
                for tile, axes, extent in zip(self.tile(shape), self.dims, shape)]
        sums = "sum{" + ",".join(map(quoted, reversed(self.sums))) + "}" if self.sums else ""
        return sums + "[" + ", ".join(dims) + "]"

    @property
    def mesh_text(self):
        return ",".join(f"{quoted(axis)}:{size}" for axis, size in self.mesh)


def quoted(name):
    return f'"{name}"'


def end_of(sharding, rank):
    """The end that a NamedSharding says. Raises ValueError for what has no layout of tiles: unconstrained dimensions, maxima and minima."""
    spec = sharding.spec
    kind = getattr(spec, "unreduced_kind", "sum")
    if spec.unreduced and str(getattr(kind, "name", kind)) != "sum":
        raise ValueError(f"{spec} has addends of another kind than a sum")
    if len(spec.partitions) > rank:
        raise ValueError(f"{spec} has more dimensions than the array, which has {rank}")
    dims = []
    for one in spec.partitions:
        if one is PartitionSpec.UNCONSTRAINED:
            raise ValueError(f"{spec} leaves a dimension to the compiler")
        dims.append(() if one is None else (one,) if isinstance(one, str) else tuple(one))
    dims += [()] * (rank - len(dims))
    mesh = tuple((str(axis), int(size)) for axis, size in sharding.mesh.shape.items())
    sums, reduced = (tuple(name for name, _ in mesh if name in given) for given in (spec.unreduced, spec.reduced))
    return End(mesh, tuple(tuple(map(str, axes)) for axes in dims), sums, reduced)


def with_dims(sharding, dims):
    """The sharding with other dimensions, and the same addends."""
    spec = sharding.spec
    return NamedSharding(sharding.mesh, PartitionSpec(*dims, unreduced=spec.unreduced, reduced=spec.reduced))


def transposed(sharding):
    """Where the gradient of an array with this sharding lies: what is addends here are replicas there, and the other way round."""
    spec = sharding.spec
    if not spec.unreduced and not spec.reduced:
        return sharding
    return NamedSharding(sharding.mesh, PartitionSpec(*spec.partitions, unreduced=set(spec.reduced), reduced=set(spec.unreduced)))


def devices_of(sharding):
    """The devices of the mesh, row by row."""
    return tuple(sharding.mesh.devices.flat)


def named(sharding, what):
    """The sharding, or an error that says which kind it is."""
    if isinstance(sharding, NamedSharding):
        return sharding
    raise TypeError(f"{what} is a {type(sharding).__name__}, and not a NamedSharding")


def described(sharding, shape, dtype):
    """Such as `f32[8,4] P('x', None)`, for messages."""
    return f"{jax.numpy.dtype(dtype).name}[{','.join(map(str, shape))}] {getattr(sharding, 'spec', sharding)}"
