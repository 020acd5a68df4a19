"""DICOM files: headers, pixels, the meaning of their values, and their geometry."""
