// One call after the other over many rows: goes on after a refusal, ends when the session does. Knows no resource.
import { ApiFault, faultText, handleFault, messages } from "./faults.ts";
import { inSentence } from "./language.ts";

/** An item that was refused, or that the run did not get to because the session ended. */
export interface BulkFailure<T> {
  readonly item: T;
  /** A sentence. */
  readonly reason: string;
}

export interface BulkResult<T> {
  readonly done: number;
  readonly failures: readonly BulkFailure<T>[];
}

/** Acts on every item in order and counts. `onStep` gets the number of items done. */
export async function runAll<T>(
  items: readonly T[],
  act: (item: T) => Promise<unknown>,
  onStep: (behind: number) => void = () => undefined,
): Promise<BulkResult<T>> {
  let done = 0;
  const failures: BulkFailure<T>[] = [];
  for (const [index, item] of items.entries()) {
    onStep(index);
    try {
      await act(item);
      done += 1;
    } catch (error) {
      if (error instanceof ApiFault && error.kind === "signed-out") {
        handleFault(error);
        failures.push(...items.slice(index).map((left) => ({ item: left, reason: messages.expired })));
        break;
      }
      failures.push({ item, reason: faultText(error) });
    }
  }
  return { done, failures };
}

/** How it went in numbers: `已删除 3 个渠道`, or how many failed. */
export function bulkText<T>(verb: string, noun: string, { done, failures }: BulkResult<T>): string {
  const failed = failures.length;
  return failed === 0
    ? `已${verb} ${done} 个${inSentence(noun)}`
    : `${verb}成功 ${done} 个，失败 ${failed} 个${inSentence(noun)}`;
}
