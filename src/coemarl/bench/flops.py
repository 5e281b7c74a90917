"""Floating-point operations of the matrix products of a program, counted before it is compiled.

The program is walked as it would run, but with whole numbers only: they say how often a loop goes
round. Everything else stays unknown, and nothing is computed of it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Known = np.ndarray | None
"""A value of whole numbers or flags, None for all others."""
_UNKNOWN: Known = None
Walked = tuple[int, list[Known]]
"""Operations, and what is known of the results."""


def product_flops(function: Callable, *args: Any) -> int:
    """Multiplications and additions of all matrix products in `function(*args)`.

    Arguments may be shapes. Numbers that a loop's end depends on must be given as arrays: if a
    loop with products has no known end, ValueError. Of alternatives the dearest counts.
    """
    closed = jax.make_jaxpr(function)(*args)
    return _walk(closed, [_known(leaf) for leaf in jax.tree.leaves(args)])[0]


def _known(value: Any) -> Known:
    """The value if it is one of whole numbers or flags."""
    if not isinstance(value, jax.Array | np.ndarray | np.generic | int):
        return None
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.extended):
        return None  # a random key
    array = np.asarray(value)
    return array if np.issubdtype(array.dtype, np.integer) or array.dtype == bool else None


def _walk(closed: Any, inputs: Sequence[Known]) -> Walked:
    """One program."""
    jaxpr, total = closed.jaxpr, 0
    values: dict[Any, Known] = dict(zip(jaxpr.invars, inputs, strict=True))
    values |= zip(jaxpr.constvars, map(_known, closed.consts), strict=True)
    read = lambda var: _known(var.val) if hasattr(var, "val") else values.get(var)  # noqa: E731
    for equation in jaxpr.eqns:
        flops, results = _equation(equation, [read(var) for var in equation.invars])
        total += flops
        values |= zip(equation.outvars, results, strict=True)
    return total, [read(var) for var in jaxpr.outvars]


def _equation(equation: Any, inputs: list[Known]) -> Walked:
    """One operation, whatever it is."""
    name, params = equation.primitive.name, equation.params
    unknown = [_UNKNOWN] * len(equation.outvars)
    if name == "dot_general":
        return _product(equation), unknown
    if name == "while":
        return _loop(params, inputs)
    if name == "scan":
        carried = params["num_consts"]
        rest = len(inputs) - carried
        return params["length"] * _walk(params["jaxpr"], inputs[:carried] + [None] * rest)[
            0
        ], unknown
    if name == "cond":
        return max(_walk(branch, inputs[1:])[0] for branch in params["branches"]), unknown
    for value in params.values():
        if hasattr(value, "jaxpr") and len(value.jaxpr.invars) == len(inputs):
            return _walk(value, inputs)
    shapes = [var.aval for var in equation.outvars]
    whole = all(jnp.issubdtype(s.dtype, jnp.integer) or s.dtype == bool for s in shapes)
    if not whole or not inputs or any(value is None for value in inputs):
        return 0, unknown
    results = equation.primitive.bind(*inputs, **params)
    return 0, list(map(_known, results if equation.primitive.multiple_results else [results]))


def _loop(params: dict[str, Any], inputs: list[Known]) -> Walked:
    """A loop, round by round."""
    ends, bodies = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    of_end, of_body, carry = inputs[:ends], inputs[ends:bodies], inputs[bodies:]
    total = 0
    while True:
        (goes_on,) = _walk(params["cond_jaxpr"], of_end + carry)[1]
        if goes_on is not None and not goes_on:
            return total, carry
        if goes_on is None:
            carry = [_UNKNOWN] * len(carry)
            if _walk(params["body_jaxpr"], of_body + carry)[0]:
                raise ValueError("a loop with products has no known end: they cannot be counted")
            return total, carry
        flops, carry = _walk(params["body_jaxpr"], of_body + carry)
        total += flops


def _product(equation: Any) -> int:
    """2 M N K for each pair of matrices."""
    (contracted, _), _ = equation.params["dimension_numbers"]
    left = equation.invars[0].aval.shape
    return 2 * math.prod(equation.outvars[0].aval.shape) * math.prod(left[i] for i in contracted)
