// Names one act of the user, so that the server carries it out once however often it is sent (Idempotency-Key).

/** 32 random hex digits. Works where pages are served without TLS too, unlike crypto.randomUUID. */
export function newActKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
