"""Mask R-CNN: heavy object detection with masks of instances."""
