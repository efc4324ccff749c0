"""Run scikit-learn's checks on LearnedJL and print their outcomes as JSON.

A script, because the check of array API input needs SCIPY_ARRAY_API in the environment before scipy is imported.
"""

import json
import sys

from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

from derand.estimators.learned_jl import LearnedJL

# Few iterations: the checks look at the interface, and fit some hundred times.
ESTIMATORS = {
    "auto": LearnedJL(max_iter=5),
    "minimax": LearnedJL(1, max_iter=5),
    "validation": LearnedJL(2, max_iter=5, validation_fraction=0.2, compute_lower_bound=True),
}


def main(name):
    estimator = ESTIMATORS[name]
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    outcomes = [[result["check_name"], result["status"], repr(result["exception"])] for result in results]
    n_listed = sum(1 for _ in estimator_checks_generator(estimator))
    json.dump({"outcomes": outcomes, "n_listed": n_listed}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
