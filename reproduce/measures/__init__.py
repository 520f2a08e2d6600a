"""What is measured of a job: one module a kind, each with `measure(job, device) -> plain values`."""
