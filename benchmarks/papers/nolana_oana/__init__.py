"""Si, Kumar and Li, "Nonlinear online learning with adaptive Nyström approximation", 2018."""
