"""Factors of matrices and solutions with triangular ones, as operations of HLO and as the calls of LAPACK that JAX makes of them."""

import re

import numpy as np

from whole_text import Refusal


def adjoint(a):
    return np.swapaxes(a, -1, -2).conj()


def cholesky(a, lower):
    """The factor, its other half zero, and for each matrix whether it had none; then the factor is no number."""
    half = np.tril(a) if lower else adjoint(np.triu(a))
    full = half + adjoint(np.tril(half, -1))
    flat = full.reshape(-1, *full.shape[-2:])
    out, failed = np.full(flat.shape, np.nan, flat.dtype), np.zeros(len(flat), np.int32)
    for k, matrix in enumerate(flat):
        try:
            out[k] = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            failed[k] = 1
    out = out.reshape(full.shape)
    return (out if lower else adjoint(out)), failed.reshape(full.shape[:-2])


def triangular_solve(a, b, said, turn):
    a = np.tril(a) if said["lower"] else np.triu(a)
    if said["unit_diagonal"]:
        eye = np.eye(a.shape[-1], dtype=a.dtype)
        a = a * (1 - eye) + eye
    a = {"NO_TRANSPOSE": a, "TRANSPOSE": np.swapaxes(a, -1, -2), "ADJOINT": adjoint(a)}[turn]
    try:
        if said["left_side"]:
            return np.linalg.solve(a, b)
        return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    except np.linalg.LinAlgError:
        raise Refusal("a triangular matrix with a zero on its diagonal") from None


def lapack(target, config, given):
    """What a call makes, or nothing where it is not known. Letters of LAPACK stand in the configuration as numbers."""
    if re.fullmatch(r"blas_[sdcz]trsm", target):
        left, lower, turn, unit = (int(one.flat[0]) for one in given[:4])
        said = {"lower": bool(lower), "left_side": bool(left), "unit_diagonal": bool(unit)}
        return triangular_solve(*given[8:], said, ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"][turn])
    letters = {name: chr(int(code)) for name, code in re.findall(r"(\w+) = (\d+) : ui8", config)}
    if target.startswith("lapack_") and not letters:
        raise Refusal(f"custom call {target} without its configuration")
    if re.fullmatch(r"lapack_[sdcz]potrf_ffi", target):
        made, failed = cholesky(given[0], letters["uplo"] == "L")
        rest = np.triu(given[0], 1) if letters["uplo"] == "L" else np.tril(given[0], -1)
        return [made + rest, failed]
    if re.fullmatch(r"lapack_[sdcz]trsm_ffi", target):
        said = {"lower": letters["uplo"] == "L", "left_side": letters["side"] == "L", "unit_diagonal": letters["diag"] == "U"}
        return triangular_solve(*given, said, {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[letters["trans_x"]])
    return None
