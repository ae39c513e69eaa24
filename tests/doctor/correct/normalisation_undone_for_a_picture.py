import facula as torch
from facula import nn
from facula.utils.data import DataLoader
from facula.vision import datasets, transforms

torch.manual_seed(0)
normalize = transforms.Normalize((0.4, 0.5, 0.6), (0.2, 0.2, 0.2))
undo = transforms.Normalize((-2.0, -2.5, -3.0), (5.0, 5.0, 5.0))
to_tensor = transforms.Compose([transforms.ToTensor(), normalize])
dataset = datasets.FakeData(32, image_size=(3, 16, 16), num_classes=2, transform=to_tensor)
model = nn.Sequential(nn.Flatten(), nn.Linear(768, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for images, y in DataLoader(dataset, 8, shuffle=True):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(images), y).backward()
    optimizer.step()
    picture = undo(images).clamp(0, 1)
other = normalize(torch.rand(8, 3, 16, 16))
