"""The 38 numbers of a mass and its breast (bdm.txt, section 4.1), and the extractor that gives them."""
