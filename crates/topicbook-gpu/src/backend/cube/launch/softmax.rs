//! Launches of the kernels for softmax.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use crate::backend::cube::dense::UNITS;
use crate::backend::cube::softmax;
use crate::backend::cube::softmax::{MIN_SLICE, SlicesLaunch};

use super::{Launcher, MANY_CUBES, contiguous_rows, slices};

impl<R: CubeRuntime> Launcher<R> {
    /// The softmax of each row.
    pub fn softmax(&self, table: CubeTensor<R>) -> CubeTensor<R> {
        let table = contiguous_rows(table);
        let (rows, columns) = (table.meta.shape()[0], table.meta.shape()[1]);
        let cut = Cut::new(rows, columns);
        let length = 2 * rows * cut.slices;
        let parts = self.empty_buffer(length);
        let out = self.empty_table(rows, columns);
        let (count, dim) = self.cubes(rows * cut.slices * UNITS);
        // SAFETY: a cube past the last slice terminates; a slice ends at its row's end.
        unsafe {
            softmax::exponentials::launch_unchecked::<R>(
                &self.client,
                count.clone(),
                dim,
                table.required_address_type(),
                table.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(parts.clone(), length),
                cut.launch(),
            );
            softmax::softmax::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                table
                    .required_address_type()
                    .max(out.required_address_type()),
                table.into_tensor_arg(),
                ArrayArg::from_raw_parts(parts, length),
                out.clone().into_tensor_arg(),
                cut.launch(),
            );
        }
        out
    }

    /// The gradient with respect to the logits, for each row softmax x (softmax . sums - sums), of a loss whose gradient with
    /// respect to `softmax` is minus `sums`. It takes the memory of `sums`.
    pub fn softmax_backward(&self, softmax: CubeTensor<R>, sums: CubeTensor<R>) -> CubeTensor<R> {
        let (rows, columns) = (softmax.meta.shape()[0], softmax.meta.shape()[1]);
        let cut = Cut::new(rows, columns);
        let length = rows * cut.slices;
        let parts = self.empty_buffer(length);
        let (count, dim) = self.cubes(rows * cut.slices * UNITS);
        let address = softmax
            .required_address_type()
            .max(sums.required_address_type());
        // SAFETY: a cube past the last slice terminates; a slice ends at its row's end.
        unsafe {
            softmax::dots::launch_unchecked::<R>(
                &self.client,
                count.clone(),
                dim,
                address,
                softmax.clone().into_tensor_arg(),
                sums.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(parts.clone(), length),
                cut.launch(),
            );
            softmax::backward::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                address,
                softmax.into_tensor_arg(),
                sums.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(parts, length),
                cut.launch(),
            );
        }
        sums
    }
}

/// How the rows of a table are cut into slices.
#[derive(Clone, Copy)]
struct Cut {
    rows: usize,
    columns: usize,
    per_slice: usize,
    slices: usize,
}

impl Cut {
    fn new(rows: usize, columns: usize) -> Self {
        let (per_slice, slices) = slices(columns, MIN_SLICE, rows, MANY_CUBES);
        Self {
            rows,
            columns,
            per_slice,
            slices,
        }
    }

    fn launch<R: Runtime>(self) -> SlicesLaunch<R> {
        SlicesLaunch::new(self.rows, self.columns, self.per_slice, self.slices)
    }
}
