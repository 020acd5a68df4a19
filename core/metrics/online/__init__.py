"""Updates of a metric by one constraint after another."""
