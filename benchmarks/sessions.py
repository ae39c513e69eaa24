"""onnxruntime as a rival for harness.py: it runs what Facula exports."""

import onnxruntime

import facula

_options = onnxruntime.SessionOptions()


def set_num_threads(n_threads):
    _options.intra_op_num_threads = n_threads
    _options.inter_op_num_threads = 1


def exported(model, inputs):
    """A function that runs the exported model on the inputs."""
    program = facula.onnx.export(model, inputs)
    session = onnxruntime.InferenceSession(
        program.model_proto.SerializeToString(), _options, providers=["CPUExecutionProvider"]
    )
    names = [i.name for i in session.get_inputs()]
    feeds = dict(zip(names, (x.numpy() for x in inputs), strict=True))
    return lambda: session.run(None, feeds)
