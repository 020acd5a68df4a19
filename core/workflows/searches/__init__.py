"""Search a library, refine, explain and save searches."""
