//! What all importers share: records as they are read, the plan as data, what there is to say, and the planner of
//! sources whose records are one conversation.

pub(in crate::import) mod context;
pub(in crate::import) mod damage;
pub(in crate::import) mod elements;
pub(in crate::import) mod flat;
pub(in crate::import) mod ids;
pub(in crate::import) mod lines;
pub(in crate::import) mod loose;
pub(in crate::import) mod plan;
pub(in crate::import) mod raw;
pub(in crate::import) mod report;
pub(in crate::import) mod steps;
