import { expect, test } from "vitest";
import { createDice } from "#test/seeds/random.ts";
import { Chunks } from "./chunks.ts";

test("are joined in their order, of whatever sizes they were", () => {
  const seed = 20_261_123;
  const dice = createDice(seed);
  for (let round = 0; round < 50; round += 1) {
    const all = Array.from({ length: dice(400) }, () =>
      Buffer.alloc(dice([2, 200, 90_000][dice(3)] ?? 2), dice(256)),
    );
    const pieces = new Chunks();
    for (const piece of all) pieces.add(piece);
    const whole = Buffer.concat(all);
    expect(pieces.bytes).toBe(whole.length);
    expect(pieces.take().equals(whole), `seed ${seed}, round ${round}`).toBe(true);
    expect([pieces.bytes, pieces.count, pieces.take().length]).toEqual([0, 0, 0]);
  }
});

test("of a byte each are joined early", () => {
  const pieces = new Chunks();
  const byte = Buffer.from("x");
  let most = 0;
  for (let sent = 0; sent < 300_000; sent += 1) {
    pieces.add(byte);
    most = Math.max(most, pieces.count);
  }
  expect(most).toBeLessThan(500);
  expect(pieces.take().equals(Buffer.alloc(300_000, "x"))).toBe(true);
});

test("one alone is not copied", () => {
  const pieces = new Chunks();
  const piece = Buffer.from("{}");
  pieces.add(piece);
  expect(pieces.take()).toBe(piece);
});

test("that are dropped are gone, and others may come", () => {
  const pieces = new Chunks();
  for (const piece of [Buffer.alloc(90_000, "a"), Buffer.from("b")]) pieces.add(piece);
  pieces.clear();
  expect([pieces.bytes, pieces.count]).toEqual([0, 0]);
  pieces.add(Buffer.from("c"));
  expect(pieces.take().toString()).toBe("c");
});
