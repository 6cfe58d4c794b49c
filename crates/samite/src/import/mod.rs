//! Importers: what another harness left behind, as a plan that the fabric carries out.
//!
//! An importer is pure: it reads bytes that it is given and answers with data. It opens no store and no clock.

pub mod claude_code;
