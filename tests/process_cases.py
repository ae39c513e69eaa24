"""What the tests of facula.multiprocessing run in other processes, which import it from here."""

import os
import signal
import sys
import time

import facula
from facula import nn


def answer(inbox, outbox):
    """Change in place whatever comes and say what it looked like, until ``None`` comes."""
    while (received := inbox.get()) is not None:
        try:
            outbox.put(change(received))
        except Exception as error:
            outbox.put(repr(error))


def change(received):
    if isinstance(received, (list, tuple)):
        return [change(each) for each in received]
    if isinstance(received, dict):
        return {key: change(each) for key, each in received.items()}
    if isinstance(received, nn.Module):
        return {name: change(tensor) for name, tensor in received.state_dict().items()}
    if isinstance(received, (facula.UntypedStorage, facula.TypedStorage)):
        was = received.tolist()
        received.fill_(1)
        return was
    was = received.tolist()
    with facula.no_grad():
        received.logical_not_() if received.dtype == facula.bool else received.add_(1)
    kind = type(received).__name__, received.requires_grad, received.is_shared()
    return was, str(received.dtype), tuple(received.shape), received.stride(), *kind


def echo(inbox, outbox):
    outbox.put(inbox.get())
    inbox.get()


def add_rank(rank, total, lock=None):
    total[rank] += rank + 1


def keep_many(connection, n):
    kept = [connection.recv() for _ in range(n)]
    for tensor in kept:
        tensor += 1
    connection.send(sum(float(tensor.sum()) for tensor in kept))
    connection.recv()


def double(tensor):
    return tensor * 2


def touch(tensor):
    tensor.fill_(7)
    return tensor


def send_and_die(outbox):
    outbox.send(facula.ones(3))
    os.kill(os.getpid(), signal.SIGKILL)


def raise_in(rank, bad):
    if rank == bad:
        raise ValueError(f"bad rank {rank}")
    time.sleep(60)


def exit_in(rank, code):
    sys.exit(code)


def kill_in(rank, number):
    os.kill(os.getpid(), number)


def ignore_terminate(rank, ready):
    if rank == 0:
        ready.wait()
        raise ValueError("first")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ready.set()
    time.sleep(60)


def wait_for_ever(rank, pids):
    pids[rank] = os.getpid()
    time.sleep(60)


def start_and_die(pids):
    facula.multiprocessing.start_processes(wait_for_ever, (pids,), nprocs=2, join=False)
    while not pids.all():
        time.sleep(0.01)
    os._exit(0)
