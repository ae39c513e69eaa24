"""Sixteen bits on the CPU: products, layers, elements and whole steps."""

from functools import partial

from gpt import gpt
from harness import Case, main
from networks import lstm, resnet


def factors(n_batch, m, k, n, form, torch):
    """Matrices for a product; ``form`` says which of the two are transposed: "NN", "NT", "TN"."""
    torch.manual_seed(0)
    a = torch.randn(*n_batch, *((k, m) if form[0] == "T" else (m, k))).bfloat16()
    b = torch.randn(*n_batch, *((n, k) if form[1] == "T" else (k, n))).bfloat16()
    return {"a": a.mT if form[0] == "T" else a, "b": b.mT if form[1] == "T" else b}


def linear(dtype, torch):
    torch.manual_seed(0)
    dtype = getattr(torch, dtype)
    layer = torch.nn.Linear(768, 768).to(dtype)
    x = torch.randn(512, 768).to(dtype).requires_grad_()
    grad = torch.randn(512, 768).to(dtype)
    inputs = [x, *layer.parameters()]
    return {
        "forward": torch.no_grad()(lambda: layer(x)),
        "both": lambda: torch.autograd.grad(layer(x), inputs, grad),
    }


def convolution(n_batch, n_in, n_out, size, kernel, stride, torch):
    torch.manual_seed(0)
    layer = torch.nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, bias=False).bfloat16()
    x = torch.randn(n_batch, n_in, size, size).bfloat16()
    if torch.__name__ == "torch":  # the layout that suits it
        layer, x = (v.to(memory_format=torch.channels_last) for v in (layer, x))
    x.requires_grad_(n_in > 3)
    inputs = [p for p in (x, layer.weight) if p.requires_grad]
    grad = torch.randn_like(layer(x))
    return {
        "forward": torch.no_grad()(lambda: layer(x)),
        "both": lambda: torch.autograd.grad(layer(x), inputs, grad),
    }


def attention(torch):
    """Causal, 4x6x256x64, as a small GPT has it."""
    attend = torch.nn.functional.scaled_dot_product_attention
    q, k, v = (
        torch.randn(4, 256, 6, 64).bfloat16().transpose(1, 2).requires_grad_() for _ in range(3)
    )
    grad = torch.randn(4, 256, 6, 64).bfloat16().transpose(1, 2)
    return {
        "forward": torch.no_grad()(lambda: attend(q, k, v, is_causal=True)),
        "both": lambda: torch.autograd.grad(attend(q, k, v, is_causal=True), [q, k, v], grad),
    }


def elements(dtype, torch):
    torch.manual_seed(0)
    a, b, c = (torch.randn(1 << 20).to(getattr(torch, dtype)) for _ in range(3))
    return {"a": a, "b": b, "c": c, "out": torch.empty_like(a)}


def cast_step(setup, torch):
    """The forward pass of a step in bfloat16, by autocast."""
    names = setup(torch)

    def step():
        with torch.autocast("cpu", torch.bfloat16):
            names["step"]()

    return {"step": step}


def gpt_in_bfloat16(torch):
    torch.set_default_dtype(torch.bfloat16)
    try:
        return gpt(torch, 65)
    finally:
        torch.set_default_dtype(torch.float32)


PRODUCTS = [
    *(((), size, size, size, "NN") for size in (256, 512, 1024, 2048)),
    *(((), 1024, 1024, 1024, form) for form in ("NT", "TN")),
    *(((), 512, 768, 768, form) for form in ("NN", "NT", "TN")),
    *(((24,), 256, 64, 256, form) for form in ("NN", "NT", "TN")),
]
CONVOLUTIONS = {
    "3x3, 8x64x56x56": (8, 64, 64, 56, 3, 1),
    "3x3, 8x256x14x14": (8, 256, 256, 14, 3, 1),
    "1x1, 8x256x28x28": (8, 256, 256, 28, 1, 1),
    "3x3 by 2, 8x64x56x56": (8, 64, 128, 56, 3, 2),
    "stem, 8x3x224x224": (8, 3, 64, 224, 7, 2),
}
ELEMENTS = [
    "-a", "a.abs()", "a.sum()", "torch.addcmul(a, b, c)", "out.copy_(a)", "a + b", "a * b",
    "a.relu()", "a.float()", "a.sigmoid()", "a.exp()", "a.amax()", "a.mean()", "a.clone()",
    "a.add_(b, alpha=0.5)", "a * 2", "torch.where(a > 0, a, b)", "a.view(1024, 1024).sum(0)",
    "a.view(1024, 1024).sum(1)", "a.view(1024, 1024).softmax(1)", "torch.nn.functional.gelu(a)",
    "torch.nn.functional.layer_norm(a.view(1024, 1024), (1024,))",
]  # fmt: skip
CASES = [
    *(
        Case(
            f"bfloat16 matmul {form}, {(*n, *sizes)}", "a @ b",
            partial(factors, n, *sizes, form), 1,
        )
        for n, *sizes, form in PRODUCTS
    ),
    *(
        Case(f"{dtype} linear 512x768 to 768, {what}", f"{what}()", partial(linear, dtype), 1)
        for dtype in ("bfloat16", "float16")
        for what in ("forward", "both")
    ),
    *(
        Case(f"bfloat16 conv2d {name}, {what}", f"{what}()", partial(convolution, *sizes), 1)
        for name, sizes in CONVOLUTIONS.items()
        for what in ("forward", "both")
    ),
    *(
        Case(f"bfloat16 causal attention 4x6x256x64, {what}", f"{what}()", attention, 1)
        for what in ("forward", "both")
    ),
    Case("GPT step with weights in bfloat16", "step()", gpt_in_bfloat16, 1),
    Case("autocast GPT step", "step()", partial(cast_step, partial(gpt, vocabulary=65)), 1),
    Case("autocast LSTM step", "step()", partial(cast_step, lstm), 1),
    Case("autocast ResNet-18 step", "step()", partial(cast_step, resnet), 1),
    *(
        Case(f"{dtype} 1M elements: {stmt}", stmt, partial(elements, dtype), 1)
        for dtype in ("bfloat16", "float16")
        for stmt in ELEMENTS
    ),
]  # fmt: skip

if __name__ == "__main__":
    main(__file__)
