"""What runs read and write: material, model files, folders, logs."""
