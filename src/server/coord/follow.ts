// Keeps what was read in step with what is stored. Knows neither.
import type { Coord, Topic } from "./coord.ts";

/** A change that could not be read is looked at again after this long. */
const AGAIN_MS = 1_000;

export interface Followed {
  readonly topic: Topic;
  /** Reads what is stored. A change announced while it reads must be read as well. */
  read(): Promise<void>;
  onError(error: unknown): void;
}

/** Reads whenever a change is announced, and again until that has succeeded. Begin before the first reading: it may miss a change. */
export function follow(coord: Pick<Coord, "subscribe">, { topic, read, onError }: Followed): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const look = () => {
    clearTimeout(timer);
    read().catch((error: unknown) => {
      onError(error);
      clearTimeout(timer);
      if (!isStopped) timer = setTimeout(look, AGAIN_MS).unref();
    });
  };
  const stop = coord.subscribe(topic, look);
  return () => {
    isStopped = true;
    clearTimeout(timer);
    stop();
  };
}
