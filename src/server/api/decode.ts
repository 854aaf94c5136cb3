// What a call brings, read by its schema. Knows no resource.
import type { z } from "zod";
import type { Endpoint } from "#contract/endpoint.ts";
import { faults } from "#server/errors.ts";
import { readBody, refuseNul } from "./guard.ts";

/** Decodes with a schema. Throws: the schema's own sentence, or a general one for a wrong type. */
export function decode(schema: z.ZodType, value: unknown): unknown {
  const read = schema.safeDecode(value as never, { error: () => "请求参数有误" });
  if (read.success) {
    refuseNul(read.data);
    return read.data;
  }
  const issue = read.error.issues[0];
  throw faults.invalid(issue?.message, issue?.path.join("."));
}

/** The JSON of a body. Throws: when it is none, or too large. */
export async function jsonBody(request: Request, endpoint: Endpoint, isSignedIn: boolean): Promise<unknown> {
  const text = await readBody(request, isSignedIn, endpoint.bodyBytes);
  try {
    return JSON.parse(text);
  } catch {
    throw endpoint.undecodable ? faults.undecodable() : faults.invalid(undefined, "body is not JSON");
  }
}
