"""What holds for the tests of every package."""

from hypothesis import settings

# A property is judged by what it says, not by how long an example takes on a busy machine.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
