// The request of a super administrator to remove the second factors of another: who asked, when it may be done, and a way to stop it.
import { useQuery } from "@tanstack/react-query";
import { query, useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { toast } from "#console/base/toast.ts";
import { type FactorReset, factorApi } from "#contract/factor.ts";
import { Callout } from "./callout.tsx";
import { ConfirmButton } from "./confirm-button.tsx";
import "./pending-reset.css";

/** The request that is open for an account; null = none, undefined = not known yet. */
export function usePendingReset(userId: number, isAsked: boolean): FactorReset | null | undefined {
  const pending = useQuery({
    ...query(factorApi.pendingReset, { query: { user_id: userId } }),
    enabled: isAsked,
    meta: { silent: true },
  });
  return pending.data;
}

export function PendingReset({
  userId,
  pending,
}: {
  readonly userId: number;
  readonly pending: FactorReset;
}) {
  const cancel = useCall(factorApi.cancelReset, {
    invalidates: [factorApi.pendingReset],
    onSuccess: () => toast.success("申请已撤销！"),
  });
  const { asked_by_name, asked_at, due_at, reason } = pending;
  return (
    <Callout tone="warn">
      <div className="tg-pending-reset">
        <span>
          {`${asked_by_name} 于 ${formatTime(asked_at)} 申请清除全部两步验证方式，${formatTime(due_at)} 起可由其执行。`}
          {reason === "" ? null : `原因：${reason}`}
        </span>
        <ConfirmButton
          loading={cancel.isPending}
          question="撤销这个申请？"
          confirmText="确认撤销"
          onConfirm={() => cancel.mutate({ body: { id: userId } })}
        >
          撤销申请
        </ConfirmButton>
      </div>
    </Callout>
  );
}
