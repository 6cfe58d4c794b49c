//! The registers and rows of decisions. Pure.

use super::capture::kind_hash;
use crate::log::Entry;
use crate::payload::{CaptureSet, ConsentSet, ProcessorSet, Refused, RegionSet, RetentionSet, TransferDecided};
use crate::views::{IndexHash, Projection, register, row};
use samite_model::policy::Region;
use samite_model::policy::retention::Retained;
use samite_model::{EntryKind, Result};

/// What an entry of a decision makes.
pub(crate) fn of(hash: &impl IndexHash, entry: &Entry) -> Result<Projection> {
    match entry.header.kind {
        EntryKind::CONSENT_SET => Ok(consent_set(&entry.json()?)),
        EntryKind::PROCESSOR_SET => processor_set(hash, &entry.json()?),
        EntryKind::REGION_SET => region_set(hash, &entry.json()?),
        EntryKind::TRANSFER_DECIDED => transfer_decided(hash, &entry.json()?),
        EntryKind::CAPTURE_SET => Ok(capture_set(&entry.json()?)),
        EntryKind::RETENTION_SET => Ok(retention_set(&entry.json()?)),
        EntryKind::REFUSED => Ok(refused(&entry.json()?)),
        _ => Ok(Projection::default()),
    }
}

/// What was said about training.
pub(crate) fn consent_set(set: &ConsentSet) -> Projection {
    Projection::default().set(register::CONSENT, set.on.hash(), vec![u8::from(set.given)])
}

/// A processor was registered or removed.
pub(crate) fn processor_set(hash: &impl IndexHash, set: &ProcessorSet) -> Result<Projection> {
    let name = hash.hash("processor", &[set.name.as_bytes()])?;
    let none = Projection::default();
    Ok(if set.removed {
        none.clear(register::PROCESSOR, name)
    } else {
        none.set(register::PROCESSOR, name, Vec::new())
    })
}

/// The tenant was pinned.
pub(crate) fn region_set(hash: &impl IndexHash, set: &RegionSet) -> Result<Projection> {
    Ok(Projection::default().set(register::REGION, [0; 16], region_hash(hash, &set.region)?.to_vec()))
}

/// A transfer was decided or taken back.
pub(crate) fn transfer_decided(hash: &impl IndexHash, decided: &TransferDecided) -> Result<Projection> {
    let to = region_hash(hash, &decided.to)?;
    let none = Projection::default();
    Ok(if decided.withdrawn {
        none.clear(register::TRANSFER, to)
    } else {
        none.set(register::TRANSFER, to, Vec::new())
    })
}

/// How much is kept was decided.
pub(crate) fn capture_set(set: &CaptureSet) -> Projection {
    let hash = kind_hash(set.kind.as_deref().and_then(EntryKind::from_name));
    match set.level {
        Some(level) => Projection::default().set(register::CAPTURE, hash, vec![level.code()]),
        None => Projection::default().clear(register::CAPTURE, hash),
    }
}

/// How long something is kept was decided.
pub(crate) fn retention_set(set: &RetentionSet) -> Projection {
    let Some(kind) = Retained::from_name(&set.kind) else { return Projection::default() };
    let mut hash = [0; 16];
    hash.iter_mut().take(1).for_each(|byte| *byte = kind.code());
    match set.days {
        Some(_) => Projection::default().set(register::RETENTION, hash, Vec::new()),
        None => Projection::default().clear(register::RETENTION, hash),
    }
}

/// Something was refused.
pub(crate) fn refused(refused: &Refused) -> Projection {
    Projection::default().row(row::REFUSED, *refused.refusal.as_bytes(), Vec::new())
}

/// The hash by which a region is known.
pub(crate) fn region_hash(hash: &impl IndexHash, region: &Region) -> Result<[u8; 16]> {
    hash.hash("region", &[region.as_str().as_bytes()])
}
