"""What tests/deploy/check is made of."""
