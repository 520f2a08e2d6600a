"""How each case is measured: a function of the case and the settings of the run that returns an outcome."""
