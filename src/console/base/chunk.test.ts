import { expect, it, vi } from "vitest";
import { CHUNK_MS, inTime } from "./chunk.ts";

it("waits two minutes for a chunk and no longer (requirements B9)", async () => {
  vi.useFakeTimers();
  const never = inTime(() => new Promise<string>(() => {}));
  const fault = expect(never).rejects.toThrow("120000 ms");
  await vi.advanceTimersByTimeAsync(CHUNK_MS);
  await fault;
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

it("passes on what came, and what went wrong", async () => {
  await expect(inTime(async () => "page")).resolves.toBe("page");
  await expect(inTime(() => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
});
