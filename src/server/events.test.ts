// What the diagnostic log says of failures that come again and again.
import { expect, test } from "vitest";
import { Repeats } from "./events/repeats.ts";
import { createEvents } from "./events.ts";
import { createLogger } from "./log.ts";

test("a failure that comes again and again is one line and every time counted; another one is another line", () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const events = createEvents(createLogger({ logLevel: "info", pretty: false, now: () => 0, destination }));
  const away = new Error("connect ECONNREFUSED 127.0.0.1:5432");
  for (let time = 0; time < 100; time++) events.backgroundFailed({ task: "database", error: away });
  events.backgroundFailed({ task: "database", error: new Error("the database system is starting up") });
  events.backgroundFailed({ task: "traffic", error: away });
  const told = lines.map((line) => JSON.parse(line) as { task: string; err: { message: string } });
  expect(told.map(({ task, err }) => [task, err.message])).toEqual([
    ["database", away.message],
    ["database", "the database system is starting up"],
    ["traffic", away.message],
  ]);
  const counted = events.samples().filter(({ name }) => name === "tollgate_background_failures_total");
  expect(counted.map(({ value }) => value)).toEqual([101, 1]);
});

test("the same is told again after a minute, with how often it was not", () => {
  const repeats = new Repeats();
  expect([0, 1, 59_999].map((nowMs) => repeats.tell("a", nowMs)?.untold)).toEqual([0, undefined, undefined]);
  expect([60_000, 60_001, 120_000].map((nowMs) => repeats.tell("a", nowMs)?.untold)).toEqual([
    2,
    undefined,
    1,
  ]);
  for (let key = 0; key < 3_000; key++) expect(repeats.tell(`${key}`, 120_000)?.untold).toBe(0);
});
