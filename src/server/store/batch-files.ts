// Files of clients at upstreams, with what was counted of their lines, and the parts of batches: rows in, rows out. What stands in a file is
// not stored here.
import type { Selectable } from "kysely";
import type { Db } from "./db.ts";
import type { BatchPartsTable, FilePartsTable, FilesTable } from "./tables-tasks.ts";
import type { TaskOwner } from "./tasks.ts";

export type FileRow = Selectable<FilesTable>;
export type FilePart = Omit<Selectable<FilePartsTable>, "file_id">;
export type BatchPart = Selectable<BatchPartsTable>;
/** A part of a batch with the lines that it stands for. */
export type CountedPart = BatchPart & Pick<FilePart, "model" | "lines" | "facts">;

/** So many values of parts go into one statement. */
const PARTS_AT_ONCE = 20;

/** Stores a file with the parts of its lines. In a transaction, where there are some. */
export async function insertFile(
  db: Db,
  row: Omit<FileRow, "id">,
  parts: readonly FilePart[] = [],
): Promise<number> {
  const { id } = await db.insertInto("files").values(row).returning("id").executeTakeFirstOrThrow();
  for (let at = 0; at < parts.length; at += PARTS_AT_ONCE) {
    const some = parts.slice(at, at + PARTS_AT_ONCE).map((part) => ({ file_id: id, ...part }));
    await db.insertInto("file_parts").values(some).execute();
  }
  return id;
}

function ownFiles(db: Db, { userId, payerId }: TaskOwner, now: number) {
  return db
    .selectFrom("files")
    .selectAll()
    .where("user_id", "=", userId)
    .where("payer_id", "=", payerId)
    .where("deleted_at", "=", 0)
    .where("expires_at", ">", now);
}

/** One of the owner's that has not expired. */
export function findFileOf(
  db: Db,
  owner: TaskOwner,
  asked: { readonly fileId: string; readonly now: number },
): Promise<FileRow | undefined> {
  return ownFiles(db, owner, asked.now).where("file_id", "=", asked.fileId).executeTakeFirst();
}

/** Those of an owner behind one of them, in the order of their making or against it. */
export function listFilesOf(
  db: Db,
  owner: TaskOwner,
  asked: {
    readonly now: number;
    readonly purpose: string;
    readonly after: number | undefined;
    readonly limit: number;
    readonly isAscending: boolean;
  },
): Promise<FileRow[]> {
  const { purpose, after, isAscending } = asked;
  const mine = ownFiles(db, owner, asked.now);
  // Another word is that of no file.
  const meant = purpose === "" ? mine : mine.where("purpose", "=", purpose as FileRow["purpose"]);
  const rest = after === undefined ? meant : meant.where("id", isAscending ? ">" : "<", after);
  return rest
    .orderBy("id", isAscending ? "asc" : "desc")
    .limit(asked.limit)
    .execute();
}

/** What an owner's files come to. Unit: bytes. */
export async function sumFilesOf(db: Db, owner: TaskOwner, now: number): Promise<number> {
  const { bytes } = await ownFiles(db, owner, now)
    .clearSelect()
    .select(({ fn }) => fn.sum("bytes").as("bytes"))
    .where("purpose", "=", "batch")
    .executeTakeFirstOrThrow();
  return Number(bytes ?? 0);
}

/** Its owner does not see it any more; what was counted of it stays for the batches that use it. */
export async function hideFile(db: Db, id: number, now: number): Promise<void> {
  await db.updateTable("files").set({ deleted_at: now }).where("id", "=", id).execute();
}

export function listFileParts(db: Db, fileId: number): Promise<FilePart[]> {
  return db
    .selectFrom("file_parts")
    .select(["part", "model", "lines", "facts"])
    .where("file_id", "=", fileId)
    .orderBy("part")
    .execute();
}

export async function insertBatchParts(
  db: Db,
  rows: readonly Pick<BatchPart, "task_id" | "part" | "request_id">[],
): Promise<void> {
  await db
    .insertInto("batch_parts")
    .values(rows.map((row) => ({ ...row, sum: "", is_booked: 0 })))
    .execute();
}

/** The parts of a batch that the ledger does not have yet. */
export function listOpenParts(db: Db, taskId: number): Promise<BatchPart[]> {
  return db
    .selectFrom("batch_parts")
    .selectAll()
    .where("task_id", "=", taskId)
    .where("is_booked", "=", 0)
    .orderBy("part")
    .execute();
}

/** All parts of a batch with their lines, which are those of its file. */
export function listCountedParts(db: Db, taskId: number, fileId: number): Promise<CountedPart[]> {
  return db
    .selectFrom("batch_parts")
    .innerJoin("file_parts", (join) =>
      join.onRef("file_parts.part", "=", "batch_parts.part").on("file_parts.file_id", "=", fileId),
    )
    .selectAll("batch_parts")
    .select(["file_parts.model", "file_parts.lines", "file_parts.facts"])
    .where("task_id", "=", taskId)
    .orderBy("batch_parts.part")
    .execute();
}

/** Notes what a part comes to. */
export async function decidePart(
  db: Db,
  { task_id, part }: Pick<BatchPart, "task_id" | "part">,
  sum: string,
): Promise<void> {
  await db
    .updateTable("batch_parts")
    .set({ sum })
    .where("task_id", "=", task_id)
    .where("part", "=", part)
    .execute();
}

export async function markPartBooked(
  db: Db,
  { task_id, part }: Pick<BatchPart, "task_id" | "part">,
): Promise<void> {
  await db
    .updateTable("batch_parts")
    .set({ is_booked: 1 })
    .where("task_id", "=", task_id)
    .where("part", "=", part)
    .execute();
}

/** Forgets files that expired before a moment, with their parts. Returns how many. */
export async function deleteExpiredFiles(db: Db, before: number, limit: number): Promise<number> {
  const rows = await db
    .selectFrom("files")
    .select("id")
    .where("expires_at", "<", before)
    .limit(limit)
    .execute();
  if (rows.length === 0) return 0;
  const ids = rows.map(({ id }) => id);
  await db.deleteFrom("file_parts").where("file_id", "in", ids).execute();
  await db.deleteFrom("files").where("id", "in", ids).execute();
  return ids.length;
}
