"""Networks that only answer: one image or eight, a few texts, one token with a cache, one row.

Each against PyTorch and, where it is installed, against onnxruntime on the exported model. What is
fused has its batch norms folded into the convolutions by ``fuse``, as onnxruntime always does.
"""

from functools import partial
from importlib import import_module
from importlib.util import find_spec

import gpt
import networks
from harness import Case, main


def run_model(model, inputs, torch):
    """Names that run the model without gradients; ``torch`` is any of the three libraries."""
    if torch.__name__ == "sessions":
        return {"run": torch.exported(model, inputs)}

    def run():
        with torch.inference_mode():
            return model(*inputs)

    return {"run": run}


def image_network(build, n_images, torch, is_fused=False):
    library = getattr(torch, "facula", torch)
    model = build(library).eval()
    if is_fused:
        model = import_module(f"{library.__name__}.fx.experimental.optimization").fuse(model)
    x = library.randn(n_images, 3, 224, 224)
    # PyTorch is at its best with this layout here.
    if torch.__name__ == "torch":
        model, x = (v.to(memory_format=torch.channels_last) for v in (model, x))
    return run_model(model, (x,), torch)


def resnet(torch):
    return networks.resnet(torch)["model"]


def depthwise_network(torch):
    """MobileNet's thirteen pairs of a depthwise and a pointwise convolution."""
    nn = torch.nn

    def layer(n_in, n_out, kernel, stride, groups=1):
        conv = nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, groups=groups, bias=False)
        return [conv, nn.BatchNorm2d(n_out), nn.ReLU(inplace=True)]

    torch.manual_seed(0)
    steps = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
    steps += [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    width, layers = 32, layer(3, 32, 3, 2)
    for n_out, stride in steps:
        layers += layer(width, width, 3, stride, groups=width) + layer(width, n_out, 1, 1)
        width = n_out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


def text_network(torch):
    library = getattr(torch, "facula", torch)
    model = gpt.gpt(library, 65)["model"].eval()
    return run_model(model, (library.randint(65, (4, 256)),), torch)


def token_network(torch):
    """The next token after 255 others, whose keys and values are given."""
    library = getattr(torch, "facula", torch)
    nn, F = library.nn, library.nn.functional

    class WithCache(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, token, position, *cache):
            model, kept = self.model, []
            x = model.tokens(token) + model.positions(position)
            for block, keys, values in zip(model.blocks, cache[::2], cache[1::2], strict=True):
                parts = block.qkv(block.norm1(x)).split(x.size(-1), dim=2)
                q, k, v = (p.view(1, 1, 6, -1).transpose(1, 2) for p in parts)
                k, v = library.cat([keys, k], 2), library.cat([values, v], 2)
                y = F.scaled_dot_product_attention(q, k, v)
                x = x + block.out(y.transpose(1, 2).contiguous().view(1, 1, -1))
                x = x + block.down(F.gelu(block.up(block.norm2(x))))
                kept += [k, v]
            return model.head(model.norm(x)), *kept

    model = WithCache(gpt.gpt(library, 65)["model"]).eval()
    cache = [library.randn(1, 6, 255, 64) for _ in range(12)]
    token, position = library.tensor([[7]]), library.tensor([[255]])
    return run_model(model, (token, position, *cache), torch)


def row_network(torch):
    library = getattr(torch, "facula", torch)
    nn = library.nn
    library.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)).eval()
    return run_model(model, (library.randn(1, 784),), torch)


NETWORKS = {
    "ResNet-18 of one image": partial(image_network, resnet, 1),
    "ResNet-18 of one image, fused": partial(image_network, resnet, 1, is_fused=True),
    "ResNet-18 of 8 images": partial(image_network, resnet, 8),
    "ResNet-18 of 8 images, fused": partial(image_network, resnet, 8, is_fused=True),
    "MobileNet of one image": partial(image_network, depthwise_network, 1),
    "MobileNet of one image, fused": partial(image_network, depthwise_network, 1, is_fused=True),
    "GPT of 4x256 tokens": text_network,
    "GPT, one token with a cache": token_network,
    "MLP 784-256-10 of one row": row_network,
}
RIVALS = {"torch": "", "sessions": ", against onnxruntime"}
if find_spec("onnxruntime") is None:
    del RIVALS["sessions"]
CASES = [
    Case(f"{name}{suffix}", "run()", setup, 1, rival=rival)
    for name, setup in NETWORKS.items()
    for rival, suffix in RIVALS.items()
]

if __name__ == "__main__":
    main(__file__)
