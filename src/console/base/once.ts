// Names one act of the user, so that the server carries it out once however often it is sent (Idempotency-Key).

/** Names acts by what is sent: the same again is the same act, anything else another one. */
export function actKeys(): (input: unknown) => string {
  let last = { text: "", key: "" };
  return (input) => {
    const text = JSON.stringify(input);
    if (text !== last.text) last = { text, key: newActKey() };
    return last.key;
  };
}

/** 32 random hex digits. Works where pages are served without TLS too, unlike crypto.randomUUID. */
export function newActKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
