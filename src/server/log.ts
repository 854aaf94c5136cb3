// The diagnostic logger: one JSON line per event on stdout, readable lines on a terminal. Whatever it is given goes through
// log/fields.ts, which leaves no secret in it; prompts and answers are never handed to it (requirements K08, P01).
import { createRequire } from "node:module";
import pino, { type DestinationStream, type Logger } from "pino";
import { isFlat, isHarmlessText, safeArguments, safeValue } from "./log/fields.ts";

export type { Logger } from "pino";

/** Opens the pretty printer when it is installed: a development package that production does not have. */
function prettyStream(): DestinationStream | undefined {
  try {
    const name = "pino-pretty";
    const pretty: (options: object) => DestinationStream = createRequire(import.meta.url)(name);
    return pretty({ sync: true, translateTime: "SYS:HH:MM:ss", ignore: "pid,hostname" });
  } catch {
    return undefined;
  }
}

/** Lines wait for each other this long, or until there are so many bytes: one write for many calls. */
const FLUSH_MS = 100;
const FLUSH_BYTES = 48 * 1024;
/** Beyond what is written at once there is room for a line of a usual length. */
const ROOM_BYTES = FLUSH_BYTES + 16 * 1024;
/** UTF-8 of one unit of UTF-16 at most. */
const UNIT_BYTES = 3;

/** Where gathered lines go, as bytes; pino's file stream is one. */
interface Sink {
  write(bytes: Buffer): void;
  flushSync(): void;
}

/**
 * Gathers lines in front of a stream, as bytes. Pino's own gathering measures all that it holds again with every line, and encodes
 * texts once more when they are written: at thousands of calls a second that was a good part of all memory that was allocated.
 */
export class Gatherer implements DestinationStream {
  readonly #sink: Sink;
  #room = Buffer.allocUnsafeSlow(ROOM_BYTES);
  #length = 0;

  constructor(sink: Sink) {
    this.#sink = sink;
    setInterval(() => this.#passOn(), FLUSH_MS).unref();
  }

  write(line: string): void {
    const most = line.length * UNIT_BYTES;
    if (most > ROOM_BYTES - this.#length) this.#passOn();
    if (most > ROOM_BYTES) this.#sink.write(Buffer.from(line));
    else this.#length += this.#room.write(line, this.#length);
    if (this.#length >= FLUSH_BYTES) this.#passOn();
  }

  /** Writes what is left before it returns: for the end of the process and for the worst news. */
  flushSync(): void {
    // Emptied first, so that what follows is too little to be written in the background.
    this.#sink.flushSync();
    this.#passOn();
    this.#sink.flushSync();
  }

  /** The sink keeps what it is given until it is written. A little is copied, so that the room stays. */
  #passOn(): void {
    const length = this.#length;
    if (length === 0) return;
    const bytes = this.#room.subarray(0, length);
    this.#length = 0;
    if (length < FLUSH_BYTES) {
      this.#sink.write(Buffer.from(bytes));
      return;
    }
    this.#room = Buffer.allocUnsafeSlow(ROOM_BYTES);
    this.#sink.write(bytes);
  }
}

/** Standard output, written without waiting; what is left goes out when the process ends. */
function standardOutput(): DestinationStream {
  const stream = pino.destination({
    dest: 1,
    sync: false,
    contentMode: "buffer",
    minLength: FLUSH_BYTES,
    maxWrite: 2 * ROOM_BYTES,
    periodicFlush: FLUSH_MS,
  });
  const gathered = new Gatherer({
    // In this mode it takes bytes, which its type does not tell.
    write: (bytes) => void stream.write(bytes as unknown as string),
    flushSync: () => stream.flushSync(),
  });
  process.on("exit", () => gathered.flushSync());
  return gathered;
}

/** Makes pino's member for the time, ISO 8601 in UTC; lines of one millisecond share it. */
function timestamps(now: () => number): () => string {
  let stampMs = 0;
  let stamp = "";
  return () => {
    const nowMs = now();
    if (nowMs !== stampMs) {
      stampMs = nowMs;
      stamp = `,"time":"${new Date(nowMs).toISOString()}"`;
    }
    return stamp;
  };
}

/** A line as pino writes it, of fields that are texts, numbers and booleans. */
function flatLine(head: string, fields: object, message: string): string {
  const members = JSON.stringify(fields).slice(1, -1);
  return `${head}${members === "" ? "" : ","}${members},"msg":${JSON.stringify(message)}}\n`;
}

export interface LoggerOptions {
  readonly logLevel: string;
  readonly pretty: boolean;
  readonly now: () => number;
  /** Takes the lines; standard output when absent. */
  readonly destination?: DestinationStream;
}

/**
 * Builds the root logger. Writing is asynchronous and gathered, so that neither a slow pipe nor many small writes stall
 * streams; exit flushes what is left.
 */
export function createLogger({ logLevel, pretty, now, destination }: LoggerOptions): Logger {
  const stream = destination ?? (pretty ? prettyStream() : undefined) ?? standardOutput();
  const timestamp = timestamps(now);
  const logger: Logger = pino(
    {
      level: logLevel,
      base: null,
      timestamp,
      formatters: { level: (label) => ({ level: label }) },
      // Pino's own one would look at errors again, which are plain data by then.
      serializers: { err: (err: unknown) => err },
      hooks: {
        logMethod(args, method, level) {
          const [fields, message]: readonly unknown[] = args;
          // What nearly every line is made of. Pino would put it together field by field, which costs twice the time and memory.
          if (this === logger && args.length === 2 && isFlat(fields) && isHarmlessText(message)) {
            stream.write(
              flatLine(`{"level":"${logger.levels.labels[level]}"${timestamp()}`, fields, message),
            );
            return;
          }
          // As many arguments as before, of the same kinds.
          method.apply(this, safeArguments(args) as typeof args);
        },
      },
    },
    stream,
  );
  // What a child adds to each of its lines does not pass the hook; its own children inherit this.
  const { child } = logger;
  logger.child = function (bindings, ...more) {
    return Reflect.apply(child, this, [safeValue(bindings), ...more]);
  };
  return logger;
}
