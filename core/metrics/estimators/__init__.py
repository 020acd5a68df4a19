"""The learners, one file each: those of the papers Semblance implements and those they are compared with."""
