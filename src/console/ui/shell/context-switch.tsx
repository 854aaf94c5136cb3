// Whose things the console shows, in the header: one's own, or a team's. The choice is in the address, so that two windows cannot mix.
import { TeamOutlined, UserOutlined } from "@ant-design/icons";
import { Select } from "antd";
import { useNavigate } from "react-router";
import { mayIn, pathIn, useTeamAround, useTeams } from "#console/ui/team-context.ts";
import type { Team } from "#contract/team.ts";
import { type PageRow, usePageHere, usePages } from "./nav.ts";

/** Where a page is in another context: the same list, or the first page there is. */
function pathOf(pages: readonly PageRow[], here: PageRow | undefined, team: Team | undefined): string {
  const list = here?.parent === undefined ? here : pages.find(({ path }) => path === here.parent);
  if (team === undefined) return list?.ofTeam === undefined ? "/team" : list.path;
  const isShown = (page: PageRow) => page.ofTeam !== undefined && mayIn(team, page.ofTeam.right);
  if (list !== undefined && isShown(list)) return pathIn(team.id, list.path);
  // A page that is of no team, or not for this role.
  const first = pages.find((page) => page.menu !== undefined && isShown(page));
  return first === undefined || list?.path === "/team" ? `/team/${team.id}` : pathIn(team.id, first.path);
}

/** Shown to users who belong to a team. */
export function ContextSwitch() {
  const team = useTeamAround();
  const teams = useTeams() ?? [];
  const pages = usePages();
  const here = usePageHere();
  const navigate = useNavigate();
  if (team === 0 && teams.length === 0) return null;
  const choose = (id: number) =>
    void navigate(
      pathOf(
        pages,
        here,
        teams.find((one) => one.id === id),
      ),
    );
  return (
    <Select
      aria-label="个人或团队"
      className="tg-context"
      variant="filled"
      value={team}
      prefix={team === 0 ? <UserOutlined aria-hidden="true" /> : <TeamOutlined aria-hidden="true" />}
      popupMatchSelectWidth={false}
      options={[
        { value: 0, label: "个人" },
        ...teams.map(({ id, name }) => ({ value: id, label: name })),
        ...(team === 0 || teams.some(({ id }) => id === team) ? [] : [{ value: team, label: `#${team}` }]),
      ]}
      onChange={choose}
    />
  );
}
