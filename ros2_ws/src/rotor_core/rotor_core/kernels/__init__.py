"""Compiling, linking and caching of kernels, and their view of tables: the one place that knows Numba."""
