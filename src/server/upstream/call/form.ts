// Multipart bodies: read whole by the platform's parser; sent on unchanged, or encoded again when the model has another name upstream.

/** A client's form: its bytes and its parsed fields. */
export interface FormBody {
  readonly bytes: Buffer;
  /** Content type with the boundary. */
  readonly contentType: string;
  readonly fields: FormData;
}

/** Parses a form. undefined = the bytes are no form. */
export async function readForm(bytes: Buffer, contentType: string): Promise<FormBody | undefined> {
  try {
    // The response only borrows the bytes; they are not copied before they are parsed.
    const body = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) as Uint8Array<ArrayBuffer>; // never shared memory
    const fields = await new Response(body, { headers: { "content-type": contentType } }).formData();
    return { bytes, contentType, fields };
  } catch {
    return undefined;
  }
}

/** The text of a field that occurs once; undefined = absent, a file, or repeated. */
export function fieldText({ fields }: FormBody, name: string): string | undefined {
  const all = fields.getAll(name);
  const [only] = all;
  return all.length === 1 && typeof only === "string" ? only : undefined;
}

/** The form with this model and without these fields; its own bytes when nothing changes. */
export async function encodeForm(
  form: FormBody,
  model: string,
  dropped: readonly string[],
): Promise<{ readonly bytes: Uint8Array; readonly contentType: string }> {
  if (fieldText(form, "model") === model && dropped.length === 0) return form;
  const fields = new FormData();
  fields.set("model", model);
  const left = new Set(["model", ...dropped]);
  for (const [name, value] of form.fields) if (!left.has(name)) fields.append(name, value);
  const response = new Response(fields);
  const contentType = response.headers.get("content-type") ?? form.contentType;
  return { bytes: new Uint8Array(await response.arrayBuffer()), contentType };
}
