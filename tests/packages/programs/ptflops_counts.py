"""ptflops: operations of a network counted by a mode that sees them, and by its modules."""

import torch
from ptflops import get_model_complexity_info
from torch import nn

torch.manual_seed(0)
image = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 8, 3, groups=4, stride=2),
    nn.SiLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 4),
)
text = nn.Sequential(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), nn.Linear(16, 4))
for backend in ("aten", "pytorch"):
    for model, size in ((image, (3, 32, 32)), (text, (5, 16))):
        print(
            backend,
            get_model_complexity_info(
                model, size, as_strings=False, print_per_layer_stat=True, backend=backend
            ),
        )
