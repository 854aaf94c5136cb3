// The forms a channel's key can have, taken apart. Pure: the signers make credentials of the parts, the wires take their region
// or project from them. It never puts a key into a message.

/** The key without what administrators paste around it (requirements T2.4). */
export function cleanKey(key: string): string {
  return key.trim().replace(/^Bearer\s+/i, "");
}

/** The parts of a key that are separated by `|`, trimmed; undefined unless there are as many as asked for, none of them empty. */
export function keyPartsOf(key: string, count: number): readonly string[] | undefined {
  const parts = cleanKey(key)
    .split("|")
    .map((part) => part.trim());
  return parts.length === count && parts.every((part) => part !== "") ? parts : undefined;
}

/** Bedrock's credential: a pair that signs, or an API key that is sent. */
export type AwsKey =
  | {
      readonly kind: "pair";
      readonly accessKey: string;
      readonly secretKey: string;
      readonly region: string;
      /** "" = the pair is a lasting one. */
      readonly sessionToken: string;
    }
  | { readonly kind: "api-key"; readonly apiKey: string; readonly region: string };

const AWS_REGION = /^[a-z]{2}(-[a-z]+)+-\d+$/;

/** Whether a text is the name of an AWS region, e.g. `us-east-1`. */
export function isAwsRegion(text: string): boolean {
  return AWS_REGION.test(text);
}

/**
 * Takes `AK|SK|Region`, `AK|SK|Region|SessionToken` and `APIKey|Region` apart, also with the region in front as one-hub stores
 * it; undefined = none of them. Source: vendors/bedrock.
 */
export function awsKeyOf(key: string): AwsKey | undefined {
  const parts = cleanKey(key)
    .split("|")
    .map((part) => part.trim());
  if (parts.length < 2 || parts.length > 4 || parts.includes("")) return undefined;
  const place = [0, parts.length === 4 ? 2 : parts.length - 1].find((index) =>
    isAwsRegion(parts[index] ?? ""),
  );
  if (place === undefined) return undefined;
  const [region = ""] = parts.splice(place, 1);
  const [accessKey = "", secretKey, sessionToken = ""] = parts;
  if (secretKey === undefined) return { kind: "api-key", apiKey: accessKey, region };
  return { kind: "pair", accessKey, secretKey, region, sessionToken };
}

/** A Google service account, as its JSON file tells it. */
export interface ServiceAccount {
  readonly clientEmail: string;
  /** PEM, PKCS#8. */
  readonly privateKey: string;
  /** "" = the file names none. */
  readonly privateKeyId: string;
  readonly projectId: string;
  readonly tokenUri: string;
  /** `region|project` that One API stores in front of the file; "" = none. */
  readonly place: string;
}

/**
 * Reads a service account's JSON, also as One API stores it: `region|project|{…}`. undefined when the key is no such file.
 * Source: vendors/vertex, requirements T2.7.
 */
export function serviceAccountOf(key: string): ServiceAccount | undefined {
  const start = key.indexOf("{");
  const file = start < 0 ? undefined : jsonObjectOf(key.slice(start));
  if (file === undefined) return undefined;
  const place = key.slice(0, start).trim().replace(/\|$/, "");
  if (place !== "" && !/^[\w-]+\|[\w.:-]+$/.test(place)) return undefined;
  const text = (name: string) => {
    const value = file[name];
    return typeof value === "string" ? value.trim() : "";
  };
  const clientEmail = text("client_email");
  const privateKey = text("private_key");
  if (clientEmail === "" || privateKey === "") return undefined;
  return {
    clientEmail,
    privateKey,
    privateKeyId: text("private_key_id"),
    projectId: text("project_id"),
    tokenUri: text("token_uri") || "https://oauth2.googleapis.com/token",
    place,
  };
}

/** The object that a key in the form of JSON stands for; undefined when it is none. */
export function jsonObjectOf(key: string): Readonly<Record<string, unknown>> | undefined {
  const text = key.trim();
  if (!text.startsWith("{")) return undefined;
  try {
    // A JSON text that begins with a brace is an object.
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
