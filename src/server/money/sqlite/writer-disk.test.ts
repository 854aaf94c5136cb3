// When a group waits for the disk, and who is told before it has.
import type { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Operation } from "#server/money/operations.ts";
import { SyncFault } from "#server/store/fault.ts";
import { grant, groupOn, reserve, settle, smallDatabase } from "#test/worlds/small-database.ts";
import { decodeOutcomes, encodeBatch } from "./wire.ts";
import { afterReply, checkpoint, run } from "./writer.ts";

let database: DatabaseSync;

beforeEach(() => {
  database = smallDatabase(100);
});

afterEach(() => database.close());

/** What a group does after its transaction, in order: the kinds that are told, and the way to the disk. */
function storyOf(...operations: Operation[]): string[] {
  const story: string[] = [];
  const tell = (text: unknown) => {
    expect(database.isTransaction).toBe(false);
    story.push(...decodeOutcomes(String(text)).map((outcome) => outcome?.kind ?? "-"));
  };
  const sync = () => {
    expect(database.isTransaction).toBe(false);
    story.push("disk");
  };
  tell(run(database, encodeBatch({ operations, nowSec: 1, node: "n" }), { send: tell, sync }));
  return story;
}

test("only what sets amounts aside is told before the disk has it", () => {
  const parties = { userId: 1, tokenId: 2 };
  const extend = { kind: "extend", requestId: "a", target: 2n, ...parties } as const;
  const checkpoint = {
    kind: "checkpoint",
    requestId: "a",
    seen: { charge: 1n, promptTokens: 1, completionTokens: 1, channelId: 1 },
    ...parties,
  } as const;
  expect(storyOf(reserve("a", 1n), extend)).toEqual(["reserve", "extend"]);
  expect(storyOf(checkpoint)).toEqual(["disk", "checkpoint"]);
  expect(storyOf(settle("a", 1n), reserve("b", 1n), grant("x"))).toEqual([
    "-",
    "reserve",
    "-",
    "disk",
    "settle",
    "-",
    "adjust",
  ]);
  // Who asks a second time need not know whether the first time reached the disk.
  expect(storyOf(settle("a", 1n))).toEqual(["disk", "settle"]);
  expect(storyOf({ kind: "release", requestId: "b", ...parties }, reserve("c", 999n))).toEqual([
    "-",
    "reserve",
    "disk",
    "release",
    "-",
  ]);
});

test("a disk that does not take a group is no answer to it", () => {
  const sync = () => {
    throw new SyncFault("no");
  };
  const tell = vi.fn();
  const operations = [reserve("a", 1n), settle("a", 1n)];
  const text = encodeBatch({ operations, nowSec: 1, node: "n" });
  expect(() => run(database, text, { send: tell, sync })).toThrow(SyncFault);
  expect(tell).toHaveBeenCalledExactlyOnceWith('["reserved",0]');
});

const level = () => database.prepare("PRAGMA synchronous").get()?.["synchronous"];
const groupOf = (...operations: Operation[]) => groupOn(database, { operations, nowSec: 1, node: "n" });

test("transactions of groups leave the disk to later, all others do not", () => {
  const levels: unknown[] = [];
  database.function("level", () => {
    levels.push(level());
    return 0;
  });
  database.exec("PRAGMA synchronous = FULL");
  database.exec("CREATE TRIGGER t AFTER INSERT ON journal BEGIN SELECT level(); END");
  const [normal, full] = [1, 2];
  groupOf(reserve("a", 1n));
  groupOf(settle("a", 1n), reserve("b", 1n));
  checkpoint(database);
  expect(level()).toBe(full);
  groupOf(settle("b", 1n));
  expect(levels).toEqual([normal, normal, normal]);
  const bad = { ...reserve("bad", 1n), modelName: Symbol("no") } as unknown as Operation;
  expect(() => groupOf(bad)).toThrow();
  checkpoint(database);
  expect(level()).toBe(full);
  groupOf(settle("c", 1n));
  database.exec("CREATE TRIGGER u BEFORE INSERT ON ledger BEGIN SELECT RAISE(ABORT, 'no'); END");
  expect(() => checkpoint(database)).toThrow("no");
  expect(level()).toBe(full);
});

test("carrying over that the disk does not take ends the thread; other troubles of it wait", () => {
  const many = Array.from({ length: 1_100 }, (_, at) => settle(String(at), 0n));
  const text = encodeBatch({ operations: many, nowSec: 1, node: "n" });
  run(database, text, { send: vi.fn(), sync: vi.fn() });
  const fault = (errcode: number) =>
    vi.spyOn(database, "exec").mockImplementationOnce(() => {
      throw Object.assign(new Error("disk I/O error"), { errcode });
    });
  fault(10);
  afterReply(database);
  run(
    database,
    encodeBatch({ operations: many.map((it, at) => ({ ...it, requestId: `x${at}` })), nowSec: 1, node: "n" }),
    {
      send: vi.fn(),
      sync: vi.fn(),
    },
  );
  fault(1034);
  expect(() => afterReply(database)).toThrow("disk I/O error");
});
