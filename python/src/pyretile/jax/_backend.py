"""Where the functions of the core come from."""

from pyretile.jax import _program as core

__all__ = ["core"]
