"""What deploy/local is made of."""
