// Asks the owner to prove to be there when the server wants it, once for all calls that wait for it. The dialog is ui/proof-host.tsx.
import { createStore, useStore } from "./store.ts";

interface Question {
  readonly answer: (isProven: boolean) => void;
}

const question = createStore<Question | undefined>(undefined);
let pending: Promise<boolean> | undefined;

/** Whether the server refused a call until its owner proves to be there. */
export function wantsProof(code: string | undefined): boolean {
  return code === "VERIFICATION_REQUIRED" || code === "VERIFICATION_EXPIRED";
}

/** Opens the dialog and waits for its end; true = the proof is noted, and the call may be made again. */
export function askOwner(): Promise<boolean> {
  pending ??= new Promise<boolean>((resolve) => {
    question.set({
      answer: (isProven) => {
        question.set(undefined);
        pending = undefined;
        resolve(isProven);
      },
    });
  });
  return pending;
}

/** The question that is open; undefined = none. */
export function useQuestion(): Question | undefined {
  return useStore(question);
}
