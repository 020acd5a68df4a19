"""Files to pixels: opening, regions and thumbnails of images."""

from semblance.core.imaging.image import Image
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.image_reader import ImageReader, open_image
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import Stack, Volume

__all__ = ["Image", "ImageAddress", "ImageReader", "Region", "Stack", "Volume", "open_image"]
