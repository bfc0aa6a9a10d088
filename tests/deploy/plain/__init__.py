"""What tests/deploy/local is made of."""
