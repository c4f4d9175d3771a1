"""Many readers or one writer."""

import threading

import pytest

from pincite.stores.points.gate import Gate


@pytest.mark.parametrize("parallel", [True, False])
def test_a_writer_is_alone(parallel):
    gate, inside, seen = Gate(parallel=parallel), [], []

    def work(kind):
        for _ in range(50):
            with gate.writing() if kind == "w" else gate.reading():
                inside.append(kind)
                seen.append(tuple(inside))
                inside.remove(kind)

    threads = [threading.Thread(target=work, args=(kind,)) for kind in "wrrwr"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert all(kinds.count("w") == 0 or len(kinds) == 1 for kinds in seen)
    if not parallel:
        assert all(len(kinds) == 1 for kinds in seen)


def test_readers_share():
    gate, both = Gate(parallel=True), threading.Barrier(2, timeout=5)

    def read():
        with gate.reading():
            both.wait()

    other = threading.Thread(target=read)
    other.start()
    read()
    other.join(5)


def test_an_error_lets_the_next_one_in():
    gate = Gate(parallel=False)
    for enter in (gate.reading, gate.writing, gate.reading):
        with pytest.raises(ValueError, match="x"), enter():
            raise ValueError("x")
