// Sets aside what a task may cost: it is kept until the task is booked, whatever becomes of the process (requirements C52).
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { Caller } from "./admission/admit.ts";
import { plansOf } from "./admission/call-limits.ts";
import { windowsOf } from "./admission/set-limits.ts";
import type { RequestState } from "./routing/failover.ts";
import { refusalOf } from "./serve.ts";
import type { Services } from "./services.ts";

export interface TaskReservation {
  readonly caller: Caller;
  readonly model: string;
  readonly amount: bigint;
  /** Of a part of the task; else it is the call's. */
  readonly requestId?: string;
}

/** Returns why it cannot be set aside; undefined = it is. Throws: StoreError. */
export async function reserveTask(
  services: Services,
  state: RequestState,
  { caller, model, amount, requestId = state.requestId }: TaskReservation,
): Promise<RelayFault | undefined> {
  const { ledger, options } = services.ctx;
  const verdict = await ledger.reserve({
    requestId,
    userId: caller.payerId,
    tokenId: caller.tokenId,
    amount,
    modelName: model,
    isKept: true,
    ...(caller.limits.length > 0 && windowsOf(caller, model, options, state.limitHead)),
    ...(caller.plans.length > 0 && plansOf(caller, model)),
  });
  return verdict === "reserved" ? undefined : refusalOf(services, state, verdict);
}
