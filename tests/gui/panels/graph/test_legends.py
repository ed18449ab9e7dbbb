"""The legend of changes lists what is in the graph."""

from viewer.analysis.comparison.comparison import Verdict
from viewer.gui.panels.graph.controls import Legend
from viewer.gui.panels.graph.measures import ChangeFill, NoCostFill
from viewer.model.times import MINUS


def test_it_explains_the_scale_and_the_other_fills(theme, qtbot):
    legend = Legend(theme)
    qtbot.addWidget(legend)
    used = {
        ChangeFill(Verdict.SLOWER, 3), ChangeFill(Verdict.NO_CHANGE),
        ChangeFill(Verdict.CANNOT_TELL, only_in="A"), NoCostFill.UNLINKED,
    }  # fmt: skip
    legend.show_changes("20 µs", used)
    assert legend.accessibleName() == (
        f"Color by change per inference: faster, {MINUS}20 µs, to slower, +20 µs, no change, "
        "only in A, no slice"
    )
    wide = legend.sizeHint().width()
    legend.show_changes("", {ChangeFill(Verdict.CANNOT_TELL)})
    assert legend.accessibleName() == "inconclusive"
    assert legend.sizeHint().width() < wide


def test_it_hides_if_there_is_nothing_to_explain(theme, qtbot):
    legend = Legend(theme)
    qtbot.addWidget(legend)
    legend.show_changes("", {NoCostFill.PLAIN})
    assert not legend.isVisible()


def test_all_of_it_is_painted_within_its_size(theme, qtbot):
    legend = Legend(theme)
    qtbot.addWidget(legend)
    legend.show_changes("20 µs", {ChangeFill(Verdict.CANNOT_TELL, only_in="A")})
    legend.resize(legend.sizeHint().width() + 40, legend.sizeHint().height())
    image = legend.grab().toImage()
    ground = image.pixelColor(image.width() - 1, 1)
    end = int(legend.sizeHint().width() * image.devicePixelRatio())
    right = range(end, image.width())
    assert {image.pixelColor(x, y).name() for x in right for y in range(image.height())} == {
        ground.name()
    }
