"""Floating-point operations of the matrix products of a program, counted before it is compiled."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax


def product_flops(function: Callable, *args: Any, trips: int) -> int:
    """Multiplications and additions of all matrix products in `function(*args)`.

    A scan counts as often as it is long, a loop whose end is not known beforehand `trips` times,
    and of alternatives the dearest. Nothing is computed: arguments may be shapes.
    """
    return _flops(jax.make_jaxpr(function)(*args).jaxpr, trips)


def _flops(jaxpr: Any, trips: int) -> int:
    return sum(_of_equation(equation, trips) for equation in jaxpr.eqns)


def _of_equation(equation: Any, trips: int) -> int:
    name, params = equation.primitive.name, equation.params
    if name == "dot_general":
        return _of_product(equation)
    if name == "while":  # the condition has no products
        return trips * _flops(params["body_jaxpr"].jaxpr, trips)
    inner = [_flops(jaxpr, trips) for jaxpr in _jaxprs(params)]
    if name == "cond":
        return max(inner)
    return sum(inner) * (params["length"] if name == "scan" else 1)


def _of_product(equation: Any) -> int:
    """2 M N K for each pair of matrices."""
    (contracted, _), _ = equation.params["dimension_numbers"]
    left = equation.invars[0].aval.shape
    return 2 * math.prod(equation.outvars[0].aval.shape) * math.prod(left[i] for i in contracted)


def _jaxprs(params: dict[str, Any]) -> Iterator[Any]:
    """The programs inside an equation's parameters."""
    for value in params.values():
        for each in value if isinstance(value, tuple | list) else (value,):
            if hasattr(each, "jaxpr"):  # closed
                yield each.jaxpr
            elif hasattr(each, "eqns"):
                yield each
