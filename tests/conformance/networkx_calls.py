"""A pytest plugin that counts the calls that networkx dispatches to our back end and prints them as JSON."""

import json
from collections import Counter

from derand._utils.networkx_info import get_info
from derand.graphs.backend import backend_interface

_OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")


def _counted(function, name, counts):
    def call(*args, **kwargs):
        counts[name] += 1
        return function(*args, **kwargs)

    return staticmethod(call)


def pytest_configure(config):
    config.derand_calls = Counter()
    for name in [*get_info()["functions"], "convert_from_nx"]:
        wrapped = _counted(getattr(backend_interface, name), name, config.derand_calls)
        setattr(type(backend_interface), name, wrapped)


def pytest_terminal_summary(terminalreporter, config):
    outcomes = {key: len(terminalreporter.stats.get(key, [])) for key in _OUTCOMES}
    terminalreporter.write_line("REPORT " + json.dumps({"calls": config.derand_calls, "outcomes": outcomes}))
