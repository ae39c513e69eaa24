import facula as torch
from facula.utils.data import DataLoader, Dataset
from facula.vision import transforms


class Images(Dataset):
    def __init__(self, transform):
        self.x, self.transform = torch.rand(8, 1, 4, 4), transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.transform(self.x[i])


base = transforms.Compose([transforms.CenterCrop(4), transforms.Normalize(0.1307, 0.3081)])
augmented = transforms.Compose([base, transforms.Normalize(0.5, 0.5)])
for _batch in DataLoader(Images(augmented), batch_size=4):  # finds F803
    pass
