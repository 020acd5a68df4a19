"""Small networks that look at images, trained by torch (the extra `deep`) and frozen for numpy."""
