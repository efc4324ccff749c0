"""Estimation of the directions that a response depends on: starts, polishing, their number, error bars, classes."""
