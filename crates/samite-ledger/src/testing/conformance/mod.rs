//! What every backend must do, as checks with the right values written down.
//!
//! A backend runs all of them, each on a fresh ledger, with [`conformance_suite!`](crate::conformance_suite) (one test
//! a check) or by going through [`checks`].

mod appending;
mod atomicity;
mod blocks;
mod collecting;
mod deletion;
mod erasing;
mod fixture;
mod forks;
mod guards;
mod leases;
mod leaves;
mod listing;
mod races;
mod reading;
mod registers;
mod rows;

use crate::{BlockIndex, Ledger};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A ledger with its block index.
pub trait Backend: Ledger + BlockIndex {}

impl<T: Ledger + BlockIndex> Backend for T {}

/// One rule of the contract.
#[derive(Clone, Copy)]
pub struct Check {
    /// The module and the rule, as one name.
    pub name: &'static str,
    /// Panics when an empty ledger breaks the rule.
    pub run: fn(Arc<dyn Backend>) -> Running,
}

/// A check under way.
pub type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Hands the list of all checks to a macro.
#[doc(hidden)]
#[macro_export]
macro_rules! with_conformance_checks {
    ($callback:tt, $($arguments:tt)*) => {
        $crate::with_conformance_checks! { @list $callback, ($($arguments)*)
            appending {
                entries_get_the_next_seqs
                headers_are_stored_as_the_model_encodes_them
                links_cover_the_previous_link_and_the_header
                one_commit_appends_to_several_journals
                one_commit_may_append_twice_to_a_journal
                an_append_of_nothing_tells_the_next_seq
                an_unknown_journal_is_not_found
                a_journal_is_made_once
                a_payload_of_a_mebibyte_comes_back
            }
            atomicity {
                a_failed_guard_leaves_nothing
                a_bad_last_append_leaves_nothing
                a_destroyed_key_leaves_nothing
                a_dying_pack_leaves_nothing
            }
            forks {
                a_fork_continues_after_its_parent
                a_fork_of_a_fork_is_chained_to_both
                forks_do_not_see_each_other
                a_fork_point_is_an_own_entry
                a_fork_is_unmoved_by_its_parent
            }
            guards {
                head
                epoch
                row_absent_along_the_ancestry
                row_absent_beside_the_ancestry
                registers
                open
                key_live
                pin_live
                blocks_live
                the_first_that_fails_is_the_error
                an_unknown_journal_is_not_found
                a_dedupe_row_makes_a_retry_safe
            }
            listing {
                journals_come_in_the_order_of_their_making
                journals_are_found_by_family_kind_and_parent
                journals_are_found_by_prefix
                an_unknown_journal_has_no_state
            }
            reading {
                a_range_is_inclusive_at_both_ends
                a_range_beyond_the_entries_is_clipped
                kinds_are_filtered_before_the_limit
                backward_reads_the_newest_first
                payloads_are_fetched_when_asked_for
                inherited_entries_are_not_read
                an_unknown_journal_is_not_found
                waiting_ends_with_an_append
                waiting_ends_with_its_time
            }
            rows {
                rows_are_found_newest_first
                rows_are_read_along_the_ancestry
                a_position_bounds_what_is_seen
                kinds_and_hashes_are_apart
                replaced_rows_are_the_only_ones
                a_stale_rebuild_is_refused
            }
            registers {
                a_register_keeps_its_last_value
                the_version_counts_changes
                a_fork_has_registers_of_its_own
                replaced_registers_are_the_only_ones
            }
            leases {
                the_first_holder_gets_the_first_epoch
                the_same_writer_keeps_its_epoch
                another_writer_waits
                a_holder_is_seen_until_it_gives_up
                an_expired_lease_is_taken_over
                a_writer_whose_lease_expired_comes_back_in_a_new_epoch
                a_lease_that_was_given_up_is_taken
                the_last_holder_comes_back_in_its_epoch
                only_the_holder_gives_up
                a_holder_seen_gone_is_taken_over
                a_commit_renews_in_passing
                a_zombie_is_fenced
                leases_are_per_journal
            }
            leaves {
                nothing_is_logged_for_entries_without_leaves
                a_leaf_is_made_where_its_entry_is
                leaves_are_read_from_an_index_on
                a_refused_commit_leaves_no_leaf
                leaves_outlive_their_journal
                another_log_begins_beside_the_first
                a_beginning_that_was_pruned_is_gone_and_the_log_goes_on
            }
            deletion {
                a_deleted_journal_takes_nothing
                what_is_above_goes_and_what_is_below_stays
                a_fork_keeps_what_it_needs
                a_kept_entry_can_be_forked
                deletion_can_go_on
                a_deleted_fork_lets_its_parent_go
            }
            erasing {
                an_erased_entry_keeps_its_header_and_link
                what_it_added_to_the_views_goes
                rows_of_kinds_that_are_kept_stay
                only_entries_of_the_owner_go
                a_closed_journal_takes_nothing_and_fences
                keys_and_entries_go_together_or_not_at_all
                entries_of_an_owner_are_found
            }
            blocks {
                an_inline_block_is_found_without_its_bytes
                a_block_in_a_pack_is_found
                a_known_block_keeps_its_first_place
                a_block_of_a_dying_pack_takes_its_new_place
                blocks_are_listed_by_id
                packs_are_listed_with_their_states
                a_pack_grows_and_a_dying_one_does_not
                pins_are_recorded_renewed_and_ended
                pins_lapse_at_their_time
                a_commit_ends_pins
            }
            collecting {
                a_dying_pack_is_not_found
                a_dying_pack_is_forgotten_with_its_blocks
                a_live_pack_is_not_forgotten
                an_unseen_pin_stops_it
                a_pinned_pack_does_not_die
                lapsed_pins_are_dropped
                a_moved_head_stops_it
                a_new_journal_stops_it
                moved_blocks_take_the_new_place
                blocks_are_forgotten
                a_refused_collection_changes_nothing
                a_step_can_be_repeated
            }
            races {
                one_of_two_wins_a_head
                many_writers_append_without_gaps
                one_of_two_wins_a_dedupe_row
                one_of_two_wins_a_lease
                a_refused_commit_does_not_take_others_with_it
            }
        }
    };
    (@list {$($callback:tt)*}, ($($arguments:tt)*) $($modules:tt)*) => {
        $($callback)*! { ($($arguments)*) $($modules)* }
    };
}

/// Makes one test of each conformance check, in a module a subject.
///
/// Takes an async closure that opens a fresh, empty ledger with a [`PlainFinisher`](crate::testing::PlainFinisher) each
/// time, and returns it with whatever must outlive it, such as a temporary directory.
///
/// ```
/// mod memory {
///     use samite_ledger::MemoryLedger;
///     use samite_ledger::testing::{PlainFinisher, conformance::Backend};
///     use std::sync::Arc;
///
///     samite_ledger::conformance_suite!(async || {
///         (Arc::new(MemoryLedger::default().with_finisher(Arc::new(PlainFinisher))) as Arc<dyn Backend>, ())
///     });
/// }
/// ```
#[macro_export]
macro_rules! conformance_suite {
    ($open:expr) => {
        $crate::with_conformance_checks! { {$crate::conformance_tests}, $open }
    };
}

/// The tests of [`conformance_suite!`](crate::conformance_suite).
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    (($open:expr) $($module:ident { $($name:ident)* })*) => {
        /// Runs one check on a fresh ledger.
        fn check_conformance(name: &str) {
            $crate::testing::block_on(async {
                let (ledger, outliving) = ($open)().await;
                $crate::testing::conformance::run(name, ledger).await;
                drop(outliving);
            });
        }

        $(mod $module {
            $(#[test]
            fn $name() {
                super::check_conformance(concat!(stringify!($module), "::", stringify!($name)));
            })*
        })*
    };
}

macro_rules! list {
    (() $($module:ident { $($name:ident)* })*) => {
        /// All checks.
        pub fn checks() -> Vec<Check> {
            vec![$($(Check {
                name: concat!(stringify!($module), "::", stringify!($name)),
                run: |ledger| Box::pin($module::$name(ledger)),
            }),*),*]
        }
    };
}

with_conformance_checks! { {list}, }

/// Runs the check of this name on an empty ledger, and panics when the ledger breaks its rule or there is no such check.
pub async fn run(name: &str, ledger: Arc<dyn Backend>) {
    match checks().into_iter().find(|check| check.name == name) {
        Some(check) => (check.run)(ledger).await,
        None => panic!("there is no conformance check {name}"),
    }
}
