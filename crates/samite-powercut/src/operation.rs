//! What is recorded: one operation after the other, each with all that it needs to be done again.

use std::sync::Arc;

/// The number of a file or directory, which stays when its name changes. Never used twice.
pub type FileNumber = u64;

/// The bytes of a write, shared by whoever holds the log.
pub type Bytes = Arc<[u8]>;

/// Something that was done to the file system, once it had happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new, empty file got a name.
    Create {
        /// The directory.
        directory: FileNumber,
        /// The name in it.
        name: Vec<u8>,
        /// The new file.
        file: FileNumber,
        /// Its permission bits.
        mode: u32,
    },
    /// A new, empty directory got a name.
    MakeDirectory {
        /// The directory above it.
        directory: FileNumber,
        /// The name there.
        name: Vec<u8>,
        /// The new directory.
        file: FileNumber,
        /// Its permission bits.
        mode: u32,
    },
    /// Bytes were written.
    Write {
        /// The file.
        file: FileNumber,
        /// Where the first byte went.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
    },
    /// A file's length was set.
    Truncate {
        /// The file.
        file: FileNumber,
        /// Its new length; what is beyond the old one is zero.
        length: u64,
    },
    /// Permission bits were set.
    ChangeMode {
        /// The file or directory.
        file: FileNumber,
        /// The new bits.
        mode: u32,
    },
    /// A name was moved, and replaced what had the new one.
    Rename {
        /// The directory of the old name.
        from: FileNumber,
        /// The old name.
        name: Vec<u8>,
        /// The directory of the new name.
        to: FileNumber,
        /// The new name.
        new_name: Vec<u8>,
    },
    /// A file's or directory's name was removed.
    Remove {
        /// The directory.
        directory: FileNumber,
        /// The name.
        name: Vec<u8>,
    },
    /// A file was synced, and the caller was told so only after this.
    Sync {
        /// The file.
        file: FileNumber,
    },
    /// A directory was synced.
    SyncDirectory {
        /// The directory.
        directory: FileNumber,
    },
    /// Whoever works on the file system was told something that must hold from here on.
    Acknowledge {
        /// What, in its own words.
        bytes: Bytes,
    },
}

struct Writer<'bytes>(&'bytes mut Vec<u8>);

impl Writer<'_> {
    fn numbers<const N: usize>(&mut self, code: u8, numbers: [u64; N]) {
        self.0.push(code);
        for number in numbers {
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }
}

/// Appends an operation to a log.
pub fn encode(operation: &Operation, to: &mut Vec<u8>) {
    let mut writer = Writer(to);
    match operation {
        Operation::Create { directory, name, file, mode } => {
            writer.numbers(1, [*directory, *file, u64::from(*mode)]);
            writer.bytes(name);
        }
        Operation::MakeDirectory { directory, name, file, mode } => {
            writer.numbers(2, [*directory, *file, u64::from(*mode)]);
            writer.bytes(name);
        }
        Operation::Write { file, offset, bytes } => {
            writer.numbers(3, [*file, *offset]);
            writer.bytes(bytes);
        }
        Operation::Truncate { file, length } => writer.numbers(4, [*file, *length]),
        Operation::ChangeMode { file, mode } => writer.numbers(5, [*file, u64::from(*mode)]),
        Operation::Rename { from, name, to, new_name } => {
            writer.numbers(6, [*from, *to]);
            writer.bytes(name);
            writer.bytes(new_name);
        }
        Operation::Remove { directory, name } => {
            writer.numbers(7, [*directory]);
            writer.bytes(name);
        }
        Operation::Sync { file } => writer.numbers(8, [*file]),
        Operation::SyncDirectory { directory } => writer.numbers(9, [*directory]),
        Operation::Acknowledge { bytes } => {
            writer.numbers(10, []);
            writer.bytes(bytes);
        }
    }
}

struct Reader<'bytes>(&'bytes [u8]);

impl<'bytes> Reader<'bytes> {
    fn number(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    fn mode(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn bytes(&mut self) -> Option<&'bytes [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn operation(&mut self) -> Option<Operation> {
        let (code, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(match code {
            1 | 2 => {
                let (directory, file, mode) = (self.number()?, self.number()?, self.mode()?);
                let name = self.bytes()?.to_vec();
                if *code == 1 {
                    Operation::Create { directory, name, file, mode }
                } else {
                    Operation::MakeDirectory { directory, name, file, mode }
                }
            }
            3 => {
                let (file, offset) = (self.number()?, self.number()?);
                Operation::Write { file, offset, bytes: self.bytes()?.into() }
            }
            4 => Operation::Truncate { file: self.number()?, length: self.number()? },
            5 => Operation::ChangeMode { file: self.number()?, mode: self.mode()? },
            6 => {
                let (from, to) = (self.number()?, self.number()?);
                Operation::Rename { from, name: self.bytes()?.to_vec(), to, new_name: self.bytes()?.to_vec() }
            }
            7 => Operation::Remove { directory: self.number()?, name: self.bytes()?.to_vec() },
            8 => Operation::Sync { file: self.number()? },
            9 => Operation::SyncDirectory { directory: self.number()? },
            10 => Operation::Acknowledge { bytes: self.bytes()?.into() },
            _ => return None,
        })
    }
}

/// The operations of a log; `None` when it is no log, or cut.
pub fn decode(log: &[u8]) -> Option<Vec<Operation>> {
    let mut reader = Reader(log);
    let mut operations = Vec::new();
    while !reader.0.is_empty() {
        operations.push(reader.operation()?);
    }
    Some(operations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let (name, new_name, bytes) = (b"a".to_vec(), b"bc".to_vec(), Bytes::from(&b"xyz"[..]));
        let operations = vec![
            Operation::Create { directory: 1, name: name.clone(), file: 2, mode: 0o600 },
            Operation::MakeDirectory { directory: 1, name: name.clone(), file: 3, mode: 0o700 },
            Operation::Write { file: 2, offset: 1 << 40, bytes: bytes.clone() },
            Operation::Truncate { file: 2, length: 5 },
            Operation::ChangeMode { file: 2, mode: 0o644 },
            Operation::Rename { from: 1, name: name.clone(), to: 3, new_name },
            Operation::Remove { directory: 1, name },
            Operation::Sync { file: 2 },
            Operation::SyncDirectory { directory: 3 },
            Operation::Acknowledge { bytes },
        ];
        let mut log = Vec::new();
        for operation in &operations {
            encode(operation, &mut log);
        }
        assert_eq!(decode(&log).unwrap(), operations);
        assert_eq!(decode(&log[..log.len() - 1]), None);
        assert_eq!(decode(&[99]), None);
    }
}
