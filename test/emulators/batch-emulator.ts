// OpenAI's files and batches as a server keeps them: a file is taken as it comes, a batch waits until a test ends it, and its results are
// files as well. What is in a file is kept only where it is small.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export interface BatchCall {
  readonly method: string;
  readonly path: string;
  readonly key: string;
}

/** A line of a file as the emulator took it. */
// biome-ignore lint/suspicious/noExplicitAny: any request.
export type TakenLine = any;

export interface BatchEmulator {
  readonly url: string;
  readonly calls: BatchCall[];
  /** The bytes and lines of all files that were taken whole. */
  readonly taken: { readonly id: string; readonly bytes: number; readonly text: string }[];
  /** How many files broke off on their way. */
  broken(): number;
  /** The lines of the file that was taken last. */
  lines(): TakenLine[];
  /** Batches that were begun. */
  batches(): readonly string[];
  /** What a batch is told to be from now on. */
  set(batch: string, change: object): void;
  /** Ends a batch with these results; undefined = without such a file. */
  end(batch: string, results: { status?: string; output?: string; error?: string; counts?: object }): void;
  /** Answers every call whose path begins so with this status; "" = as usual. */
  fail(path: string, status?: number): void;
  /** The content of files breaks off so many times. */
  breakContent(times: number): void;
  /** Holds the content of files back until the function that it returns is called. */
  holdContent(): () => void;
  reset(): void;
  close(): Promise<void>;
}

const KEPT_BYTES = 4 * 1024 * 1024;

export async function startBatches(): Promise<BatchEmulator> {
  const files = new Map<string, string>();
  // biome-ignore lint/suspicious/noExplicitAny: any batch.
  const batches = new Map<string, any>();
  const calls: BatchCall[] = [];
  const taken: { id: string; bytes: number; text: string }[] = [];
  let failing = { path: "", status: 0 };
  let held: Promise<void> = Promise.resolve();
  let breaks = 0;
  let broken = 0;
  let serial = 0;

  function send(res: ServerResponse, status: number, value: object): void {
    res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  }

  function absent(res: ServerResponse): void {
    send(res, 404, { error: { message: "No such object", type: "invalid_request_error", code: null } });
  }

  /** The file in a form, and whether the form is whole and of a batch. */
  async function take(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const piece of req as AsyncIterable<Buffer>) {
        bytes += piece.length;
        if (bytes <= KEPT_BYTES) pieces.push(piece);
      }
    } catch {
      // Nothing was taken.
      broken += 1;
      return;
    }
    const form = Buffer.concat(pieces).toString();
    const boundary = /boundary=(.+)$/.exec(req.headers["content-type"] ?? "")?.[1] ?? "";
    const from = form.indexOf("\r\n\r\n") + 4;
    const until = form.indexOf(`\r\n--${boundary}`, from);
    serial += 1;
    const id = `file-up-${serial}`;
    const text = form.slice(from, until < 0 ? undefined : until);
    files.set(id, text);
    taken.push({ id, bytes, text });
    send(res, 200, {
      id,
      object: "file",
      bytes: text.length,
      created_at: 1,
      filename: "f",
      purpose: "batch",
    });
  }

  async function begin(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let text = "";
    for await (const piece of req) text += piece;
    const asked = JSON.parse(text);
    const input = files.get(asked.input_file_id);
    if (input === undefined) return absent(res);
    serial += 1;
    const id = `batch_up_${serial}`;
    const total = input.split("\n").filter((line) => line !== "").length;
    batches.set(id, {
      id,
      object: "batch",
      status: "validating",
      request_counts: { total, completed: 0, failed: 0 },
      ...asked,
    });
    send(res, 200, batches.get(id));
  }

  function aboutBatch(id: string, part: string, res: ServerResponse): void {
    const batch = batches.get(id);
    if (batch !== undefined && part === "cancel") batch.status = "cancelling";
    if (batch === undefined) absent(res);
    else send(res, 200, batch);
  }

  async function aboutFile(method: string, id: string, part: string, res: ServerResponse): Promise<void> {
    const file = files.get(id);
    if (file === undefined) return absent(res);
    if (method === "DELETE") files.delete(id);
    if (part !== "content") return send(res, 200, { id, deleted: method === "DELETE" });
    await held;
    res.writeHead(200, { "content-type": "application/octet-stream" });
    if (breaks > 0) {
      breaks -= 1;
      res.write(file.slice(0, file.length / 2), () => res.destroy());
      return;
    }
    // In pieces that end anywhere.
    const size = Math.max(1_000, Math.ceil(file.length / 1_000));
    for (let at = 0; at < file.length; at += size) res.write(file.slice(at, at + size));
    res.end();
  }

  async function answer(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    const { method = "" } = req;
    if (failing.path !== "" && path.startsWith(failing.path)) {
      req.resume();
      return send(res, failing.status, { error: { message: "no", code: "no" } });
    }
    if (method === "POST" && path.endsWith("/files")) return take(req, res);
    if (method === "POST" && path.endsWith("/batches")) return begin(req, res);
    const [, of, id = "", part = ""] = /\/v1\/(files|batches)\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
    return of === "batches" ? aboutBatch(id, part, res) : aboutFile(method, id, part, res);
  }

  const server = createServer((req, res) => {
    const path = (req.url ?? "").replace(/\?.*$/, "");
    const { authorization, "api-key": apiKey } = req.headers;
    calls.push({ method: req.method ?? "", path, key: String(authorization ?? apiKey) });
    void answer(req, res, path);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");

  return {
    url: `http://127.0.0.1:${address.port}`,
    calls,
    taken,
    broken: () => broken,
    lines: () =>
      (taken.at(-1)?.text ?? "")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line)),
    batches: () => [...batches.keys()],
    set: (batch, change) => Object.assign(batches.get(batch), change),
    end(batch, { status = "completed", output, error, counts }) {
      const keep = (text: string | undefined) => {
        if (text === undefined) return null;
        serial += 1;
        files.set(`file-out-${serial}`, text);
        return `file-out-${serial}`;
      };
      const one = batches.get(batch);
      Object.assign(one, { output_file_id: keep(output), error_file_id: keep(error), status });
      Object.assign(one.request_counts, counts);
    },
    fail(path, status = 500) {
      failing = { path, status };
    },
    breakContent(times) {
      breaks = times;
    },
    holdContent() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    reset() {
      files.clear();
      batches.clear();
      calls.length = 0;
      taken.length = 0;
      failing = { path: "", status: 0 };
      breaks = 0;
      broken = 0;
      held = Promise.resolve();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
