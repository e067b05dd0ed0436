"""What the plugin gives to the features of other packages."""
