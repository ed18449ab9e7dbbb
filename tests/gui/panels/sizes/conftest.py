"""What the tests of the Sizes panel ask of program files."""

import pytest

from viewer.gui.panels.sizes.answer import SizesQuestion, work_out
from viewer.workspace.workspace import Workspace


@pytest.fixture
def answer_of(data):
    """The answer about the program files among some files, of which a second one is B."""

    def make(*names):
        space = Workspace()
        for name in names:
            space.open(str(data / "pte" / name))
        return work_out(SizesQuestion(space, *space.executables))

    return make
