"""Shared helpers without a public interface: validation, random streams, reductions, threads, array libraries."""
