// Codes of authenticator apps (RFC 6238: SHA-1, six digits, 30 seconds; apps ignore other parameters too often). Pure.
import { hmacSha1 } from "#server/secrets.ts";

const STEP_SEC = 30;
/** Steps before and after the present one whose code is accepted too: clocks differ. */
const WINDOW = 1;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The step a time lies in. Unit: seconds. */
export function stepOf(nowSec: number): number {
  return Math.floor(nowSec / STEP_SEC);
}

/** The code of a step, with its leading zeros. */
export function codeOf(secret: Uint8Array, step: number, digits = 6): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = hmacSha1(secret, counter);
  const at = mac.readUInt8(mac.length - 1) & 15;
  const number = mac.readUInt32BE(at) & 0x7fff_ffff;
  return String(number % 10 ** digits).padStart(digits, "0");
}

/** The code that was typed without its blanks; undefined when it is none, e.g. of five or of full-width digits. */
export function plainCode(typed: string): string | undefined {
  const code = typed.replaceAll(/\s/g, "");
  return /^[0-9]{6}$/.test(code) ? code : undefined;
}

/** The step near `nowSec` whose code this is; undefined when there is none. */
export function matchStep(secret: Uint8Array, code: string, nowSec: number): number | undefined {
  const present = stepOf(nowSec);
  const steps = Array.from({ length: 2 * WINDOW + 1 }, (_, index) => present - WINDOW + index);
  // Every code is compared, whichever is right.
  const right = steps.filter((step) => step >= 0 && codeOf(secret, step) === code);
  return right.at(-1);
}

/** Bytes as base32 without padding (RFC 4648). */
export function base32(bytes: Uint8Array): string {
  let bits = "";
  for (const byte of bytes) bits += byte.toString(2).padStart(8, "0");
  return Array.from(bits.matchAll(/.{1,5}/g), ([part]) =>
    BASE32.charAt(Number.parseInt(part.padEnd(5, "0"), 2)),
  ).join("");
}

/** Undoes `base32`. */
export function fromBase32(text: string): Uint8Array {
  const bits = Array.from(text, (char) => BASE32.indexOf(char).toString(2).padStart(5, "0")).join("");
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
}

/** What an authenticator app reads from the picture. */
export function provisioningUri(args: { system: string; username: string; secret: string }): string {
  const issuer = encodeURIComponent(args.system.replaceAll(":", " "));
  const label = `${issuer}:${encodeURIComponent(args.username.replaceAll(":", " "))}`;
  return `otpauth://totp/${label}?secret=${args.secret}&issuer=${issuer}&algorithm=SHA1&digits=6&period=30`;
}
