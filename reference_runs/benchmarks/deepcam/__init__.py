"""Climate segmentation: DeepCAM, storms and rivers of moisture in simulated weather."""
