"""A program whose own module has async= in it, which is a keyword of Python since 3.7."""

import async_helper
import torch
from torch.autograd import Variable

batches = async_helper.batches(torch.ones(4, 2))
total = 0
for batch in batches:
    total += Variable(batch).sum().data[0]
print(total)
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.ones(4, 2), torch.zeros(4)), batch_size=2
)
data, target = iter(loader).next()
print(data.size(), loader.dataset.data_tensor.size(), loader.dataset.target_tensor.size())
