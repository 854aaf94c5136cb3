// Chooses between one's own account and the teams one belongs to. The choice is in the address, so that two windows cannot mix.
import { useQuery } from "@tanstack/react-query";
import { Select } from "antd";
import { query } from "#console/base/call.ts";
import { teamApi } from "#contract/team.ts";

export interface TeamSwitchProps {
  /** 0 = the own account. */
  readonly team: number;
  readonly onChange: (team: number) => void;
}

/** Shown to users who belong to a team. */
export function TeamSwitch({ team, onChange }: TeamSwitchProps) {
  const teams = useQuery({ ...query(teamApi.list, {}), meta: { silent: true } });
  if (team === 0 && (teams.data ?? []).length === 0) return null;
  return (
    <Select
      aria-label="个人或团队"
      className="tg-team-switch"
      value={team}
      style={{ minWidth: 160 }}
      popupMatchSelectWidth={false}
      options={[
        { value: 0, label: "个人" },
        ...(teams.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
      ]}
      onChange={onChange}
    />
  );
}
