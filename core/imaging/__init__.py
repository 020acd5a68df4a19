"""Files to pixels: opening, regions and thumbnails of pictures."""

from core.imaging.address import PictureAddress
from core.imaging.container import PictureReader, open_picture
from core.imaging.picture import Picture
from core.imaging.region import Region

__all__ = ["Picture", "PictureAddress", "PictureReader", "Region", "open_picture"]
