"""Why two cases are near: the parts of a distance."""
