"""Flow events connected to flows."""

import numpy as np

from viewer.formats.event_pairs import FlowEvents

GIVES, TAKES, STEP, LAST = (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 1, 1)


def connected(*events):
    """Events as (slice, time, flow, what it does)."""
    slices, times, flow, does = (np.array(each) for each in zip(*events, strict=True))
    gives, takes, closes = does.astype(bool).T
    giver, taker, lone = FlowEvents(slices, times, flow, gives, takes, closes).edges()
    return list(zip(slices[giver].tolist(), slices[taker].tolist(), strict=True)), lone.tolist()


def test_a_taker_is_led_to_from_the_latest_giver_of_its_flow():
    assert connected(
        (0, 5, 7, GIVES), (1, 9, 7, TAKES), (2, 6, 7, STEP), (3, 9, 7, TAKES), (4, 7, 8, TAKES)
    ) == ([(0, 2), (2, 1), (2, 3)], [4])


def test_after_a_closing_event_an_identity_is_another_flow():
    assert connected(
        (0, 1, 7, GIVES), (1, 2, 7, LAST), (2, 3, 7, TAKES), (3, 4, 7, GIVES), (4, 5, 7, TAKES)
    ) == ([(0, 1), (3, 4)], [2])


def test_events_without_a_slice_are_told_and_no_edge_leads_to_its_own_slice():
    assert connected((-1, 1, 7, GIVES), (1, 2, 7, TAKES)) == ([], [0, 1])
    assert connected((3, 1, 7, GIVES), (3, 2, 7, TAKES), (4, 3, 7, TAKES)) == ([(3, 4)], [])
    assert connected((-1, 1, 7, GIVES)) == ([], [0])
