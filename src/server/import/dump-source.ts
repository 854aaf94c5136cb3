// A file written by mysqldump (or a tool that writes the same): read once to learn where the rows of each table are, then
// again table by table, since tables come in the order of their names and not in the order we need them.
import { type FileHandle, open } from "node:fs/promises";
import { scanStatements, withoutComments } from "./dump-scan.ts";
import { readTuples } from "./dump-values.ts";
import type { SourceRow } from "./row.ts";
import { ImportError, type Source } from "./source.ts";

const NAME = "(?:`?[\\w$-]+`?\\s*\\.\\s*)?`?(?<table>[^`\\s(.]+)`?";
const CREATE = new RegExp(`^CREATE TABLE (?:IF NOT EXISTS )?${NAME}\\s*\\(`, "i");
const INSERT = new RegExp(
  `^(?:INSERT(?: IGNORE)?|REPLACE) INTO ${NAME}\\s*(?:\\((?<columns>[^)]*)\\)\\s*)?VALUES\\s*`,
  "i",
);
/** The same, as far as the head of a long statement goes. */
const INSERT_HEAD = new RegExp(`^(?:INSERT(?: IGNORE)?|REPLACE) INTO ${NAME}[\\s(]`, "i");
/** Lines of CREATE TABLE that are no columns. */
const NO_COLUMN = /^(?:PRIMARY|UNIQUE|KEY|INDEX|CONSTRAINT|FULLTEXT|SPATIAL|FOREIGN|CHECK)\b/i;

/** Statements of one table that follow each other, as one range of bytes. */
interface Range {
  readonly table: string;
  readonly start: number;
  end: number;
}

/** How mysqldump and mariadb-dump begin and, after the last row, end a file, unless they were told to write no comments. */
const FIRST_LINE = /^-- (?:MySQL|MariaDB) dump /m;
const LAST_LINE = /^-- Dump completed/m;
const TAIL_BYTES = 400;

/** Throws: ImportError when the file holds no table, or only the first part of a dump: users missing there would lose everything. */
export async function openDump(file: string): Promise<Source> {
  const handle = await open(file, "r");
  const tables = new Map<string, Set<string>>();
  const inserts: Range[] = [];
  let hasEnd = true;
  for await (const { start, end, head, isWhole } of scanStatements(file)) {
    if (!isWhole || FIRST_LINE.test(head)) hasEnd = isWhole && LAST_LINE.test(await readTail(handle));
    const code = withoutComments(head);
    const created = CREATE.exec(code)?.groups?.["table"];
    if (created !== undefined) tables.set(created, columnsOf(await readText(handle, { start, end })));
    const filled = INSERT_HEAD.exec(code)?.groups?.["table"];
    if (filled === undefined) continue;
    const last = inserts.at(-1);
    if (last?.table === filled) last.end = end;
    else inserts.push({ table: filled, start, end });
  }
  if (tables.size === 0) {
    await handle.close();
    throw new ImportError(`${file} is neither a SQLite database nor a dump with CREATE TABLE statements`);
  }
  if (!hasEnd) {
    await handle.close();
    throw new ImportError(
      `${file} is cut off: its end is missing; write the dump again and watch for errors`,
    );
  }
  const source: Source = {
    engine: "MySQL dump",
    tables,
    async *rows(table) {
      const columns = [...(tables.get(table) ?? [])];
      for (const range of inserts.filter((insert) => insert.table === table)) {
        for await (const statement of scanStatements(file, range)) {
          if (INSERT_HEAD.test(withoutComments(statement.head))) {
            yield* rowsOf(await readText(handle, statement), columns);
          }
        }
      }
    },
    // A dump does not say how many they are.
    async count(table) {
      let rows = 0;
      for await (const _ of source.rows(table)) rows += 1;
      return rows;
    },
    close: () => handle.close(),
  };
  return source;
}

async function readTail(handle: FileHandle): Promise<string> {
  const { size } = await handle.stat();
  const start = Math.max(0, size - TAIL_BYTES);
  const { buffer } = await handle.read(Buffer.alloc(size - start), 0, size - start, start);
  return buffer.toString("utf8");
}

async function readText(
  handle: FileHandle,
  { start, end }: { readonly start: number; readonly end: number },
): Promise<string> {
  const { buffer } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
  return withoutComments(buffer.toString("utf8"));
}

/** The columns in their order, from the lines of CREATE TABLE. */
function columnsOf(statement: string): Set<string> {
  const lines = statement.slice(statement.indexOf("(") + 1).split("\n");
  const names = lines.flatMap((line) => {
    const text = line.trim();
    const name = /^`([^`]+)`\s/.exec(text)?.[1] ?? /^(\w+)\s/.exec(text)?.[1];
    return name === undefined || NO_COLUMN.test(text) ? [] : [name];
  });
  return new Set(names);
}

function* rowsOf(statement: string, columns: readonly string[]): Generator<SourceRow> {
  const found = INSERT.exec(statement);
  if (!found) throw new ImportError(`cannot read the statement ${JSON.stringify(statement.slice(0, 60))}`);
  const named = found.groups?.["columns"]?.split(",").map((name) => name.trim().replaceAll("`", ""));
  const names = named ?? columns;
  for (const values of readTuples(statement, found[0].length)) {
    if (values.length !== names.length) {
      throw new ImportError(
        `a row of ${names.length} columns has ${values.length} values: the dump is damaged`,
      );
    }
    yield Object.fromEntries(names.map((name, index) => [name, values[index]]));
  }
}
