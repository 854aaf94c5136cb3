// Calls that wait for a channel (requirements C40): first come, first served, at most 64, and a call that leaves gives its place up.
import { expect, test } from "vitest";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { Queues, type Ticket } from "./queues.ts";

const FOREVER_MS = 1_000_000;
const gone = () => new Cancellation();

test("64 wait, the next is refused, and a place that is left is free again", () => {
  const queues = new Queues();
  const tickets = Array.from({ length: 64 }, () => queues.join("m"));
  expect([queues.join("m"), tickets.includes(undefined)]).toEqual([undefined, false]);
  expect(queues.join("other")).toBeDefined();
  tickets[30]?.leave();
  tickets[30]?.leave();
  expect(queues.join("m")).toBeDefined();
  expect(queues.join("m")).toBeUndefined();
});

test("each is woken in its turn, and the queue ends with the last", async () => {
  const queues = new Queues();
  const tickets = Array.from({ length: 5 }, () => queues.join("m")).filter(
    (one): one is Ticket => one !== undefined,
  );
  const served: number[] = [];
  const waiting = tickets.map(async (ticket, index) => {
    while (!ticket.isFirst) await ticket.wait(FOREVER_MS, gone());
    served.push(index);
    ticket.leave();
  });
  await Promise.all(waiting);
  expect(served).toEqual([0, 1, 2, 3, 4]);
  expect(queues.hasWaiting("m")).toBe(false);
});

test("a client that leaves is woken, and the first looks again when something may be free, also when it is looking", async () => {
  const queues = new Queues();
  const first = queues.join("m") ?? expect.fail();
  const cancellation = gone();
  const waits = first.wait(FOREVER_MS, cancellation);
  cancellation.cancel();
  await waits;
  const again = first.wait(FOREVER_MS, gone());
  queues.stir();
  await again;
  queues.stir();
  await first.wait(FOREVER_MS, gone());
});
