// The security of the own account: second factors, and where it is signed in.
import { useQuery } from "@tanstack/react-query";
import { query } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { Callout } from "#console/ui/callout.tsx";
import { PendingReset, usePendingReset } from "#console/ui/pending-reset.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { type FactorState, factorApi } from "#contract/factor.ts";
import { Factors } from "./factors.tsx";
import { Sessions } from "./sessions.tsx";
import "./security.css";

/** What the operator asks for, while it is not there. */
function Demand({ state }: { readonly state: FactorState }) {
  const isBare = state.totp_created_at === 0 && state.passkeys.length === 0;
  if (!state.is_required || !isBare) return null;
  const isOver = state.due_at * 1000 <= Date.now();
  return (
    <Callout tone={isOver ? "bad" : "warn"}>
      {isOver
        ? "管理员要求启用两步验证：添加一种验证方式后才能继续使用其他功能。"
        : `管理员要求启用两步验证：请在 ${formatTime(state.due_at)} 之前添加一种验证方式。`}
    </Callout>
  );
}

/** Another super administrator asked to remove the factors of this account. */
function ResetNotice() {
  const self = useUser();
  const pending = usePendingReset(0, isRoot(self));
  return self && pending ? <PendingReset userId={self.id} pending={pending} /> : null;
}

export function SecurityTab() {
  const state = useQuery({ ...query(factorApi.state, {}), meta: { silent: true } });
  if (state.data === undefined) return <FormState error={state.error} onRetry={() => void state.refetch()} />;
  return (
    <div className="tg-setting-column">
      <ResetNotice />
      <Demand state={state.data} />
      <Factors state={state.data} />
      <Sessions />
    </div>
  );
}
