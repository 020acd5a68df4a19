"""Files to pixels: opening, regions and thumbnails of pictures."""

from semblance.core.imaging.address import PictureAddress
from semblance.core.imaging.container import PictureReader, open_picture
from semblance.core.imaging.picture import Picture
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import Stack, Volume

__all__ = ["Picture", "PictureAddress", "PictureReader", "Region", "Stack", "Volume", "open_picture"]
