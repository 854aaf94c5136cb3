// What all tokens of a team together may spend of its wallet.
import { useQuery } from "@tanstack/react-query";
import { query, useCall } from "#console/base/call.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { boosted } from "#console/ui/boost-dialog.tsx";
import { closing } from "#console/ui/closing.ts";
import { type Team, teamApi } from "#contract/team.ts";
import { CapForm } from "./cap-form.tsx";
import { CapLines } from "./cells.tsx";

const LISTS = [teamApi.limits] as const;

function useTeamLimits({ id }: Team) {
  return useQuery({ ...query(teamApi.limits, { params: { id } }), meta: { silent: true } });
}

/** In the head of the page; nothing where the team has no limit. */
export function TeamCapFact({ team }: { readonly team: Team }) {
  const { data = [] } = useTeamLimits(team);
  const display = useQuotaDisplay();
  if (data.length === 0) return null;
  // Who may not see the calls of all is told the amounts alone.
  const isUseShown = data.some(({ used }) => used !== null);
  return (
    <div>
      <dt>{isUseShown ? "团队上限（已用 / 上限）" : "团队上限"}</dt>
      <dd>
        <CapLines limits={data} display={display} />
      </dd>
    </div>
  );
}

interface TeamCapDialogProps {
  readonly team: Team;
  readonly onClose: () => void;
}

export function TeamCapDialog({ team, onClose }: TeamCapDialogProps) {
  const { data } = useTeamLimits(team);
  const params = { id: team.id };
  const set = useCall(teamApi.setLimits, closing(LISTS, "上限已保存", onClose));
  const boost = useCall(teamApi.boostLimit, boosted(LISTS, onClose));
  // The form begins with what is set.
  if (data === undefined) return null;
  return (
    <CapForm
      of={team.name}
      lead="整个团队的令牌在一个周期内最多从钱包花费这么多，超出的调用会被拒绝；用到 80% 时发邮件提醒所有者。"
      limits={data}
      isBusy={set.isPending}
      onSave={(limits) => set.mutate({ params, body: { limits: [...limits] } })}
      isRaising={boost.isPending}
      onRaise={(body) => boost.mutate({ params, body })}
      onClose={onClose}
    />
  );
}
