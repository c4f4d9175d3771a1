"""How hard the property tests look: HYPOTHESIS_PROFILE is dev (the default), ci or soak."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_SLOW_MACHINE = [HealthCheck.too_slow]  # a loaded machine is no fault of a strategy

settings.register_profile(
    "dev", max_examples=25, deadline=None, suppress_health_check=_SLOW_MACHINE
)
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    derandomize=True,  # the same change passes or fails every time
    suppress_health_check=_SLOW_MACHINE,
)
settings.register_profile(
    "soak", max_examples=2_000, deadline=None, suppress_health_check=_SLOW_MACHINE
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))
