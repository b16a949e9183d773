"""
How hypothesis works here: no time limit on an example, for a busy machine is no fault of the code; and in
CI the same examples every time, so that a change is not refused for what it did not change.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "house", deadline=None, derandomize="CI" in os.environ, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")
