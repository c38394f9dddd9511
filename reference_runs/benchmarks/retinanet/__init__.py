"""Light object detection: RetinaNet with a ResNeXt-50 32x4d and a feature pyramid."""
