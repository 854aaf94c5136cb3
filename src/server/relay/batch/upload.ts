// Takes a file of requests and passes it on while it comes: to one channel, which its first line decides, line by line as that channel has
// it. Nothing of it is kept but what was counted (requirements C76). What is wrong with it is told before its upstream has all of it, which then has nothing.

import { lacksBatches, noteWithoutFiles } from "#server/channels/formats.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import type { ClientResponse } from "#server/relay/http/client-response.ts";
import type { RelayRequest } from "#server/relay/http/exchange.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { requestChunks } from "#server/relay/http/request-chunks.ts";
import { eachChannel, type RequestState, readerOf, trailOf } from "#server/relay/routing/failover.ts";
import { membersOf } from "#server/relay/routing/groups.ts";
import { findCandidates } from "#server/relay/routing/next-channel.ts";
import { upstreamWords } from "#server/relay/routing/upstream-words.ts";
import type { Services } from "#server/relay/services.ts";
import type { Submission } from "#server/relay/submission.ts";
import { randomHex } from "#server/secrets.ts";
import { type FileRow, insertFile, sumFilesOf } from "#server/store/batch-files.ts";
import { FILE_SEC, newFileId } from "#server/tasks/batch/hear.ts";
import { aboutTask, TASK_SEAL } from "#server/tasks/channel.ts";
import { type Line, LineSplitter, LineTooLong } from "#server/upstream/batch/line-splitter.ts";
import { startUpload, type Upload } from "#server/upstream/batch/transfer.ts";
import { batchRequest } from "#server/upstream/batch/wire.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { isPathAbsent, type RelayFault, unreadableFault } from "#server/upstream/errors/fault.ts";
import { textAt } from "#server/upstream/video/wire.ts";
import { BadForm, boundaryOf, type FormEvent, FormReader } from "./form-reader.ts";
import { LinesForChannel, type RequestLine, readLine } from "./line-reader.ts";

/** Source: vendors/batch-openai. Unit: MB of a file. */
const MOST_FILE = 200;
const MB = 1024 * 1024;
/** Of all files of requests that an owner has at a time. Unit: GB. */
const MOST_FILES = 20;
/** The form around it. */
export const MOST_FORM = (MOST_FILE + 1) * MB;
/** As long as the body of a call may be. */
const MOST_LINE = 32 * MB;
/** Lines are sent together. */
const PIECE_BYTES = 64 * 1024;
const LF = Buffer.from("\n");
const LEAST_EXPIRY_SEC = 3_600;
const MOST_NAME = 200;

interface Asked {
  readonly services: Services;
  readonly state: Submission;
  readonly caller: Caller;
  readonly req: RelayRequest;
  readonly response: ClientResponse;
}

/** Passes the file on. Returns its row. Throws: LocalError. */
export async function uploadFile(asked: Asked): Promise<Omit<FileRow, "id">> {
  const { services, state, req } = asked;
  const { db, clock } = services.ctx;
  if ((await sumFilesOf(db, asked.caller, clock.seconds())) > MOST_FILES * 1024 * MB)
    throw new LocalError(localErrors.filesTooMany(MOST_FILES));
  const file = new IncomingFile(req, asked.response);
  const lines = file.lines();
  const { value: first, done } = await lines.next();
  // A purpose that is refused is told before what may be wrong with the lines of such a file.
  if (done === true) {
    file.checkFields();
    throw new LocalError(localErrors.fileEmpty());
  }
  file.checkPurpose();
  const line = readLine(first);
  const query = new URL(req.url ?? "", "http://localhost").searchParams;
  const model = query.get("model") || file.form.fields.get("model") || line.incoming.model;
  state.model = model;
  const { caller, candidates } = await servedBy(services, asked.caller, model);
  state.caller = caller;
  const search = {
    caller,
    model,
    candidates,
    isStream: false,
    cancellation: new Cancellation(),
    demand: { tokens: () => 0, hold: () => Promise.resolve(undefined) },
    wordsOf: (fault: RelayFault) => upstreamWords(fault, { model, bytes: first.bytes }),
  };
  const sent = await eachChannel<Sent>(services, state, search, (channel) =>
    sendTo(asked, channel, { file, lines, first: line, caller }),
  );
  return store(services, state, file, { ...sent, caller });
}

/** What resellers answer where they know an address and serve nothing there. */
const NOT_IMPLEMENTED = 501;

/** The first of the caller's groups with a channel that takes batches of this model. Throws: LocalError. */
async function servedBy(
  { ctx }: Services,
  caller: Caller,
  model: string,
): Promise<{ readonly caller: Caller; readonly candidates: readonly LiveChannel[] }> {
  let refusal: LocalError | undefined;
  for (const member of membersOf(caller)) {
    try {
      const found = await findCandidates(ctx, member, { model });
      const candidates = found.filter((one) => lacksBatches(one) === undefined);
      if (candidates.length > 0) return { caller: member, candidates };
    } catch (error) {
      if (!(error instanceof LocalError)) throw error;
      refusal ??= error;
    }
  }
  throw refusal ?? new LocalError(localErrors.batchUnserved(model));
}

interface Sent {
  readonly kind: "sent";
  readonly channel: LiveChannel;
  readonly upstreamId: string;
  readonly lines: LinesForChannel;
}

interface Sending {
  readonly file: IncomingFile;
  readonly lines: AsyncGenerator<Line>;
  readonly first: RequestLine;
  readonly caller: Caller;
}

/** Sends it to one channel. Once its connection stands, and more than the first line is read, there is no other. */
async function sendTo(
  { services, state }: Asked,
  channel: LiveChannel,
  { file, lines, first, caller }: Sending,
): Promise<Sent | RelayFault> {
  const { requestId } = state;
  const work = {
    kind: "batch",
    model: first.incoming.model,
    request_id: requestId,
    user_id: caller.userId,
  } as const;
  const reader = new LinesForChannel({ services, caller, channel, requestId });
  let upload: Upload | undefined;
  try {
    const begin = await reader.take(first);
    const boundary = `tollgate-${randomHex(32)}`;
    const to = {
      path: batchRequest(channel, "POST", "/files").path,
      contentType: `multipart/form-data; boundary=${boundary}`,
      about: aboutTask(services.ctx, channel, work, readerOf(state.headers)),
    };
    const started = await startUpload(services.upstream, channel, to);
    if ("kind" in started) return started;
    upload = started;
    const form = new OutgoingForm(boundary, upload);
    await form.begin(file.name);
    let isWanted = await form.line(begin);
    for await (const line of lines) {
      if (!isWanted) break;
      isWanted = await form.line(await reader.take(readLine(line)));
    }
    if (isWanted) {
      file.checkFields();
      await form.end(file.expirySec);
    }
    const answer = await upload.answer;
    if (answer.kind === "failed") {
      const { fault } = answer;
      if (isPathAbsent(fault) || fault.upstreamStatus === NOT_IMPLEMENTED) noteWithoutFiles(channel);
      return { ...answer.fault, retry: false };
    }
    const upstreamId = textAt(answer.body, "id");
    return upstreamId === ""
      ? { ...unreadableFault("no id of a file", 200), retry: false }
      : { kind: "sent", channel, upstreamId, lines: reader };
  } catch (error) {
    upload?.abort();
    if (error instanceof LocalError) return { ...error.fault, retry: false };
    throw error;
  }
}

async function store(
  { ctx }: Services,
  state: RequestState,
  file: IncomingFile,
  { caller, channel, upstreamId, lines }: Sent & { readonly caller: Caller },
): Promise<Omit<FileRow, "id">> {
  const now = ctx.clock.seconds();
  const row = {
    file_id: newFileId(),
    user_id: caller.userId,
    payer_id: caller.payerId,
    channel_id: channel.id,
    key_id: channel.keyId,
    upstream_sealed: ctx.secrets.seal(upstreamId, TASK_SEAL),
    purpose: "batch" as const,
    filename: file.name,
    bytes: file.bytes,
    endpoint: lines.endpoint,
    created_at: now,
    expires_at: now + (file.expirySec ?? FILE_SEC),
    deleted_at: 0,
    trail: trailOf(state),
  };
  await ctx.db.transaction().execute((tx) => insertFile(tx, row, lines.parts()));
  return row;
}

/** The file as it comes, in the form around it. */
class IncomingFile {
  readonly form: FormReader;
  readonly #req: RelayRequest;
  readonly #response: ClientResponse;
  name = "";
  bytes = 0;
  #hasFile = false;

  /** Throws: LocalError. */
  constructor(req: RelayRequest, response: ClientResponse) {
    const coding = req.headers["content-encoding"];
    if (coding !== undefined && coding !== "identity") throw new LocalError(localErrors.bodyCoded());
    const boundary = boundaryOf(req.headers["content-type"] ?? "");
    if (boundary === undefined) throw new LocalError(localErrors.formUnreadable());
    if (Number(req.headers["content-length"] ?? 0) > MOST_FORM) throw tooLarge();
    this.#req = req;
    this.#response = response;
    this.form = new FormReader(boundary);
  }

  /** Its lines, and behind them the rest of the form. Throws: LocalError. */
  async *lines(): AsyncGenerator<Line> {
    const splitter = new LineSplitter(MOST_LINE);
    const limit = { mostBytes: MOST_FORM, tooLarge };
    try {
      for await (const chunk of requestChunks(this.#req, this.#response, limit)) {
        for (const event of this.form.push(chunk)) yield* this.#hear(event, splitter);
      }
    } catch (error) {
      throw refusalOf(error);
    }
    if (!this.form.isDone) throw new LocalError(localErrors.formUnreadable());
  }

  *#hear(event: FormEvent, splitter: LineSplitter): Generator<Line> {
    if (event.kind === "file") this.#begin(event);
    else if (event.kind === "file-end") yield* splitter.end();
    else {
      this.bytes += event.bytes.length;
      if (this.bytes > MOST_FILE * MB) throw tooLarge();
      yield* splitter.push(event.bytes);
    }
  }

  #begin({ name, filename }: { readonly name: string; readonly filename: string }): void {
    if (name !== "file" || this.#hasFile) throw new LocalError(localErrors.formUnreadable());
    this.#hasFile = true;
    const plain = filename.replace(/[^\p{L}\p{N} ._-]/gu, "_").slice(0, MOST_NAME);
    this.name = plain === "" ? "batch.jsonl" : plain;
  }

  /** Where the purpose stands before the file. Throws: LocalError. */
  checkPurpose(): void {
    const purpose = this.form.fields.get("purpose");
    if (purpose !== undefined && purpose !== "batch")
      throw new LocalError(localErrors.purposeRefused(purpose));
  }

  /** All fields, when the form is complete. Throws: LocalError. */
  checkFields(): void {
    const { fields } = this.form;
    if (!fields.has("purpose")) throw new LocalError(localErrors.fieldMissing("purpose"));
    this.checkPurpose();
    if (!this.#hasFile) throw new LocalError(localErrors.fieldMissing("file"));
    const anchor = fields.get("expires_after[anchor]");
    if (anchor !== undefined && anchor !== "created_at")
      throw new LocalError(localErrors.fieldInvalid("expires_after"));
    const { expirySec } = this;
    const isGood = expirySec === undefined || (expirySec >= LEAST_EXPIRY_SEC && expirySec <= FILE_SEC);
    if (!isGood || !Number.isInteger(expirySec ?? 0))
      throw new LocalError(localErrors.fieldInvalid("expires_after"));
  }

  /** undefined = as long as files are kept. */
  get expirySec(): number | undefined {
    const text = this.form.fields.get("expires_after[seconds]");
    return text === undefined ? undefined : Number(text);
  }
}

function refusalOf(error: unknown): unknown {
  if (error instanceof BadForm) return new LocalError(localErrors.formUnreadable());
  if (!(error instanceof LineTooLong)) return error;
  return new LocalError(localErrors.lineInvalid(error.line, `超过 ${MOST_LINE / MB} MB`));
}

function tooLarge(): LocalError {
  return new LocalError(localErrors.fileTooLarge(MOST_FILE));
}

/** The form that the upstream gets: the file, and behind it what it is for. */
class OutgoingForm {
  readonly #boundary: string;
  readonly #upload: Upload;
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(boundary: string, upload: Upload) {
    this.#boundary = boundary;
    this.#upload = upload;
  }

  begin(filename: string): Promise<boolean> {
    const head = `--${this.#boundary}\r\ncontent-disposition: form-data; name="file"; filename="${filename}"\r\ncontent-type: application/jsonl\r\n\r\n`;
    return this.#add(Buffer.from(head));
  }

  /** False = the upstream wants no more. */
  line(bytes: Buffer): Promise<boolean> {
    return this.#add(bytes, LF);
  }

  async end(expirySec: number | undefined): Promise<void> {
    const fields = [
      ["purpose", "batch"],
      ...(expirySec === undefined
        ? []
        : [
            ["expires_after[anchor]", "created_at"],
            ["expires_after[seconds]", String(expirySec)],
          ]),
    ];
    const parts = fields.map(
      ([name = "", value = ""]) =>
        `\r\n--${this.#boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}`,
    );
    await this.#add(Buffer.from(`${parts.join("")}\r\n--${this.#boundary}--\r\n`));
    if (await this.#flush()) this.#upload.end();
  }

  async #add(...pieces: Buffer[]): Promise<boolean> {
    for (const piece of pieces) {
      this.#pieces.push(piece);
      this.#size += piece.length;
    }
    return this.#size < PIECE_BYTES || (await this.#flush());
  }

  #flush(): Promise<boolean> {
    const [only = LF] = this.#pieces;
    const piece = this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#size = 0;
    return this.#upload.write(piece);
  }
}
