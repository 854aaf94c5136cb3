// Multipart bodies: read whole by the platform's own parser, sent on as they came, or anew when the model has another name upstream.

/** A client's form: its bytes as they came, and what is in them. */
export interface FormBody {
  readonly bytes: Buffer;
  /** With the boundary. */
  readonly contentType: string;
  readonly fields: FormData;
}

/** Reads a form. undefined = the bytes are none. */
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

/** The text of a field that is there once; undefined = absent, a file, or there several times. */
export function fieldText({ fields }: FormBody, name: string): string | undefined {
  const all = fields.getAll(name);
  const [only] = all;
  return all.length === 1 && typeof only === "string" ? only : undefined;
}

/** The form with this model and without these fields; its own bytes when it is so already. */
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
