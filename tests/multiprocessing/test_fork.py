import os
import threading

import pytest

import facula

pytestmark = [
    pytest.mark.promise("G3"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),  # fork beside threads
]


def in_child(function):
    """What ``function`` returns in a child made by fork."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, repr(function()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        answer = file.read()
    assert os.waitpid(pid, 0)[1] == 0
    return answer


def work():
    """Something of everything that has threads or locks inside."""
    generator = facula.Generator().manual_seed(1)
    noise = facula.randn(300_000, generator=generator)
    product = facula.ones(300, 300).double() @ facula.ones(300, 300).double()
    total = facula.exp(facula.zeros(500_000)).sum() + product.sum() / 1e6
    return float(total), float(noise.sum())


def test_threads_allocator_and_generators_work_in_a_child():
    expected = repr(work())
    assert in_child(work) == expected
    assert in_child(lambda: in_child(work)) == repr(expected)
    assert repr(work()) == expected


def test_a_child_has_the_random_state_of_its_parent():
    facula.manual_seed(3)
    theirs = in_child(lambda: facula.rand(3).tolist())
    assert theirs == repr(facula.rand(3).tolist())


def test_a_child_can_change_the_number_of_threads():
    n_threads = facula.get_num_threads()
    work()
    assert in_child(lambda: [facula.set_num_threads(3), work()[0]][1]) == repr(work()[0])
    assert facula.get_num_threads() == n_threads


@pytest.mark.parametrize(
    "busy",
    [
        lambda generator: facula.rand(200_000),
        lambda generator: facula.randn(200_000, generator=generator),
        lambda generator: facula.exp(facula.zeros(1_000_000)),
        lambda generator: facula.zeros(200, 200).double() @ facula.zeros(200, 200).double(),
        lambda generator: [facula.empty(n) for n in (10, 100_000, 1_000_000)],
    ],
    ids=["default generator", "generator", "threads", "matmul", "allocator"],
)
def test_a_fork_while_another_thread_works_leaves_no_held_lock(busy):
    generator = facula.Generator()
    is_over = False

    def run():
        while not is_over:
            busy(generator)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            assert in_child(lambda: [busy(generator), facula.rand(3).shape][1]) == "torch.Size([3])"
    finally:
        is_over = True
        for thread in threads:
            thread.join()
