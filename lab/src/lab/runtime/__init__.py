"""Where the measured processes run: started directly (`local`) or in containers (`docker`), behind one interface."""
