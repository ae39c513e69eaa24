"""Training steps of a convolutional network, a recurrent language model and ResNet-18."""

from functools import partial

from harness import Case, main


def cnn(torch):
    """The tutorials' network for 28x28 digits, batch 64."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(9216, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, 10),
    )
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    x, y = torch.randn(64, 1, 28, 28), torch.randint(10, (64,))

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return {"step": step}


def lstm(torch):
    """35 words of 20 texts through two layers of 200 units, 10,000 words known."""
    nn = torch.nn
    torch.manual_seed(0)
    embedding, dropout = nn.Embedding(10000, 200), nn.Dropout(0.2)
    recurrent, decoder = nn.LSTM(200, 200, 2, dropout=0.2), nn.Linear(200, 10000)
    parameters = [p for m in (embedding, recurrent, decoder) for p in m.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=1.0)
    text, target = torch.randint(10000, (35, 20)), torch.randint(10000, (700,))

    def step():
        optimizer.zero_grad()
        output, _ = recurrent(dropout(embedding(text)))
        loss = nn.functional.cross_entropy(decoder(dropout(output)).flatten(0, 1), target)
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.25)
        optimizer.step()

    return {"step": step}


def resnet(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, n_in, n_out, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(n_out)
            self.conv2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(n_out)
            self.relu = nn.ReLU(inplace=True)
            self.shortcut = nn.Identity()
            if stride != 1:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out)
                )

        def forward(self, x):
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(y + self.shortcut(x))

    torch.manual_seed(0)
    stem = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]  # fmt: skip
    widths = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
    blocks = [b for i, o, s in widths for b in (Block(i, o, s), Block(o, o, 1))]
    model = nn.Sequential(
        *stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(8, 3, 224, 224), torch.randint(1000, (8,))
    # PyTorch is at its best with this layout here.
    if torch.__name__ == "torch":
        model, x = (v.to(memory_format=torch.channels_last) for v in (model, x))

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return {"step": step, "model": model}


Step = partial(Case, stmt="step()", has_memory_row=True, has_avx2_row=True)
CASES = [
    Step("CNN step, 64x28x28", setup=cnn, budget=1.5, limit=2.2),
    Step("LSTM language model step", setup=lstm, budget=1.25, limit=1.45),
    Step("ResNet-18 step, 8x224x224", setup=resnet, budget=1.2),
]

if __name__ == "__main__":
    main(__file__)
