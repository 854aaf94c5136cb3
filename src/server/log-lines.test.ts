// Lines that are written without pino's help are the ones that pino writes.
import fc from "fast-check";
import { expect, test } from "vitest";
import { hideSecret } from "./log/texts.ts";
import { createLogger } from "./log.ts";

const TEXTS = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "",
    "chat",
    "gpt-4o-mini",
    "a model that is a secret",
    "sk-abcdefgh12345678",
    "%s",
    "\ud800",
  ),
  fc.nat(99_999_999).map((tail) => `20261120120000000000001${String(tail).padStart(8, "0")}`),
);
const VALUES = fc.oneof(
  { arbitrary: TEXTS, weight: 4 },
  { arbitrary: fc.oneof(fc.integer(), fc.double(), fc.boolean()), weight: 4 },
  fc.constantFrom(undefined, null, 10n, [1], { a: 1 }, new Date(0), Number.NaN, -0),
);
const NAMES = fc.oneof(
  fc.constantFrom("requestId", "model", "status", "promptTokens", "completionTokens", "isStream", "fault"),
  fc.constantFrom(
    "key",
    "value",
    "name",
    "level",
    "time",
    "msg",
    "err",
    "1",
    "__proto__",
    "toJSON",
    "\ud800",
  ),
  fc.string({ maxLength: 20 }),
);
const RECORDS = fc.dictionary(NAMES, VALUES, { noNullPrototype: false });
/** What is logged of a relayed call. */
const CALLS = fc.record({
  requestId: TEXTS,
  endpoint: fc.constantFrom("chat", "embeddings"),
  model: TEXTS,
  channelId: fc.nat(),
  fault: fc.constantFrom("", "client_gone"),
  isStream: fc.boolean(),
  chargedQuota: fc.maxSafeNat(),
  elapsedMs: fc.double(),
});
const LEVELS = fc.constantFrom("debug", "info", "error");

test("a line of flat fields is, byte for byte, the one that pino writes", { timeout: 60_000 }, () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({
    logLevel: "debug",
    pretty: false,
    now: () => 1_800_000_000_123,
    destination,
  });
  // Lines of a child are always put together by pino.
  const viaPino = logger.child({});
  hideSecret("a model that is a secret");
  hideSecret("completionTokens");
  fc.assert(
    fc.property(fc.oneof(RECORDS, CALLS), TEXTS, LEVELS, (fields, message, level) => {
      lines.length = 0;
      logger[level](fields, message);
      viaPino[level](fields, message);
      return lines.length === 2 && lines[0] === lines[1];
    }),
    { numRuns: 10_000 },
  );
  expect(lines).toHaveLength(2);
});
