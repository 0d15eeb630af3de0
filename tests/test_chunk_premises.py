"""Premises about interleaved and zero-bubble schedules: they hold, and no mutant survives."""

import pytest

from bytesperflop.chunk_premises import INTERLEAVING, ZERO_BUBBLE


@pytest.mark.parametrize("premise", [*INTERLEAVING, *ZERO_BUBBLE], ids=lambda x: x.id)
def test_premises_hold_and_no_mutant_survives(premise):
    assert premise.verify() == len(premise.points)
    attack = premise.attack()
    assert attack.tried > 1
    assert attack.survivors == []
