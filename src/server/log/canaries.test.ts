import { expect, test } from "vitest";
import { Canaries, cutSpans } from "./canaries.ts";

function cut(canaries: Canaries, text: string): string {
  return cutSpans(text, canaries.find(text), "#");
}

const LONG = "aB3kL9mQx7TzW2pYv5Nc8RdF4gHs6JtK1uE0";

test("cuts a secret wherever it stands, as often as it stands there", () => {
  const canaries = new Canaries(10);
  canaries.add(LONG);
  expect(cut(canaries, LONG)).toBe("#");
  expect(cut(canaries, `a ${LONG}${LONG} b ${LONG}`)).toBe("a ## b #");
  expect(cut(canaries, "nothing to see")).toBe("nothing to see");
});

test("cuts every piece of half a secret or 16 characters, and no ordinary word that a secret begins with", () => {
  for (let length = 8; length <= LONG.length; length += 1) {
    const canaries = new Canaries(10);
    const secret = LONG.slice(0, length);
    canaries.add(secret);
    const piece = length < 12 ? length : Math.max(12, Math.min(16, length >> 1));
    for (let at = 0; at + piece <= length; at += 1) {
      expect(cut(canaries, `<${secret.slice(at, at + piece)}>`), `${length} from ${at}`).toBe("<#>");
    }
    const less = `<${secret.slice(0, piece - 1)}>`;
    expect(cut(canaries, less)).toBe(less);
  }
});

test("does not keep what is shorter than 8 characters, and nothing twice", () => {
  const canaries = new Canaries(10);
  expect([canaries.add("1234567"), canaries.add("12345678"), canaries.add("12345678")]).toEqual([
    false,
    true,
    false,
  ]);
  expect(canaries.size).toBe(1);
});

test("when it is full, forgets the secrets that were not added again for longest, and only those", () => {
  const canaries = new Canaries(100);
  const secret = (index: number) => `secret number ${index} of many`;
  canaries.add(secret(0));
  for (let index = 1; index <= 1_000; index += 1) {
    canaries.add(secret(index));
    canaries.add(secret(0));
  }
  expect(canaries.size).toBe(100);
  expect(cut(canaries, secret(0))).toBe("#");
  expect(cut(canaries, secret(1_000))).toBe("#");
  expect(canaries.find(LONG)).toEqual([]);
  const found = (index: number) => canaries.find(secret(index)).some(([from, to]) => to - from > 22);
  expect([found(902), found(900), found(5)]).toEqual([true, false, false]);
});

/** The quickest of 100 runs: what else the machine does is in the others. */
function quickestMs(work: () => unknown): number {
  const turn = () => {
    const startMs = performance.now();
    work();
    return performance.now() - startMs;
  };
  return Math.min(...Array.from({ length: 100 }, turn));
}

test("thousands of secrets cost a text of a thousand characters less than a millisecond, and hardly more than one", () => {
  const text = "an ordinary sentence of an error ".repeat(30);
  const [one, all] = [1, 20_000].map((count) => {
    const canaries = new Canaries(20_000);
    for (let index = 0; index < count; index += 1) canaries.add(`${index * 7_919}-${LONG}-${index}`);
    return quickestMs(() => canaries.find(text));
  });
  expect(all).toBeLessThan(1);
  expect(all).toBeLessThan(20 * (one ?? 0));
});
