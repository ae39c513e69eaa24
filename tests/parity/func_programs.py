"""Programs of nested transforms, each written once and run with either framework."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[function.__name__] = function
    return function


def values(lib: Any, *shape: int, seed: int = 0, scale: float = 0.5) -> Any:
    drawn = np.random.default_rng(seed).standard_normal(shape) * scale
    return lib.tensor(drawn.tolist(), dtype=lib.float64)


def classes(lib: Any, n: int, n_classes: int) -> Any:
    return lib.tensor(np.random.default_rng(5).integers(0, n_classes, n).tolist())


def functional(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.nn.functional")


def with_values(lib: Any, module: Any) -> Any:
    """The module in float64, its parameters the same in both frameworks."""
    module = module.double()
    with lib.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(values(lib, *p.shape, seed=i + 1, scale=0.3))
    return module


def per_sample_gradients(lib: Any, model: Any, x: Any, y: Any, **options: Any) -> Any:
    F, func = functional(lib), lib.func
    params = {name: p.detach() for name, p in model.named_parameters()}
    buffers = {name: b.detach() for name, b in model.named_buffers()}

    def loss(params: Any, buffers: Any, x: Any, y: Any) -> Any:
        out = func.functional_call(model, (params, buffers), (x.unsqueeze(0),))
        return F.cross_entropy(out, y.unsqueeze(0))

    grads = func.vmap(func.grad(loss), in_dims=(None, None, 0, 0), **options)(params, buffers, x, y)
    return [grads[name] for name in sorted(grads)]


@program
def per_sample_gradients_of_an_mlp(lib: Any) -> Any:
    nn = lib.nn
    model = with_values(lib, nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)))
    return per_sample_gradients(lib, model, values(lib, 6, 5), classes(lib, 6, 3))


@program
def per_sample_gradients_in_chunks(lib: Any) -> Any:
    nn = lib.nn
    model = with_values(lib, nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3)))
    return per_sample_gradients(lib, model, values(lib, 7, 5), classes(lib, 7, 3), chunk_size=3)


@program
def per_sample_gradients_of_a_cnn(lib: Any) -> Any:
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3, stride=2, groups=2), nn.Flatten(), nn.Linear(4, 3),
    )  # fmt: skip
    return per_sample_gradients(
        lib, with_values(lib, model), values(lib, 5, 2, 6, 6), classes(lib, 5, 3)
    )


@program
def per_sample_gradients_of_a_transformer(lib: Any) -> Any:
    nn, F = lib.nn, functional(lib)

    class Block(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(11, 8)
            self.norm = nn.LayerNorm(8)
            self.qkv = nn.Linear(8, 24)
            self.out = nn.Linear(8, 8)
            self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
            self.head = nn.Linear(8, 3)

        def forward(self, tokens: Any) -> Any:
            x = self.words(tokens)
            b, t, d = x.shape
            q, k, v = (
                part.reshape(b, t, 2, d // 2).transpose(1, 2)
                for part in self.qkv(self.norm(x)).split(d, dim=-1)
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
            x = x + self.mlp(x)
            return self.head(x.mean(1))

    model = with_values(lib, Block())
    tokens = lib.tensor(np.random.default_rng(2).integers(0, 11, (4, 5)).tolist())
    return per_sample_gradients(lib, model, tokens, classes(lib, 4, 3))


@program
def an_ensemble_of_models(lib: Any) -> Any:
    nn, func = lib.nn, lib.func
    models = [nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)).double() for _ in range(3)]
    for k, model in enumerate(models):
        with lib.no_grad():
            for i, p in enumerate(model.parameters()):
                p.copy_(values(lib, *p.shape, seed=10 * k + i))
    params, buffers = func.stack_module_state(models)

    def run(params: Any, buffers: Any, x: Any) -> Any:
        return func.functional_call(models[0], (params, buffers), (x,))

    x = values(lib, 5, 4)
    each = values(lib, 3, 5, 4)
    y = func.vmap(run, in_dims=(0, 0, None))(params, buffers, x)
    z = func.vmap(run, in_dims=(0, 0, 0))(params, buffers, each)
    grads = lib.autograd.grad(y.sum() + z.pow(2).sum(), list(params.values()))
    return y, z, *grads


@program
def an_ensemble_with_batch_norm(lib: Any) -> Any:
    nn, func = lib.nn, lib.func
    models = [
        nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU()).double() for _ in range(2)
    ]
    for k, model in enumerate(models):
        with_values(lib, model)
        model[0].weight.data.mul_(k + 1)
    params, buffers = func.stack_module_state(models)

    def run(params: Any, buffers: Any, x: Any) -> Any:
        return func.functional_call(models[0], (params, buffers), (x,))

    y = func.vmap(run, in_dims=(0, 0, None))(params, buffers, values(lib, 4, 1, 5, 5))
    return y, buffers["1.running_mean"], buffers["1.running_var"]


def net(lib: Any) -> tuple[Any, Any]:
    w, v = values(lib, 6, 4, seed=1), values(lib, 3, 6, seed=2)
    return (lambda x: lib.tanh(v @ lib.sin(w @ x))), values(lib, 4, seed=3)


@program
def jacobians(lib: Any) -> Any:
    f, x = net(lib)
    func = lib.func
    return func.jacrev(f)(x), func.jacfwd(f)(x), func.jacrev(f, chunk_size=2)(x)


@program
def jacobians_of_several_arguments(lib: Any) -> Any:
    func = lib.func
    a, b = values(lib, 3, seed=1), values(lib, 2, 3, seed=2)

    def f(a: Any, b: Any) -> Any:
        return {"x": b @ a, "y": (a * b).exp()}

    rev = func.jacrev(f, argnums=(0, 1))(a, b)
    fwd = func.jacfwd(f, argnums=(0, 1))(a, b)
    return [part[key][i] for part in (rev, fwd) for key in ("x", "y") for i in (0, 1)]


@program
def hessians(lib: Any) -> Any:
    f, x = net(lib)
    func = lib.func

    def g(x: Any) -> Any:
        return f(x).pow(2).sum()

    return (
        func.hessian(g)(x), func.jacrev(func.jacrev(g))(x), func.jacfwd(func.jacfwd(g))(x),
        func.jacrev(func.jacfwd(g))(x), func.hessian(f)(x), func.jacrev(func.grad(g))(x),
    )  # fmt: skip


@program
def batched_hessians_and_jacobians(lib: Any) -> Any:
    f, _ = net(lib)
    func, xs = lib.func, values(lib, 5, 4, seed=8)
    return (
        func.vmap(func.jacrev(f))(xs), func.vmap(func.jacfwd(f))(xs),
        func.vmap(func.hessian(lambda x: f(x).sum()))(xs),
        func.vmap(func.vmap(func.grad(lambda x: f(x).sum())))(values(lib, 2, 3, 4)),
    )  # fmt: skip


@program
def vjp_with_a_batch_of_vectors(lib: Any) -> Any:
    f, x = net(lib)
    func = lib.func
    y, vjp_fn = func.vjp(f, x)
    (rows,) = func.vmap(vjp_fn)(lib.eye(3, dtype=lib.float64))
    (one,) = vjp_fn(lib.ones(3, dtype=lib.float64))
    return y, rows, one


@program
def jvp_with_a_batch_of_vectors(lib: Any) -> Any:
    f, x = net(lib)
    func = lib.func
    columns = func.vmap(lambda t: func.jvp(f, (x,), (t,))[1])(lib.eye(4, dtype=lib.float64))
    y, jvp_fn = func.linearize(f, x)
    return columns, y, jvp_fn(lib.ones(4, dtype=lib.float64))


@program
def maml(lib: Any) -> Any:
    func = lib.func

    def net(w: Any, x: Any) -> Any:
        return lib.tanh(x @ w["a"]) @ w["b"]

    def loss(w: Any, x: Any, y: Any) -> Any:
        return ((net(w, x) - y) ** 2).mean()

    def task(w: Any, x: Any, y: Any, x2: Any, y2: Any) -> Any:
        for _ in range(2):
            g = func.grad(loss)(w, x, y)
            w = {k: w[k] - 0.1 * g[k] for k in w}
        return loss(w, x2, y2)

    w = {"a": values(lib, 2, 5, seed=1), "b": values(lib, 5, 1, seed=2)}
    data = [values(lib, 4, 6, n, seed=3 + i) for i, n in enumerate((2, 1, 2, 1))]

    def all_tasks(w: Any) -> Any:
        return func.vmap(task, in_dims=(None, 0, 0, 0, 0))(w, *data).mean()

    g, value = func.grad_and_value(all_tasks)(w)
    return value, g["a"], g["b"]


@program
def grad_inside_and_outside_of_vmap(lib: Any) -> Any:
    func = lib.func
    w, xs = values(lib, 3, seed=1), values(lib, 5, 3, seed=2)

    def f(w: Any, x: Any) -> Any:
        return lib.sin(w * x).sum()

    inner = func.vmap(func.grad(f), in_dims=(None, 0))
    outer = func.grad(lambda w: inner(w, xs).pow(2).sum())(w)
    third = func.grad(lambda w: func.grad(lambda w: inner(w, xs).cos().sum())(w).sum())(w)
    return inner(w, xs), outer, third


@program
def forward_over_reverse_over_forward(lib: Any) -> Any:
    f, x = net(lib)
    func = lib.func
    t = values(lib, 4, seed=9)

    def hvp(x: Any) -> Any:
        return func.jvp(func.grad(lambda x: f(x).pow(2).sum()), (x,), (t,))[1]

    def hvp2(x: Any) -> Any:
        return func.grad(lambda x: func.jvp(lambda x: f(x).pow(2).sum(), (x,), (t,))[1])(x)

    third = func.jvp(hvp, (x,), (t,))[1]
    return hvp(x), hvp2(x), third, func.jacrev(hvp)(x), func.jacfwd(hvp2)(x)


@program
def pairwise_distances_by_two_vmaps(lib: Any) -> Any:
    func = lib.func
    a, b = values(lib, 3, 4, seed=1), values(lib, 5, 4, seed=2)

    def distance(x: Any, y: Any) -> Any:
        return ((x - y) ** 2).sum().sqrt()

    pairs = func.vmap(func.vmap(distance, in_dims=(None, 0)), in_dims=(0, None))
    return pairs(a, b), func.grad(lambda a: pairs(a, b).sum())(a)


@program
def in_place_inside_of_vmap(lib: Any) -> Any:
    func = lib.func

    def f(x: Any) -> Any:
        y = x.clone()
        y[0] = x[1] * 2
        y.mul_(3).add_(x)
        z = x.new_zeros(2)
        z[1] = x.sum()
        return y, z

    xs = values(lib, 4, 3)
    y, z = func.vmap(f)(xs)
    return y, z, func.vmap(func.grad(lambda x: f(x)[0].pow(2).sum()))(xs)


@program
def control_flow_in_derivatives(lib: Any) -> Any:
    func = lib.func

    def f(x: Any) -> Any:
        y = x * 2 if x.sum() > 0 else -x
        out = lib.zeros(3, dtype=lib.float64)
        out = out + y
        return out * float(x[0])

    x = values(lib, 3)
    return func.jacrev(f)(x), func.jvp(f, (x,), (x,))[1]


@program
def in_and_out_dims(lib: Any) -> Any:
    func = lib.func
    x, w = values(lib, 3, 4, 5), values(lib, 5, seed=4)

    def f(tree: Any, w: Any) -> Any:
        return {"a": tree["x"] @ w, "b": (tree["x"].sum(0), w)}

    out = func.vmap(f, in_dims=({"x": 1}, None), out_dims={"a": -1, "b": (1, None)})({"x": x}, w)
    return out["a"], out["b"][0], out["b"][1]


@program
def aux_of_every_transform(lib: Any) -> Any:
    func = lib.func
    x = values(lib, 3)

    def f(x: Any) -> Any:
        return (x**3).sum(), x.exp()

    def h(x: Any) -> Any:
        return x**3, x.exp()

    g, aux1 = func.grad(f, has_aux=True)(x)
    (g2, (v, aux2)) = func.grad_and_value(f, has_aux=True)(x)
    _, vjp_fn, aux3 = func.vjp(h, x, has_aux=True)
    y, t, aux4 = func.jvp(h, (x,), (x,), has_aux=True)
    j, aux5 = func.jacrev(h, has_aux=True)(x)
    k, aux6 = func.jacfwd(h, has_aux=True)(x)
    return g, aux1, g2, v, aux2, vjp_fn(x)[0], aux3, y, t, aux4, j, aux5, k, aux6


@program
def a_function_with_jvp_and_vmap(lib: Any) -> Any:
    func = lib.func

    class Cube(lib.autograd.Function):  # type: ignore[name-defined,misc]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x**2 * t

    class Scale(lib.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(x: Any, w: Any) -> Any:
            return x * w

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, w = ctx.saved_tensors
            return g * w, (g * x).sum()

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, w: Any) -> Any:
            if in_dims[0] is not None:
                x = x.movedim(in_dims[0], 0)
            if in_dims[1] is not None:
                w = w.reshape(-1, 1)
            return x * w, 0

    x = values(lib, 4, 3)
    return (
        func.vmap(Cube.apply)(x), func.vmap(func.grad(lambda x: Cube.apply(x).sum()))(x),
        func.jvp(Cube.apply, (x,), (x,))[1], func.grad(lambda x: func.vmap(Cube.apply)(x).sum())(x),
        func.vmap(Scale.apply, in_dims=(0, None))(x, x[0, 0]), func.vmap(Scale.apply)(x, x[:, 0]),
        func.hessian(lambda x: Cube.apply(x).sum())(x[0]), func.jacrev(Cube.apply)(x[0]),
    )  # fmt: skip


@program
def dual_numbers(lib: Any) -> Any:
    forward_ad = importlib.import_module(f"{lib.__name__}.autograd.forward_ad")
    x, t = values(lib, 3), values(lib, 3, seed=1)
    found = []
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, t)
        y = d.exp() * x
        y[0] = d[1]
        z = lib.zeros(3, dtype=lib.float64)
        z[1:].copy_(d[:2])
        z.mul_(d)
        for out in (y, z, d.sum(), d.softmax(0), lib.cat([d, x]), d.detach()):
            primal, tangent = forward_ad.unpack_dual(out)
            found += [primal] if tangent is None else [primal, tangent]
        w = x.clone().requires_grad_()
        (g,) = lib.autograd.grad((forward_ad.make_dual(w, t) ** 3).sum(), w)
        found.append(g.detach())
    return found


@program
def functional_jacobians(lib: Any) -> Any:
    f, x = net(lib)
    functional = lib.autograd.functional
    return (
        functional.jacobian(f, x, vectorize=True),
        functional.jacobian(f, x, vectorize=True, strategy="forward-mode"),
        functional.hessian(lambda x: f(x).sum(), x, vectorize=True),
        functional.jvp(f, x, x)[1],
    )


def bad_calls(lib: Any) -> dict[str, Callable[[], Any]]:
    """Calls that must be refused, or not, with the same type of exception."""
    func, F, x = lib.func, functional(lib), lib.ones(4, 3)

    class Plain(lib.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

    return {
        "size": lambda: func.vmap(lib.add)(x, lib.ones(3, 3)),
        "range": lambda: func.vmap(lib.neg, in_dims=2)(x),
        "nontensor": lambda: func.vmap(lib.add)(x, 3),
        "struct": lambda: func.vmap(lib.neg, in_dims=(0, 0))(x),
        "none": lambda: func.vmap(lib.neg, in_dims=(None,))(x),
        "noargs": lambda: func.vmap(lib.neg)(),
        "nontensor out": lambda: func.vmap(lambda x: 1)(x),
        "out struct": lambda: func.vmap(lambda x: (x, x), out_dims=(0,))(x),
        "out none": lambda: func.vmap(lambda x: x, out_dims=None)(x),
        "out range": lambda: func.vmap(lambda x: x, out_dims=5)(x),
        "in_dims type": lambda: func.vmap(lib.neg, in_dims="a")(x),
        "in_dims float": lambda: func.vmap(lib.neg, in_dims=(0.5,))(x),
        "out_dims str": lambda: func.vmap(lib.neg, out_dims="a")(x),
        "chunk": lambda: func.vmap(lib.neg, chunk_size=0)(x),
        "random": lambda: func.vmap(lambda x: x + lib.rand(3))(x),
        "randmode": lambda: func.vmap(lib.neg, randomness="x")(x),
        "item": lambda: func.vmap(lambda x: x.sum().item())(x),
        "bool": lambda: func.vmap(lambda x: x if x.sum() > 0 else -x)(x),
        "inplace": lambda: func.vmap(lambda x: lib.zeros(3).add_(x))(x),
        "nonzero": lambda: func.vmap(lambda x: x.nonzero())(x),
        "mask": lambda: func.vmap(lambda x: x[x > 0])(x),
        "dim": lambda: func.vmap(lambda x: x.sum(1))(x),
        "dim-": lambda: func.vmap(lambda x: x.sum(-2))(x),
        "softmax dim": lambda: func.vmap(lambda x: x.softmax(1))(x),
        "unsq": lambda: func.vmap(lambda x: x.unsqueeze(3))(x),
        "transpose": lambda: func.vmap(lambda x: x.transpose(0, 1))(x),
        "mm": lambda: func.vmap(lib.mm)(x, x),
        "dot": lambda: func.vmap(lib.dot)(lib.ones(2, 3), lib.ones(2, 4)),
        "view": lambda: func.vmap(lambda x: x.view(2, 2))(x),
        "cat": lambda: func.vmap(lambda x: lib.cat([x, x.unsqueeze(0)]))(x),
        "t": lambda: func.vmap(lambda x: x.t())(lib.ones(2, 2, 2, 2)),
        "select": lambda: func.vmap(lambda x: x[5])(x),
        "select2": lambda: func.vmap(lambda x: x[0, 0])(x),
        "expand": lambda: func.vmap(lambda x: x.expand(5))(x),
        "squeeze": lambda: func.vmap(lambda x: x.squeeze(2))(x),
        "grad nonscalar": lambda: func.grad(lambda x: x)(x),
        "grad nontensor": lambda: func.grad(lambda x: 3)(x),
        "grad argnum": lambda: func.grad(lambda x: x.sum(), argnums=1)(x),
        "grad int": lambda: func.grad(lambda x: x.sum())(lib.ones(3, dtype=lib.int64)),
        "jvp shape": lambda: func.jvp(lib.sin, (x,), (lib.ones(2),)),
        "jvp nontuple": lambda: func.jvp(lib.sin, x, x),
        "jvp int": lambda: func.jvp(
            lib.sin, (lib.ones(3, dtype=lib.int64),), (lib.ones(3, dtype=lib.int64),)
        ),
        "jvp strict": lambda: func.jvp(lambda a: lib.ones(2), (x,), (x,), strict=True),
        "vjp cot": lambda: func.vjp(lib.sin, x)[1](lib.ones(2)),
        "vjp struct": lambda: func.vjp(lib.sin, x)[1]((x, x)),
        "aux": lambda: func.grad(lambda x: x.sum(), has_aux=True)(x),
        "jacrev chunk": lambda: func.jacrev(lib.sin, chunk_size=0)(x),
        "jacrev out": lambda: func.jacrev(lambda x: 3)(x),
        "jacfwd out": lambda: func.jacfwd(lambda x: 3)(x),
        "func": lambda: func.vmap(Plain.apply)(x),
        "stack none": lambda: func.stack_module_state([]),
        "lin shape": lambda: func.linearize(lib.sin, x)[1](lib.ones(2)),
        "index": lambda: func.vmap(lambda x, i: x[i])(x, lib.tensor([0, 1, 2, 9])),
        "gather": lambda: func.vmap(lambda x, i: x.gather(0, i))(
            x, lib.tensor([[0], [1], [2], [9]])
        ),
        "linear": lambda: func.vmap(lambda x: F.linear(x, lib.ones(2, 5)))(x),
        "conv": lambda: func.vmap(lambda x: F.conv2d(x, lib.ones(2, 3, 3, 3)))(
            lib.ones(2, 1, 4, 5, 5)
        ),
        "backward": lambda: func.vmap(lambda x: x.sum().backward())(x.clone().requires_grad_()),
        "numpy": lambda: func.vmap(lambda x: x.numpy())(x),
        "tolist": lambda: func.vmap(lambda x: x.tolist())(x),
        "len": lambda: func.vmap(lambda x: x * len(x))(x),
    }


def random_calls(lib: Any) -> dict[str, Callable[[Any], Any]]:
    """Functions of an example of four numbers that draw random ones."""
    F = functional(lib)
    return {
        "rand": lambda x: x + lib.rand(4),
        "randn": lambda x: x + lib.randn(2, 4),
        "randint": lambda x: x + lib.randint(0, 99, (4,)),
        "randperm": lambda x: lib.randperm(9) + x.sum().long(),
        "rand_like": lib.rand_like,
        "uniform_": lambda x: x.clone().uniform_(),
        "bernoulli": lambda x: lib.bernoulli(x * 0.5),
        "normal": lambda x: lib.normal(x, 1.0),
        "multinomial": lambda x: lib.multinomial(x, 3),
        "dropout": lambda x: F.dropout(x, 0.5),
        "dropout2d": lambda x: F.dropout2d(x.reshape(1, 2, 2, 1), 0.5),
        "alpha_dropout": lambda x: F.alpha_dropout(x, 0.5),
        "gumbel_softmax": F.gumbel_softmax,
    }
