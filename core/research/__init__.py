"""For researchers: experiments (grids of cases, learners, parameters and protocols) and the values papers print."""
