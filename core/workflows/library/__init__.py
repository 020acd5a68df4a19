"""What a person does to a library: fill it, open it, find its images again."""
