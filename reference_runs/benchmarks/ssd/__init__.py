"""Light object detection: SSD with a ResNet-34 on COCO."""
