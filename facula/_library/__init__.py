"""Operations that programs define: their schemas, kernels and derivatives."""
