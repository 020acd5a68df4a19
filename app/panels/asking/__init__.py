"""Ask me next: questions that teach, beside the ranking and as a page."""
