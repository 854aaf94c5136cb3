// Statements about many ids: a database takes no more parameters at once (SQLite 32,766, PostgreSQL 65,535).

const AT_ONCE = 900;

/** Runs a statement for some of the ids at a time. Returns its rows one after the other. */
export async function inParts<Row>(
  ids: readonly number[],
  run: (some: readonly number[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let at = 0; at < ids.length; at += AT_ONCE) rows.push(...(await run(ids.slice(at, at + AT_ONCE))));
  return rows;
}
