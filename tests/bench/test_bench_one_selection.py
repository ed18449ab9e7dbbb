"""How soon every panel follows: an operator is selected, another run picked, a range dragged.

5,000 operators; with OPSCOPE_BENCH_RUNS=100 a million slices. Of each panel, raised as one has it
beside the timeline, wall ms from the act until its answer is painted and no work is under way, and
the longest time in which the GUI thread answered nothing. Beside them the floor: the timeline
alone, all panels closed. Prints only:
`pytest tests/bench/test_bench_one_selection.py --benchmark-enable -s`.
"""

import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import QCoreApplication, QEventLoop, QTimer

from tests.builders import bench_sizes, many_operators
from tests.builders.many_operators import RUNS
from tests.gui.events import controller_of, put_away
from viewer.gui.session.navigation import pick_run, run_span_ns
from viewer.gui.window.controller import WindowController
from viewer.view.state import Area

pytestmark = pytest.mark.nightly

DETAILS = "details"
ROUNDS = 5 if RUNS >= 100 else 1


@pytest.fixture
def large(qtbot, qapp, tmp_path, monkeypatch):
    source = tmp_path / "models.py"
    source.write_text("".join(f"x = self.layer_{n}(x)\n" for n in range(many_operators.LINES)))
    made = controller_of(qtbot, tmp_path, monkeypatch, (1920, 1080), paints=True)
    made.session.add([many_operators.trace(), many_operators.program(str(source))])
    qtbot.waitUntil(lambda: len(made.session.traces) == 1, timeout=60_000)
    wait(made)
    made.session.traces[0].costs.table()
    yield made
    put_away(made.window)


def wait(controller: WindowController) -> float:
    """Let all that is under way come to an end; the longest turn of the event loop in s."""
    longest, quiet = 0.0, 0
    while quiet < 3:
        began = time.perf_counter()
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
        longest = max(longest, time.perf_counter() - began)
        busy = any(latest.pending for latest in controller.window.background_tasks())
        busy |= any(t.isActive() and t.interval() <= 50 and t.isSingleShot()
                    for t in controller.window.findChildren(QTimer))  # fmt: skip
        quiet = 0 if busy else quiet + 1
        if busy:
            time.sleep(0.0005)
    return longest


def told(controller: WindowController, act: Callable[[int], None]) -> str:
    """ "12.3 (5.1)": the median over some acts, and the longest turn of the event loop in any."""
    whole, longest = [], 0.0
    for number in range(ROUNDS):
        began = time.perf_counter()
        act(number)
        first = time.perf_counter() - began
        longest = max(longest, first, wait(controller))
        whole.append(time.perf_counter() - began)
    return f"{1e3 * sorted(whole)[ROUNDS // 2]:7.1f} ({1e3 * longest:5.1f})"


def test_panels_follow(large):
    controller, session = large, large.session
    runs = range(len(session.traces[0].trace.runs))

    def operator(number: int) -> None:
        session.select_operators(0, ((1237 * (number + 1)) % many_operators.OPERATORS // 10 * 10,))

    def run(number: int) -> None:
        pick_run(session, (0, (7 * number + 3) % len(runs)))

    def area(number: int) -> None:
        t0, t1 = run_span_ns(session, 0, session.traces[0].trace.runs[(9 * number + 5) % len(runs)])
        session.select_area(Area(t0, t0 + 3 * (t1 - t0) // 2, frozenset({(0, 0)})))

    print(f"\nms until all is shown, median of {ROUNDS} (longest turn)")
    print(f"{'':14}{'an operator':>16}{'another run':>16}{'a range':>16}")
    names = [name for name in controller.docks.by_name if name != DETAILS]
    if not bench_sizes.is_measured():
        names = names[:2]
    for name in ("no panel", *names, "all shown"):
        for other in controller.docks.by_name:
            if name in (other, "all shown"):
                controller.docks.show_panel(other)
            else:
                controller.docks.close_panel(other)
        wait(controller)
        session.clear_selection()
        wait(controller)
        print(
            f"{name:14}{told(controller, operator)}{told(controller, run)}{told(controller, area)}"
        )
    assert session.state.area is not None
