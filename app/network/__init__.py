"""The dialogs of PACS: servers and their studies, sending, and watching for new images."""
