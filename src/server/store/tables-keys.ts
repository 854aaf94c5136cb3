// The table of keys that were rotated out; column names are those of the wire.

/** The key that a token had before its last rotation: it works until `expires_at`. One for each token. Units: seconds. */
export interface OldKeysTable {
  token_id: number;
  key_hash: string;
  /** Of the rotation. */
  created_at: number;
  expires_at: number;
  /** Of its last use since the rotation, within a minute; 0 = none. */
  used_at: number;
}

export interface KeyTables {
  old_keys: OldKeysTable;
}
