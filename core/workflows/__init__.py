"""What the window and the command line both call, one file for each thing a person does.

The folders are named as the floors of ``core`` that they stand on.
"""
