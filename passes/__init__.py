"""What is done to a module: one file per pass, one pass per file."""
