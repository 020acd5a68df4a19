"""Run, resume, show and export experiments."""
