"""Cases as cards or rows in a grid."""
