"""What the window and the command line both call, one file for each task of the user.

The folders are named after the layers of ``core`` that they use.
"""
