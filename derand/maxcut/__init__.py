"""Deterministic maximum cuts with a proved upper bound."""
