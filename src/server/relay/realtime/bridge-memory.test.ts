// What sockets of Responses hold together is bounded: the conversation that was not used for longest makes room (requirements C61, D02).
import { expect, test } from "vitest";
import { Conversation, SocketMemory } from "./bridge-memory.ts";

const MIB = 1024 * 1024;
const items = (bytes: number) => Buffer.alloc(bytes, "x");

test("conversations make room for each other and for what arrives, the oldest first", () => {
  const memory = new SocketMemory(10 * MIB);
  const [first, second, third] = [1, 2, 3].map(() => new Conversation(memory));
  first?.keep("a", items(4 * MIB));
  second?.keep("b", items(4 * MIB));
  expect(first?.until("a")?.length).toBe(4 * MIB);
  third?.keep("c", items(4 * MIB));
  expect([first?.until("a"), second?.until("b")?.length, third?.until("c")?.length]).toEqual([
    undefined,
    4 * MIB,
    4 * MIB,
  ]);
  // Used again, it is the youngest.
  second?.keep("d", items(MIB));
  expect(memory.take(6 * MIB)).toBe(true);
  expect([second?.until("d")?.length, third?.until("c")]).toEqual([MIB, undefined]);
  expect(memory.take(5 * MIB)).toBe(false);
  expect(second?.until("d")).toBeUndefined();
  memory.give(11 * MIB);
  expect(memory.take(10 * MIB)).toBe(true);
});

test("only the last response is known, and nothing over 4 MiB", () => {
  const memory = new SocketMemory(100 * MIB);
  const conversation = new Conversation(memory);
  conversation.keep("a", items(1));
  conversation.keep("b", items(2));
  expect([conversation.until("a"), conversation.until("b")?.length]).toEqual([undefined, 2]);
  conversation.keep("c", items(4 * MIB + 1));
  expect([conversation.until("b"), conversation.until("c")]).toEqual([undefined, undefined]);
  expect(memory.take(100 * MIB)).toBe(true);
});
