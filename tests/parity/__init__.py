"""Facula against PyTorch 2.13: the same calls on both, everything visible compared.

The framework under test is ``facula``, or the module named by the environment variable
``FACULA_PARITY_MODULE`` (with ``torch`` the suite compares PyTorch with itself, which tests the
suite). ``python -m tests.parity.report`` prints what passes, fails and is missing per operation.
"""
