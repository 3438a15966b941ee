"""Takes a pipeline of passes from its text to its run over one module."""
