"""Teacher-student learning: equations of motion, plateau and escape, selected solutions, Hessian spectra."""

from derand.teacher_student.escape import EscapeTime
from derand.teacher_student.frame import OverlapLaw, SelectedSolution, conserved_frame
from derand.teacher_student.late import NoiseFloor, Tail
from derand.teacher_student.model import TeacherStudent
from derand.teacher_student.plateau import CriticalRates, Plateau
from derand.teacher_student.simulation import Simulation
from derand.teacher_student.smooth import SmoothActivation
from derand.teacher_student.spectrum import HessianSpectrum
from derand.teacher_student.stationary import NumericalPlateau
from derand.teacher_student.sweep import SweepPoint, sweep
from derand.teacher_student.trajectory import FlowStatus, Trajectory

__all__ = [
    "CriticalRates",
    "EscapeTime",
    "FlowStatus",
    "HessianSpectrum",
    "NoiseFloor",
    "NumericalPlateau",
    "OverlapLaw",
    "Plateau",
    "SelectedSolution",
    "Simulation",
    "SmoothActivation",
    "SweepPoint",
    "Tail",
    "TeacherStudent",
    "Trajectory",
    "conserved_frame",
    "sweep",
]
