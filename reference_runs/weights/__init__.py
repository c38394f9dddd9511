"""Published weights that training starts from."""
