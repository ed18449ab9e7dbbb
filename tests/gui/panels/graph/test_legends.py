"""The legend of changes lists what is in the graph."""

from viewer.analysis.comparison.comparison import Verdict
from viewer.gui.panels.graph.fills import ChangeFill, NoCostFill
from viewer.gui.panels.graph.legends import ChangeScale
from viewer.model.times import MINUS


def test_it_explains_the_scale_and_the_other_fills(theme, qtbot):
    scale = ChangeScale(theme)
    qtbot.addWidget(scale)
    used = {
        ChangeFill(Verdict.SLOWER, 3), ChangeFill(Verdict.NO_CHANGE),
        ChangeFill(Verdict.CANNOT_TELL, only_in="A"), NoCostFill.UNLINKED,
    }  # fmt: skip
    scale.show_scale("20 µs", used)
    assert scale.accessibleName() == (
        f"Color by change per inference: faster, {MINUS}20 µs, to slower, +20 µs, no change, "
        "only in A, no slice"
    )
    wide = scale.sizeHint().width()
    scale.show_scale("", {ChangeFill(Verdict.CANNOT_TELL)})
    assert scale.accessibleName() == "inconclusive"
    assert scale.sizeHint().width() < wide


def test_it_hides_if_there_is_nothing_to_explain(theme, qtbot):
    scale = ChangeScale(theme)
    qtbot.addWidget(scale)
    scale.show_scale("", {NoCostFill.PLAIN})
    assert not scale.isVisible()


def test_all_of_it_is_painted_within_its_size(theme, qtbot):
    scale = ChangeScale(theme)
    qtbot.addWidget(scale)
    scale.show_scale("20 µs", {ChangeFill(Verdict.CANNOT_TELL, only_in="A")})
    scale.resize(scale.sizeHint().width() + 40, scale.sizeHint().height())
    image = scale.grab().toImage()
    ground = image.pixelColor(image.width() - 1, 1)
    end = int(scale.sizeHint().width() * image.devicePixelRatio())
    right = range(end, image.width())
    assert {image.pixelColor(x, y).name() for x in right for y in range(image.height())} == {
        ground.name()
    }
