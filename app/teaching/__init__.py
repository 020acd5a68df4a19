"""Teaching collections in the window: their list, their commands, and the quiz."""
