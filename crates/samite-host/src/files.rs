//! Files whose changes are durable when the call returns.
