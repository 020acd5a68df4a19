"""The similar cases of a query, their estimate and what is hidden."""
