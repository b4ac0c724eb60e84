"""Small symmetric linear systems and linear complementarity, in compiled kernels."""
