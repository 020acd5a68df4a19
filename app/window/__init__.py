"""The main window: it puts the panels into docks and connects them; nothing but the start imports it."""
