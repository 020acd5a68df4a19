"""One similar case: its header and the notes on it."""
