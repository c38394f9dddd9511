"""Image classification: ResNet-50 v1.5."""
