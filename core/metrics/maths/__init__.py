"""Linear algebra and minimisation that several learners share."""
