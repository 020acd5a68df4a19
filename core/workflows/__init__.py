"""What the window and the command line both call, one file for each thing a person does."""
