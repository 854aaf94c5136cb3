// Shared by Bedrock's wires: exceptions within a stream (vendors/bedrock). Pure.
import { asText, readJson } from "#server/upstream/json/values.ts";

/** The statuses of exceptions; any other exception is 500. */
const STATUS: Readonly<Record<string, number>> = {
  validationException: 400,
  throttlingException: 429,
  modelTimeoutException: 504,
  serviceUnavailableException: 503,
};

/** An exception by its name; `data` is the event's payload. */
export function awsException(name: string, data: string) {
  const message = asText(readJson(data)?.["message"]) ?? name;
  return { kind: "error", status: STATUS[name] ?? 500, message, code: name, type: "bedrock_error" } as const;
}
