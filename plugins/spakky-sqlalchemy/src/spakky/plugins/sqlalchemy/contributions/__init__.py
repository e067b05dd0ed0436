"""What this package gives to features of other packages; one module for each feature."""
