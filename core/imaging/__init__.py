"""Files to pixels: opening, regions and thumbnails of pictures."""

from core.imaging.address import PictureAddress
from core.imaging.container import PictureReader, open_picture
from core.imaging.picture import Picture
from core.imaging.region import Region
from core.imaging.volume import Stack, Volume

__all__ = ["Picture", "PictureAddress", "PictureReader", "Region", "Stack", "Volume", "open_picture"]
