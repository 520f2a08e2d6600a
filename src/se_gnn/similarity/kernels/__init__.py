"""Edge matching: the paper's own words (`reference`) and the kernels that agree with it."""
