//! Kernel signatures: the part of a kernel that the fake driver reads.

/// The name of a kernel and, for each of its parameters, whether it is a pointer.
#[derive(Clone)]
pub struct Signature {
    pub name: String,
    pub pointers: Vec<bool>,
    /// The architecture that it was compiled for: 80 for `sm_80`.
    pub target: u32,
}

impl Signature {
    /// Reads the first kernel of a PTX program, compiled by NVRTC or written by [`Signature::ptx`].
    pub fn of_ptx(ptx: &str) -> Option<Self> {
        let (_, target) = ptx.split_once(".target sm_")?;
        let digits = target.find(|letter: char| !letter.is_ascii_digit())?;
        let (_, entry) = ptx.split_once(".entry ")?;
        let (name, rest) = entry.split_once('(')?;
        let (parameters, _) = rest.split_once(')')?;
        let pointers = parameters
            .split(',')
            .filter(|parameter| parameter.contains(".param"))
            .map(|parameter| parameter.contains(".u64"));
        Some(Self {
            name: name.trim().into(),
            pointers: pointers.collect(),
            target: target[..digits].parse().ok()?,
        })
    }

    /// Reads the kernel of CUDA source code that CubeCL generated.
    pub fn of_source(source: &str, target: u32) -> Option<Self> {
        let (_, kernel) = source.split_once("__global__ void __launch_bounds__(")?;
        let (_, kernel) = kernel.split_once(')')?;
        let (name, rest) = kernel.split_once('(')?;
        let (parameters, _) = rest.split_once("\n)")?;
        let parameters = parameters.split(',').map(str::trim);
        let name = name.trim().rsplit(char::is_whitespace).next()?;
        Some(Self {
            name: name.into(),
            pointers: parameters
                .filter(|parameter| !parameter.is_empty())
                .map(|parameter| parameter.contains('*'))
                .collect(),
            target,
        })
    }

    /// A PTX program with this kernel and an empty body.
    pub fn ptx(&self) -> String {
        let parameters = self.pointers.iter().enumerate().map(|(at, pointer)| {
            let kind = match pointer {
                true => ".u64",
                false => ".align 8 .b8",
            };
            format!("\t.param {kind} {}_param_{at}", self.name)
        });
        let parameters: Vec<_> = parameters.collect();
        format!(
            ".version 8.0\n.target sm_{}\n.address_size 64\n.visible .entry {}(\n{}\n)\n{{\n\tret;\n}}\n",
            self.target,
            self.name,
            parameters.join(",\n")
        )
    }
}
