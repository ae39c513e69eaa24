"""fastai: images and tables through a learner; one cycle, fine-tuning, mixup; typed tensors."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from fastai.callback import all as callbacks
from fastai.tabular import all as tabular
from fastai.vision import all as vision
from PIL import Image
from torch import nn


def fit(learner, how, *args):
    with learner.no_bar(), learner.no_logging():
        getattr(learner, how)(*args)
    print(how, [[round(float(v), 3) for v in row] for row in learner.recorder.values])


vision.set_seed(0, True)
x = torch.randn(64, 10)
rows = list(zip(x, (x[:, 0] > 0).long(), strict=True))
options = {"shuffle": False, "num_workers": 0, "device": "cpu"}
loaders = vision.DataLoaders.from_dsets(rows[:48], rows[48:], bs=16, **options)
net = nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
learner = vision.Learner(
    loaders, net, loss_func=vision.CrossEntropyLossFlat(), metrics=vision.accuracy
)
fit(learner, "fit_one_cycle", 3, 1e-2)
learner.add_cbs([callbacks.GradientClip(1.0), callbacks.MixedPrecision()])
fit(learner, "fit_flat_cos", 1, 1e-3)
with tempfile.TemporaryDirectory() as folder:
    learner.path = Path(folder)
    learner.save("model")
    learner.load("model")
with learner.no_bar():
    print([round(float(p), 3) for p in learner.get_preds()[0][:3, 0]])

with tempfile.TemporaryDirectory() as folder:
    rng = np.random.RandomState(0)
    for name, brightness in (("dark", 0), ("light", 100)):
        (Path(folder) / name).mkdir()
        for i in range(8):
            pixels = (rng.randint(0, 100, (40, 40, 3)) + brightness).astype(np.uint8)
            Image.fromarray(pixels).save(Path(folder) / name / f"{i}.png")
    vision.set_seed(0, True)
    loaders = vision.ImageDataLoaders.from_folder(
        folder, valid_pct=0.25, seed=1, item_tfms=vision.Resize(32), bs=4, **options
    )
    image, label = loaders.one_batch()
    print(type(image).__name__, tuple(image.shape), type(label).__name__, loaders.vocab)
    learner = vision.vision_learner(loaders, vision.resnet18, pretrained=False, normalize=False)
    with learner.no_bar(), learner.no_logging():
        learner.fine_tune(1, 1e-3)
        predicted = learner.predict(Path(folder) / "dark" / "0.png")
    print(predicted[0] in ("dark", "light"), tuple(predicted[2].shape))

rng = np.random.RandomState(0)
table = pd.DataFrame({"a": rng.randn(80), "b": rng.choice(list("xyz"), 80), "c": rng.rand(80)})
table["y"] = (table.a + (table.b == "x") > 0).astype(int)
vision.set_seed(0, True)
processed = tabular.TabularPandas(
    table,
    [tabular.Categorify, tabular.FillMissing, tabular.Normalize],
    ["b"],
    ["a", "c"],
    "y",
    y_block=tabular.CategoryBlock(),
    splits=(list(range(60)), list(range(60, 80))),
)
learner = tabular.tabular_learner(processed.dataloaders(bs=16, **options), layers=[20, 10])
fit(learner, "fit_one_cycle", 2, 1e-2)

for make in (vision.SGD, vision.Adam, vision.RMSProp, vision.RAdam, vision.Lamb, vision.ranger):
    torch.manual_seed(0)
    line = nn.Linear(3, 1)
    optimizer = make(list(line.parameters()), lr=0.1)
    for _ in range(3):
        line(torch.ones(2, 3)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"{line.weight.sum().item():.4f}")

image = vision.TensorImage(torch.rand(3, 4, 4))
for y in (image + 1, image[0], image.clone(), image.new_empty(2), torch.stack([image, image])):
    print(type(y).__name__, tuple(y.shape))
