// The models, tokens, users and channels that spent most, as short tables with bars. A name leads to its part of the log, from
// the report's first day on.
import { Link } from "react-router";
import { type TagColour, tagPalette } from "#console/base/colours.ts";
import { formatCharge, formatCount, formatMs, shortCount } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { useThemeMode } from "#console/base/theme-mode.ts";
import type { TeamUsage } from "#contract/team.ts";
import type { OwnUsage, RankedChannel, SiteUsage } from "#contract/usage.ts";
import { type BoardReport, type ModelUsage, OTHERS, percent, type ToLog } from "./usage.ts";

interface RankRow {
  readonly key: string;
  readonly name: string;
  /** Where the name leads; undefined = nowhere. */
  readonly to?: string | undefined;
  readonly colour: TagColour;
  /** Length of the bar, 0 to 1. */
  readonly part: number;
  readonly cells: readonly string[];
}

interface RankTableProps {
  readonly title: string;
  /** Heads of all columns; the first is that of the names. */
  readonly heads: readonly string[];
  readonly rows: readonly RankRow[];
}

function Row({ row, heads }: { readonly row: RankRow; readonly heads: readonly string[] }) {
  const mode = useThemeMode();
  const name = (
    <span className="tg-clip" title={row.name}>
      {row.name}
    </span>
  );
  return (
    <tr>
      <th scope="row">
        {row.to === undefined ? name : <Link to={row.to}>{name}</Link>}
        <i aria-hidden="true">
          <b style={{ width: percent(row.part), background: tagPalette[mode][row.colour].text }} />
        </i>
      </th>
      {row.cells.map((cell, at) => (
        <td key={heads[at + 1]}>{cell}</td>
      ))}
    </tr>
  );
}

function RankTable({ title, heads, rows }: RankTableProps) {
  return (
    <section className="tg-card tg-chart">
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p className="tg-muted tg-ranks-none">这段时间没有记录。</p>
      ) : (
        <table className="tg-ranks">
          <thead>
            <tr>
              {heads.map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.key} row={row} heads={heads} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** Exact while the column has room for it. */
const countText = (count: number) => (count < 1_000_000 ? formatCount(count) : shortCount(count));

interface ModelRanksProps {
  readonly report: BoardReport;
  readonly models: readonly ModelUsage[];
  readonly toLog: ToLog;
}

export function ModelRanks({ report: { start }, models, toLog }: ModelRanksProps) {
  const display = useQuotaDisplay();
  const rows = models.map(({ name, colour, share, quota, requests }) => ({
    key: name,
    name,
    to: name === OTHERS ? undefined : toLog({ model_name: name, start }),
    colour,
    part: share,
    cells: [formatCharge(quota, display), percent(share), countText(requests)],
  }));
  return <RankTable title="模型占比" heads={["模型", "花费", "占比", "请求"]} rows={rows} />;
}

interface Spender extends Pick<RankRow, "key" | "name" | "to"> {
  readonly quota: number;
  readonly requests: number;
}

interface SpenderRanksProps {
  readonly title: string;
  /** Head of the names. */
  readonly head: string;
  readonly colour: TagColour;
  readonly total: number;
  readonly spenders: readonly Spender[];
}

/** Each with its part of what the first one spent, and of everything. */
function SpenderRanks({ title, head, colour, total, spenders }: SpenderRanksProps) {
  const display = useQuotaDisplay();
  const most = spenders[0]?.quota ?? 0;
  const rows = spenders.map(({ key, name, to, quota, requests }) => ({
    ...{ key, name, to, colour },
    part: most === 0 ? 0 : quota / most,
    cells: [formatCharge(quota, display), total === 0 ? "—" : percent(quota / total), countText(requests)],
  }));
  return <RankTable title={title} heads={[head, "花费", "占比", "请求"]} rows={rows} />;
}

interface RanksProps<Report> {
  readonly report: Report;
  readonly total: number;
  readonly toLog: ToLog;
}

export function TokenRanks({ report: { start, tokens }, total, toLog }: RanksProps<OwnUsage>) {
  const spenders = tokens.map(({ token_name, ...spent }) => ({
    ...spent,
    key: token_name,
    name: token_name || "无",
    to: token_name === "" ? undefined : toLog({ token_name, start }),
  }));
  return <SpenderRanks title="令牌排行" head="令牌" colour="teal" total={total} spenders={spenders} />;
}

/** Of a user who may have been deleted since. */
const userName = (row: { readonly user_id: number; readonly username: string }) =>
  row.username || `#${row.user_id}`;

export function UserRanks({ report: { start, users }, total, toLog }: RanksProps<SiteUsage>) {
  const spenders = users.map((row) => ({
    ...row,
    key: String(row.user_id),
    name: userName(row),
    to: row.username === "" ? undefined : toLog({ username: row.username, start }),
  }));
  return <SpenderRanks title="用户排行" head="用户" colour="teal" total={total} spenders={spenders} />;
}

export function MemberRanks({ report: { start, members }, total, toLog }: RanksProps<TeamUsage>) {
  const spenders = members.map((row) => ({
    ...row,
    key: String(row.user_id),
    name: userName(row),
    to: toLog({ member: row.user_id, start }),
  }));
  return <SpenderRanks title="成员排行" head="成员" colour="teal" total={total} spenders={spenders} />;
}

export function ProjectRanks({ report: { start, projects }, total, toLog }: RanksProps<TeamUsage>) {
  const spenders = projects.map((row) => ({
    ...row,
    key: String(row.project_id),
    to: toLog({ project: row.project_id, start }),
  }));
  return <SpenderRanks title="项目排行" head="项目" colour="blue" total={total} spenders={spenders} />;
}

function failedPart({ calls, failures }: RankedChannel): string {
  return calls === 0 ? "—" : percent(failures / calls);
}

export function ChannelRanks({ report, toLog }: Omit<RanksProps<SiteUsage>, "total">) {
  const display = useQuotaDisplay();
  const most = report.channels[0]?.quota ?? 0;
  const rows = report.channels.map((row) => ({
    key: String(row.channel_id),
    name: row.name || `#${row.channel_id}`,
    to: row.channel_id === 0 ? undefined : toLog({ channel: row.channel_id, start: report.start }),
    colour: "blue" as const,
    part: most === 0 ? 0 : row.quota / most,
    cells: [formatCharge(row.quota, display), failedPart(row), formatMs(row.first_byte_ms) || "—"],
  }));
  return <RankTable title="渠道排行" heads={["渠道", "花费", "失败率", "首字"]} rows={rows} />;
}
