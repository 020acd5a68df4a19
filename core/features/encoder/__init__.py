"""The shipped image encoder: its weights, the graph made of them, the check of that graph, and the extractor."""
