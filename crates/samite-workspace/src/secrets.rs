//! Names that look as if a secret were inside. They are stored like any other file, and listed, so that a person can
//! exclude them.

/// Whether a file of this name, in a directory of this name, looks as if it held a secret.
pub(crate) fn looks_secret(directory: &[u8], name: &[u8]) -> bool {
    const NAMES: &[&[u8]] = &[
        b".env",
        b".envrc",
        b".netrc",
        b"_netrc",
        b".pgpass",
        b".npmrc",
        b".pypirc",
        b".htpasswd",
        b".dockercfg",
        b".git-credentials",
        b"id_rsa",
        b"id_dsa",
        b"id_ecdsa",
        b"id_ed25519",
        b"credentials",
        b"credentials.json",
        b"client_secret.json",
        b"service-account.json",
        b"secrets.json",
        b"secrets.yml",
        b"secrets.yaml",
        b"secrets.toml",
        b"master.key",
        b"kubeconfig",
    ];
    const ENDINGS: &[&[u8]] = &[b".pem", b".key", b".p12", b".pfx", b".jks", b".keystore", b".kdbx", b".ppk", b".asc"];
    const TEMPLATES: &[&[u8]] = &[b".example", b".sample", b".template", b".dist", b".schema"];
    // Nearly every name ends here.
    let plausible = matches!(name.first(), Some(b'.' | b'_' | b'i' | b'c' | b's' | b'm' | b'k'))
        || matches!(name, [.., b'.', _, _, _] | [.., b'.', _, _, _, _] | [.., b'e'])
        || directory.starts_with(b".");
    if !plausible {
        return false;
    }
    if TEMPLATES.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    NAMES.contains(&name)
        || name.starts_with(b".env.")
        || ENDINGS.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
        || (directory == b".docker" && name == b"config.json")
        || (directory == b".kube" && name == b"config")
}

#[cfg(test)]
mod tests {
    use super::looks_secret;

    #[test]
    fn what_looks_secret_and_what_does_not() {
        for name in [".env", ".env.production", "id_ed25519", "server.key", "cert.pem", "credentials", "a.keystore"] {
            assert!(looks_secret(b"d", name.as_bytes()), "{name}");
        }
        for name in [".env.example", "id_ed25519.pub", "environment", "key", "main.rs", ".gitignore", "keys.md"] {
            assert!(!looks_secret(b"d", name.as_bytes()), "{name}");
        }
        assert!(looks_secret(b".kube", b"config"));
        assert!(!looks_secret(b"d", b"config"));
    }
}
