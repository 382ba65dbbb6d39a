//! Rows of a table to the card through the stages that counts go through, and back.

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

use super::send;
use crate::counts::as_bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::loader::Batch;
use crate::model::exchange::Exchange;

/// The runtime has begun the copy, into memory that is pinned where it has such and that it uses again; polling waits.
type Arriving = std::result::Result<DynFut<std::result::Result<Vec<Bytes>, ServerError>>, String>;

impl<R, F, I, BT> Exchange for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    type Arriving = Arriving;

    fn send(
        (rows, columns): (usize, usize),
        fill: impl Fn(usize, &mut [f32]),
        device: &Self::Device,
    ) -> Result<CubeTensor<R>> {
        let client = R::client(device);
        let handle = send::upload((&client, device), (rows, 4 * columns), |part, out| {
            let mut values = vec![0.0; columns];
            for (row, out) in part.zip(out.chunks_exact_mut(4 * columns)) {
                fill(row, &mut values);
                out.copy_from_slice(as_bytes(&values));
            }
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

    fn send_counts(batch: &Batch<'_>, terms: usize, device: &Self::Device) -> Result<()> {
        send::upload_batch((&R::client(device), device), batch, terms).map(|_| ())
    }

    fn bring(table: CubeTensor<R>) -> Arriving {
        let table = into_contiguous_aligned(table);
        let (shape, strides) = (table.meta.shape().clone(), table.meta.strides().clone());
        let from = CopyDescriptor::new(table.handle.binding(), shape, strides, 4);
        // The client's own way borrows the client as long as the copy is under way; hence its server is asked.
        let server = DeviceHandle::<R::Server>::new(table.device.to_id());
        let stream = StreamId::current();
        server
            .submit_blocking(move |server| server.read(vec![from], stream))
            .map_err(|error| format!("{error:?}"))
    }

    fn arrived(table: Arriving) -> Result<Vec<f32>> {
        let mut tables = table
            .and_then(|copy| block_on(copy).map_err(|error| format!("{error:?}")))
            .map_err(|error| {
                Error::new(
                    ErrorKind::Device,
                    format!("the device did not return a batch's gradients: {error}"),
                )
                .fix("use a smaller batch size, or Device::Cpu")
            })?;
        let bytes = tables.swap_remove(0);
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok(numbers
            .iter()
            .map(|number| f32::from_ne_bytes(*number))
            .collect())
    }
}
