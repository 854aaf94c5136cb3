// Calls that wait for channels (requirements C40): of each channel first come, first served, at most 64, and a call that leaves gives its
// place up.
import fc from "fast-check";
import { expect, test } from "vitest";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { Queues, type Ticket } from "./queues.ts";

const FOREVER_MS = 1_000_000;
const gone = () => new Cancellation();
const channels = (...ids: readonly number[]) => ids.map((id) => ({ id }));
const ONE = channels(1);

test("64 wait, the next is refused, and a place that is left is free again", () => {
  const queues = new Queues();
  const tickets = Array.from({ length: 64 }, () => queues.join("m", ONE));
  expect([queues.join("m", ONE), tickets.includes(undefined)]).toEqual([undefined, false]);
  expect(queues.join("other", ONE)).toBeDefined();
  tickets[30]?.leave();
  tickets[30]?.leave();
  expect(queues.join("m", ONE)).toBeDefined();
  expect(queues.join("m", ONE)).toBeUndefined();
});

test("each is woken in its turn, and the queue ends with the last", async () => {
  const queues = new Queues();
  const tickets = Array.from({ length: 5 }, () => queues.join("m", ONE)).filter(
    (one): one is Ticket => one !== undefined,
  );
  const served: number[] = [];
  const waiting = tickets.map(async (ticket, index) => {
    while (ticket.ahead.has(1)) await ticket.wait(FOREVER_MS, gone());
    served.push(index);
    ticket.leave();
  });
  await Promise.all(waiting);
  expect(served).toEqual([0, 1, 2, 3, 4]);
  expect([queues.awaited("m"), queues.count]).toEqual([new Set(), 0]);
});

test("a client that leaves is woken, and the first looks again when something may be free, also when it is looking", async () => {
  const queues = new Queues();
  const first = queues.join("m", ONE) ?? expect.fail();
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

test("calls with other candidates are not in each other's way, and none overtakes for the same channel", async () => {
  const queues = new Queues();
  const join = (...ids: readonly number[]) => queues.join("m", channels(...ids)) ?? expect.fail();
  const [first, second, third, other] = [join(1), join(1, 2), join(2), join(3)];
  expect([first, second, third, other].map(({ ahead }) => [...ahead])).toEqual([[], [1], [1, 2], [1, 2]]);
  expect(queues.awaited("m")).toEqual(new Set([1, 2, 3]));
  const woken: string[] = [];
  const told = async (name: string, ticket: Ticket) => {
    await ticket.wait(FOREVER_MS, gone());
    woken.push(name);
  };
  const waits = [told("first", first), told("second", second), told("other", other)];
  const late = told("third", third);
  queues.stir();
  await Promise.all(waits);
  expect(woken.toSorted()).toEqual(["first", "other", "second"]);
  // The second got its channel: the third is the first for it now.
  second.leave();
  await late;
  expect([...third.ahead]).toEqual([1]);
});

test("as calls come and go, each channel belongs to the first that waits for it", () => {
  const set = fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { minLength: 1 });
  const step = fc.oneof(fc.record({ comes: set }), fc.record({ goes: fc.nat(9) }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const queues = new Queues();
      const waiting: { readonly ids: readonly number[]; readonly ticket: Ticket }[] = [];
      for (const one of steps) {
        if ("comes" in one) {
          const ticket = queues.join("m", channels(...one.comes));
          if (ticket !== undefined) waiting.push({ ids: one.comes, ticket });
        } else waiting.splice(one.goes, 1)[0]?.ticket.leave();
        const before = new Set<number>();
        for (const { ids, ticket } of waiting) {
          expect(ticket.ahead).toEqual(before);
          for (const id of ids) before.add(id);
        }
        expect(queues.awaited("m")).toEqual(before);
      }
    }),
  );
});
