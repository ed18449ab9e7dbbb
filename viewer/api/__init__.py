"""The Python API: profiles as DataFrames. `import viewer` re-exports it."""

from viewer.api.comparison import ComparedProfiles, compare
from viewer.api.opening import open
from viewer.api.profile import Profile
from viewer.codecs.reading import UnreadableFile

__all__ = ["ComparedProfiles", "Profile", "UnreadableFile", "compare", "open"]
