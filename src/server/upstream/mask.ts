// Keeps a channel's credential out of what goes to clients, should an upstream echo it (reliability R18). Pure.

/** The bytes without the secrets: each occurrence becomes as many asterisks, so that lengths and JSON stay as they are. */
export function maskSecrets(bytes: Buffer, secrets: readonly Buffer[]): Buffer;
export function maskSecrets(bytes: Uint8Array, secrets: readonly Buffer[]): Uint8Array;
export function maskSecrets(bytes: Uint8Array, secrets: readonly Buffer[]): Uint8Array {
  let masked: Buffer | undefined;
  for (const secret of secrets) {
    let from = indexIn(masked ?? bytes, secret, 0);
    while (from >= 0) {
      masked ??= Buffer.from(bytes);
      masked.fill("*", from, from + secret.length);
      from = indexIn(masked, secret, from + secret.length);
    }
  }
  return masked ?? bytes;
}

function indexIn(bytes: Uint8Array, secret: Buffer, from: number): number {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return buffer.indexOf(secret, from);
}
