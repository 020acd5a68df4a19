"""Texture of lung in CT slices in 43 numbers: densities, pairs, runs and differences of grey levels."""
