"""Small convolutional networks, trained by PyTorch (the extra `deep`) and frozen for numpy."""
