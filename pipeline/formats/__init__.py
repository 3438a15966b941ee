"""Takes modules on disk from bytes to a module and back: the formats, and the way."""
