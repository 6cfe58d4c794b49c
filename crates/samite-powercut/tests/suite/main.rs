//! Power cuts: recorded on a file system of their own, replayed into a directory, and opened there.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "workspaces and disks are made by hand"))]

#[cfg(test)]
mod acts;
#[cfg(test)]
mod artifacts;
#[cfg(test)]
mod careless;
#[cfg(test)]
mod cuts;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod planned;
#[cfg(test)]
mod recording;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod store;
#[cfg(test)]
mod store_check;
