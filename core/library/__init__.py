"""The library: the catalogue of cases, the feature stores, and the importers that fill them."""
