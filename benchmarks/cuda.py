"""Operations and training steps on an NVIDIA GPU."""

from functools import partial

from harness import Case, main

M = 1 << 20


def vectors(torch):
    torch.manual_seed(0)
    return {"x": torch.randn(M).to("cuda"), "y": torch.randn(M).to("cuda")}


def matrices(n, dtype, torch):
    torch.manual_seed(0)
    a, b = (torch.randn(n, n).to("cuda").to(getattr(torch, dtype)) for _ in range(2))
    return {"a": a, "b": b}


def training_step(torch):
    """64x1000-100-10, cross entropy with one-hot targets, SGD."""
    torch.manual_seed(0)
    x = torch.randn(64, 1000).to("cuda")
    targets = (torch.arange(64).remainder(10).unsqueeze(1) == torch.arange(10)).float().to("cuda")
    shapes = [(1000, 100), (100,), (100, 10), (10,)]
    parameters = [(torch.randn(*shape) * 0.05).to("cuda").requires_grad_() for shape in shapes]
    w1, b1, w2, b2 = parameters

    def step():
        hidden = torch.relu(torch.addmm(b1, x, w1))
        log_probabilities = torch.log_softmax(torch.addmm(b2, hidden, w2), 1)
        (-(log_probabilities * targets).sum(1).mean()).backward()
        with torch.no_grad():
            for parameter in parameters:
                parameter.sub_(parameter.grad, alpha=0.01)
                parameter.grad = None

    return {"step": step}


def small(torch):
    torch.manual_seed(0)
    x, y = (torch.randn(8).to("cuda") for _ in range(2))
    return {"x": x, "y": y, "w": torch.randn(8).to("cuda").requires_grad_()}


def rows(torch):
    """What is limited by memory: softmax, layer norm and an optimiser's step."""
    torch.manual_seed(0)
    logits = torch.randn(8192, 4096).to("cuda").bfloat16()
    weight, bias = (torch.randn(4096).to("cuda").bfloat16() for _ in range(2))
    parameters = [torch.randn(1024, 1024).to("cuda").requires_grad_() for _ in range(32)]
    for p in parameters:
        p.grad = torch.randn(1024, 1024).to("cuda")
    optimizer = torch.optim.AdamW(parameters)
    norm = torch.nn.functional.layer_norm
    return {
        "softmax": lambda: torch.softmax(logits, 1),
        "norm": lambda: norm(logits, (4096,), weight, bias),
        "adamw": optimizer.step,
    }


def step_of(torch, model, optimizer, x, y, is_compiled=False):
    loss = torch.nn.functional.cross_entropy
    forward = torch.compile(model, dynamic=False) if is_compiled else model

    def backward():
        loss(forward(x), y).backward()

    def step():
        optimizer.zero_grad()
        backward()
        optimizer.step()

    return {"step": step, "backward": backward, "optimizer": optimizer}


def cnn(torch, is_compiled=False):
    """A network for 28x28 digits with batch norm and dropout, batch 64, AdamW."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(9216, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, 10),
    ).to("cuda")
    x, y = torch.randn(64, 1, 28, 28).to("cuda"), torch.randint(10, (64,)).to("cuda")
    return step_of(torch, model, torch.optim.AdamW(model.parameters()), x, y, is_compiled)


def resnet(blocks, is_deep, n_batch, torch, is_compiled=False):
    """ResNet-18 or -50 on images of 224x224, bfloat16 in channels_last, SGD with momentum."""
    nn = torch.nn

    def conv(n_in, n_out, size, stride=1):
        layers = [nn.Conv2d(n_in, n_out, size, stride, size // 2, bias=False)]
        return nn.Sequential(*layers, nn.BatchNorm2d(n_out))

    class Block(nn.Module):
        def __init__(self, n_in, width, n_out, stride):
            super().__init__()
            sizes = [(n_in, width, 1, 1), (width, width, 3, stride), (width, n_out, 1, 1)]
            if not is_deep:
                sizes = [(n_in, width, 3, stride), (width, n_out, 3, 1)]
            self.convs = nn.ModuleList(conv(*size) for size in sizes)
            self.relu = nn.ReLU(inplace=True)
            is_same = stride == 1 and n_in == n_out
            self.shortcut = nn.Identity() if is_same else conv(n_in, n_out, 1, stride)

        def forward(self, x):
            y = x
            for layer in self.convs[:-1]:
                y = self.relu(layer(y))
            return self.relu(self.convs[-1](y) + self.shortcut(x))

    torch.manual_seed(0)
    layers, n_in = [conv(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
    for i, n in enumerate(blocks):
        width = 64 << i
        n_out = 4 * width if is_deep else width
        for j in range(n):
            layers.append(Block(n_in, width, n_out, 2 if i > 0 and j == 0 else 1))
            n_in = n_out
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n_in, 1000)]
    model = nn.Sequential(*layers, *head).to("cuda").bfloat16()
    model = model.to(memory_format=torch.channels_last)
    x = torch.randn(n_batch, 3, 224, 224).to("cuda").bfloat16()
    x = x.contiguous(memory_format=torch.channels_last)
    y = torch.randint(1000, (n_batch,)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return step_of(torch, model, optimizer, x, y, is_compiled)


def gpt(torch, is_compiled=False):
    """GPT-2 of 124 million parameters, 16 texts of 1024 tokens, bfloat16, AdamW."""
    nn, F = torch.nn, torch.nn.functional
    width, n_heads, n_layers, length, n_batch, vocabulary = 768, 12, 12, 1024, 16, 50257

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def attend(self, x):
            parts = self.qkv(x).split(width, dim=2)
            q, k, v = (p.view(*p.shape[:2], n_heads, -1).transpose(1, 2) for p in parts)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).reshape(x.shape))

        def forward(self, x):
            x = x + self.attend(self.norm1(x))
            return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(n_layers)))
            self.norm = nn.LayerNorm(width)

        def forward(self, tokens):
            x = self.tokens(tokens) + self.places(torch.arange(tokens.size(1), device="cuda"))
            # The embedding of the tokens is the last layer, too.
            return F.linear(self.norm(self.blocks(x)), self.tokens.weight).flatten(0, 1)

    torch.manual_seed(0)
    model = GPT().to("cuda").bfloat16()
    text = torch.randint(vocabulary, (n_batch, length + 1)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens, following = text[:, :-1], text[:, 1:].flatten()
    return step_of(torch, model, optimizer, tokens, following, is_compiled)


def lstm(torch):
    """Two layers of 512 units over 64 steps of 128 sequences, forward and backward."""
    torch.manual_seed(0)
    model = torch.nn.LSTM(512, 512, 2).to("cuda")
    x = torch.randn(64, 128, 512).to("cuda").requires_grad_()

    def step():
        model.zero_grad()
        model(x)[0].sum().backward()

    return {"step": step}


def large(torch):
    """Vectors of 256 MB, far beyond the caches."""
    torch.manual_seed(0)
    n = 64 * M
    x, y = (torch.rand(n, device="cuda") for _ in range(2))
    rows = x.view(-1, 4096)
    weight, bias = (torch.rand(4096, device="cuda") for _ in range(2))
    norm = torch.nn.functional.layer_norm
    return {
        "x": x,
        "y": y,
        "out": torch.empty_like(x),
        "softmax": lambda: torch.softmax(rows, 1),
        "norm": lambda: norm(rows, (4096,), weight, bias),
        "dropout": lambda: torch.nn.functional.dropout(x, 0.25),
    }


def layers(torch):
    """The products of networks in bfloat16: convolution and attention, forward and backward."""
    torch.manual_seed(0)
    F = torch.nn.functional

    def make(*shape):
        return torch.randn(*shape).to("cuda").bfloat16().requires_grad_()

    channels_last = torch.channels_last
    x = make(64, 256, 56, 56).detach().contiguous(memory_format=channels_last).requires_grad_()
    w = make(256, 256, 3, 3).detach().contiguous(memory_format=channels_last).requires_grad_()
    gy = F.conv2d(x, w, padding=1).detach()
    q, k, v = (make(16, 12, 1024, 64) for _ in range(3))
    gz = q.detach().clone()
    attention = partial(F.scaled_dot_product_attention, is_causal=True)
    return {
        "conv": lambda: F.conv2d(x, w, padding=1),
        "conv_step": lambda: torch.autograd.grad(F.conv2d(x, w, padding=1), [x, w], gy),
        "attention": lambda: attention(q, k, v),
        "attention_step": lambda: torch.autograd.grad(attention(q, k, v), [q, k, v], gz),
    }


def graphed(setup, torch):
    """Everything of a step but the optimiser's as a graph, captured after it ran a few times."""
    names = setup(torch)
    captured, optimizer = names.get("backward", names["step"]), names.get("optimizer")
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            captured()
    torch.cuda.synchronize()
    if optimizer:
        optimizer.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured()

    def step():
        graph.replay()
        if optimizer:
            optimizer.step()

    # The graph reads and writes the memory of what it was captured with.
    return {"step": step, "kept": names}


def ten(stmt):
    """Ten launches and a wait, so that launches can overlap as they do in a program."""
    return f"for _ in range(10): {stmt}\ntorch.cuda.synchronize()"


def hundred(stmt):
    """So many that the wait at the end is no part of what is told."""
    return f"for _ in range(100): {stmt}\ntorch.cuda.synchronize()"


def waited(stmt):
    return f"{stmt}\ntorch.cuda.synchronize()"


R18, R50 = (2, 2, 2, 2), (3, 4, 6, 3)  # blocks of each width
CONV_FLOPS = 2 * 64 * 56 * 56 * 256 * 256 * 9
ATTENTION_FLOPS = 2 * 16 * 12 * 1024 * 1024 * 64  # half of the scores are masked
CASES = [
    Case("cuda: 10 MLP steps, 64x1000-100-10", ten("step()"), training_step, 1),
    Case("cuda: 10 CNN steps, 64x28x28", ten("step()"), cnn, 1),
    Case("cuda: 10 MLP steps as a graph", ten("step()"), partial(graphed, training_step), 1),
    Case("cuda: 10 CNN steps as a graph", ten("step()"), partial(graphed, cnn), 1),
    Case("cuda: LSTM step, 2x512, 64x128", waited("step()"), lstm, 1),
    Case(
        "cuda: ResNet-18 step, 256",
        waited("step()"),
        partial(resnet, R18, False, 256),
        1,
        gpu_memory=True,
    ),
    Case(
        "cuda: ResNet-50 step, 128",
        waited("step()"),
        partial(resnet, R50, True, 128),
        1,
        gpu_memory=True,
    ),
    Case("cuda: GPT-2 124M step, 16x1024", waited("step()"), gpt, 1, gpu_memory=True),
    Case("cuda: 100 add, 8", hundred("x + y"), small, 1),
    Case("cuda: 100 add with grad, 8", hundred("w + y"), small, 1),
    Case("cuda: 10 add, 1M", ten("x + y"), vectors, 1),
    Case("cuda: 10 exp, 1M", ten("x.exp()"), vectors, 1),
    Case("cuda: 10 sum, 1M", ten("x.sum()"), vectors, 1),
    *(
        Case(
            f"cuda: 10 matmul, {n}x{n} {dtype}",
            ten("a @ b"),
            partial(matrices, n, dtype),
            1,
            limit=1,
            work=(10 * 2 * n**3, "TFLOP/s"),
        )
        for n in (1024, 4096)
        for dtype in ("float32", "bfloat16")
    ),
    *(
        Case(
            f"cuda: 10 {name}, 256 MB",
            ten(stmt),
            large,
            1,
            work=(10 * n * 256e6 * 1.048576, "TB/s"),
        )
        for name, stmt, n in (
            ("copy", "out.copy_(x)", 2),
            ("add", "x + y", 3),
            ("exp", "x.exp()", 2),
            ("sum", "x.sum()", 1),
            ("softmax", "softmax()", 2),
            ("layer norm", "norm()", 2),
            ("dropout", "dropout()", 2.25),
            ("uniform_", "out.uniform_()", 1),
            ("normal_", "out.normal_()", 1),
        )
    ),
    Case("cuda: 10 softmax, 8192x4096 bfloat16", ten("softmax()"), rows, 1),
    Case("cuda: 10 layer norm, 8192x4096 bfloat16", ten("norm()"), rows, 1),
    Case("cuda: 10 AdamW steps, 32x1M", ten("adamw()"), rows, 1),
    *(
        Case(f"cuda: {name}", waited(stmt), layers, 1, work=(flops, "TFLOP/s"))
        for name, stmt, flops in (
            ("conv2d 3x3, 64x256x56x56 bfloat16", "conv()", CONV_FLOPS),
            ("conv2d 3x3, forward and backward", "conv_step()", 3 * CONV_FLOPS),
            ("causal attention, 16x12x1024x64", "attention()", ATTENTION_FLOPS),
            ("causal attention, forward and backward", "attention_step()", 3.5 * ATTENTION_FLOPS),
        )
    ),
    # PyTorch's compiler; our compile() is the model itself.
    *(
        Case(f"cuda: {name}, compiled", stmt, partial(setup, is_compiled=True), 1)
        for name, stmt, setup in (
            ("10 CNN steps, 64x28x28", ten("step()"), cnn),
            ("ResNet-50 step, 128", waited("step()"), partial(resnet, R50, True, 128)),
            ("GPT-2 124M step, 16x1024", waited("step()"), gpt),
        )
    ),
]

if __name__ == "__main__":
    main(__file__)
