"""Import into a library, prepare it, open and describe it, relink its images."""
