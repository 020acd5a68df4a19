"""Hours of scripted use of the real window, with an eye on memory, threads and handles."""
