"""The image viewer: zoom and pan, window and level, regions, measurements and volumes."""
