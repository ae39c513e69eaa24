import facula as torch
from facula import nn, optim

torch.manual_seed(0)
encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
encoder_optimizer = optim.SGD(encoder.parameters(), lr=0.1)
decoder_optimizer = optim.SGD(decoder.parameters(), lr=0.1)
x = torch.randn(16, 4)
for _ in range(3):
    loss = nn.functional.mse_loss(decoder(encoder(x)), x)
    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.zero_grad()  # finds F302
    decoder_optimizer.step()
    encoder_optimizer.zero_grad()
