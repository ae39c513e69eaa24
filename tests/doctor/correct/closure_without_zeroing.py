import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Rprop(model.parameters(), lr=0.01)
x, y = torch.randn(40, 5), torch.randn(40, 1)
for batch_input, batch_target in [(x[:20], y[:20]), (x[20:], y[20:])] * 6:
    data = [None]

    def closure(batch_input=batch_input, batch_target=batch_target, data=data):
        output = model(batch_input)
        loss = nn.functional.mse_loss(output, batch_target)
        loss.backward()
        data[0] = loss.detach()
        return loss

    optimizer.zero_grad()
    optimizer.step(closure)
