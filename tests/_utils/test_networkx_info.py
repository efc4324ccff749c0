import subprocess
import sys

import networkx as nx

from derand._utils.networkx_info import get_info


def test_functions_are_networkxs_own():
    info = get_info()
    assert info["backend_name"] == "derand"
    for name in info["functions"]:
        assert callable(getattr(nx.approximation, name))


def test_it_loads_no_library():
    """Every program that imports networkx runs this where derand is installed."""
    code = "import sys; from derand._utils.networkx_info import get_info; get_info(); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
