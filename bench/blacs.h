// What is used of ScaLAPACK, which comes without headers.
#pragma once

extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridmap(int* context, int* processes, int stride, int rows, int columns);
void Cblacs_gridexit(int context);
void Cpsgemr2d(int rows, int columns, float* in, int in_row, int in_column, int* in_descriptor,
               float* out, int out_row, int out_column, int* out_descriptor, int context);
void Cpdgemr2d(int rows, int columns, double* in, int in_row, int in_column, int* in_descriptor,
               double* out, int out_row, int out_column, int* out_descriptor, int context);
}
