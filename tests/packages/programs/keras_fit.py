"""Keras on PyTorch: models of three kinds, an own layer and an own step, saving, PyTorch's loop."""

import os
import tempfile

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from keras import layers, ops


def rounded(values):
    return {name: [round(float(v), 4) for v in values[name]] for name in sorted(values)}


class Scaled(layers.Layer):
    """A layer with weights of its own."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units), initializer="glorot_uniform")
        self.b = self.add_weight(shape=(self.units,), initializer="zeros")

    def call(self, x):
        return ops.tanh(ops.matmul(x, self.w) + self.b)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


class Attending(keras.Model):
    """A model with a training step of its own."""

    def __init__(self):
        super().__init__()
        self.attention = layers.MultiHeadAttention(2, 8)
        self.head = layers.Dense(1)

    def call(self, x, training=False):
        return self.head(ops.mean(self.attention(x, x, use_causal_mask=True), axis=1))

    def train_step(self, data):
        x, y = data
        self.zero_grad()
        predicted = self(x, training=True)
        loss = self.compute_loss(y=y, y_pred=predicted)
        loss.backward()
        gradients = [v.value.grad for v in self.trainable_weights]
        with torch.no_grad():
            self.optimizer.apply(gradients, self.trainable_weights)
        for metric in self.metrics:
            given = (loss,) if metric.name == "loss" else (y, predicted)
            metric.update_state(*given)
        return {metric.name: metric.result() for metric in self.metrics}


class Printed(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(epoch, {name: round(float(logs[name]), 3) for name in sorted(logs)})


keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

# Layers in a row: images and classes.
x = rng.normal(size=(256, 8, 8, 1)).astype("float32")
y = (x.mean((1, 2, 3)) > 0).astype("int64")
model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(8, 3, use_bias=False),
        layers.BatchNormalization(),
        layers.Activation("relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dropout(0.1),
        layers.Dense(2),
    ]
)
model.summary()
model.compile(
    optimizer=keras.optimizers.Adam(1e-2),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
fit = model.fit(x, y, batch_size=32, epochs=3, validation_split=0.2, verbose=0)
print(rounded(fit.history))
print([round(float(v), 4) for v in model.evaluate(x, y, verbose=0)])
predicted = model.predict(x[:4], verbose=0)
with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/model.keras")
    again = keras.models.load_model(f"{folder}/model.keras")
    print(np.allclose(again.predict(x[:4], verbose=0), predicted, atol=1e-5))
    model.save_weights(f"{folder}/model.weights.h5")
    again.load_weights(f"{folder}/model.weights.h5")

# A graph of layers: two inputs, recurrent layers, two outputs.
numbers = keras.Input((10,), name="numbers")
words = keras.Input((5,), dtype="int32", name="words")
read = layers.LSTM(6, return_sequences=True)(layers.Embedding(20, 8)(words))
read = layers.Bidirectional(layers.GRU(4))(read)
joined = layers.LayerNormalization()(layers.Concatenate()([Scaled(7)(numbers), read]))
outputs = {
    "amount": layers.Dense(1, name="amount")(joined),
    "kind": layers.Dense(3, activation="softmax", name="kind")(joined),
}
graph = keras.Model([numbers, words], outputs)
graph.compile(
    "rmsprop",
    loss={"amount": "mse", "kind": "categorical_crossentropy"},
    metrics={"kind": ["accuracy"]},
)
inputs = {
    "numbers": rng.normal(size=(64, 10)).astype("float32"),
    "words": rng.integers(0, 20, (64, 5)).astype("int32"),
}
targets = {
    "amount": inputs["numbers"].sum(1, keepdims=True),
    "kind": np.eye(3, dtype="float32")[inputs["words"][:, 0] % 3],
}
slower = keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=1)
graph.fit(inputs, targets, epochs=3, batch_size=16, verbose=0, callbacks=[Printed(), slower])
results = graph.predict(inputs, verbose=0)
print({name: results[name][:2].round(3).tolist() for name in sorted(results)})
with tempfile.TemporaryDirectory() as folder:
    graph.save(f"{folder}/graph.keras")
    own = {"Scaled": Scaled}
    again = keras.models.load_model(f"{folder}/graph.keras", custom_objects=own)
    print(sorted(again.output_names), again.count_params())

# A class with a step of its own, and a schedule.
attending = Attending()
schedule = keras.optimizers.schedules.CosineDecay(0.1, 20)
attending.compile(keras.optimizers.SGD(schedule, momentum=0.9), loss="mse", metrics=["mae"])
series = rng.normal(size=(32, 6, 8)).astype("float32")
fit = attending.fit(series, series.mean((1, 2))[:, None], epochs=2, batch_size=8, verbose=0)
print(rounded(fit.history))

# Layers of Keras as a module of PyTorch.
net = keras.Sequential([layers.Dense(16, activation="gelu"), layers.Dense(1)])
net.build((None, 10))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
for step in range(4):
    out = net(torch.from_numpy(inputs["numbers"]))
    loss = torch.nn.functional.mse_loss(out, torch.from_numpy(targets["amount"]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))

keras.mixed_precision.set_dtype_policy("mixed_bfloat16")
mixed = keras.Sequential(
    [keras.Input((10,)), layers.Dense(8, activation="relu"), layers.Dense(1, dtype="float32")]
)
mixed.compile("adam", "mse")
fit = mixed.fit(inputs["numbers"], targets["amount"], epochs=2, verbose=0)
print([round(float(v), 1) for v in fit.history["loss"]])
