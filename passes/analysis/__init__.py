"""Facts about a module; nothing here changes one."""
