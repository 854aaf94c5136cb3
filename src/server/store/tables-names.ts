// The tables of user names and of identities that were welcomed; column names are those of the wire.

/** Who holds a user name; see names.ts. */
export interface UserNamesTable {
  /** The name without regard to case and form. */
  name_key: string;
  user_id: number;
}

/** What proved who a person was that a registration brought gifts to; stays when the account is deleted (requirements M25). */
export interface WelcomedTable {
  /** Keyed hash of a mailbox, a GitHub id or a WeChat id. */
  identity_hash: string;
}

export interface NameTables {
  user_names: UserNamesTable;
  welcomed: WelcomedTable;
}
