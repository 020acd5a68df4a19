"""Results as DICOM objects for an image archive: structured reports, key objects, segmentations, secondary captures."""
