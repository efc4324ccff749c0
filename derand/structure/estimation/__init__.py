"""Estimation of the subspace that a response depends on, from samples: whitening, starts, polishing, rank, error bars."""
