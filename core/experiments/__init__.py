"""A grid of cases, learners, parameters and protocols, measured cell by cell: resumable, told as it grows."""
