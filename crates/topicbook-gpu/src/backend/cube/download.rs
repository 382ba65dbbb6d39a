//! Uploads of rows of a table, through the same stages as counts, and asynchronous downloads.

use burn::tensor::{DType, Shape};
use burn_cubecl::kernel::into_contiguous_aligned;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement};
use cubecl::bytes::Bytes;
use cubecl::device::Device;
use cubecl::device_handle::DeviceHandle;
use cubecl::future::{DynFut, block_on};
use cubecl::server::{ComputeServer, CopyDescriptor, ServerError};
use cubecl::stream_id::StreamId;

use crate::backend::transfer::Transfer;
use crate::batches::Batch;
use crate::counts::as_bytes;
use crate::data::{download_failed, unexpected_data};
use crate::error::Result;

use super::upload;

/// A copy that the runtime has started, into pinned memory (if it has any) that it reuses. Polling the future blocks
/// until the copy is complete.
type PendingDownload = Result<DynFut<std::result::Result<Vec<Bytes>, ServerError>>>;

/// The stream of downloads. They wait for the kernels that compute their tables, but not for uploads, as the bus is
/// full-duplex.
const DOWNLOADS: StreamId = StreamId { value: 1 };

impl<R, F, I, BT> Transfer for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    type PendingDownload = PendingDownload;

    fn upload_rows(
        (rows, columns): (usize, usize),
        fill: impl Fn(usize, &mut [f32]) + Sync,
        device: &Self::Device,
    ) -> Result<CubeTensor<R>> {
        let client = R::client(device);
        let handle = upload::upload((&client, device), (rows, 4 * columns), |range, out| {
            upload::write_rows(out, range, 4 * columns, |row, out| {
                // SAFETY: every bit pattern is an `f32`.
                let (unaligned, values, _) = unsafe { out.align_to_mut::<f32>() };
                if unaligned.is_empty() {
                    fill(row, values);
                } else {
                    let mut values = vec![0.0; columns];
                    fill(row, &mut values);
                    out.copy_from_slice(as_bytes(&values));
                }
            });
        })?;
        let shape = Shape::new([rows, columns]);
        Ok(CubeTensor::new_contiguous(
            client,
            device.clone(),
            shape,
            handle,
            DType::F32,
        ))
    }

    fn upload_counts(batch: &Batch<'_>, terms: usize, device: &Self::Device) -> Result<()> {
        upload::upload_batch((&R::client(device), device), batch, terms, None).map(|_| ())
    }

    fn download(table: CubeTensor<R>) -> PendingDownload {
        let table = into_contiguous_aligned(table);
        let (shape, strides) = (table.meta.shape().clone(), table.meta.strides().clone());
        let from = CopyDescriptor::new(table.handle.binding(), shape, strides, 4);
        // The client's future borrows the client while the copy is in flight; its server's future does not.
        let server = DeviceHandle::<R::Server>::new(table.device.to_id());
        server
            .submit_blocking(move |server| server.read(vec![from], DOWNLOADS))
            .map_err(download_failed)
    }

    fn wait<T>(table: PendingDownload, read: impl FnOnce(&[f32]) -> T) -> Result<T> {
        let tables = block_on(table?).map_err(download_failed)?;
        // SAFETY: every bit pattern is an `f32`.
        let (unaligned, values, _) = unsafe { tables[0].align_to::<f32>() };
        match unaligned.is_empty() {
            true => Ok(read(values)),
            false => Err(unexpected_data("a table that is not aligned to 4 bytes")),
        }
    }
}
