"""Medical image segmentation: 3D U-Net."""
