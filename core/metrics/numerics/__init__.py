"""Linear algebra, minimisation and clustering that several learners share."""
