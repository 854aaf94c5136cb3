// One call after the other over many rows: goes on after a refusal, ends when the session does. Knows no resource.
import { ApiFault, faultText, handleFault } from "./faults.ts";
import { inSentence } from "./language.ts";
import { toast } from "./toast.ts";

export interface BulkResult {
  readonly done: number;
  readonly failed: number;
  /** The first refusal, as a sentence. */
  readonly reason: string;
}

/** Acts on every item in order and counts. `onStep` gets the number of items done. */
export async function runAll<T>(
  items: readonly T[],
  act: (item: T) => Promise<unknown>,
  onStep: (behind: number) => void = () => undefined,
): Promise<BulkResult> {
  let done = 0;
  let reason = "";
  for (const [index, item] of items.entries()) {
    onStep(index);
    try {
      await act(item);
      done += 1;
    } catch (error) {
      if (error instanceof ApiFault && error.kind === "signed-out") {
        handleFault(error);
        break;
      }
      reason ||= faultText(error);
    }
  }
  return { done, failed: items.length - done, reason };
}

/** Tells how it went: `已删除 3 个渠道`, or how many failed and why. */
export function tellBulk(verb: string, noun: string, { done, failed, reason }: BulkResult): void {
  if (failed === 0) toast.success(`已${verb} ${done} 个${inSentence(noun)}`);
  else toast.error(`${verb}成功 ${done} 个，失败 ${failed} 个${inSentence(noun)}：${reason}`);
}
