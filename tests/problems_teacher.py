"""The population loss of a quadratic student that learns a quadratic teacher, at its plateau."""

from __future__ import annotations

import numpy as np

from derand.teacher_student import TeacherStudent
from tests.problems_base import AnyArray, Objective, Problem, make


class TeacherLoss(Objective):
    """(tr M)^2/2 + tr M^2 with M = X'X/p - Y'Y/p*: N times E[(f - y)^2]/2 in weights scaled by 1/sqrt(N)."""

    def __init__(self, teacher: AnyArray, p: int) -> None:
        self.teacher, self.p = teacher, p
        self.n = p * teacher.shape[1]

    def _parts(self, x: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Return the student's weights (p, N) and M (N, N)."""
        student = x.reshape(self.p, -1)
        return student, student.T @ student / self.p - self.teacher.T @ self.teacher / self.teacher.shape[0]

    def value_and_grad(self, x: AnyArray) -> tuple[AnyArray, AnyArray]:
        student, m = self._parts(x)
        trace = np.trace(m)
        return 0.5 * trace**2 + np.sum(m * m), (2.0 / self.p * (trace * student + 2.0 * student @ m)).ravel()

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        student, m = self._parts(x)
        d = v.reshape(student.shape)
        change = (d.T @ student + student.T @ d) / self.p
        product = np.trace(change) * student + np.trace(m) * d + 2.0 * (student @ change + d @ m)
        return (2.0 / self.p * product).ravel()


def teacher_student_plateau() -> Problem:
    """Gradient flow's plateau: p p* ways down of curvature -4/(p p*), most other directions flat."""
    p, p_star, n = 4, 2, 15
    frame = np.linalg.qr(np.random.default_rng(10).standard_normal((n, n)))[0].T
    teacher = frame[:p_star]
    saddle = np.sqrt(TeacherStudent(p, p_star).plateau(second_order=False).q) * frame[p_star : p_star + p]
    minimizer = np.sqrt(p / p_star) * np.vstack([teacher, np.zeros((p - p_star, n))])
    return make(
        "teacher_student_plateau",
        TeacherLoss(teacher, p),
        saddle,
        minimum=0.0,
        minimizer=minimizer,
        spread=0.3,
        benign=True,
        # A spare neuron of length a across the teacher gives M = a^2 u u'/p: f = 3 a^4/(2 p^2) with a gradient of norm
        # 6 a^3/p^2, that is f = 0.35 ||g||^(4/3) for p = 4, and 3.5e-9 at 1e-6; two spare neurons at most double it.
        gap=1e-8,
        tuned=True,
    )
