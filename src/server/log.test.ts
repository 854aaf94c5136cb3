import { expect, test, vi } from "vitest";
import { hideSecret, redactText } from "./log/texts.ts";
import { createLogger, Gatherer } from "./log.ts";

test.each([
  "key sk-proj-abcdefghijklmnopqrst",
  "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.abc",
  "connect postgres://tollgate:hunter2secret@db:5432/x",
  "AIzaSyA1234567890abcdefghijklmnopqrstuvw",
])("cuts the secret out of %j", (text) => {
  const cut = redactText(text);
  expect(cut).toContain("[redacted]");
  expect(cut).not.toMatch(/abcdefgh|eyJ|hunter2|AIzaSy/);
});

test.each([
  "GET https://api.example.com:8443/v1/models risk-free task-force 12:30",
  'duplicate key value violates unique constraint "users_username_key"',
  "connect ECONNREFUSED 127.0.0.1:11434",
  "status 429: Rate limit reached for gpt-4o-mini on tokens per min (TPM): Limit 30000, Used 29000",
  "cannot read /data/master.key: ENOENT: no such file or directory, open '/data/master.key'",
  "SyntaxError: Unexpected token < in JSON at position 0",
  "token exchange: no access_token in the answer; x-request-id: req_7f3a9c2e5b8d1046",
  "claude-3-5-sonnet-20241022, text-embedding-3-small, deepseek-r1-distill-qwen-32b, hf.co/models",
  "Error: database is locked\n    at Worker.settle (file:///app/src/server/store/sqlite-thread.ts:97:21)",
  "无效的令牌：请检查渠道 3 的密钥",
])("leaves ordinary text alone: %j", (text) => {
  expect(redactText(text)).toBe(text);
});

test("a secret is cut from the moment it is known, also where it was written before, and as a name", () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ logLevel: "info", pretty: false, now: () => 0, destination });
  const write = () => {
    logger.info({ text: "some odd key of nobody", "some odd key of nobody": 1 }, "some odd key of nobody");
    return lines.pop();
  };
  expect(write()?.match(/some odd key of nobody/g)).toHaveLength(3);
  hideSecret("some odd key of nobody");
  expect(write()).toContain('"text":"[redacted]","[redacted]":1,"msg":"[redacted]"');
});

test("what is cut once is not cut again", () => {
  const text =
    'key=abcdefgh1 Bearer abcdefgh1234 {"password":"x y"} https://u:p@h.example/?code=abc sk-abcdefgh12345';
  const safe = redactText(text);
  expect(safe).toBe(
    'key=[redacted] Bearer [redacted] {"password":"[redacted]"} https://[redacted]@h.example/?code=[redacted] [redacted]',
  );
  expect(redactText(safe)).toBe(safe);
});

test.each([
  "a",
  "a=",
  'key="',
  'key="\\',
  "key= ",
  "%2525",
  "\\\\",
  "[1,",
  "<Buffer ",
  "://a@",
  "Bearer ",
  "-----BEGIN A-----",
  "eyJabcdefgh.",
  "authorization:",
  "0123456789abcdef",
])("a long text of %j takes a moment only", (part) => {
  const text = part.repeat(16_384 / part.length);
  // The quickest of some runs: what else the machine does is in the others.
  const turnsMs = Array.from({ length: 5 }, (_, turn) => {
    const startMs = performance.now();
    redactText(`${text}${turn}`);
    return performance.now() - startMs;
  });
  expect(Math.min(...turnsMs)).toBeLessThan(100);
});

test("lines are handed on together, in order and whole: when there are many, soon, or at once when asked", () => {
  vi.useFakeTimers();
  const written: string[] = [];
  let flushes = 0;
  const gatherer = new Gatherer({
    write: (bytes) => void written.push(bytes.toString()),
    flushSync: () => {
      flushes += 1;
    },
  });
  gatherer.write("a\n");
  gatherer.write("b\n");
  expect(written).toEqual([]);
  vi.advanceTimersByTime(100);
  expect(written).toEqual(["a\nb\n"]);
  vi.advanceTimersByTime(1_000);
  expect(written).toHaveLength(1);
  const long = "字".repeat(9_000);
  gatherer.write(long);
  expect(written).toHaveLength(1);
  gatherer.write(long);
  expect(written.slice(1)).toEqual([long + long]);
  // Longer than there is room for, behind a short one.
  const longest = "字x".repeat(20_000);
  gatherer.write("short");
  gatherer.write(longest);
  expect(written.slice(2)).toEqual(["short", longest]);
  gatherer.write("last");
  gatherer.flushSync();
  expect([written.at(-1), flushes]).toEqual(["last", 2]);
  vi.useRealTimers();
});
