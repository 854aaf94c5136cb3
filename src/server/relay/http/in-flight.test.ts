import { expect, test } from "vitest";
import { InFlight } from "./client-response.ts";

test("holds exactly the items that were added and not removed, in any order of removal", () => {
  const inFlight = new InFlight<string>();
  const entries = ["a", "b", "c", "d"].map((item) => inFlight.add(item));
  const leave = (index: number) => {
    const entry = entries[index];
    if (entry) inFlight.remove(entry);
  };
  leave(1);
  expect(inFlight.list().toSorted()).toEqual(["a", "c", "d"]);
  leave(0);
  leave(0);
  expect(inFlight.list().toSorted()).toEqual(["c", "d"]);
  leave(3);
  leave(2);
  expect([inFlight.size, inFlight.list()]).toEqual([0, []]);
  leave(2);
  inFlight.add("e");
  leave(0);
  expect(inFlight.list()).toEqual(["e"]);
});
