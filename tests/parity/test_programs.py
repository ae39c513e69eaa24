"""Programs as their users write them: the same output from PyTorch and from ``facula run``."""

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.promise("U2")

PROGRAMS = {
    "classifier": """
        import argparse
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torch.optim as optim
        from torch.utils.data import DataLoader, TensorDataset

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 4, 3)
                self.drop = nn.Dropout(0.25)
                self.fc = nn.Linear(4 * 3 * 3, 10)

            def forward(self, x):
                x = F.max_pool2d(F.relu(self.conv(x)), 2)
                return F.log_softmax(self.fc(torch.flatten(self.drop(x), 1)), dim=1)

        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument("--lr", type=float, default=0.1)
            args = parser.parse_args()
            torch.manual_seed(1)
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            data = TensorDataset(torch.rand(64, 1, 8, 8), torch.randint(0, 10, (64,)))
            model = Net().to(device)
            print(model)
            optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
            for epoch in range(2):
                for i, (x, y) in enumerate(DataLoader(data, batch_size=16, shuffle=True)):
                    optimizer.zero_grad()
                    loss = F.nll_loss(model(x.to(device)), y.to(device))
                    loss.backward()
                    optimizer.step()
                    print(f"epoch {epoch} batch {i} loss {loss.item():.3f}")

        if __name__ == "__main__":
            main()
        """,
    "language model": """
        import torch
        from torch import nn

        torch.manual_seed(0)
        text = "hello torch, hello world. " * 8
        chars = sorted(set(text))
        ids = torch.tensor([chars.index(c) for c in text])

        class Model(nn.Module):
            def __init__(self, n, width=16):
                super().__init__()
                self.embed = nn.Embedding(n, width)
                self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
                self.out = nn.Linear(width, n)

            def forward(self, x, state=None):
                y, state = self.lstm(self.embed(x), state)
                return self.out(y), state

        model = Model(len(chars))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        criterion = nn.CrossEntropyLoss()
        state = None
        for step in range(8):
            x, y = ids[step : step + 20][None], ids[step + 1 : step + 21][None]
            logits, state = model(x, state)
            state = tuple(s.detach() for s in state)
            loss = criterion(logits.view(-1, len(chars)), y.view(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            print(step, round(loss.item(), 3))
        print(sum(p.numel() for p in model.parameters() if p.requires_grad))
        """,
    "checkpoint": """
        import copy, os, pickle
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU())
                self.register_buffer("steps", torch.zeros((), dtype=torch.long))

            def forward(self, x):
                self.steps += 1
                return self.body(x)

        torch.manual_seed(0)
        net = Net()
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(5, 3)).pow(2).mean().backward()
            optimizer.step()
            scheduler.step()
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, "net.pt")
        found = torch.load("net.pt", weights_only=True)
        print(list(found["net"]), found["optimizer"]["param_groups"][0]["lr"])
        other = Net()
        print(other.load_state_dict(found["net"]), other.steps.item())
        whole = pickle.loads(pickle.dumps(net))
        print(type(whole).__name__, whole.steps, scheduler.get_last_lr())
        try:
            other.load_state_dict({"body.0.weight": torch.zeros(1)})
        except RuntimeError as error:
            print("RuntimeError", "body.0.bias" in str(error))
        """,
    "questions": """
        import torch
        from torch import nn

        x = torch.arange(6.0).reshape(2, 3)
        print(x, x.dtype, x.device, x.shape, type(x), x.type())
        print(torch.is_tensor(None), torch.device("cpu") == None, torch.device("mps").type)
        print(nn.Linear, type(torch.float32), torch.typename(nn.ReLU()), torch.__name__)
        print(hasattr(torch, "compile"), hasattr(torch, "no_such_name"), x.is_mps, x.is_nested)
        major, minor = map(int, torch.__version__.split(".")[:2])
        print(torch.__version__ > "1.10", (major, minor) >= (2, 0))
        w = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            print(w.numpy(), torch.channels_last, torch.strided, torch.get_default_dtype())
        y = (w * 3).sum()
        y.backward()
        print(y, w.grad, y.grad_fn.name(), torch.finfo(torch.float32).eps)
        print([name for name, _ in nn.Transformer(8, 2, 1, 1, 16).named_children()])
        """,
    "graph": """
        import pickle
        import torch
        from torch import fx, nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 3)
                self.b = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))

            def forward(self, x):
                return torch.relu(self.b(self.a(x))).to(torch.float64) + x.sum()

        traced = fx.symbolic_trace(Net())
        print(traced.graph)
        print(traced.code)
        for node in traced.graph.nodes:
            if node.target is torch.relu:
                node.target = torch.neg
        traced.recompile()
        again = pickle.loads(pickle.dumps(traced))
        x = torch.ones(1, 2)
        print(torch.equal(again(x), traced(x)), traced(x).dtype)
        """,
    "processes": """
        import torch
        import torch.multiprocessing as mp
        from torch.utils.data import DataLoader, Dataset

        class Numbers(Dataset):
            def __len__(self):
                return 6

            def __getitem__(self, i):
                return torch.full((2,), float(i)), {"index": i}

        def double(shared):
            shared.mul_(2)

        if __name__ == "__main__":
            for batch, info in DataLoader(Numbers(), batch_size=3, num_workers=2):
                print(batch.tolist(), info)
            shared = torch.arange(3.0).share_memory_()
            process = mp.get_context("spawn").Process(target=double, args=(shared,))
            process.start()
            process.join()
            print(shared)
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_print_the_same(name, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAMS[name]))
    outputs = []
    for launcher in ([], ["-m", "facula", "run"]):
        done = subprocess.run(
            [sys.executable, *launcher, str(path)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.splitlines())
    assert outputs[1] == outputs[0]


def test_errors_end_programs_with_the_same_lines(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "import torch\n\ndef f():\n    return torch.ones(2) @ torch.ones(3, 3)\n\nf()\n"
    )
    frames = []
    for launcher in ([], ["-m", "facula", "run"]):
        done = subprocess.run(
            [sys.executable, *launcher, str(path)], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 1
        *lines, last = done.stderr.splitlines()
        assert last.startswith("RuntimeError: ")
        frames.append(lines)
    assert frames[1] == frames[0]


def test_plain_pickles_of_pytorch_are_read(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        textwrap.dedent(
            """
            import pickle, sys
            import torch
            from torch import nn

            if sys.argv[1] == "write":
                torch.manual_seed(0)
                net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.GELU(), nn.LSTM(4, 2))
                optimizer = torch.optim.Adam(net.parameters())
                things = [net, optimizer, torch.arange(6.0).reshape(2, 3)[:, 1:], torch.float16]
                things += [torch.eye(2).to_sparse(), torch.ones(2, dtype=torch.bfloat16)]
                things += [torch.max(torch.eye(2), 0), torch.relu]
                pickle.dump(things, open("things", "wb"))
            net, optimizer, *things = pickle.load(open("things", "rb"))
            y, _ = net(torch.arange(15.0).reshape(5, 3).sin())
            y.sum().backward()
            optimizer.step()
            print(net, y.shape, [round(v, 4) for v in net[0].weight[0].tolist()])
            print(optimizer, things[:-1], things[-1](-torch.ones(1)))
            """
        )
    )
    outputs = []
    for words in ([str(path), "write"], ["-m", "facula", "run", str(path), "read"]):
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[1] == outputs[0]
