// What a migration is. A list of statements for each database; numbered by its place in the list.

export interface Migration {
  /** Number and name, as its file is called. */
  readonly name: string;
  readonly sqlite: readonly string[];
  readonly postgres: readonly string[];
}
