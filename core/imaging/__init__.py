"""Files to pixels: opening, regions and thumbnails of pictures."""
