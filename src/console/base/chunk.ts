// Pages come in chunks; one that does not arrive in time counts as failed, so that the page does not stay empty for ever.

/** Milliseconds a chunk may take (requirements B9). */
export const CHUNK_MS = 120_000;

/** What `load` brings. Throws: when it fails, or takes longer than a chunk may. */
export async function inTime<T>(load: () => Promise<T>, limitMs = CHUNK_MS): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`a chunk took more than ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([load(), late]);
  } finally {
    clearTimeout(timer);
  }
}
