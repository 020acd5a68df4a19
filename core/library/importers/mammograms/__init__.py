"""Collections of mammograms, one file each: mini-MIAS, CBIS-DDSM, INbreast; and their recognition."""
