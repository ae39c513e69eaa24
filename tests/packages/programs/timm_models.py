"""Twenty-two families of timm, or those that are named: create, forward, backward."""

import sys

import timm
import torch

families = {}
for name in timm.list_models():
    module = timm.models._registry._model_to_module[name]
    families.setdefault(module, []).append(name)
# Not efficientformer, levit and xcit: between a convolution and tokens PyTorch's batch norm in
# evaluation gives the gradients of elements to others, where the gradient lies in memory otherwise
# than the input. Quotients of differences agree with ours.
# fmt: off
CHOSEN = [
    "beit", "byobnet", "cait", "coat", "convnext", "cspnet", "densenet", "edgenext",
    "efficientnet", "efficientvit_mit", "ghostnet", "maxxvit", "metaformer", "mlp_mixer",
    "mobilenetv3", "mobilevit", "nfnet", "regnet", "resnet", "swin_transformer", "tiny_vit",
    "vision_transformer",
]
# fmt: on
wanted = sorted(families) if sys.argv[1:] == ["all"] else sys.argv[1:] or CHOSEN
small = (
    "atto",
    "femto",
    "pico",
    "nano",
    "xxs",
    "xxt",
    "tiny",
    "xs",
    "_t_",
    "small",
    "b0",
    "18",
    "_s",
)
for family in wanted:
    names = families[family]
    name = next((n for hint in small for n in names if hint in n and "384" not in n), names[0])
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=7)
    size = model.default_cfg.get("input_size", (3, 224, 224))
    model.eval()
    x = torch.rand(1, *size)
    y = model(x)
    y = y[0] if isinstance(y, tuple) else y
    y.float().logsumexp(-1).sum().backward()
    norm = sum(float(p.grad.norm()) for p in model.parameters() if p.grad is not None)
    n = sum(p.numel() for p in model.parameters())
    print(family, name, n, tuple(y.shape), f"{y.float().norm().item():.4g} {norm:.4g}", flush=True)
