"""Small networks that look at pictures, trained by torch (the extra `deep`) and frozen for numpy."""
