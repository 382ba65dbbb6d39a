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

/// The stream of what comes back: behind what makes it, and beside what is sent meanwhile, as a bus goes both ways at once.
const BACK: StreamId = StreamId { value: 1 };

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
        fill: impl Fn(usize, &mut [f32]) + Sync,
        device: &Self::Device,
    ) -> Result<CubeTensor<R>> {
        let client = R::client(device);
        let handle = send::upload((&client, device), (rows, 4 * columns), |part, out| {
            send::by_row(out, part, 4 * columns, |row, out| {
                // SAFETY: any bits are numbers.
                let (before, numbers, _) = unsafe { out.align_to_mut::<f32>() };
                if before.is_empty() {
                    fill(row, numbers);
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

    fn send_counts(batch: &Batch<'_>, terms: usize, device: &Self::Device) -> Result<()> {
        send::upload_batch((&R::client(device), device), batch, terms, None).map(|_| ())
    }

    fn bring(table: CubeTensor<R>) -> Arriving {
        let table = into_contiguous_aligned(table);
        let (shape, strides) = (table.meta.shape().clone(), table.meta.strides().clone());
        let from = CopyDescriptor::new(table.handle.binding(), shape, strides, 4);
        // The client's own way borrows the client as long as the copy is under way; hence its server is asked.
        let server = DeviceHandle::<R::Server>::new(table.device.to_id());
        server
            .submit_blocking(move |server| server.read(vec![from], BACK))
            .map_err(|error| format!("{error:?}"))
    }

    fn arrived<T>(table: Arriving, read: impl FnOnce(&[f32]) -> T) -> Result<T> {
        let failed = |error: String| {
            Error::new(
                ErrorKind::Device,
                format!("the device did not give a table back: {error}"),
            )
            .fix("use a smaller batch size, or Device::Cpu")
        };
        let copy = table.map_err(failed)?;
        let tables = block_on(copy).map_err(|error| failed(format!("{error:?}")))?;
        // SAFETY: any bits are numbers.
        let (before, numbers, _) = unsafe { tables[0].align_to::<f32>() };
        match before.is_empty() {
            true => Ok(read(numbers)),
            false => Err(failed("its memory begins at an odd place".into())),
        }
    }
}
