"""skorch: a classifier of scikit-learn's kind, with callbacks, saving, and a search of a grid."""

import pickle
import tempfile

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import (
    Checkpoint,
    EarlyStopping,
    EpochScoring,
    GradientNormClipping,
    LRScheduler,
)
from torch import nn

torch.manual_seed(0)
x = np.random.RandomState(0).randn(200, 10).astype(np.float32)
y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)


class Net(nn.Module):
    def __init__(self, units=10):
        super().__init__()
        self.hidden = nn.Linear(10, units)
        self.dropout = nn.Dropout(0.2)
        self.out = nn.Linear(units, 2)

    def forward(self, X):
        return torch.softmax(self.out(self.dropout(torch.relu(self.hidden(X)))), -1)


with tempfile.TemporaryDirectory() as folder:
    callbacks = [
        Checkpoint(dirname=folder),
        ("schedule", LRScheduler("StepLR", step_size=2)),
        GradientNormClipping(1.0),
        EarlyStopping(patience=10),
        EpochScoring("roc_auc", lower_is_better=False),
    ]
    net = NeuralNetClassifier(
        Net, max_epochs=5, lr=0.1, iterator_train__shuffle=True, verbose=0, callbacks=callbacks
    )
    net.fit(x, y)
    for row in net.history:
        print(row["epoch"], f"{row['train_loss']:.5f} {row['valid_loss']:.5f} {row['roc_auc']:.4f}")
    net.load_params(checkpoint=Checkpoint(dirname=folder))
    files = {
        "f_params": f"{folder}/params.pt",
        "f_optimizer": f"{folder}/optimizer.pt",
        "f_history": f"{folder}/history.json",
    }
    net.save_params(**files)
    again = NeuralNetClassifier(Net, lr=0.1).initialize()
    again.load_params(**files)
    print(np.round(again.predict_proba(x[:3]), 4).tolist(), again.predict(x[:10]).tolist())
    print((pickle.loads(pickle.dumps(net)).predict(x) == net.predict(x)).all())

classifier = NeuralNetClassifier(Net, max_epochs=3, lr=0.1, verbose=0, train_split=False)
pipeline = Pipeline([("scale", StandardScaler()), ("net", classifier)])
grid = {"net__module__units": [4, 8], "net__lr": [0.05, 0.2]}
search = GridSearchCV(pipeline, grid, cv=3, scoring="accuracy").fit(x, y)
print(search.best_params_, f"{search.best_score_:.4f}")
regressor = NeuralNetRegressor(nn.Linear(10, 1), max_epochs=3, lr=0.05, verbose=0)
print(f"{regressor.fit(x, x[:, :1]).score(x, x[:, :1]):.5f}")
