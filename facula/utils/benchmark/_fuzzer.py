"""Random sizes and layouts of tensors to measure with."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import facula
from facula import _core
from facula._core import Tensor

__all__ = ["FuzzedParameter", "FuzzedSparseTensor", "FuzzedTensor", "Fuzzer", "ParameterAlias"]

_MAX_TRIES = 1000


class ParameterAlias:
    """A choice of a :class:`FuzzedParameter`: the value of another one.

    Args:
        alias_to: the name of the other.
    """

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A number that is drawn for each measurement.

    Args:
        name: its name, which sizes of tensors refer to.
        minval: the smallest value.
        maxval: the largest value.
        distribution: ``"uniform"``, ``"loguniform"``, or a dict from values to their probabilities.
        strict: whether a value that no size refers to is an error.

    Example:
        >>> from facula.utils.benchmark import FuzzedParameter
        >>> import numpy as np
        >>> FuzzedParameter("n", 1, 4, "uniform").sample(np.random.RandomState(0)) in (1, 2, 3, 4)
        True
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | dict[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        self._name, self._minval, self._maxval = name, minval, maxval
        self._distribution = self._checked(distribution)
        self.strict = strict

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    def sample(self, state: Any) -> Any:
        """Draw a value.

        Args:
            state: NumPy's ``RandomState``.
        """
        if self._distribution == "loguniform":
            import numpy as np

            assert self._minval is not None and self._maxval is not None
            power = state.uniform(np.log2(self._minval), np.log2(self._maxval))
            return max(self._minval, min(self._maxval, round(2**power)))
        if self._distribution == "uniform":
            assert self._minval is not None and self._maxval is not None
            if isinstance(self._minval, int) and isinstance(self._maxval, int):
                return int(state.randint(self._minval, self._maxval + 1))
            return state.uniform(self._minval, self._maxval)
        assert isinstance(self._distribution, dict)
        values = list(self._distribution)
        place = state.choice(len(values), p=list(self._distribution.values()))
        return values[place]

    def _checked(self, distribution: Any) -> Any:
        if isinstance(distribution, dict):
            if abs(sum(distribution.values()) - 1) > 1e-6 or min(distribution.values()) < 0:
                raise AssertionError(
                    f"FuzzedParameter: expected probabilities that sum to 1, got {distribution}."
                )
            return distribution
        if distribution not in ("uniform", "loguniform"):
            raise AssertionError(
                "FuzzedParameter: expected 'uniform', 'loguniform' or a dict of probabilities, "
                f"got {distribution!r}."
            )
        if self._minval is None or self._maxval is None:
            raise AssertionError(f"FuzzedParameter: {distribution!r} needs minval and maxval.")
        return distribution


class FuzzedTensor:
    """A tensor whose size and layout are drawn for each measurement.

    Args:
        name: its name.
        size: numbers, or names of parameters.
        steps: for each dimension the step of a slice of a larger tensor, or a parameter's name.
        probability_contiguous: how probable it is that its dimensions lie in order in memory.
        min_elements: draws with fewer elements are drawn again.
        max_elements: draws with more elements are drawn again.
        max_allocation_bytes: draws that need more memory are drawn again.
        dim_parameter: the name of the parameter that is the number of dimensions.
        roll_parameter: the name of the parameter by which the sizes are rotated.
        dtype: the dtype.
        cuda: whether the tensor is on a GPU.
        tensor_constructor: makes the tensor, given ``size``, ``dtype`` and all parameters.
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        steps: tuple[str | int, ...] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: _core.dtype = _core.float32,
        cuda: bool = False,
        tensor_constructor: Callable[..., Tensor] | None = None,
    ) -> None:
        self._name, self._size, self._steps = name, size, steps
        self._probability_contiguous = probability_contiguous
        self._min_elements, self._max_elements = min_elements, max_elements
        self._max_allocation_bytes = max_allocation_bytes
        self._dim_parameter, self._roll_parameter = dim_parameter, roll_parameter
        self._dtype, self._cuda = dtype, cuda
        self._tensor_constructor = tensor_constructor

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @staticmethod
    def default_tensor_constructor(size: Any, dtype: _core.dtype, **kwargs: Any) -> Tensor:
        """Random numbers: normal ones, or integers up to 127.

        Args:
            size: the size.
            dtype: the dtype.
            kwargs: all parameters.
        """
        if dtype.is_floating_point or dtype.is_complex:
            return _core.randn(size, dtype=dtype)
        return _core.randint(0, 2 if dtype == _core.bool else 127, size, dtype=dtype)

    def _make_tensor(self, params: dict[str, Any], state: Any) -> tuple[Tensor, dict[str, Any]]:
        size, steps, allocated = self._sizes(params)
        make = self._tensor_constructor or self.default_tensor_constructor
        raw = make(size=allocated, dtype=self._dtype, **params)
        if self._cuda:
            raw = raw.cuda()
        # In another order in memory, and then back: so it is not contiguous.
        order = list(range(raw.dim()))
        if raw.dim() > 1 and state.rand() > self._probability_contiguous:
            while order == sorted(order):
                order = [int(i) for i in state.permutation(raw.dim())]
            back = [order.index(i) for i in range(raw.dim())]
            raw = raw.permute(order).contiguous().permute(back)
        tensor = raw[tuple(slice(0, n * step, step) for n, step in zip(size, steps, strict=True))]
        info = {
            "numel": tensor.numel(),
            "order": order,
            "steps": steps,
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }
        return tensor, info

    def _sizes(self, params: dict[str, Any]) -> tuple[Any, Any, Any]:
        n_dims = params[self._dim_parameter] if self._dim_parameter else len(self._size)

        def resolve(values: Any, default: int) -> tuple[int, ...]:
            known: Any = values or (default,) * n_dims
            numbers = [params[v] if isinstance(v, str) else v for v in known]
            return tuple(int(v) for v in (numbers + [default] * n_dims)[:n_dims])

        size, steps = resolve(self._size, 1), resolve(self._steps, 1)
        if self._roll_parameter is not None:
            n = params[self._roll_parameter] % max(n_dims, 1)
            size, steps = size[-n:] + size[:-n], steps[-n:] + steps[:-n]
        allocated = tuple(n * step for n, step in zip(size, steps, strict=True))
        return size, steps, allocated

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Whether a tensor of these parameters is neither too small nor too large.

        Args:
            params: the parameters by name.
        """
        size, _, allocated = self._sizes(params)
        n = functools.reduce(lambda a, b: a * b, size, 1)
        n_bytes = functools.reduce(lambda a, b: a * b, allocated, 1) * self._dtype.itemsize
        is_large = self._min_elements is None or n >= self._min_elements
        is_small = self._max_elements is None or n <= self._max_elements
        fits = self._max_allocation_bytes is None or n_bytes <= self._max_allocation_bytes
        return is_large and is_small and fits


class FuzzedSparseTensor(FuzzedTensor):
    """A sparse tensor whose size and density are drawn for each measurement.

    Args:
        name: its name.
        size: numbers, or names of parameters.
        min_elements: draws with fewer elements are drawn again.
        max_elements: draws with more elements are drawn again.
        dim_parameter: the name of the parameter that is the number of dimensions.
        sparse_dim: the name of the parameter that is the number of sparse dimensions.
        nnz: accepted for compatibility.
        density: the name of the parameter that is the part of elements that are given.
        coalesced: the name of the parameter that says whether places are unique and sorted.
        dtype: the dtype.
        cuda: whether the tensor is on a GPU.
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        min_elements: int | None = None,
        max_elements: int | None = None,
        dim_parameter: str | None = None,
        sparse_dim: str | None = None,
        nnz: str | None = None,
        density: str | None = None,
        coalesced: str | None = None,
        dtype: _core.dtype = _core.float32,
        cuda: bool = False,
    ) -> None:
        super().__init__(
            name,
            size,
            min_elements=min_elements,
            max_elements=max_elements,
            dim_parameter=dim_parameter,
            dtype=dtype,
            cuda=cuda,
        )
        self._density, self._coalesced, self._sparse_dim = density, coalesced, sparse_dim

    @staticmethod
    def sparse_tensor_constructor(
        size: Any, dtype: _core.dtype, sparse_dim: int, nnz: int, is_coalesced: bool
    ) -> Tensor:
        """A sparse tensor with random places and values.

        Args:
            size: the size.
            dtype: the dtype.
            sparse_dim: the number of sparse dimensions.
            nnz: the number of places.
            is_coalesced: whether places are unique and sorted.
        """
        limits = _core.tensor(list(size[:sparse_dim]), dtype=_core.float64).reshape(-1, 1)
        places = (_core.rand(sparse_dim, nnz, dtype=_core.float64) * limits).long()
        values = FuzzedTensor.default_tensor_constructor((nnz, *size[sparse_dim:]), dtype)
        made = facula.sparse_coo_tensor(places, values, size)
        return made.coalesce() if is_coalesced else made

    def _make_tensor(self, params: dict[str, Any], state: Any) -> tuple[Tensor, dict[str, Any]]:
        size, _, _ = self._sizes(params)
        density = params[self._density] if self._density else 0.1
        n_sparse = min(params[self._sparse_dim] if self._sparse_dim else len(size), len(size))
        is_coalesced = bool(params[self._coalesced]) if self._coalesced else True
        nnz = max(1, int(density * functools.reduce(lambda a, b: a * b, size[:n_sparse], 1)))
        tensor = self.sparse_tensor_constructor(size, self._dtype, n_sparse, nnz, is_coalesced)
        if self._cuda:
            tensor = tensor.cuda()
        info = {
            "numel": tensor.numel(),
            "shape": tensor.size(),
            "is_coalesced": tensor.is_coalesced(),
            "density": density,
            "sparse_dim": n_sparse,
            "dtype": str(self._dtype),
        }
        return tensor, info


class Fuzzer:
    """Draws tensors, as often as wanted, always the same for the same seed.

    Args:
        parameters: the numbers that are drawn, also in lists.
        tensors: the tensors that are made of them, also in lists.
        constraints: functions of all parameters by name; a draw for which one is false is drawn
            again.
        seed: the seed, which the tensors' values come from too.

    Example:
        >>> from facula.utils.benchmark import FuzzedParameter, FuzzedTensor, Fuzzer
        >>> fuzzer = Fuzzer(
        ...     [FuzzedParameter("n", minval=2, maxval=64, distribution="loguniform")],
        ...     [FuzzedTensor("x", size=("n", "n"), min_elements=16)],
        ...     seed=0,
        ... )
        >>> all(tensors["x"].shape == (params["n"],) * 2 for tensors, _, params in fuzzer.take(3))
        True
    """

    def __init__(
        self,
        parameters: list[Any],
        tensors: list[Any],
        constraints: list[Callable[..., bool]] | None = None,
        seed: int | None = None,
    ) -> None:
        import numpy as np

        self._seed = int(np.random.RandomState().randint(0, 2**32 - 1)) if seed is None else seed
        self._parameters = self._unpack(parameters, FuzzedParameter)
        self._tensors = self._unpack(tensors, FuzzedTensor)
        self._constraints = tuple(constraints or ())
        names = [p.name for p in self._parameters] + [t.name for t in self._tensors]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(f"Fuzzer: names are used twice: {sorted(repeated)}.")
        self._n_drawn = self._n_kept = 0

    @staticmethod
    def _unpack(values: list[Any], kind: type) -> list[Any]:
        lists = ([v] if isinstance(v, kind) else v for v in values)
        return list(itertools.chain.from_iterable(lists))

    @property
    def rejection_rate(self) -> float:
        """Which part of the draws was drawn again."""
        return (self._n_drawn - self._n_kept) / self._n_drawn if self._n_drawn else 0.0

    def take(
        self, n: int
    ) -> Iterator[tuple[dict[str, Tensor], dict[str, dict[str, Any]], dict[str, Any]]]:
        """Draw n times: the tensors, what is known of them, and the parameters, by name.

        Args:
            n: how often.
        """
        import numpy as np

        state = np.random.RandomState(self._seed)
        facula.manual_seed(int(state.randint(0, 2**31)))
        for _ in range(n):
            params = self._draw(state)
            tensors, properties = {}, {}
            for fuzzed in self._tensors:
                tensors[fuzzed.name], properties[fuzzed.name] = fuzzed._make_tensor(params, state)
            yield tensors, properties, params

    def _draw(self, state: Any) -> dict[str, Any]:
        for _ in range(_MAX_TRIES):
            self._n_drawn += 1
            drawn = {p.name: p.sample(state) for p in self._parameters}
            params = {name: _resolved(value, drawn) for name, value in drawn.items()}
            is_kept = all(f(**params) for f in self._constraints)
            if is_kept and all(t.satisfies_constraints(params) for t in self._tensors):
                self._n_kept += 1
                return params
        raise ValueError(f"Fuzzer: no draw of {_MAX_TRIES} has satisfied the constraints.")


def _resolved(value: Any, drawn: dict[str, Any]) -> Any:
    seen: set[str] = set()
    while isinstance(value, ParameterAlias):
        if value.alias_to in seen:
            raise ValueError("Fuzzer: parameters stand for each other in a circle.")
        seen.add(value.alias_to)
        value = drawn[value.alias_to]
    return value
