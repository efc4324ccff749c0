"""Run scikit-learn's checks on one estimator and print their outcomes as JSON.

A script, because the check of array API input needs SCIPY_ARRAY_API in the environment before scipy is imported.
"""

import json
import sys

from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

from derand.estimators import MaxCutClusterer

# The fastest way to a cut: what the checks look at is the estimator, not how good its cuts are.
_FAST = {"method": "hyperplane", "effort": "derandomize", "bound": False}
ESTIMATORS = {
    "default": MaxCutClusterer(),
    "euclidean": MaxCutClusterer(**_FAST),
    "precomputed": MaxCutClusterer("precomputed", **_FAST),
}


def main(name):
    estimator = ESTIMATORS[name]
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    outcomes = [[result["check_name"], result["status"], repr(result["exception"])] for result in results]
    n_listed = sum(1 for _ in estimator_checks_generator(estimator))
    json.dump({"outcomes": outcomes, "n_listed": n_listed}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
