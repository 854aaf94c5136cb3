// The numbers of the contract that the rules need, kept equal to it by the compiler. Imported as types only, because the
// contract brings its schemas along and the rules run in a thread that should stay small.
import type { LogType as ContractLogType } from "#contract/log.ts";
import type { RedemptionStatus as ContractRedemptionStatus } from "#contract/redemption.ts";
import type { TokenStatus as ContractTokenStatus } from "#contract/token.ts";
import type { UserStatus as ContractUserStatus } from "#contract/user.ts";

export const TokenStatus: typeof ContractTokenStatus = { enabled: 1, disabled: 2, expired: 3, exhausted: 4 };
export const UserStatus: Pick<typeof ContractUserStatus, "enabled" | "deleted"> = { enabled: 1, deleted: 3 };
export const LogType: Pick<typeof ContractLogType, "topup" | "consume" | "system"> = {
  topup: 1,
  consume: 2,
  system: 4,
};
export const RedemptionStatus: Pick<typeof ContractRedemptionStatus, "unused" | "used"> = {
  unused: 1,
  used: 3,
};

/** In place of a process's id, in reservations of work that goes on when processes end. Ids of processes are hexadecimal. */
export const KEPT = "kept";
