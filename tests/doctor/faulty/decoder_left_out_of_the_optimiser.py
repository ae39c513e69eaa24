import facula as torch
from facula import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(10, 4), nn.Linear(4, 10)
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)  # finds F401
for _ in range(12):
    x = torch.randn(16, 10)
    loss = nn.functional.mse_loss(decoder(torch.tanh(encoder(x))), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
