"""Collections of mammograms, a file each: mini-MIAS, CBIS-DDSM, INbreast; and what tells them apart."""
