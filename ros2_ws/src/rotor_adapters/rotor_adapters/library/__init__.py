"""Controllers in shared libraries."""
