"""Run scikit-learn's checks on the structure estimators and print their outcomes as JSON.

A script, because the check of array API input needs SCIPY_ARRAY_API in the environment before scipy is imported.
"""

import json
import sys

from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

from derand.estimators.slice_reducer import SliceReducer
from derand.estimators.structure_classifier import StructureClassifier
from derand.estimators.structure_regressor import StructureRegressor

ESTIMATORS = {
    "regressor": StructureRegressor(max_components=2, max_iter=2),
    "classifier": StructureClassifier(max_components=2, max_iter=30),
    "slices": SliceReducer(1),
    "sir": SliceReducer("auto", method="sir"),
}


def main(name):
    estimator = ESTIMATORS[name]
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    outcomes = [[result["check_name"], result["status"], repr(result["exception"])] for result in results]
    n_listed = sum(1 for _ in estimator_checks_generator(estimator))
    json.dump({"outcomes": outcomes, "n_listed": n_listed}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
