// What is remembered of proxies: numbers without credentials, for as long as they are used (requirements C14, C17).
import { expect, test } from "vitest";
import { type ProxyServer, readProxy } from "./address.ts";
import { markOf, ProxyNumbers } from "./numbers.ts";

function proxyAt(text: string): ProxyServer {
  const reading = readProxy(text);
  return reading.kind === "proxy" ? reading.proxy : expect.fail("unreadable");
}

const PASSWORD = "canary-password";
const one = proxyAt(`http://user:${PASSWORD}@one:1`);

test("a proxy is one however often its address is read, with other credentials another, and its mark tells none of them", () => {
  expect(markOf(one)).toBe(markOf(proxyAt(`http://user:${PASSWORD}@ONE:1`)));
  expect(markOf(one)).not.toBe(markOf(proxyAt("http://user:other@one:1")));
  expect(markOf(one)).toMatch(/^[\w-]{43}$/);
});

test("what has not been used for ten minutes is forgotten, and its number is given to nobody else", () => {
  const forgotten: number[] = [];
  const numbers = new ProxyNumbers((id) => forgotten.push(id));
  const startMs = 1_800_000_000_000;
  const [used, idle] = [markOf(one), markOf(proxyAt("http://idle:1"))];
  const first = numbers.take(used, startMs);
  const second = numbers.take(idle, startMs);
  expect([first === second, numbers.find(used), numbers.find(idle)]).toEqual([false, first, second]);
  expect(numbers.take(used, startMs + 599_000)).toBe(first);
  const third = numbers.take("third", startMs + 600_001);
  expect([numbers.find(used), numbers.find(idle), forgotten]).toEqual([first, 0, [second]]);
  expect([first, second]).not.toContain(third);
  expect([first, second, third]).not.toContain(numbers.take(idle, startMs + 600_002));
  for (let minute = 0; minute < 1_000; minute += 1) numbers.take(`${minute}`, startMs + minute * 60_000);
  expect(numbers.size).toBeLessThan(25);
  // The clock steps back.
  numbers.take("past", startMs - 86_400_000);
  expect(numbers.size).toBe(1);
});
