"""The generated demo library: plainly synthetic pictures that look like radiology."""

from core.demo.generate import DemoPictures, generate

__all__ = ["DemoPictures", "generate"]
