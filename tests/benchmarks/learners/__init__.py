"""Every learner against its peers and its references; writes the tables of the help page *Benchmarks*."""
