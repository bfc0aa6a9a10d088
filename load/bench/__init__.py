"""What `load/compare` and `load/scale` are made of; nothing but Python's standard library."""
