"""The Python API: profiles as DataFrames. `import viewer` re-exports it."""

from viewer.api.opening import ComparedProfiles, compare, open
from viewer.api.profile import Profile
from viewer.codecs.reading import UnreadableFile

__all__ = ["ComparedProfiles", "Profile", "UnreadableFile", "compare", "open"]
