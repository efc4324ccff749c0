"""How long a generated example takes depends on the machine and its load, and is no fault of the code."""

from hypothesis import HealthCheck, settings

settings.register_profile("derand", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("derand")
