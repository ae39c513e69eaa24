"""e3nn: products of irreducible representations, their symmetry, and a small training."""

import e3nn.nn
import torch
from e3nn import o3

torch.manual_seed(0)
features = o3.Irreps("8x0e + 4x1o + 2x2e")
x, edges = features.randn(5, -1), torch.randn(5, 3)
sphere = o3.spherical_harmonics([0, 1, 2], edges, normalize=True, normalization="component")
full = o3.FullTensorProduct("4x0e + 2x1o", "0e + 1o")
print(full, f"{full(torch.randn(3, 10), torch.randn(3, 4)).norm().item():.4f}")

product = o3.FullyConnectedTensorProduct(features, "0e + 1o + 2e", "4x0e + 2x1o")
y = product(x, sphere)
turn = o3.rand_matrix()
left, right, out = (
    irreps.D_from_matrix(turn).T
    for irreps in (product.irreps_in1, product.irreps_in2, product.irreps_out)
)
print(tuple(y.shape), torch.allclose(product(x @ left, sphere @ right), y @ out, atol=1e-4))

linear = o3.Linear("4x0e + 2x1o", "3x0e + 1x1o")
gate = e3nn.nn.Gate("2x0e", [torch.tanh], "1x0e", [torch.sigmoid], "1x1o")
optimizer = torch.optim.Adam([*product.parameters(), *linear.parameters()], lr=1e-2)
for _ in range(5):
    optimizer.zero_grad()
    loss = gate(linear(product(x, sphere))).square().mean()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
print(f"{o3.wigner_3j(1, 1, 2)[0, 0].norm().item():.5f}", sorted(product.state_dict()))
