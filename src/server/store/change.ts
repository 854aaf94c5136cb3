// What updates have in common. Pure.

/** Whether a change leaves every column as it is: `UPDATE … SET` with nothing to set is a syntax error. */
export function isNoChange(change: object): boolean {
  return Object.values(change).every((value) => value === undefined);
}
