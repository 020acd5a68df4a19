"""What a button does, as a job with its success and failure text; one file per domain."""
