"""De-identification of DICOM objects by the profiles of PS3.15 Annex E."""
