"""Run, resume, show and export experiments and reader studies."""
