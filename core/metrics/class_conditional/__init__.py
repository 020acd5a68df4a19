"""The objective of class-conditional nearest neighbours (CCML), and its optimisation."""
