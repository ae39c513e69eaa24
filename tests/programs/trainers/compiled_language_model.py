"""A small causal language model, compiled, trained in bfloat16, saved and read again."""

import io

import torch
import torch.nn as nn
import torch.nn.functional as F


class Mixer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.to_qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.wide = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        batch, length, _ = x.shape
        qkv = self.to_qkv(self.before(x)).view(batch, length, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.wide(x)


class LanguageModel(nn.Module):
    def __init__(self, words=32, width=16, length=16, depth=2):
        super().__init__()
        self.length = length
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(length, width)
        self.layers = nn.ModuleList([Mixer(width, 2) for _ in range(depth)])
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids, targets=None):
        x = self.words(ids) + self.places(torch.arange(ids.size(1), device=ids.device))
        for layer in self.layers:
            x = layer(x)
        logits = self.head(x)
        if targets is None:
            return logits
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

    @torch.no_grad()
    def continued(self, ids, n):
        for _ in range(n):
            logits = self(ids[:, -self.length :])[:, -1]
            least = logits.topk(5).values[:, [-1]]
            logits = logits.masked_fill(logits < least, -torch.inf)
            ids = torch.cat([ids, torch.multinomial(logits.softmax(-1), 1)], dim=1)
        return ids


torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
model = LanguageModel()
groups = [
    {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
    {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
]
optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.95), fused=True)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=8)
scaler = torch.amp.GradScaler("cpu", enabled=False)
compiled = torch.compile(model, backend="eager")
text = torch.arange(400) * 7 % 32
for step in range(8):
    starts = torch.randint(400 - 17, (8,))
    batch = torch.stack([text[i : i + 17] for i in starts.tolist()])
    with torch.autocast("cpu", torch.bfloat16, enabled=step % 4 == 3):
        loss = compiled(batch[:, :-1], batch[:, 1:])
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(compiled.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    schedule.step()
    optimizer.zero_grad(set_to_none=True)
    print(f"{step} {loss.item():.2f} {norm:.2f} {schedule.get_last_lr()[0]:.5f}")

file = io.BytesIO()
torch.save({"model": compiled.state_dict(), "optimizer": optimizer.state_dict()}, file)
file.seek(0)
saved = torch.load(file, weights_only=True)
print(sorted(saved["model"])[0], compiled._orig_mod is model)
plain = LanguageModel()
plain.load_state_dict({k.removeprefix("_orig_mod."): v for k, v in saved["model"].items()})
again = torch.compile(LanguageModel(), backend="eager")
print(again.load_state_dict(saved["model"]))
ids = torch.tensor([[0, 7, 14]])
print(torch.equal(plain(ids), compiled(ids)), torch.equal(again(ids), compiled(ids)))
compiled.eval()
print(model.training, compiled.continued(ids, 3).shape)
