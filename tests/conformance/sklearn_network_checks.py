"""Run scikit-learn's checks on NetworkReducer and print their outcomes as JSON.

A script, because the check of array API input needs SCIPY_ARRAY_API in the environment before scipy is imported.
"""

import json
import sys
import warnings

from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

from derand.estimators.network_reducer import NetworkReducer
from derand.exceptions import NonConvergenceWarning

# Few iterations: the checks look at the interface, and fit some hundred times.
ESTIMATORS = {
    "share": NetworkReducer(hidden=4, max_iter=60),
    "one": NetworkReducer(1, hidden=4, max_iter=60),
    "deep": NetworkReducer(1, hidden=(4, 3), loss="huber", n_init=2, whiten=False, max_iter=60),
}


def main(name):
    warnings.simplefilter("ignore", NonConvergenceWarning)
    estimator = ESTIMATORS[name]
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    outcomes = [[result["check_name"], result["status"], repr(result["exception"])] for result in results]
    n_listed = sum(1 for _ in estimator_checks_generator(estimator))
    json.dump({"outcomes": outcomes, "n_listed": n_listed}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
