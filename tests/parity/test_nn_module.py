"""Modules, their containers and hooks: the same transcript of the same program in both."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

from .transcript import Log, assert_same_transcript


def sequential(torch: Any, log: Log) -> None:
    nn = torch.nn
    s = nn.Sequential(nn.Linear(1, 2), nn.Identity(), nn.Linear(2, 3))
    log(s, len(s), s[1:], s[-1], lambda: s[3], lambda: s[-4], lambda: s["a"])
    log(s.pop(1), s + nn.Sequential(nn.Identity()), s * 2, 2 * s)
    log(lambda: s + 3, lambda: s * 0, lambda: s * "a", lambda: s.append(3))
    log(s.insert(0, nn.Identity()), s.insert(-1, nn.Flatten()), lambda: s.insert(9, nn.Identity()))
    log(lambda: s.insert(0, 3), s.extend([nn.Identity()]), lambda: s.extend(3))
    s += nn.Sequential(nn.Flatten())
    s *= 2
    del s[0:2], s[0]
    s[1] = nn.Flatten()
    log(s, list(s._modules), lambda: s.__setitem__(50, nn.Identity()))
    log(lambda: nn.Sequential(3), lambda: nn.Sequential()(3), lambda: s.__setitem__(0, 3))
    named = nn.Sequential(OrderedDict(a=nn.Linear(1, 1), b=nn.Linear(1, 2)))
    log(named[1:], named.append(nn.Identity()))
    del named[0]
    log(named, "a" in dir(named))


def module_list(torch: Any, log: Log) -> None:
    nn = torch.nn
    m = nn.ModuleList([nn.Linear(1, 2), nn.Linear(1, 2), nn.Identity()])
    log(m, m[-1], m[:2], m + nn.ModuleList([nn.Identity()]), lambda: m[5], lambda: m["a"])
    m += [nn.Identity()]
    m.insert(1, nn.Flatten())
    log(m, m.pop(0), lambda: m.extend(3), lambda: m.append(3), lambda: m(3))
    m[0] = nn.Linear(3, 3)
    del m[1:2], m[-1]
    log(m, nn.ModuleList(), nn.ModuleList([None]), lambda: m.__setitem__(9, nn.Identity()))
    log(nn.ModuleList([nn.ModuleList([nn.Linear(1, 1) for _ in range(2)]) for _ in range(2)]))


def module_dict(torch: Any, log: Log) -> None:
    nn = torch.nn
    d = nn.ModuleDict({"a": nn.Linear(1, 2)})
    d.update([("c", nn.Identity())])
    log(d, d["a"], list(d), list(d.keys()), list(d.items()), "a" in d, len(d), d.pop("c"))
    log(lambda: d["b"], lambda: d.pop("z"), lambda: d.update(3), lambda: d.update([3]))
    log(lambda: d.update([(1, 2, 3)]), lambda: d({}), lambda: d.update({"keys": nn.Identity()}))
    log(lambda: d.__setitem__("x.y", nn.Identity()), lambda: d.__setitem__("x", 3))
    d.update(nn.ModuleDict({"q": nn.Identity()}))
    log(d)
    d.clear()
    log(d)


def parameter_list(torch: Any, log: Log) -> None:
    nn = torch.nn
    p = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(1, 2)), 3, "a", None, [1]])
    log(p, p[0], p[-1], p[0:2], len(p), lambda: p[9], lambda: p(3), lambda: p.extend(3))
    p.append(torch.ones(1))
    p += [1]
    p[0], p[2] = torch.zeros(1), nn.Parameter()
    log(p, list(p), list(p.state_dict()), lambda: nn.ParameterList(torch.ones(2, 2)))
    log(nn.ParameterList([torch.ones(1).double(), nn.ParameterList([torch.ones(2)])]))


def parameter_dict(torch: Any, log: Log) -> None:
    nn = torch.nn
    d = nn.ParameterDict({"b": nn.Parameter(torch.ones(1, 1)), "a": torch.ones(2), "i": 3})
    log(d, d["a"], lambda: d["zz"], d.setdefault("q"), d.setdefault("r", torch.ones(1)))
    log(d.popitem(), d.pop("a"), d.get("zz"), d.get("zz", 4), d.get("b"), d.copy())
    log(d.fromkeys(["x", "y"], torch.ones(1)), d | nn.ParameterDict({"h": torch.ones(3)}))
    log({"z": 1} | d)
    d |= {"g": torch.zeros(1)}
    d.update([("c", torch.ones(4))])
    log(list(reversed(d)), list(d.keys()), list(d.values()), list(d.items()), d)
    log(lambda: d({}), lambda: d.update(3), lambda: d.update([3]), lambda: d.update([(1, 2, 3)]))
    log(lambda: d.__delitem__("zz"), "g" in d, len(d))
    d.clear()
    log(d, lambda: d.__setitem__(3, torch.ones(1)))


def attributes(torch: Any, log: Log) -> None:
    nn = torch.nn
    m = nn.Linear(2, 2)
    m.register_buffer("b", torch.ones(1))
    m.sub = nn.Linear(1, 1)
    for name in (3, "", "a.b", "forward", "weight", "b", "sub", "new"):
        log(lambda name=name: m.register_parameter(name, None))
        log(lambda name=name: m.register_buffer(name, None))
        log(lambda name=name: m.add_module(name, None))
    m = nn.Linear(2, 2)
    m.register_buffer("b", torch.ones(1))
    m.sub = nn.Linear(1, 1)
    log(lambda: m.register_parameter("p", 3), lambda: m.register_buffer("q", 3))
    log(lambda: m.add_module("r", 3), lambda: m.register_parameter("p", torch.ones(1)))
    for name in ("weight", "b", "sub"):
        for value in (3, torch.ones(2), nn.Parameter(torch.ones(1)), nn.Identity(), None):
            twin = copy.deepcopy(m)
            log(lambda t=twin, n=name, v=value: setattr(t, n, v))
            log(list(twin._parameters), list(twin._buffers), list(twin._modules))
    m.tag = nn.Buffer(torch.zeros(2), persistent=False)
    m.alias = m.weight
    log(
        m, list(m.state_dict()), [n for n, _ in m.named_parameters()], m._non_persistent_buffers_set
    )
    log([n for n, _ in m.named_parameters(remove_duplicate=False)])
    log([n for n, _ in m.named_parameters(prefix="net", recurse=False)])
    log([n for n, _ in m.named_buffers()], [n for n, _ in m.named_modules(prefix="x")])
    del m.bias, m.tag, m.sub
    log(
        m.__dict__.keys() >= {"_parameters"}, lambda: m.bias, lambda: m.foo, lambda: delattr(m, "q")
    )
    log([n for n in dir(m) if n in ("weight", "bias", "b", "sub")])


def paths(torch: Any, log: Log) -> None:
    nn = torch.nn
    m = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 3)))
    m.register_buffer("b", torch.ones(1))
    for path in ("", "0", "1.0", "1.1", "1.0.weight", "0.weight", "b", "z.a", "1..0"):
        for find in (m.get_submodule, m.get_parameter, m.get_buffer):
            log(lambda find=find, path=path: find(path) is not None)
    for strict in (False, True):
        for path in ("", "0", "1.0", "1.new", "z.a", "0.weight"):
            twin = copy.deepcopy(m)
            log(lambda t=twin, p=path, s=strict: t.set_submodule(p, nn.Identity(), strict=s), twin)
    log(lambda: m.set_submodule("0", 3))


def before_init(torch: Any, log: Log) -> None:
    nn = torch.nn

    def attempt(body: Callable[[Any], None]) -> Callable[[], Any]:
        return type("Early", (nn.Module,), {"__init__": lambda self: body(self)})

    log(attempt(lambda m: setattr(m, "a", nn.Parameter())))
    log(attempt(lambda m: setattr(m, "a", nn.Identity())))
    log(attempt(lambda m: setattr(m, "a", nn.Buffer())))
    log(attempt(lambda m: m.register_parameter("a", None)))
    log(attempt(lambda m: m.register_buffer("a", None)))
    log(attempt(lambda m: m.add_module("a", None)))
    log(attempt(lambda m: m.missing), attempt(lambda m: m(3)))
    log(attempt(lambda m: nn.Module.__init__(m, 3)), attempt(lambda m: nn.Module.__init__(m, k=3)))


def conversions(torch: Any, log: Log) -> None:
    nn = torch.nn
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    m.register_buffer("n", torch.ones(1, dtype=torch.int64))
    m.register_buffer("c", torch.ones(1, dtype=torch.complex64))
    m[0].weight.grad = torch.ones(2, 2)
    before = [id(p) for p in m.parameters()]

    def show() -> None:
        log([str(t.dtype) for t in (*m.parameters(), *m.buffers())], str(m[0].weight.grad.dtype))
        log(before == [id(p) for p in m.parameters()], m[0].weight.is_leaf)

    for change in ("double", "half", "bfloat16", "float"):
        getattr(m, change)()
        show()
    for args in ((torch.float64,), ("cpu", torch.float32), (torch.ones(1).double(), True)):
        m.to(*args)
        show()
    m.to(dtype=torch.float32, device="cpu", non_blocking=True)
    show()
    log(lambda: m.to(torch.int32), lambda: m.to(1, 2, 3, 4, 5), lambda: m.to(memory=1))
    conv = nn.Module()
    conv.weight = nn.Parameter(torch.ones(2, 3, 4, 4))
    log(conv.to(memory_format=torch.channels_last).weight.stride())
    log(lambda: m.train(3), m.eval().training, m[0].training, m.train()[1].training)
    log(m.requires_grad_(False)[0].weight.requires_grad, m.requires_grad_()[1].bias.requires_grad)
    m.zero_grad(set_to_none=False)
    log(m[0].weight.grad)
    m.zero_grad()
    log(m[0].weight.grad, m.to_empty(device="cpu")[0].weight.shape, lambda: m.to_empty())


def state_dicts(torch: Any, log: Log) -> None:
    nn = torch.nn

    class Extra(nn.Linear):
        def get_extra_state(self) -> Any:
            return {"steps": 3}

        def set_extra_state(self, state: Any) -> None:
            self.steps = state["steps"]

    m = nn.Sequential(OrderedDict(a=Extra(2, 2), b=nn.Linear(2, 1, bias=False)))
    m.register_buffer("kept", torch.ones(1))
    m.register_buffer("left", torch.ones(1), persistent=False)
    state = m.state_dict(prefix="net.")
    log(list(state), state._metadata, state["net.a.weight"].requires_grad)
    log(m.state_dict(keep_vars=True)["a.weight"].requires_grad, type(state).__name__)
    log(m.load_state_dict(m.state_dict()), m.a.steps)
    partial = {"a.weight": torch.zeros(2, 2), "x": torch.ones(1), "a.y": 1, "q.z": 2}
    log(m.load_state_dict(partial, strict=False), m.a.weight, lambda: m.load_state_dict(3))
    bad = {"a.weight": torch.ones(3, 2), "b.weight": 3, "kept": torch.ones(1), "u": torch.ones(1)}
    for strict in (True, False):
        try:
            m.load_state_dict(bad, strict=strict)
        except RuntimeError as error:
            # The heads with their names are what users match on; the rest is in our own words.
            heads = ("Error(s) in", "Missing key(s)", "Unexpected key(s)", "size mismatch for")
            lines = [line.strip() for line in str(error).split("\n")]
            log([line.split(":")[0] for line in lines if line.startswith(heads)])
            log([line for line in lines if "key(s) in" in line])
    new = torch.full((2, 2), 5.0)
    log(m.load_state_dict({"a.weight": new}, strict=False, assign=True))
    log(m.a.weight.data_ptr() == new.data_ptr(), type(m.a.weight).__name__, m.a.weight)
    scalar = nn.Module()
    scalar.register_buffer("n", torch.tensor(0))
    log(scalar.load_state_dict({"n": torch.tensor([4])}), scalar.n)
    log(m.state_dict(destination={}, prefix="p."))
    log(lambda: m.load_state_dict(OrderedDict([("kept", torch.ones(2))])))


def state_hooks(torch: Any, log: Log) -> None:
    nn = torch.nn
    m = nn.Sequential(nn.Linear(1, 1))
    m.register_state_dict_pre_hook(lambda mod, prefix, keep: log("pre", prefix, keep))
    post = m[0].register_state_dict_post_hook(
        lambda mod, state, prefix, meta: log("post", list(state), prefix, meta)
    )
    m.register_load_state_dict_pre_hook(
        lambda mod, state, prefix, *rest: log("load", type(mod).__name__, list(state), prefix, rest)
    )
    m[0]._register_load_state_dict_pre_hook(
        lambda state, prefix, *rest: state.update({"0.bias": torch.zeros(1)})
    )

    def forgive(mod: Any, keys: Any) -> None:
        log("after", type(mod).__name__, keys)
        keys.missing_keys.clear()

    m.register_load_state_dict_post_hook(forgive)
    state = m.state_dict()
    del state["0.weight"]
    log(m.load_state_dict(state), m[0].bias)
    post.remove()
    m[0].register_state_dict_post_hook(lambda *args: {})
    log(lambda: m.state_dict())
    other = nn.Linear(1, 1)
    other._register_state_dict_hook(lambda mod, state, prefix, meta: {"only": 1})
    log(other.state_dict())
    other.register_load_state_dict_post_hook(lambda *args: 3)
    log(lambda: other.load_state_dict({}, strict=False))


def forward_hooks(torch: Any, log: Log) -> None:
    nn = torch.nn
    hooks = nn.modules.module

    class Scale(nn.Module):
        def forward(self, x: Any, factor: float = 1.0) -> Any:
            if factor == 0:
                raise ValueError("zero")
            return x * factor

    def said(name: str, value: Any = None) -> Callable[..., Any]:
        def hook(*args: Any) -> Any:
            log(name, *args[1:])
            return value

        return hook

    m = Scale()
    x = torch.ones(1)
    handles = [
        m.register_forward_pre_hook(said("pre 1")),
        m.register_forward_pre_hook(said("pre 2", torch.full((1,), 2.0))),
        m.register_forward_pre_hook(said("pre 0"), prepend=True),
        m.register_forward_pre_hook(said("kw", ((x * 3,), {"factor": 5.0})), with_kwargs=True),
        m.register_forward_hook(said("post 1")),
        m.register_forward_hook(said("post 2", "replaced"), with_kwargs=True),
        m.register_forward_hook(said("post 0"), prepend=True),
        hooks.register_module_forward_pre_hook(said("global pre")),
        hooks.register_module_forward_hook(said("global post"), with_kwargs=True),
    ]
    log(m(x, factor=2.0))
    for handle in handles:
        handle.remove()
    log(m(x, factor=2.0), len(m._forward_hooks), len(m._forward_hooks_with_kwargs))
    m.register_forward_hook(said("always"), always_call=True)
    m.register_forward_hook(said("normal"))
    always = hooks.register_module_forward_hook(said("global always"), always_call=True)
    log(lambda: m(x, factor=0), m(x))
    always.remove()
    m.register_forward_pre_hook(lambda *args: 3, with_kwargs=True)
    log(lambda: m(x))
    with nn.Identity().register_forward_hook(said("never")):
        pass


def backward_hooks(torch: Any, log: Log) -> None:
    nn = torch.nn
    hooks = nn.modules.module

    class Two(nn.Module):
        def forward(self, a: Any, b: Any, name: str = "") -> Any:
            return a * 2, a * b, name

    def said(name: str, value: Any = None) -> Callable[..., Any]:
        def hook(module: Any, *grads: Any) -> Any:
            log(name, *grads)
            return value

        return hook

    a, b = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    m = Two()
    m.register_full_backward_hook(said("full"))
    m.register_full_backward_pre_hook(said("pre"))
    m.register_full_backward_pre_hook(said("pre 0"), prepend=True)
    outputs = m(a, b, "x")
    log(outputs[2], type(outputs[0].grad_fn).__name__)
    (outputs[0].sum() + outputs[1].sum()).backward()
    log(a.grad)
    m(a, b)[0].sum().backward()
    m(b, b)
    linear = nn.Linear(2, 1)
    linear.register_full_backward_hook(said("linear"))
    linear(torch.ones(1, 2)).sum().backward()
    changed = nn.Linear(2, 2, bias=False)
    nn.init.eye_(changed.weight)
    changed.register_full_backward_pre_hook(lambda mod, grads: (grads[0] * 10,))
    changed.register_full_backward_hook(lambda mod, inputs, outputs: (inputs[0] + 1,))
    x = torch.ones(1, 2, requires_grad=True)
    changed(x).sum().backward()
    log(x.grad, changed.weight.grad)
    for wrong in (lambda *_: (1, 2), lambda *_: (torch.ones(1),) * 3):
        bad = nn.Linear(2, 1)
        bad.register_full_backward_hook(wrong)
        log(lambda bad=bad: bad(x).sum().backward())
        bad = nn.Linear(2, 1)
        bad.register_full_backward_pre_hook(wrong)
        log(lambda bad=bad: bad(x).sum().backward())
    log(lambda: linear.register_backward_hook(said("old")))
    old = nn.Linear(2, 1, bias=False)
    old.register_backward_hook(lambda mod, inputs, outputs: log("old", outputs))
    old(x).sum().backward()
    log(lambda: old.register_full_backward_hook(said("full")))
    after = hooks.register_module_full_backward_hook(said("global"))
    before = hooks.register_module_full_backward_pre_hook(said("global pre"))
    with after, before:
        nn.Linear(2, 1)(x).sum().backward()
    log(lambda: hooks.register_module_backward_hook(said("old")))
    nn.Linear(2, 1)(x).sum().backward()


def registration_hooks(torch: Any, log: Log) -> None:
    nn = torch.nn
    hooks = nn.modules.module
    handles = [
        hooks.register_module_parameter_registration_hook(lambda m, n, p: log("parameter", n)),
        hooks.register_module_buffer_registration_hook(lambda m, n, b: b * 2),
        hooks.register_module_module_registration_hook(lambda m, n, c: log("module", n)),
    ]
    m = nn.Sequential(nn.Linear(1, 1))
    m.register_buffer("b", torch.ones(1))
    m.c = nn.Buffer(torch.ones(1))
    for handle in handles:
        handle.remove()
    log(m.b, m.c)


def copies(torch: Any, log: Log) -> None:
    nn = torch.nn
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    m[1].weight = m[0].weight
    m[0].weight.grad = torch.ones(2, 2)
    m[0].bias.note = "kept?"
    for twin in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        log(twin[1].weight is twin[0].weight, twin[0].weight is m[0].weight)
        log(twin[0].weight.grad, hasattr(twin[0].bias, "note"), twin, list(twin.state_dict()))
    log(copy.copy(m)[0].weight is m[0].weight)


def texts(torch: Any, log: Log) -> None:
    nn = torch.nn

    class Named(nn.Module):
        def extra_repr(self) -> str:
            return "one=1\ntwo=2"

    m = Named()
    log(m, nn.Module())
    m.inner = nn.Sequential(Named(), nn.Identity())
    m.nothing = None
    m.add_module("gone", None)
    log(m, nn.Parameter(torch.ones(2)), nn.Parameter(), nn.Buffer(torch.ones(2)))
    log(nn.Bilinear(1, 2, 3), nn.Linear(1, 2, False), nn.Flatten(), nn.Unflatten(1, (2, 3)))


def weights(torch: Any, log: Log) -> None:
    nn = torch.nn
    for m in (nn.Linear(5, 3), nn.Linear(0, 2), nn.Bilinear(3, 2, 4), nn.Linear(40, 30).double()):
        log(*(p.tolist() for p in m.parameters()))
    lazy = nn.Sequential(nn.LazyLinear(4), nn.LazyLinear(2, bias=False))
    log(lazy, lambda: lazy[0].weight.shape, lambda: lazy[0].weight + 1)
    lazy(torch.ones(1, 3))
    log(lazy, *(p.tolist() for p in lazy.parameters()))
    loaded = nn.LazyLinear(3)
    log(loaded.load_state_dict(nn.Linear(2, 3).state_dict()), loaded.weight.shape, loaded)
    loaded(torch.ones(1, 2))
    log(loaded, lambda: nn.Bilinear(0, 1, 1))


def subclasses(torch: Any, log: Log) -> None:
    nn = torch.nn

    class Delegates(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(super().__getattr__("inner"), name)

    m = Delegates()
    log(m.in_features, m.weight is m.inner.weight, lambda: m.nothing, m.training)

    class Defaults(nn.Module):
        weight = None
        late: Any

        def __init__(self) -> None:
            super().__init__()
            self.late = None
            self.listed = [nn.Linear(1, 1)]
            self.late = nn.Linear(1, 1)

        @property
        def broken(self) -> Any:
            return self.missing

        @property
        def size(self) -> int:
            return 3

    d = Defaults()
    log(d, "late" in d.__dict__, d.size, lambda: d.broken, lambda: setattr(d, "size", 4))
    log(lambda: setattr(d, "weight", nn.Parameter(torch.ones(1))), d.weight)
    d.late = None
    log(d, d.late, lambda: setattr(d, "late", 3))
    d.number = 1
    d.number = nn.Parameter(torch.ones(1))
    log(list(d._parameters), "number" in d.__dict__)
    del d.number
    d.number = 2
    log(d.number, lambda: delattr(d, "number"), hasattr(d, "number"))

    class Other:
        def __init__(self, value: int = 0, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.value = value

    class Both(nn.Module, Other):
        call_super_init = True

    class First(Other, nn.Module):
        pass

    log(Both(value=3).value, lambda: Both(other=3), First(value=4).value)
    log(lambda: nn.Module(3), lambda: nn.Module(a=3))


def shared_parts(torch: Any, log: Log) -> None:
    nn = torch.nn
    inner = nn.Linear(1, 1)
    m = nn.Sequential(inner, inner, nn.Sequential(inner))
    m.register_buffer("a", torch.ones(1))
    m.register_buffer("b", m.a)
    for each in (False, True):
        log([n for n, _ in m.named_modules(remove_duplicate=each)])
        log([n for n, _ in m.named_parameters(remove_duplicate=each)])
        log([n for n, _ in m.named_buffers(remove_duplicate=each)], len(list(m.modules(each))))
    log(len(list(m.children())), [n for n, _ in m.named_children()], list(m.state_dict()))
    order: list[str] = []
    m.apply(lambda part: order.append(type(part).__name__))
    log(order, len(list(m.parameters(recurse=False))), m.load_state_dict(m.state_dict()))
    memo = {inner}
    log([n for n, _ in m.named_modules(memo)], len(memo))
    m.register_buffer("a", None)
    m.register_buffer("b", torch.zeros(2), persistent=False)
    log([n for n, _ in m.named_buffers()], m._non_persistent_buffers_set, m.a)
    m.b = torch.ones(3)
    log(m.b, m._non_persistent_buffers_set, lambda: setattr(m, "b", "text"))
    m.b = nn.Parameter(torch.ones(1))
    log(list(m._parameters), list(m._buffers), m._non_persistent_buffers_set)


def loading(torch: Any, log: Log) -> None:
    nn = torch.nn
    m = nn.Linear(2, 2, bias=False)
    m.weight.requires_grad_(False)
    wide = {"weight": torch.full((2, 2), 0.1, dtype=torch.float64)}
    log(m.load_state_dict(wide), m.weight, m.weight.dtype)
    log(m.load_state_dict(wide, assign=True), m.weight, m.weight.dtype, m.weight.requires_grad)
    log(m.load_state_dict({"weight": nn.Parameter(torch.ones(2, 2))}, assign=True))
    log(m.weight, type(m.weight).__name__)
    log(m.load_state_dict({"weight": torch.ones(2, 2).t()[:, :]}, strict=True))
    log(lambda: m.load_state_dict({"weight": torch.ones(4)}))
    log(lambda: m.load_state_dict({"weight": torch.ones(1)}, strict=False))
    log(lambda: m.load_state_dict([("weight", 1)]), lambda: m.load_state_dict(None))
    b = nn.Module()
    b.register_buffer("n", torch.tensor(1))
    log(b.load_state_dict({"n": torch.tensor(7.9)}), b.n, b.load_state_dict({"n": torch.ones(1)}))
    log(b.load_state_dict({"n": torch.tensor(2.5)}, assign=True), b.n)
    tree = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.Linear(1, 1)))
    keys = {"0": 1, "0.weight.x": 2, "1.0.q": 3, "1.5.weight": 4, ".": 5, "": 6, "1": 7}
    result = tree.load_state_dict(keys, strict=False)
    log(result.missing_keys, result.unexpected_keys, type(result).__name__, result)
    missing, unexpected = result
    log(missing, unexpected)

    class Versioned(nn.Linear):
        _version = 3

        def _load_from_state_dict(self, state: Any, prefix: str, meta: Any, *rest: Any) -> None:
            log(prefix, meta.get("version"), len(rest))
            super()._load_from_state_dict(state, prefix, meta, *rest)

    v = nn.Sequential(Versioned(1, 1))
    log(v.load_state_dict(v.state_dict()), v.load_state_dict(dict(v.state_dict())))
    log(v.state_dict()._metadata)


def gradients(torch: Any, log: Log) -> None:
    nn = torch.nn
    m = nn.Linear(2, 1)
    x = torch.ones(1, 2)
    m(x).sum().backward(create_graph=True)
    m.zero_grad(set_to_none=False)
    log(m.weight.grad, m.weight.grad.requires_grad)
    kept = m.weight.grad
    m(x).sum().backward()
    log(m.weight.grad is kept, kept)
    m.double()
    log(m.weight.grad.dtype, m.weight.grad is kept, m.type(torch.float32).weight.dtype)
    log(m.type("torch.DoubleTensor").weight.dtype, m.float().bias.grad.dtype)
    m.requires_grad_(False)
    log(m(x.requires_grad_()).requires_grad, m.weight.grad is None)
    ints = nn.Module()
    ints.p = nn.Parameter(torch.ones(2, dtype=torch.int64), requires_grad=False)
    log(ints.half().p, ints.to(torch.float64).p, lambda: ints.type(torch.float64).p)


PROGRAMS = [
    attributes,
    backward_hooks,
    before_init,
    conversions,
    copies,
    forward_hooks,
    gradients,
    loading,
    module_dict,
    module_list,
    parameter_dict,
    parameter_list,
    paths,
    registration_hooks,
    sequential,
    shared_parts,
    state_dicts,
    state_hooks,
    subclasses,
    texts,
    weights,
]


@pytest.mark.promise("N1")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_with_modules_says_the_same_as_in_pytorch(program):
    assert_same_transcript(program)
