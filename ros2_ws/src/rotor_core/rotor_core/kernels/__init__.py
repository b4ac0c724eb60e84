"""How kernels are compiled, linked and kept, and how they see tables: the one place that knows Numba."""
