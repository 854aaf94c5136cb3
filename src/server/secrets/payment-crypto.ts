// What payment providers sign and encrypt with: MD5, SHA-1, RSA with SHA-256, AES-256-GCM. Knows no provider.
import {
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  timingSafeEqual,
  verify,
} from "node:crypto";

/** A key that only this file can look into. */
export type RsaKey = KeyObject;

/** MD5 of a text as UTF-8, lower-case hex: only where a provider's protocol asks for it. */
export function md5Hex(text: string): string {
  return createHash("md5").update(text, "utf8").digest("hex");
}

/** SHA-1 of a file, lower-case hex: only where a provider's protocol asks for it. */
export function sha1Hex(bytes: Uint8Array): string {
  return createHash("sha1").update(bytes).digest("hex");
}

/** Compares signatures of equal length in constant time; another length is a plain no (requirements Y12). */
export function sameSignature(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** PEM, or its base64 alone: portals of providers show both. Undefined when it is no RSA key of at least 1024 bits. */
export function rsaPublicKey(text: string): KeyObject | undefined {
  return rsaKey(text, (pem) => createPublicKey(pem), ["PUBLIC KEY", "RSA PUBLIC KEY"]);
}

export function rsaPrivateKey(text: string): KeyObject | undefined {
  return rsaKey(text, (pem) => createPrivateKey(pem), ["PRIVATE KEY", "RSA PRIVATE KEY"]);
}

function rsaKey(
  text: string,
  read: (pem: string) => KeyObject,
  labels: readonly string[],
): KeyObject | undefined {
  const bare = text.replace(/-----[A-Z ]+-----/g, "").replace(/\s/g, "");
  const lines = bare.match(/.{1,64}/g)?.join("\n") ?? "";
  const pems = text.includes("-----BEGIN")
    ? [text.trim()]
    : labels.map((label) => `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`);
  for (const pem of pems) {
    try {
      const key = read(pem);
      const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
      if (key.asymmetricKeyType === "rsa" && bits >= 1024) return key;
    } catch {
      // Not in this form.
    }
  }
  return undefined;
}

/** SHA256withRSA, base64. */
export function signRsa(text: string, key: KeyObject): string {
  return sign("sha256", Buffer.from(text, "utf8"), key).toString("base64");
}

const BASE64 = /^[A-Za-z0-9+/]{4,2048}={0,2}$/;

/** Whether a base64 signature is SHA256withRSA of this text. Never throws. */
export function verifiesRsa(text: string | Uint8Array, signature: string, key: KeyObject): boolean {
  if (!BASE64.test(signature)) return false;
  try {
    return verify("sha256", Buffer.from(text), key, Buffer.from(signature, "base64"));
  } catch {
    return false;
  }
}

const TAG_BYTES = 16;

/** AES-256-GCM: base64 of ciphertext and its 16-byte tag. Undefined when anything does not fit (requirements Y33). */
export function openGcm(
  sealed: string,
  { key, nonce, aad }: { readonly key: string; readonly nonce: string; readonly aad: string },
): string | undefined {
  const [secret, iv, bytes] = [Buffer.from(key), Buffer.from(nonce), Buffer.from(sealed, "base64")];
  if (secret.length !== 32 || iv.length !== 12 || bytes.length < TAG_BYTES) return undefined;
  const end = bytes.length - TAG_BYTES;
  try {
    const decipher = createDecipheriv("aes-256-gcm", secret, iv, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(aad)).setAuthTag(bytes.subarray(end));
    return Buffer.concat([decipher.update(bytes.subarray(0, end)), decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}
