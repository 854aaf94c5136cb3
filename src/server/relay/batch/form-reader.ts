// Reads a form (multipart/form-data, RFC 7578) piece by piece: small fields as texts, and of the file the bytes as they come. Keeps no more
// than a piece of it.

const DASHES = Buffer.from("--");
const LINE_END = Buffer.from("\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");
const NOTHING = Buffer.alloc(0);
/** Of the head of a part. */
const MOST_HEAD = 16 * 1024;
const MOST_FIELD = 4 * 1024;

/** What is no form, or one that is not finished. */
export class BadForm extends Error {}

export type FormEvent =
  | { readonly kind: "file"; readonly name: string; readonly filename: string }
  | { readonly kind: "data"; readonly bytes: Buffer }
  | { readonly kind: "file-end" };

/** The boundary that a content type names; undefined = it is no form's. */
export function boundaryOf(contentType: string): string | undefined {
  const [, quoted, plain] =
    /^multipart\/form-data\b.*;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType) ?? [];
  return quoted ?? plain;
}

type State = "body" | "after" | "head" | "done";

export class FormReader {
  /** The fields so far; of one that is repeated the last. */
  readonly fields = new Map<string, string>();
  readonly #delimiter: Buffer;
  /** As if a line had ended before it: a form may begin with its first boundary. */
  #rest: Buffer = LINE_END;
  #state: State = "body";
  /** Of the part that is read; "" = what comes before the first. */
  #name = "";
  #isFile = false;
  #field: Buffer[] = [];
  #fieldBytes = 0;

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  get isDone(): boolean {
    return this.#state === "done";
  }

  /** What these bytes bring. Throws: BadForm. */
  *push(chunk: Buffer): Generator<FormEvent> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#state !== "done") {
      const before: State = this.#state;
      if (before === "after") this.#readAfter();
      else if (before === "head") yield* this.#readHead();
      else yield* this.#readBody();
      // Of what is left nothing can be made before more comes.
      if (this.#state === before) return;
    }
    // What follows the last boundary is nothing.
    this.#rest = NOTHING;
  }

  *#readBody(): Generator<FormEvent> {
    const end = this.#rest.indexOf(this.#delimiter);
    const until = end < 0 ? Math.max(0, this.#rest.length - this.#delimiter.length + 1) : end;
    if (until > 0) yield* this.#take(this.#rest.subarray(0, until));
    this.#rest = this.#rest.subarray(end < 0 ? until : end + this.#delimiter.length);
    if (end < 0) return;
    if (this.#isFile) yield { kind: "file-end" };
    else if (this.#name !== "") this.fields.set(this.#name, Buffer.concat(this.#field).toString());
    this.#field = [];
    this.#fieldBytes = 0;
    this.#state = "after";
  }

  *#take(bytes: Buffer): Generator<FormEvent> {
    if (this.#isFile) {
      yield { kind: "data", bytes };
      return;
    }
    this.#fieldBytes += bytes.length;
    if (this.#fieldBytes > MOST_FIELD) throw new BadForm("a field is too long");
    this.#field.push(bytes);
  }

  /** Behind a boundary: two dashes end the form, a line end begins a part. */
  #readAfter(): void {
    if (this.#rest.length < 2) return;
    const two = this.#rest.subarray(0, 2);
    if (!two.equals(DASHES) && !two.equals(LINE_END)) throw new BadForm("a boundary that ends in neither");
    this.#state = two.equals(DASHES) ? "done" : "head";
    this.#rest = this.#rest.subarray(2);
  }

  *#readHead(): Generator<FormEvent> {
    const end = this.#rest.indexOf(HEAD_END);
    if (end > MOST_HEAD || (end < 0 && this.#rest.length > MOST_HEAD))
      throw new BadForm("a head is too long");
    if (end < 0) return;
    const head = this.#rest.toString("utf8", 0, end);
    this.#rest = this.#rest.subarray(end + HEAD_END.length);
    const disposition = /^content-disposition:\s*form-data\b(.*)$/im.exec(head)?.[1] ?? "";
    const name = parameterOf(disposition, "name") ?? "";
    if (name === "") throw new BadForm("a part without a name");
    const filename = parameterOf(disposition, "filename");
    this.#name = name;
    this.#isFile = filename !== undefined;
    this.#state = "body";
    if (filename !== undefined) yield { kind: "file", name, filename };
  }
}

function parameterOf(text: string, name: string): string | undefined {
  const [, quoted, plain] =
    new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, "i").exec(text) ?? [];
  return quoted ?? plain;
}
