//! The pickle of a `.pt` file, read as data by a stack machine with the few instructions of tensors, dictionaries, lists and
//! numbers. Anything else that a pickle names is refused by its name, and nothing is ever called.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use crate::dtype::Dtype;
use crate::error::Error;
use crate::formats::widen::Stored;
use crate::text::shorten;

use super::{DAMAGED, SAVE};

/// Maximum depth of nested values.
const DEEPEST: usize = 64;
/// Maximum number of dimensions. Any number of tensors may share a shape, and each has its own copy.
const DIMENSIONS: usize = 8;

/// A tensor whose numbers are in an entry of the archive.
#[derive(Debug, Clone)]
pub(super) struct Tensor {
    pub(super) dtype: Stored,
    /// The entry `data/KEY`.
    pub(super) key: Rc<str>,
    /// Numbers of the entry before the first one of the tensor.
    pub(super) offset: u64,
    pub(super) shape: Vec<u64>,
    pub(super) strides: Vec<u64>,
}

/// A defect of a pickle, or contents that are no tensor.
#[derive(Debug)]
pub(super) struct PickleDefect {
    what: String,
    place: String,
    fix: &'static str,
}

impl PickleDefect {
    pub(super) fn in_file(self, path: &Path) -> Error {
        Error::format(path, self.what).at(self.place).fix(self.fix)
    }
}

type Result<T> = std::result::Result<T, PickleDefect>;

#[derive(Debug, Clone)]
pub(super) enum Value {
    /// None, true, false, and numbers with a fraction: nothing that a tensor needs.
    Other,
    Integer(i64),
    Text(Rc<str>),
    /// A name that the machine supports.
    Name(Rc<str>),
    /// Numbers of a dtype, or bytes of none.
    Storage(Option<Stored>, Rc<str>),
    Tensor(Rc<Tensor>),
    /// A tuple or a list, with its depth of nesting.
    Sequence(Rc<[Value]>, usize),
    Dictionary(Vec<(Value, Value)>, usize),
    /// A list or a dictionary that was referred to, which may have grown since.
    Shared,
}

impl Value {
    fn depth(&self) -> usize {
        match self {
            Value::Sequence(_, depth) | Value::Dictionary(_, depth) => *depth,
            _ => 0,
        }
    }
}

/// The dtype of a class of storages.
fn storage(name: &str) -> Option<Stored> {
    Some(match name {
        "torch.FloatStorage" => Stored::As(Dtype::F32),
        "torch.DoubleStorage" => Stored::As(Dtype::F64),
        "torch.HalfStorage" => Stored::F16,
        "torch.BFloat16Storage" => Stored::Bf16,
        "torch.ByteStorage" => Stored::As(Dtype::U8),
        "torch.CharStorage" => Stored::I8,
        "torch.ShortStorage" => Stored::I16,
        "torch.IntStorage" => Stored::As(Dtype::I32),
        "torch.LongStorage" => Stored::As(Dtype::I64),
        "torch.BoolStorage" => Stored::Bool,
        _ => return None,
    })
}

/// The dtypes that have no class of storages.
fn dtype(name: &str) -> Option<Stored> {
    Some(match name {
        "torch.uint16" => Stored::As(Dtype::U16),
        "torch.uint32" => Stored::As(Dtype::U32),
        "torch.uint64" => Stored::U64,
        _ => return None,
    })
}

const TENSOR: &str = "torch._utils._rebuild_tensor_v2";
const TENSOR_OF_DTYPE: &str = "torch._utils._rebuild_tensor_v3";
const PARAMETER: &str = "torch._utils._rebuild_parameter";
const ORDERED: &str = "collections.OrderedDict";
const UNTYPED: &str = "torch.storage.UntypedStorage";

fn is_known(name: &str) -> bool {
    [TENSOR, TENSOR_OF_DTYPE, PARAMETER, ORDERED, UNTYPED].contains(&name)
        || storage(name).is_some()
        || dtype(name).is_some()
}

/// Reads a pickle to its end.
pub(super) fn read(bytes: &[u8]) -> Result<Value> {
    let mut machine = Machine {
        bytes,
        at: 0,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
    };
    loop {
        if let Some(value) = machine.step()? {
            return Ok(value);
        }
    }
}

/// The tensor of counts: the value itself, `X` of a dictionary, or its only one with two dimensions.
pub(super) fn choose(value: Value) -> Result<Tensor> {
    let problem = |what: String, place: String| {
        let fix = SAVE;
        Err(PickleDefect { what, place, fix })
    };
    let place = "the value that was saved".to_string();
    let entries = match value {
        Value::Tensor(tensor) => return Ok(Rc::unwrap_or_clone(tensor)),
        Value::Dictionary(entries, _) => entries,
        Value::Sequence(..) => return problem("holds a list or a tuple".into(), place),
        _ => return problem("holds no tensor".into(), place),
    };
    let tensors: Vec<(Rc<str>, Rc<Tensor>)> = entries
        .into_iter()
        .filter_map(|entry| match entry {
            (Value::Text(name), Value::Tensor(tensor)) => Some((name, tensor)),
            _ => None,
        })
        .collect();
    let named = tensors.iter().find(|(name, _)| &**name == "X");
    let mut matrices = tensors.iter().filter(|(_, tensor)| tensor.shape.len() == 2);
    match (named, matrices.next(), matrices.next()) {
        (Some((_, tensor)), _, _) | (None, Some((_, tensor)), None) => Ok(Tensor::clone(tensor)),
        (None, found, _) => {
            // Any number of tensors may share a long name.
            let names = tensors.iter().take(20).map(|(name, _)| shorten(name, 60));
            let names: Vec<String> = names.collect();
            let what = match found {
                None => "holds a dictionary without a 2-D tensor",
                Some(_) => "holds several 2-D tensors, and none is named X",
            };
            problem(
                what.into(),
                format!("tensors: {}", names.join(", ").escape_debug()),
            )
        }
    }
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    /// Heights of the stack at which lists of arguments begin.
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
}

impl<'a> Machine<'a> {
    fn problem(&self, what: impl Into<String>, fix: &'static str) -> PickleDefect {
        PickleDefect {
            what: what.into(),
            place: format!("data.pkl, before byte {}", self.at),
            fix,
        }
    }

    fn damaged(&self, what: &str) -> PickleDefect {
        self.problem(format!("has a damaged pickle: {what}"), DAMAGED)
    }

    fn take(&mut self, number: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(number);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += number;
                Ok(bytes)
            }
            None => Err(self.damaged("it ends early")),
        }
    }

    /// A little-endian number of at most four bytes.
    fn number(&mut self, bytes: usize) -> Result<u32> {
        let bytes = self.take(bytes)?.iter().rev();
        Ok(bytes.fold(0, |number, &byte| number << 8 | u32::from(byte)))
    }

    fn text(&mut self, bytes: usize) -> Result<Rc<str>> {
        let bytes = self.take(bytes)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(_) => Err(self.damaged("a text is not UTF-8")),
        }
    }

    /// A text up to the end of its line.
    fn line(&mut self) -> Result<Rc<str>> {
        let rest = &self.bytes[self.at..];
        let Some(length) = rest.iter().position(|&byte| byte == b'\n') else {
            return Err(self.damaged("a name does not end"));
        };
        let text = self.text(length)?;
        self.at += 1;
        Ok(text)
    }

    fn pop(&mut self) -> Result<Value> {
        match self.stack.pop() {
            Some(value)
                if self
                    .marks
                    .last()
                    .is_none_or(|&mark| self.stack.len() >= mark) =>
            {
                Ok(value)
            }
            _ => Err(self.damaged("an instruction has too few values")),
        }
    }

    /// The values since the last mark.
    fn marked(&mut self) -> Result<Vec<Value>> {
        match self.marks.pop().filter(|&mark| mark <= self.stack.len()) {
            Some(mark) => Ok(self.stack.split_off(mark)),
            None => Err(self.damaged("a list of values has no beginning")),
        }
    }

    fn last(&mut self, number: usize) -> Result<Vec<Value>> {
        let mut values = (0..number)
            .map(|_| self.pop())
            .collect::<Result<Vec<_>>>()?;
        values.reverse();
        Ok(values)
    }

    /// One more than the deepest of these values.
    fn depth<'v>(&self, values: impl Iterator<Item = &'v Value>) -> Result<usize> {
        let depth = 1 + values.map(Value::depth).max().unwrap_or(0);
        match depth <= DEEPEST {
            true => Ok(depth),
            false => Err(self.problem("holds values too deep inside each other", SAVE)),
        }
    }

    fn push_sequence(&mut self, values: Vec<Value>) -> Result<()> {
        let depth = self.depth(values.iter())?;
        self.stack.push(Value::Sequence(values.into(), depth));
        Ok(())
    }

    /// Carries out an instruction; gives the value of the pickle at its end.
    fn step(&mut self) -> Result<Option<Value>> {
        let instruction = self.take(1)?[0];
        let value = match instruction {
            b'.' => return self.pop().map(Some),
            // Protocols up to 2; later ones have instructions that torch.save does not use.
            0x80 => {
                self.take(1)?;
                return Ok(None);
            }
            b'(' => {
                self.marks.push(self.stack.len());
                return Ok(None);
            }
            b'q' | b'r' => {
                self.remember(instruction)?;
                return Ok(None);
            }
            b'h' => self.recall(1)?,
            b'j' => self.recall(4)?,
            b'N' | 0x88 | 0x89 => Value::Other,
            b'G' => {
                self.take(8)?;
                Value::Other
            }
            b'J' => Value::Integer(i64::from(self.number(4)? as i32)),
            b'K' => Value::Integer(i64::from(self.number(1)?)),
            b'M' => Value::Integer(i64::from(self.number(2)?)),
            0x8a => self.long()?,
            b'X' => {
                let length = self.number(4)? as usize;
                Value::Text(self.text(length)?)
            }
            b'c' => self.name()?,
            b')' | b']' => Value::Sequence(Rc::default(), 1),
            b'}' => Value::Dictionary(Vec::new(), 1),
            b't' | 0x85..=0x87 => {
                let values = match instruction {
                    b't' => self.marked()?,
                    number => self.last(usize::from(number - 0x84))?,
                };
                self.push_sequence(values)?;
                return Ok(None);
            }
            b'a' | b'e' | b's' | b'u' => {
                self.add(instruction)?;
                return Ok(None);
            }
            b'Q' => self.storage()?,
            b'R' => self.rebuild()?,
            b'b' => {
                // The attributes of a dictionary of a module, which say the version of each layer.
                self.pop()?;
                match self.stack.last() {
                    Some(Value::Dictionary(..)) => return Ok(None),
                    _ => return Err(self.problem("holds an object with attributes", SAVE)),
                }
            }
            other => {
                let what = format!(
                    "has the instruction {other:#04x} in its pickle, which no tensor needs"
                );
                return Err(self.problem(what, SAVE));
            }
        };
        self.stack.push(value);
        Ok(None)
    }

    fn remember(&mut self, instruction: u8) -> Result<()> {
        let place = self.number(if instruction == b'q' { 1 } else { 4 })?;
        let value = match self.stack.last() {
            Some(Value::Dictionary(..)) => Value::Shared,
            Some(value) => value.clone(),
            None => return Err(self.damaged("it remembers nothing")),
        };
        self.memo.insert(place, value);
        Ok(())
    }

    fn recall(&mut self, bytes: usize) -> Result<Value> {
        let place = self.number(bytes)?;
        match self.memo.get(&place) {
            Some(Value::Shared) => Err(self.problem("holds a dictionary in several places", SAVE)),
            Some(value) => Ok(value.clone()),
            None => Err(self.damaged("it recalls what it did not remember")),
        }
    }

    /// A whole number of up to eight bytes.
    fn long(&mut self) -> Result<Value> {
        let length = self.number(1)? as usize;
        let bytes = self.take(length)?;
        if length > 8 {
            return Err(self.problem("holds a number of more than 64 bits", SAVE));
        }
        let negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
        let fill = if negative { 0xff } else { 0 };
        let mut wide = [fill; 8];
        wide[..length].copy_from_slice(bytes);
        Ok(Value::Integer(i64::from_le_bytes(wide)))
    }

    fn name(&mut self) -> Result<Value> {
        let (module, name) = (self.line()?, self.line()?);
        let name = format!("{module}.{name}");
        match is_known(&name) {
            true => Ok(Value::Name(name.into())),
            false => {
                let what = format!(
                    "holds {}, which is no tensor of counts",
                    name.escape_debug()
                );
                Err(self.problem(what, SAVE))
            }
        }
    }

    /// Adds values to a list, or pairs to a dictionary.
    fn add(&mut self, instruction: u8) -> Result<()> {
        let values = match instruction {
            b'a' => self.last(1)?,
            b's' => self.last(2)?,
            _ => self.marked()?,
        };
        let depth = self.depth(values.iter())?;
        let is_list = matches!(instruction, b'a' | b'e');
        match self.stack.last_mut() {
            // The contents of a list are not needed.
            Some(Value::Sequence(..)) if is_list => Ok(()),
            Some(Value::Dictionary(entries, deepest))
                if !is_list && values.len().is_multiple_of(2) =>
            {
                *deepest = depth.max(*deepest);
                entries.reserve(values.len() / 2);
                let mut values = values.into_iter();
                while let (Some(key), Some(value)) = (values.next(), values.next()) {
                    entries.push((key, value));
                }
                Ok(())
            }
            _ => Err(self.damaged("values are added to what is no list or dictionary")),
        }
    }

    /// The numbers that the archive has under a key: `("storage", class, key, device, length)`.
    fn storage(&mut self) -> Result<Value> {
        let Value::Sequence(parts, _) = self.pop()? else {
            return Err(self.damaged("a storage is no tuple"));
        };
        match &*parts {
            [_, Value::Name(class), Value::Text(key), ..] if **class == *UNTYPED => {
                Ok(Value::Storage(None, key.clone()))
            }
            [_, Value::Name(class), Value::Text(key), ..] if storage(class).is_some() => {
                Ok(Value::Storage(storage(class), key.clone()))
            }
            _ => Err(self.damaged("a storage has other parts than class and key")),
        }
    }

    /// What a function of PyTorch would make of its arguments.
    fn rebuild(&mut self) -> Result<Value> {
        let (arguments, function) = (self.pop()?, self.pop()?);
        let (Value::Sequence(arguments, _), Value::Name(function)) = (arguments, function) else {
            return Err(self.damaged("a tensor has no arguments"));
        };
        match (&*function, &*arguments) {
            (ORDERED, []) => Ok(Value::Dictionary(Vec::new(), 1)),
            (PARAMETER, [Value::Tensor(tensor), ..]) => Ok(Value::Tensor(tensor.clone())),
            (TENSOR, [Value::Storage(Some(dtype), key), rest @ ..]) => {
                self.tensor(*dtype, key, rest)
            }
            (TENSOR_OF_DTYPE, [Value::Storage(_, key), rest @ ..]) => {
                let name = rest.iter().find_map(|value| match value {
                    Value::Name(name) => dtype(name),
                    _ => None,
                });
                match name {
                    Some(dtype) => self.tensor(dtype, key, rest),
                    None => Err(self.damaged("a tensor has no dtype")),
                }
            }
            _ => Err(self.problem(
                format!("holds a {function} of other parts than a tensor has"),
                SAVE,
            )),
        }
    }

    /// A tensor of `(offset, shape, strides, ...)`.
    fn tensor(&self, dtype: Stored, key: &Rc<str>, parts: &[Value]) -> Result<Value> {
        let sizes = |values: &[Value]| -> Option<Vec<u64>> {
            let size = |value: &Value| match value {
                Value::Integer(size) => u64::try_from(*size).ok(),
                _ => None,
            };
            values.iter().map(size).collect()
        };
        let [
            Value::Integer(offset),
            Value::Sequence(shape, _),
            Value::Sequence(strides, _),
            ..,
        ] = parts
        else {
            return Err(self.damaged("a tensor has no shape"));
        };
        let dimensions = shape.len().max(strides.len());
        if dimensions > DIMENSIONS {
            let what = format!("holds a tensor of {dimensions} dimensions, more than {DIMENSIONS}");
            return Err(self.problem(what, SAVE));
        }
        match (u64::try_from(*offset), sizes(shape), sizes(strides)) {
            (Ok(offset), Some(shape), Some(strides)) if shape.len() == strides.len() => {
                Ok(Value::Tensor(Rc::new(Tensor {
                    dtype,
                    key: key.clone(),
                    offset,
                    shape,
                    strides,
                })))
            }
            _ => Err(self.damaged("a tensor has sizes that are no numbers from 0")),
        }
    }
}
