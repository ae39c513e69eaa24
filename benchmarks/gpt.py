"""The training step of a small GPT, and its attention alone."""

from harness import Case, main


def gpt(torch, vocabulary):
    """Six layers, 384 wide, six heads; 4 texts of 256 tokens; AdamW."""
    nn, F = torch.nn, torch.nn.functional
    width, n_heads, n_layers, n_batch, length = 384, 6, 6, 4, 256

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def attend(self, x):
            n, length, _ = x.shape
            parts = self.qkv(x).split(width, dim=2)
            q, k, v = (p.view(n, length, n_heads, -1).transpose(1, 2) for p in parts)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).contiguous().view(n, length, width))

        def forward(self, x):
            x = x + self.attend(self.norm1(x))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.positions = nn.Embedding(length, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(n_layers)))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens):
            x = self.tokens(tokens) + self.positions(torch.arange(tokens.size(1)))
            return self.head(self.norm(self.blocks(x)))

    torch.manual_seed(0)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    text = torch.randint(vocabulary, (n_batch, length + 1))

    def step():
        optimizer.zero_grad()
        logits = model(text[:, :-1])
        loss = F.cross_entropy(logits.view(-1, vocabulary), text[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()

    return {"step": step, "model": model}


def attention(n_batch, n_heads, length, is_causal):
    def setup(torch):
        attend = torch.nn.functional.scaled_dot_product_attention
        inputs = [
            torch.randn(n_batch, length, n_heads, 64).transpose(1, 2).requires_grad_()
            for _ in range(3)
        ]
        grad = torch.randn(n_batch, length, n_heads, 64).transpose(1, 2)

        def forward():
            with torch.no_grad():
                attend(*inputs, is_causal=is_causal)

        def both():
            torch.autograd.grad(attend(*inputs, is_causal=is_causal), inputs, grad)

        return {"forward": forward, "both": both}

    return setup


_SMALL, _LARGE = (4, 6, 256, True), (8, 8, 1024, False)
CASES = [
    Case("causal attention 4x6x256x64", "forward()", attention(*_SMALL), 1),
    Case("causal attention 4x6x256x64, backward too", "both()", attention(*_SMALL), 1),
    Case("attention 8x8x1024x64", "forward()", attention(*_LARGE), 1),
    Case("attention 8x8x1024x64, backward too", "both()", attention(*_LARGE), 1),
    Case(
        "GPT step, 4x256 tokens, 65 characters", "step()", lambda torch: gpt(torch, 65), 1.1,
        limit=1.3, has_memory_row=True, has_avx2_row=True,
    ),
    Case(
        "GPT step, 4x256 tokens, 5000 words", "step()", lambda torch: gpt(torch, 5000), 1.1,
        limit=1.3, has_memory_row=True,
    ),
]  # fmt: skip

if __name__ == "__main__":
    main(__file__)
