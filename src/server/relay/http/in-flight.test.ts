import { expect, test } from "vitest";
import { InFlight } from "./in-flight.ts";

test("holds exactly those who have come and not left, in any order of leaving", () => {
  const roster = new InFlight<string>();
  const seats = ["a", "b", "c", "d"].map((item) => roster.add(item));
  const leave = (index: number) => {
    const seat = seats[index];
    if (seat) roster.remove(seat);
  };
  leave(1);
  expect(roster.list().toSorted()).toEqual(["a", "c", "d"]);
  leave(0);
  leave(0);
  expect(roster.list().toSorted()).toEqual(["c", "d"]);
  leave(3);
  leave(2);
  expect([roster.size, roster.list()]).toEqual([0, []]);
  leave(2);
  roster.add("e");
  leave(0);
  expect(roster.list()).toEqual(["e"]);
});
