"""Names of models and of their trained weights, and the functions that build the models.

A module of models declares the weights that ``weights.txt`` lists, and its builders::

    ResNet18_Weights: Any = weights_enum(__name__, "ResNet18")
    resnet18 = builder(ResNet18_Weights, "ResNet-18", ResNet, BasicBlock, [2, 2, 2, 2])

A builder with arguments of its own is an ordinary function below ``@register_model()`` and
``@accept_weights(weights=...)``. Families of such builders make theirs with :func:`declare`.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from functools import cache, partial, wraps
from importlib import import_module
from inspect import Parameter, signature
from types import ModuleType
from typing import Any, TypeVar, cast, get_args

from facula._warnings import warn_user
from facula.nn import Module
from facula.vision.models._utils import _ovewrite_named_param

__all__ = [
    "Weights",
    "WeightsEnum",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
]

M = TypeVar("M", bound=Module)

_FILES = "https://download.pytorch.org/models/"
_RECIPES = "https://github.com/"
_SWAG_LICENSE = "https://github.com/facebookresearch/SWAG/blob/main/LICENSE"

# The start of a member's name: the data that its metrics are of, the preset of its transforms.
_TASKS = {
    "IMAGENET1K": ("ImageNet-1K", "ImageClassification"),
    "COCO_WITH_VOC_LABELS": ("COCO-val2017-VOC-labels", "SemanticSegmentation"),
    "COCO": ("COCO-val2017", "ObjectDetection"),
    "KINETICS400": ("Kinetics-400", "VideoClassification"),
    "C_T": ("", "OpticalFlow"),
}
# What pretrained=True has always meant, whatever DEFAULT has become since.
_PRETRAINED = [f"{task}_V1" for task in _TASKS]


@dataclass(frozen=True)
class _Preset:
    """The transforms of some weights, whose module is imported when they are made."""

    name: str
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, **changes: Any) -> Any:
        presets = import_module("facula.vision.transforms._presets")
        arguments = {**self.keywords, **changes}
        if isinstance(mode := arguments.get("interpolation"), str):
            arguments["interpolation"] = presets.InterpolationMode(mode)
        return getattr(presets, self.name)(**arguments)


@dataclass
class Weights:
    """Where trained weights are, how their inputs are prepared, and what is known of them.

    Args:
        url: address of the file.
        transforms: called without arguments, makes the transform that prepares an image.
        meta: facts such as ``num_params``, ``categories`` and ``recipe``.

    Example:
        >>> from facula.vision.models import ResNet18_Weights
        >>> ResNet18_Weights.DEFAULT.value.meta["num_params"]
        11689512
    """

    url: str
    transforms: Callable[..., Any]
    meta: dict[str, Any]


class WeightsEnum(Enum):
    """Base of the enumerations of a model's trained weights; a member's value is a `Weights`.

    Example:
        >>> from facula.vision.models import ResNet50_Weights
        >>> [member.name for member in ResNet50_Weights]
        ['IMAGENET1K_V1', 'IMAGENET1K_V2']
        >>> ResNet50_Weights.DEFAULT
        ResNet50_Weights.IMAGENET1K_V2
        >>> ResNet50_Weights.DEFAULT.meta["categories"][:2]
        ['tench', 'goldfish']
    """

    @classmethod
    def verify(cls, obj: Any) -> Any:
        """Return the member that obj is or names; None stays None.

        Example:
            >>> from facula.vision.models import ResNet50_Weights
            >>> ResNet50_Weights.verify("DEFAULT")
            ResNet50_Weights.IMAGENET1K_V2
        """
        if isinstance(obj, str):
            name = obj.removeprefix(cls.__name__ + ".")
            if name not in cls.__members__:
                raise KeyError(f"{cls.__name__} has {', '.join(cls.__members__)}, got {obj!r}")
            return cls[name]
        if obj is not None and not isinstance(obj, cls):
            given = obj if isinstance(obj, WeightsEnum) else type(obj).__name__
            raise TypeError(f"expected a member of {cls.__name__}, its name or None, got {given}")
        return obj

    def get_state_dict(self, *args: Any, **kwargs: Any) -> Mapping[str, Any]:
        """Load the weights from the local cache, or download them into it.

        Args:
            *args, **kwargs: arguments of `facula.hub.load_state_dict_from_url` after its url.
        """
        load = import_module("facula.hub").load_state_dict_from_url
        return cast(Mapping[str, Any], load(self.url, *args, **kwargs))

    @property
    def url(self) -> str:
        """Address of the file."""
        return cast(str, self.value.url)

    @property
    def transforms(self) -> Callable[..., Any]:
        """Makes the transform that prepares an image."""
        return cast(Callable[..., Any], self.value.transforms)

    @property
    def meta(self) -> dict[str, Any]:
        """Facts such as ``num_params``, ``categories`` and ``recipe``."""
        return cast(dict[str, Any], self.value.meta)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __reduce_ex__(self, protocol: Any) -> Any:
        # By name: the value is large, and is compared with every member when it is found again.
        return getattr, (type(self), self.name)


@cache
def _read_categories() -> dict[str, list[str]]:
    with open(os.path.join(os.path.dirname(__file__), "categories.json"), encoding="utf-8") as file:
        return cast(dict[str, list[str]], json.load(file))


@cache
def _read_table() -> dict[str, list[list[str]]]:
    table: dict[str, list[list[str]]] = {}
    with open(os.path.join(os.path.dirname(__file__), "weights.txt"), encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                model, *row = line.split()
                table.setdefault(model, []).append(row)
    return table


def _parse_options(text: str) -> dict[str, Any]:
    def parse(value: str) -> Any:
        if "/" in value:  # a slash at the end makes a tuple of one
            parts = value.removesuffix("/").split("/")
            return tuple(int(part) if part.isdigit() else float(part) for part in parts)
        return int(value) if value.isdigit() else value

    pairs = (option.split("=") for option in text.split(",") if option != "-")
    return {name: parse(value) for name, value in pairs}


def _parse_weights(name: str, row: list[str]) -> Weights:
    file, n_params, min_size, ops, file_size, metrics, categories, options, recipe = row
    dataset, preset = next(_TASKS[task] for task in _TASKS if name.startswith(task))
    lists = _read_categories()
    size, _, n_frames = min_size.partition("x")
    found: dict[str, dict[str, float]] = {}
    for text in metrics.split(","):
        *data, metric, value = re.split("[:=]", text)
        found.setdefault(data[0] if data else dataset, {})[metric] = float(value)
    meta: dict[str, Any] = {
        "num_params": int(n_params),
        "min_size": (int(size), int(size)),
        "recipe": _RECIPES + recipe,
        "_metrics": found,
        "_ops": float(ops),
        "_file_size": float(file_size),
    }
    if preset != "OpticalFlow":
        meta["categories"] = lists.get(categories)
    if n_frames:
        meta["min_temporal_size"] = int(n_frames)
    if categories == "person":
        meta["keypoint_names"] = lists["keypoints"]
    if "SWAG" in name:
        meta["license"] = _SWAG_LICENSE
    return Weights(_FILES + file, _Preset(preset, _parse_options(options)), meta)


def weights_enum(module: str, model: str) -> Any:
    """Make the enumeration ``<model>_Weights`` of a module from the rows of weights.txt.

    Declared as Any, it is a type to mypy, and its members exist.
    """
    members: list[tuple[str, Weights]] = []
    for name, *row in _read_table()[model]:
        members.append((name.rstrip("*"), _parse_weights(name, row)))
        if name.endswith("*"):
            default = ("DEFAULT", members[-1][1])
    names = ", ".join(name for name, _ in members)
    make: Any = WeightsEnum
    enum = make(f"{model}_Weights", [*members, default], module=module)
    enum.__doc__ = f"Trained weights of {model}: {names}."
    return enum


_BUILDERS: dict[str, Callable[..., Module]] = {}

# Those that facula.vision.models does not import by itself.
PACKAGES = ("detection", "optical_flow", "segmentation", "video")


def _all_builders() -> dict[str, Callable[..., Module]]:
    for package in PACKAGES:
        import_module(f"facula.vision.models.{package}")
    return _BUILDERS


def register_model(name: str | None = None) -> Callable[[Callable[..., M]], Callable[..., M]]:
    """Decorate a function that builds a model, so that `get_model` finds it.

    Args:
        name: the model's name; that of the function unless given.

    Example:
        >>> from facula import nn
        >>> from facula.vision.models import get_model
        >>> from facula.vision.models._api import register_model
        >>> @register_model("tiny")
        ... def build_tiny(width=2):
        ...     return nn.Linear(width, 1)
        >>> get_model("tiny", width=3)
        Linear(in_features=3, out_features=1, bias=True)
    """

    def register(build: Callable[..., M]) -> Callable[..., M]:
        key = build.__name__ if name is None else name
        if key in _BUILDERS:
            raise ValueError(f"register_model: there is already a model {key!r}")
        _BUILDERS[key] = build
        return build

    return register


def _enum_of(weights: Any) -> Any:
    return type(weights) if isinstance(weights, WeightsEnum) else weights


def accept_weights(**enums: Any) -> Callable[[Callable[..., M]], Callable[..., M]]:
    """Decorate a builder, which then receives for each argument named here a member or None.

    Callers may also give a member's name, and what was usual before there were such enumerations:
    ``pretrained=True`` for ``weights``, ``pretrained_backbone=True`` for ``weights_backbone``, and
    arguments by position. The value given here is the enumeration, or the member that True means
    where that is not the first of the enumeration; it becomes the argument's annotation.
    """

    kinds = {name: _enum_of(enum) for name, enum in enums.items()}

    def decorate(build: Callable[..., M]) -> Callable[..., M]:
        parameters = signature(build).parameters.values()
        by_position = [p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
        name = build.__name__

        @wraps(build)
        def checked(*args: Any, **kwargs: Any) -> M:
            if args:
                _name_arguments(name, by_position, args, kwargs)
            for argument, enum in enums.items():
                old = argument.replace("weights", "pretrained")
                if old in kwargs and argument not in kwargs:
                    kwargs[argument] = _translate(name, argument, kwargs.pop(old), enum, old)
                elif not isinstance(kwargs.get(argument), str | WeightsEnum | None):
                    kwargs[argument] = _translate(name, argument, kwargs[argument], enum)
                if argument in kwargs:
                    kwargs[argument] = kinds[argument].verify(kwargs[argument])
            return build(**kwargs)

        checked.__annotations__.update((name, kind | None) for name, kind in kinds.items())
        return checked

    return decorate


def _name_arguments(
    builder: str, names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    if len(args) > len(names):
        raise TypeError(
            f"{builder}: at most {len(names)} arguments can be given by position "
            f"({', '.join(names)}), got {len(args)}"
        )
    for name, value in zip(names, args, strict=False):
        if name in kwargs:
            raise TypeError(f"{builder}: {name} is given by position and by name")
        kwargs[name] = value
    given = ", ".join(f"{name}=..." for name in names[: len(args)])
    warn_user(f"{builder}: arguments by position are deprecated, write {builder}({given})")


def _translate(builder: str, argument: str, value: Any, enum: Any, old: str = "") -> Any:
    """The weights that True, or whatever counts as true, stood for."""
    weights = None
    if value:
        if isinstance(enum, WeightsEnum):
            weights = enum
        elif value == "legacy" and "COCO_LEGACY" in enum.__members__:
            weights = enum["COCO_LEGACY"]
        else:
            weights = next((member for member in enum if member.name in _PRETRAINED), None)
        if weights is None:
            raise ValueError(
                f"{builder}: no weights are meant by {old or argument}={value}; "
                f"choose {argument}= from {', '.join(map(repr, enum))}"
            )
    warn_user(
        f"{builder}: {old or argument}={value!r} is deprecated, write {argument}={weights!r}",
    )
    return weights


def build_model(make: Callable[..., M], weights: Any, progress: bool, kwargs: dict[str, Any]) -> M:
    """Call ``make(**kwargs)``, with the weights' number of classes and then with the weights."""
    if weights is not None and weights.meta.get("categories") is not None:
        _ovewrite_named_param(kwargs, "num_classes", len(weights.meta["categories"]))
    model = make(**kwargs)
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    return model


def name_of(enum: Any) -> str:
    """The name of the model in that of the enumeration of its weights."""
    return cast(str, enum.__name__.removesuffix("_Weights"))


def declare(build: Callable[..., M], kind: Any, doc: str, **enums: Any) -> Callable[..., M]:
    """Name a builder after its weights, in lower case and in their module, and register it.

    Args:
        build: the function that builds the model; its own name does not matter.
        kind: the class of the model, which becomes the annotation of the result.
        doc: the docstring of the builder.
        **enums: what :func:`accept_weights` takes; ``weights`` has the name.
    """
    enum = _enum_of(enums["weights"])
    build.__name__ = build.__qualname__ = name_of(enum).lower()
    build.__module__ = enum.__module__
    build.__annotations__["return"] = kind
    build.__doc__ = doc
    return register_model()(accept_weights(**enums)(build))


def builder(
    weights: Any,
    title: str,
    make: Callable[..., M],
    *args: Any,
    loaded: Mapping[str, Any] | None = None,
    needs: Callable[[Any], Mapping[str, Any]] | None = None,
    kwargs_are: str = "passed to",
    **fixed: Any,
) -> Callable[..., M]:
    """Make and register the builder of ``make(*args, **fixed, **kwargs)``.

    Args:
        weights: the enumeration of the model's weights, or the member that ``pretrained=True``
            means where that is not the first one. It names the builder.
        title: the first line of the docstring, without the full stop.
        make: the model's class, or a function annotated with it.
        loaded: arguments of make that change where trained weights are loaded.
        needs: a function from weights to arguments of make; callers may give no other values.
        kwargs_are: what the docstring says of other arguments, before the name of the class.
    """
    enum = _enum_of(weights)
    kind = make if isinstance(make, type) else make.__annotations__["return"]

    def build(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> M:
        for name, value in needs(weights).items() if weights and needs else ():
            _ovewrite_named_param(kwargs, name, value)
        kwargs = {**fixed, **kwargs, **((weights and loaded) or {})}
        return build_model(partial(make, *args), weights, progress, kwargs)

    doc = f"""{title}.

    Args:
        weights: a member of `{enum.__name__}` or its name; random weights unless given.
        progress: whether a download shows its progress.
        **kwargs: {kwargs_are} `{kind.__name__}`.
    """
    return declare(build, kind, doc, weights=weights)


def get_model_builder(name: str) -> Callable[..., Module]:
    """Return the function that builds the model of this name.

    Example:
        >>> from facula.vision.models import get_model_builder, resnet18
        >>> get_model_builder("resnet18") is resnet18
        True
    """
    key = name.lower()
    build = _BUILDERS.get(key) or _all_builders().get(key)
    if build is None:
        raise ValueError(f"there is no model {name!r}; list_models() gives the names of all")
    return build


def get_model(name: str, **config: Any) -> Module:
    """Build the model of this name.

    Args:
        name: one of `list_models()`.
        **config: passed to the model's builder.

    Example:
        >>> from facula.vision.models import get_model
        >>> get_model("resnet18", num_classes=3).fc
        Linear(in_features=512, out_features=3, bias=True)
    """
    return get_model_builder(name)(**config)


def get_model_weights(name: Callable[..., Any] | str) -> Any:
    """Return the enumeration of the trained weights of a model.

    Args:
        name: the model's name, or its builder.

    Example:
        >>> from facula.vision.models import get_model_weights
        >>> get_model_weights("resnet18")
        <enum 'ResNet18_Weights'>
    """
    build = get_model_builder(name) if isinstance(name, str) else name
    enum = _annotated_enum(build)
    if enum is None:
        raise ValueError(f"{build.__name__} has no argument 'weights' annotated with a WeightsEnum")
    return enum


def _annotated_enum(build: Callable[..., Any]) -> Any:
    annotation = getattr(build, "__annotations__", {}).get("weights")
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, WeightsEnum):
            return kind
    return None


def get_weight(name: str) -> Any:
    """Return trained weights by their full name.

    Example:
        >>> from facula.vision.models import get_weight
        >>> get_weight("ResNet50_Weights.IMAGENET1K_V2").meta["num_params"]
        25557032
    """
    enum_name, dot, member = name.partition(".")
    if not dot or "." in member:
        raise ValueError(f"expected a name such as ResNet18_Weights.DEFAULT, got {name!r}")
    for enum in map(_annotated_enum, _all_builders().values()):
        if enum is not None and enum.__name__ == enum_name:
            return enum.verify(member)
    raise ValueError(f"no model has weights {enum_name!r}")


def list_models(
    module: ModuleType | None = None,
    include: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
) -> list[str]:
    """Return the sorted names of the models.

    Args:
        module: only the models of this package, such as `facula.vision.models.detection`.
        include: patterns as of a shell; only names that match one of them.
        exclude: patterns; no names that match one of them.

    Example:
        >>> from facula.vision.models import list_models
        >>> list_models(include="resnet*", exclude="*1*")
        ['resnet34', 'resnet50']
    """

    def matcher(patterns: Iterable[str] | str) -> Callable[[str], bool]:
        patterns = [patterns] if isinstance(patterns, str) else list(patterns)
        return lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)

    # The spec's name is ours also under facula run, where the module says that it is torchvision's.
    home = None if module is None else getattr(module.__spec__, "name", module.__name__)
    is_included = matcher(include or "*")
    is_excluded = matcher(exclude or ())
    return sorted(
        name
        for name, build in _all_builders().items()
        if (home is None or build.__module__.rpartition(".")[0] == home)
        and is_included(name)
        and not is_excluded(name)
    )
