"""Every learner against its peers and its references; writes ``resources/help/benchmarks.md``."""
