// Who calls `/v1`, for tests of what comes after the call was let in.
import type { Caller } from "#server/relay/admission/admit.ts";

/** One that pays for itself, without limits and plans. */
export function callerOf(userId: number, tokenId: number): Caller {
  return {
    ...{ userId, payerId: userId, tokenId },
    tokenName: "t",
    username: "u",
    group: "default",
    isAdmin: false,
    owes: false,
    models: undefined,
    limits: [],
    plans: [],
    isGroupNamed: false,
    language: "",
    fallbacks: [],
    pin: undefined,
  };
}
