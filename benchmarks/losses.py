"""The linear layer and the losses, forward and backward."""

from functools import partial

from harness import Case, main


def linear(n_rows, n_in, n_out, torch):
    torch.manual_seed(0)
    x = torch.randn(n_rows, n_in, requires_grad=True)
    weight = torch.randn(n_out, n_in, requires_grad=True)
    bias = torch.randn(n_out, requires_grad=True)
    g = torch.randn(n_rows, n_out)

    def step():
        torch.nn.functional.linear(x, weight, bias).backward(g)
        x.grad = weight.grad = bias.grad = None

    return {"step": step}


def classes(*shape):
    def setup(torch):
        torch.manual_seed(0)
        x = torch.randn(*shape, requires_grad=True)
        target = torch.randint(0, shape[1], (shape[0], *shape[2:]))

        def step():
            torch.nn.functional.cross_entropy(x, target).backward()
            x.grad = None

        return {"step": step}

    return setup


def elements(name, torch):
    torch.manual_seed(0)
    x, target = torch.randn(1 << 20, requires_grad=True), torch.rand(1 << 20)
    loss = getattr(torch.nn.functional, name)

    def step():
        loss(x, target).backward()
        x.grad = None

    return {"step": step}


def sequences(torch):
    torch.manual_seed(0)
    x = torch.randn(50, 16, 20, requires_grad=True)
    target = torch.randint(1, 20, (16, 15))

    def step():
        log_probs = x.log_softmax(-1)
        torch.nn.functional.ctc_loss(log_probs, target, (50,) * 16, (15,) * 16).backward()
        x.grad = None

    return {"step": step}


CASES = [
    Case("linear, 64x1000 to 100", "step()", partial(linear, 64, 1000, 100), 1),
    Case("linear, 1024x384 to 1536", "step()", partial(linear, 1024, 384, 1536), 1, limit=1),
    Case("cross_entropy, 64x10", "step()", classes(64, 10), 3),
    Case("cross_entropy, 1024x1000", "step()", classes(1024, 1000), 1),
    Case("cross_entropy, 1024x10000", "step()", classes(1024, 10000), 1, has_memory_row=True),
    Case("cross_entropy, 4x21x128x128", "step()", classes(4, 21, 128, 128), 1),
    Case("mse_loss, 1M", "step()", partial(elements, "mse_loss"), 1),
    Case(
        "binary_cross_entropy_with_logits, 1M",
        "step()",
        partial(elements, "binary_cross_entropy_with_logits"),
        1,
    ),
    Case("ctc_loss, 50x16x20", "step()", sequences, 1),
]

if __name__ == "__main__":
    main(__file__)
