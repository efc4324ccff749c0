"""Progress of an estimator's fit through scikit-learn's callback framework."""

from __future__ import annotations

from typing import Any

__all__ = ["FitTasks"]


class FitTasks:
    """The tasks of one fit as scikit-learn's callbacks see them: the fit, and below it one for each step of the core.

    Make one at the beginning of a ``fit`` that is decorated with ``sklearn.callback.with_callbacks``, in a class with
    ``sklearn.callback.CallbackSupportMixin``; give `step` to the core as its callback; call `end` at the end.  Nothing
    happens where the estimator has no callbacks.

    Parameters
    ----------
    estimator : object
        The estimator that is fitted.
    X : array_like
        What it is fitted to.
    y : array_like, optional
        The target.
    name : str, default "step"
        What a step is called.

    Examples
    --------
    >>> from derand.estimators import MaxCutClusterer
    >>> tasks = FitTasks(MaxCutClusterer(), [[0.0], [1.0]])
    >>> tasks.step(None)
    False
    """

    def __init__(self, estimator: Any, X: Any, y: Any = None, *, name: str = "step") -> None:
        self._estimator, self._name, self._root = estimator, name, None
        if getattr(estimator, "_skl_callbacks", ()):
            self._data = {"X": X, "y": y}
            self._root = estimator._init_callback_context(max_subtasks=None)
            self._root.call_on_fit_task_begin(estimator=estimator, **self._data)

    def step(self, state: Any) -> bool:
        """Report a step, and return whether a callback wants the fit to stop.

        Parameters
        ----------
        state : object
            What the core tells its callback; passed on as metadata.

        Returns
        -------
        bool
            True when a callback asked for the end.
        """
        if self._root is None:
            return False
        task = self._root.subcontext(task_name=self._name)
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        metadata = {"state": state}
        return bool(task.call_on_fit_task_end(estimator=self._estimator, metadata=metadata, **self._data))

    def end(self) -> None:
        """Report the end of the fit."""
        if self._root is not None:
            self._root.call_on_fit_task_end(estimator=self._estimator, **self._data)
