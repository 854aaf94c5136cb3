// What is known of a group that was renamed (requirements K16): each of its names leads to all of them, for an hour.
import { expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { createMemoryCoord } from "./memory.ts";
import { followRenamedGroups, tellRenamed } from "./renamed-groups.ts";

test("all names of a group lead to each other, until a name is another group's", async () => {
  const clock = fakeClock(0);
  const coord = createMemoryCoord({ clock });
  const { otherNames, close } = followRenamedGroups({ coord, clock });
  await tellRenamed(coord, "one", "two");
  await tellRenamed(coord, "two", "three");
  for (const name of ["one", "two", "three"]) expect(otherNames(name)).toEqual(["three", "two", "one"]);
  await tellRenamed(coord, "three", "one");
  expect(otherNames("three")).toEqual(["one", "three", "two"]);
  await tellRenamed(coord, "other", "two");
  expect(otherNames("two")).toEqual(["two", "other"]);
  clock.advance(3_600_000);
  expect(otherNames("one")).toEqual([]);
  close();
});
