// Reads a request for a video, from JSON or a form, and says what is wrong with it. Reads no database.
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { jsonValues } from "#server/relay/http/request-body.ts";
import { readForm } from "#server/upstream/call/form.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { BadOrder, type OrderProblem, type VideoOrder, videoOrder } from "#server/upstream/video/order.ts";

const PICTURE_BYTES = 10 * 1024 * 1024;

/** Throws: LocalError with status 400. */
export async function readVideo(bytes: Buffer, contentType: string): Promise<VideoOrder> {
  const isForm = contentType.startsWith("multipart/form-data");
  const values = isForm ? await formValues(bytes, contentType) : jsonValues(bytes);
  try {
    return videoOrder(values);
  } catch (error) {
    throw error instanceof BadOrder ? new LocalError(faultOf(error.problem)) : error;
  }
}

function faultOf(problem: OrderProblem): RelayFault {
  switch (problem.kind) {
    case "missing":
      return localErrors.fieldMissing(problem.field);
    case "no-prompt":
      return localErrors.promptMissing();
    case "long-prompt":
      return localErrors.promptTooLong(problem.most);
    default:
      return localErrors.fieldInvalid(problem.field);
  }
}

/** The fields of a form: files as data URLs, `metadata` as the object that its text is. */
async function formValues(bytes: Buffer, contentType: string): Promise<JsonRecord> {
  const form = await readForm(bytes, contentType);
  if (form === undefined) throw new LocalError(localErrors.formUnreadable());
  const values: Record<string, unknown> = {};
  for (const [name, value] of form.fields) {
    if (Object.hasOwn(values, name)) throw new LocalError(localErrors.keysRepeated());
    values[name] = typeof value === "string" ? value : await pictureOf(name, value);
  }
  if (typeof values["metadata"] === "string")
    values["metadata"] = jsonValues(Buffer.from(values["metadata"]));
  return values;
}

async function pictureOf(name: string, file: File): Promise<string> {
  const isPicture = /^image\/[\w.+-]+$/.test(file.type) && file.size <= PICTURE_BYTES;
  if (!isPicture) throw new LocalError(localErrors.fieldInvalid(name));
  return `data:${file.type};base64,${Buffer.from(await file.arrayBuffer()).toString("base64")}`;
}
