// Everything cryptographic: keyed hashes, sealed values, random formats, passwords. The only importer of node:crypto.
import {
  type Argon2Parameters,
  argon2,
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
  timingSafeEqual,
} from "node:crypto";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import { isBcrypt, verifyBcrypt } from "./secrets/bcrypt.ts";

/** What the master key opens and hashes. Built once from it; the key itself is not kept. */
export interface Secrets {
  /** HMAC-SHA-256 with a pepper derived from the master key, base64url: for keys and ids that are looked up. */
  hash(text: string): string;
  /** AES-256-GCM, random nonce; `context` (e.g. "channels.key") is authenticated too. Returns `v1:<base64url>`. */
  seal(plain: string, context: string): string;
  /** Undoes `seal` with the same context. Throws: SealError when the text was not sealed with this key. */
  open(sealed: string, context: string): string;
}

/** A sealed value that cannot be opened: damaged, moved to another column, or sealed with another master key. */
export class SealError extends Error {
  override readonly name = "SealError";
}

const SEAL_PREFIX = "v1:";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Told of each secret that is about to be used or kept, with the context it is sealed under. */
export type Overhear = (plain: string, context: string) => void;

/** Derives separate keys for hashing and sealing from the master key. */
export function createSecrets(masterKey: Uint8Array, overhear: Overhear = () => undefined): Secrets {
  const derive = (purpose: string) =>
    Buffer.from(hkdfSync("sha256", masterKey, "", `tollgate ${purpose} v1`, 32));
  const pepper = derive("pepper");
  const sealKey = derive("seal");
  return {
    hash: (text) => createHmac("sha256", pepper).update(text).digest("base64url"),
    seal(plain, context) {
      overhear(plain, context);
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", sealKey, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([nonce, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return SEAL_PREFIX + body.toString("base64url");
    },
    open(sealed, context) {
      const plain = openSealed(sealKey, sealed, context);
      overhear(plain, context);
      return plain;
    },
  };
}

function openSealed(sealKey: Buffer, sealed: string, context: string): string {
  const body = sealed.startsWith(SEAL_PREFIX)
    ? Buffer.from(sealed.slice(SEAL_PREFIX.length), "base64url")
    : Buffer.alloc(0);
  if (body.length < NONCE_BYTES + TAG_BYTES) throw new SealError("not a sealed value");
  const end = body.length - TAG_BYTES;
  try {
    const decipher = createDecipheriv("aes-256-gcm", sealKey, body.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(Buffer.from(context)).setAuthTag(body.subarray(end));
    return Buffer.concat([decipher.update(body.subarray(NONCE_BYTES, end)), decipher.final()]).toString(
      "utf8",
    );
  } catch (cause) {
    throw new SealError(`a sealed value of ${context} cannot be opened`, { cause });
  }
}

/**
 * Opens the key of a row and makes sure that it is the one the row's hash was made of: a sealed value that was moved from
 * another row does not open (requirements K01). Throws: SealError.
 */
export function openKey(
  secrets: Secrets,
  row: { readonly key_hash: string; readonly key_sealed: string },
  context: string,
): string {
  const key = secrets.open(row.key_sealed, context);
  if (!constantTimeEqual(secrets.hash(key), row.key_hash)) {
    throw new SealError(`a sealed value of ${context} belongs to another row`);
  }
  return key;
}

/** SHA-256 as lower-case hex, for signatures that providers ask for. */
export function sha256Hex(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}

/** HMAC-SHA-256, for signatures that providers ask for; texts count as UTF-8. */
export function hmacSha256(key: string | Uint8Array, text: string | Uint8Array): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

/** HMAC-SHA-1, which codes of authenticator apps are made with (RFC 4226). */
export function hmacSha1(key: Uint8Array, bytes: Uint8Array): Buffer {
  return createHmac("sha1", key).update(bytes).digest();
}

/** An RSA private key in PEM as an object that can sign; undefined when the text is none. */
export function rsaKeyOf(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === "rsa" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Signs a JSON Web Token with HS256 (a secret as text, taken as UTF-8) or RS256 (a private key). RFC 7515 compact form. */
export function signJwt(
  header: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>,
  key: string | KeyObject,
): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part(header)}.${part(claims)}`;
  const signature = typeof key === "string" ? hmacSha256(key, text) : sign("sha256", Buffer.from(text), key);
  return `${text}.${signature.toString("base64url")}`;
}

/** Compares without telling by its duration where two texts differ. */
export function constantTimeEqual(a: string, b: string): boolean {
  const left = createHash("sha256").update(a).digest();
  const right = createHash("sha256").update(b).digest();
  return timingSafeEqual(left, right);
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Evenly distributed characters of an alphabet of at most 256; bytes that would favour its head are dropped. */
function randomText(length: number, alphabet: string): string {
  const limit = 256 - (256 % alphabet.length);
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length + 8)) {
      if (byte < limit && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}

function checksum(body: string): string {
  let rest = crc32(body);
  let text = "";
  for (let index = 0; index < 6; index += 1) {
    text = BASE62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/**
 * A relay key without its `sk-`: 42 random base62 characters and their CRC32 in 6, for scanners; no key is refused for want of it
 * (requirements K06, docs/decisions/030).
 */
export function newTokenKey(): string {
  const body = randomText(42, BASE62);
  return body + checksum(body);
}

/** Unguessable id as base64url; 32 bytes = 256 bits. */
export function randomId(bytes = 32): string {
  return randomBytes(bytes).toString("base64url");
}

/** Random lower-case hex of the given number of characters. */
export function randomHex(chars: number): string {
  return randomText(chars, "0123456789abcdef");
}

/** A password that people can copy: letters and digits without look-alikes. */
export function randomPassword(chars = 20): string {
  return randomText(chars, "23456789ABCDEFGHJKMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz");
}

/** Invitation code: five upper-case letters and digits without look-alikes (requirements W17.1, W20.8); may be taken. */
export function newAffCode(): string {
  return randomText(5, "23456789ABCDEFGHJKMNPQRSTUVWXYZ");
}

let stampSec = Number.NaN;
let stamp = "";
let counter = randomBytes(4).readUInt32BE() % 1_000_000;
let pool = Buffer.alloc(0);
let poolAt = 0;

/** Local time as yyyyMMddHHmmss, kept for the second it holds. */
function localStamp(nowMs: number): string {
  const second = Math.floor(nowMs / 1000);
  if (second === stampSec) return stamp;
  const date = new Date(nowMs);
  const parts = [date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()];
  stamp = String(date.getFullYear()) + parts.map((part) => String(part).padStart(2, "0")).join("");
  stampSec = second;
  return stamp;
}

/**
 * Request id: local time yyyyMMddHHmmss, milliseconds, a counter of this process (6 digits), 8 random digits (requirements
 * W1.4). It is the natural key of a settlement: one process cannot repeat itself, two would need the same millisecond,
 * counter and random digits.
 */
export function newRequestId(nowMs: number): string {
  counter = (counter + 1) % 1_000_000;
  if (poolAt + 4 > pool.length) {
    pool = randomBytes(4096);
    poolAt = 0;
  }
  const random = pool.readUInt32BE(poolAt) % 100_000_000;
  poolAt += 4;
  const tail = (nowMs % 1000) * 1_000_000 + counter;
  return localStamp(nowMs) + String(Math.floor(tail)).padStart(9, "0") + String(random).padStart(8, "0");
}

// OWASP's floor for argon2id (requirements A07): 19 MiB, 2 passes, 1 lane. About 25 ms.
const ARGON = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;
/** Two of the four pool threads at most, so that a burst of logins leaves threads to files and names. */
const MAX_HASHING = 2;
const argon2id = promisify(argon2).bind(undefined, "argon2id");
const waiting: (() => void)[] = [];
let hashing = 0;

async function runArgon(parameters: Argon2Parameters): Promise<Buffer> {
  if (hashing >= MAX_HASHING) await new Promise<void>((resolve) => waiting.push(resolve));
  else hashing += 1;
  try {
    return await argon2id(parameters);
  } finally {
    // A waiting caller takes over the slot; else it becomes free.
    const next = waiting.shift();
    if (next) next();
    else hashing -= 1;
  }
}

function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64").replaceAll("=", "");
}

/** Whether a stored hash is of an older kind and should be made anew when the password is at hand. */
export function isOutdatedHash(stored: string): boolean {
  return isBcrypt(stored);
}

/** SHA-256 as base64url: the S256 challenge of a PKCE verifier (RFC 7636). */
export function sha256Url(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** 16 characters of Crockford's base 32, 80 bits: the end of an order number. */
export function randomOrderTail(): string {
  return randomText(16, "0123456789ABCDEFGHJKMNPQRSTVWXYZ");
}

/** The same from a text: who sees the text again gets the same tail. */
export function orderTailOf(text: string): string {
  const digest = createHash("sha256").update(text).digest();
  return Array.from(digest.subarray(0, 16), (byte) => "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[byte % 32]).join("");
}

/** Evenly distributed decimal digits. */
export function randomDigits(count: number): string {
  return randomText(count, "0123456789");
}

/** A recovery code: ten characters of Crockford's base32, 50 bits. */
export function newRecoveryCode(): string {
  return randomText(10, "0123456789ABCDEFGHJKMNPQRSTVWXYZ");
}

/** Lower-case letters and digits without look-alikes, for names that are made up. */
export function randomNameTail(chars: number): string {
  return randomText(chars, "23456789abcdefghjkmnpqrstuvwxyz");
}

/** Hashes a password with argon2id; returns the PHC text `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await runArgon({ ...ARGON, message: password, nonce });
  return `$argon2id$v=19$m=${ARGON.memory},t=${ARGON.passes},p=${ARGON.parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
}

/**
 * Whether a password belongs to a stored hash. A stored text that is no hash ("" = no such user, no password login)
 * takes as long as a wrong password and is never true, so that names cannot be found out by time (requirements A11).
 */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  if (isBcrypt(stored)) return verifyBcrypt(password, stored);
  const [, memory, passes, lanes, salt = "", hash = ""] = PHC.exec(stored) ?? [];
  if (memory === undefined) {
    await runArgon({ ...ARGON, message: password, nonce: randomBytes(16) });
    return false;
  }
  const expected = Buffer.from(hash, "base64");
  const tag = await runArgon({
    message: password,
    nonce: Buffer.from(salt, "base64"),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(lanes),
    tagLength: expected.length,
  });
  return timingSafeEqual(tag, expected);
}
