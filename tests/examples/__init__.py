"""Scripts for researchers, in cells that notebooks and editors run one by one; tests run them whole."""
