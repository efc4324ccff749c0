"""Run scikit-learn's checks on TwoStepFeatures and print their outcomes as JSON.

A script, because the check of array API input needs SCIPY_ARRAY_API in the environment before scipy is imported.
"""

import json
import sys
import warnings

from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

from derand.estimators.two_step_features import TwoStepFeatures
from derand.two_step import AssumptionWarning

ESTIMATORS = {
    "neurons": TwoStepFeatures(20),
    "directions": TwoStepFeatures(30, output="directions", batch="fresh", activation="gelu"),
}


def main(name):
    warnings.simplefilter("ignore", AssumptionWarning)  # the checks' targets are what they are
    estimator = ESTIMATORS[name]
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    outcomes = [[result["check_name"], result["status"], repr(result["exception"])] for result in results]
    n_listed = sum(1 for _ in estimator_checks_generator(estimator))
    json.dump({"outcomes": outcomes, "n_listed": n_listed}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
