"""DICOM files: headers, pixels, what their numbers mean, and where they lie in the patient."""
