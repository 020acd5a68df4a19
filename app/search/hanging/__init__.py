"""The images of a patient side by side."""
