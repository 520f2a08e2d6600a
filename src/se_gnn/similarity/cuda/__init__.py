"""The CUDA backend: kernels in Triton. It is imported on machines with Triton alone."""
