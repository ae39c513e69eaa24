"""Transforms of functions: gradients of every example, Jacobians, second derivatives, ensembles."""

from harness import Case, main


def two_layers(torch):
    F = torch.nn.functional
    torch.manual_seed(0)
    params = {
        "w1": torch.randn(64, 32) * 0.1,
        "b1": torch.zeros(64),
        "w2": torch.randn(10, 64) * 0.1,
        "b2": torch.zeros(10),
    }
    x, y = torch.randn(128, 32), torch.randint(0, 10, (128,))

    def loss(p, x, y):
        hidden = torch.tanh(F.linear(x, p["w1"], p["b1"]))
        return F.cross_entropy(F.linear(hidden, p["w2"], p["b2"]).unsqueeze(0), y.unsqueeze(0))

    step = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    return {"step": lambda: step(params, x, y)}


def small_cnn(torch):
    F = torch.nn.functional
    torch.manual_seed(0)
    params = {"conv": torch.randn(8, 1, 3, 3) * 0.1, "out": torch.randn(10, 8 * 13 * 13) * 0.1}
    x, y = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))

    def loss(p, x, y):
        z = F.max_pool2d(F.relu(F.conv2d(x.unsqueeze(0), p["conv"])), 2).flatten(1)
        return F.cross_entropy(F.linear(z, p["out"]), y.unsqueeze(0))

    step = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    return {"step": lambda: step(params, x, y)}


def vector_function(torch):
    func = torch.func
    torch.manual_seed(0)
    w, x = torch.randn(64, 64) * 0.1, torch.randn(64)

    def f(x):
        return torch.tanh(w @ x)

    def total(x):
        return f(x).pow(2).sum()

    tangent = torch.ones(64)
    return {
        "x": x,
        "jacrev": func.jacrev(f),
        "jacfwd": func.jacfwd(f),
        "hessian": func.hessian(total),
        "grad": func.grad(total),
        "jvp": lambda x: func.jvp(f, (x,), (tangent,)),
    }


def ensemble(torch):
    nn, func = torch.nn, torch.func
    torch.manual_seed(0)
    models = [nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10)) for _ in range(16)]
    params, buffers = func.stack_module_state(models)
    x = torch.randn(64, 32)
    run = func.vmap(
        lambda p, b, x: func.functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None)
    )
    return {"run": lambda: run(params, buffers, x)}


CASES = [
    Case("per-example gradients, two layers, 128 examples", "step()", two_layers, 1),
    Case("per-example gradients, small CNN, 64 examples", "step()", small_cnn, 1),
    Case("jacrev of a function of 64 numbers", "jacrev(x)", vector_function, 1),
    Case("jacfwd of a function of 64 numbers", "jacfwd(x)", vector_function, 1),
    Case("hessian of a function of 64 numbers", "hessian(x)", vector_function, 1),
    Case("func.grad of a function of 64 numbers", "grad(x)", vector_function, 1),
    Case("func.jvp of a function of 64 numbers", "jvp(x)", vector_function, 1),
    Case("16 models at once", "run()", ensemble, 1),
]

if __name__ == "__main__":
    main(__file__)
