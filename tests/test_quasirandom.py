import pytest

import facula
from facula.quasirandom import SobolEngine

pytest.importorskip("scipy")


def test_points_fill_the_cube_evenly():
    points = SobolEngine(2, scramble=True, seed=0).draw_base2(6)
    cells = (points * 8).long()
    assert len({tuple(cell) for cell in cells.tolist()}) == 64


def test_the_same_points_come_in_pieces():
    whole = SobolEngine(3).draw(10)
    engine = SobolEngine(3)
    pieces = [engine.draw(4), engine.draw(0), engine.draw(6)]
    assert facula.equal(facula.cat(pieces), whole)
    assert facula.equal(engine.reset().fast_forward(3).draw(2), whole[3:5])
    out = facula.empty(0)
    assert engine.reset().draw(10, out=out) is out and facula.equal(out, whole)


def test_what_is_refused():
    with pytest.raises(ValueError, match="dimensionality"):
        SobolEngine(0)
    engine = SobolEngine(1)
    engine.draw(1)
    with pytest.raises(ValueError, match="power of 2"):
        engine.draw_base2(2)
    for call in (engine.draw, engine.fast_forward):
        with pytest.raises(RuntimeError, match=f"{call.__name__}: expected n from 0 to .*got -1"):
            call(-1)
        with pytest.raises(RuntimeError, match="as many as the sequence has left"):
            call(2**30)
        with pytest.raises(TypeError):
            call(1.5)
    assert engine.num_generated == 1


def test_points_far_ahead_are_reached_at_once():
    engine = SobolEngine(2).fast_forward(2**29 + 5)
    assert engine.num_generated == 2**29 + 5
    # The Gray code of 2**29 + 5 has the bits 29, 28, 2, 1 and 0.
    expected = facula.zeros(2, dtype=facula.int64)
    for bit in (29, 28, 2, 1, 0):
        expected ^= engine.sobolstate[:, bit]
    point = engine.draw(1, dtype=facula.float64)
    assert (point[0] * 2**30).long().tolist() == expected.tolist() == engine.quasi.tolist()


def test_an_engine_that_has_drawn_nothing_draws_nothing():
    engine = SobolEngine(2)
    assert engine.draw(0).shape == (0, 2) and engine.num_generated == 0
