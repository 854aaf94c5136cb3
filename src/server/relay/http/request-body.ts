// A request's body, read once and bounded: each in size and speed, all together in memory.
import { isUtf8 } from "node:buffer";
import type { Cancellation } from "#server/upstream/cancellation.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { Chunks } from "./chunks.ts";
import { InFlight, type InFlightEntry } from "./client-response.ts";
import type { RelayRequest } from "./exchange.ts";
import { LocalError, localErrors } from "./local-errors.ts";

/** Source: requirements R04. Files come in forms. Unit: MiB. */
const BODY_LIMIT = { form: 64, other: 32 } as const;
const MIB = 1024 * 1024;
/** Between two checks this much must have come, else the client is too slow (requirements R02). */
const LEAST_BYTES = 16 * 1024;
const LOOK_MS = 30_000;
const SWEEP_MS = 1_000;
/** Of the memory that the process may use: a body is copied once or twice before it is sent to an upstream. */
const HELD_SHARE = 1 / 4;

/** A body that is being received. */
interface Reading {
  readonly startedMs: number;
  lookAtMs: number;
  bytes: number;
  bytesAtLook: number;
  readonly giveUp: (refusal: LocalError) => void;
}

/** The request that a body belongs to. */
export interface Reader {
  /** Its client has left. */
  readonly gone: Cancellation;
  /** Calls back when its answer has ended, and the body can be freed. */
  onOver(listener: () => void): void;
}

/** Reads a body whole. Throws: LocalError 413, 415, 408, 503 when there is no room, or 400 when the client breaks off. */
export type ReadBody = (req: RelayRequest, reader: Reader) => Buffer | Promise<Buffer>;

/**
 * Makes a reader with one timer for all bodies: a timer each would cost more than reading most of them. `memoryBytes` is what the
 * process may use, of which bodies that came in pieces may take a part as long as their calls run (requirements D02).
 */
export function createBodyReader(memoryBytes: number): ReadBody {
  const memory = new BodyMemory(memoryBytes * HELD_SHARE);
  setInterval(() => memory.sweep(), SWEEP_MS).unref();
  return (req, reader) => {
    const coding = req.headers["content-encoding"];
    if (coding !== undefined && coding !== "identity") throw new LocalError(localErrors.bodyCoded());
    const announced = Number(req.headers["content-length"] ?? 0);
    const limit = req.headers["content-type"]?.startsWith("multipart/") ? BODY_LIMIT.form : BODY_LIMIT.other;
    if (announced > limit * MIB) throw new LocalError(localErrors.bodyTooLarge(limit));
    const arrived = reader.gone.isCancelled ? undefined : arrivedBody(req, announced);
    return arrived ?? collect(req, reader, { memory, limit });
  };
}

/** The memory of bodies that came in pieces, and those among them that are still being received. */
class BodyMemory {
  readonly #mostBytes: number;
  readonly #readings = new InFlight<Reading>();
  #heldBytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  add(reading: Reading): InFlightEntry<Reading> {
    return this.#readings.add(reading);
  }

  /** It is complete, or broke off; its bytes stay counted. */
  remove(entry: InFlightEntry<Reading>): void {
    this.#readings.remove(entry);
  }

  /** Counts more bytes. Where they are too many, the bodies that have cost most so far, bytes by time, are refused. */
  take(bytes: number): void {
    this.#heldBytes += bytes;
    while (this.#heldBytes > this.#mostBytes) {
      const now = performance.now();
      const cost = (reading: Reading) => reading.bytes * (now - reading.startedMs);
      const [first, ...others] = this.#readings.list();
      if (first === undefined) return;
      const dearest = others.reduce((one, other) => (cost(other) > cost(one) ? other : one), first);
      dearest.giveUp(new LocalError(localErrors.overloaded()));
    }
  }

  giveBack(bytes: number): void {
    this.#heldBytes -= bytes;
  }

  /** Refuses bodies that come too slowly. */
  sweep(): void {
    const now = performance.now();
    for (const reading of this.#readings.list()) {
      if (now < reading.lookAtMs) continue;
      if (reading.bytes - reading.bytesAtLook < LEAST_BYTES)
        reading.giveUp(new LocalError(localErrors.bodyTooSlow()));
      reading.bytesAtLook = reading.bytes;
      reading.lookAtMs = now + LOOK_MS;
    }
  }
}

/**
 * A body that came with its head, as most do: it needs no listeners, not even for its end, which says nothing new (what is left of
 * the request stays with its connection until the next one: 1 KB). undefined = it is not complete yet.
 */
function arrivedBody(req: RelayRequest, announced: number): Buffer | undefined {
  if (announced === 0 || req.readableLength !== announced) return undefined;
  const first: Buffer = req.read();
  return first.length === announced ? first : withOthers(req, first);
}

/** A body that came in pieces while its key was looked up: each read gives one of them. */
function withOthers(req: RelayRequest, first: Buffer): Buffer {
  const pieces = [first];
  while (req.readableLength > 0) pieces.push(req.read());
  return Buffer.concat(pieces);
}

function collect(
  req: RelayRequest,
  reader: Reader,
  { memory, limit }: { memory: BodyMemory; limit: number },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces = new Chunks();
    const now = performance.now();
    const giveUp = (refusal: LocalError) => {
      leave();
      memory.giveBack(reading.bytes);
      // The request, and with it this closure, is kept until its client has read the answer.
      pieces.clear();
      req.pause();
      reject(refusal);
    };
    const onData = (chunk: Buffer) => {
      if (reading.bytes + chunk.length > limit * MIB)
        return giveUp(new LocalError(localErrors.bodyTooLarge(limit)));
      reading.bytes += chunk.length;
      pieces.add(chunk);
      memory.take(chunk.length);
    };
    const onEnd = () => {
      leave();
      reader.onOver(() => memory.giveBack(reading.bytes));
      resolve(pieces.take());
    };
    const leave = () => {
      memory.remove(entry);
      reader.gone.watch(undefined);
      req.off("data", onData).off("end", onEnd);
    };
    const reading: Reading = { startedMs: now, lookAtMs: now + LOOK_MS, bytes: 0, bytesAtLook: 0, giveUp };
    const entry = memory.add(reading);
    req.on("data", onData).on("end", onEnd);
    reader.gone.watch(() => giveUp(new LocalError(localErrors.bodyBroken())));
  });
}

/** A body of which nothing is sent on as it came. Throws: LocalError 400 when it is no JSON object. */
export function jsonValues(bytes: Buffer): JsonRecord {
  try {
    const values = isUtf8(bytes) ? asObject(JSON.parse(bytes.toString())) : undefined;
    if (values !== undefined) return values;
  } catch {
    // Told below.
  }
  throw new LocalError(localErrors.bodyUnreadable());
}
