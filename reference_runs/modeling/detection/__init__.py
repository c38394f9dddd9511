"""Object detection: boxes, scenes, precision, and anchors that ranks divide among them."""
