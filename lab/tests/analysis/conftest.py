"""Property tests here have no deadline: on a shared machine the time of one example says nothing."""

from hypothesis import settings

settings.register_profile("lab", deadline=None)
settings.load_profile("lab")
