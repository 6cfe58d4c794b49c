//! Sealing, the keystore and the master key of samite.
