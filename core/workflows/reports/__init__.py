"""Write reports of searches and cards of metrics."""
