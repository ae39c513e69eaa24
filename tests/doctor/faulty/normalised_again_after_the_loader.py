import facula as torch
from facula import nn
from facula.utils.data import DataLoader
from facula.vision import datasets, transforms

torch.manual_seed(0)
to_tensor = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
dataset = datasets.FakeData(32, image_size=(3, 16, 16), num_classes=2, transform=to_tensor)
normalize = transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
model = nn.Sequential(nn.Flatten(), nn.Linear(768, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for images, y in DataLoader(dataset, 8, shuffle=True):
    loss = nn.functional.cross_entropy(model(normalize(images)), y)  # finds F803
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
