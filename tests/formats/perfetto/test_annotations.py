"""Arguments of Perfetto events that have one name."""

import random

import pytest

from tests.formats.perfetto.test_reader import INSTANT, Writer
from viewer.formats import open_file


@pytest.mark.parametrize("seed", range(3))
def test_of_arguments_with_one_name_the_last_in_its_event_counts(tmp_path, seed):
    dice = random.Random(seed)
    writer = Writer()
    writer.thread(11, 5, 6, "worker", "app")
    writer.packet(sequence_flags=1).interned_data.debug_annotation_names.add(iid=1, name="x")
    expected = []
    for i in range(1500):
        event = writer.event(i, INSTANT, 11, dice.choice(("a", f"name {i}")))
        for _ in range(dice.choice((1, 2, 2, 3))):
            # Numbers of several sizes, and names before and behind them: messages of many layouts.
            value = dice.choice((5, 700, -1, dice.randrange(10**9)))
            event.debug_annotations.add(name_iid=1, int_value=value)
            if dice.random() < 0.3:
                event.debug_annotations.add(name=f"y{dice.randrange(3)}", int_value=i)
        expected.append(value)
    slices = open_file(str(writer.save(tmp_path))).slices
    assert [slices.columns["x"].value(i) for i in range(len(slices))] == expected
