"""Find studies in a PACS, retrieve them into a library, send objects, and take what is sent to this computer."""
