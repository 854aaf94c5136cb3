// The models, tokens, users and channels that spent most, as short tables with bars. A name leads to its part of the log, from
// the report's first day on.
import { Link } from "react-router";
import { type TagColour, tagPalette } from "#console/base/colours.ts";
import { formatCharge, formatCount, formatMs, shortCount } from "#console/base/format.ts";
import { boardLogPath, logPath, ownLogPath } from "#console/base/log-path.ts";
import { useUser } from "#console/base/session.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { useThemeMode } from "#console/base/theme-mode.ts";
import type { OwnUsage, RankedChannel, SiteUsage, UsageReport } from "#contract/usage.ts";
import { type ModelUsage, OTHERS, percent } from "./usage.ts";

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
  readonly report: UsageReport;
  readonly models: readonly ModelUsage[];
  /** The report is the user's own, not that of the site. */
  readonly isOwn: boolean;
}

export function ModelRanks({ report: { start }, models, isOwn }: ModelRanksProps) {
  const display = useQuotaDisplay();
  const user = useUser();
  const rows = models.map(({ name, colour, share, quota, requests }) => ({
    key: name,
    name,
    to: name === OTHERS ? undefined : boardLogPath(user, isOwn, { model_name: name, start }),
    colour,
    part: share,
    cells: [formatCharge(quota, display), percent(share), countText(requests)],
  }));
  return <RankTable title="模型占比" heads={["模型", "花费", "占比", "请求"]} rows={rows} />;
}

interface Spent {
  readonly quota: number;
  readonly requests: number;
}

/** A row's part of what the first one spent, and of everything. */
function useSpender(total: number) {
  const display = useQuotaDisplay();
  return ({ quota, requests }: Spent, most: number) => ({
    part: most === 0 ? 0 : quota / most,
    cells: [formatCharge(quota, display), total === 0 ? "—" : percent(quota / total), countText(requests)],
  });
}

export function TokenRanks({ report, total }: { readonly report: OwnUsage; readonly total: number }) {
  const spender = useSpender(total);
  const user = useUser();
  const most = report.tokens[0]?.quota ?? 0;
  const rows = report.tokens.map((row) => ({
    key: row.token_name,
    name: row.token_name || "无",
    to:
      row.token_name === ""
        ? undefined
        : ownLogPath(user, { token_name: row.token_name, start: report.start }),
    colour: "teal" as const,
    ...spender(row, most),
  }));
  return <RankTable title="令牌排行" heads={["令牌", "花费", "占比", "请求"]} rows={rows} />;
}

export function UserRanks({ report, total }: { readonly report: SiteUsage; readonly total: number }) {
  const spender = useSpender(total);
  const most = report.users[0]?.quota ?? 0;
  const rows = report.users.map((row) => ({
    key: String(row.user_id),
    name: row.username || `#${row.user_id}`,
    to: row.username === "" ? undefined : logPath({ username: row.username, start: report.start }),
    colour: "teal" as const,
    ...spender(row, most),
  }));
  return <RankTable title="用户排行" heads={["用户", "花费", "占比", "请求"]} rows={rows} />;
}

function failedPart({ calls, failures }: RankedChannel): string {
  return calls === 0 ? "—" : percent(failures / calls);
}

export function ChannelRanks({ report }: { readonly report: SiteUsage }) {
  const display = useQuotaDisplay();
  const most = report.channels[0]?.quota ?? 0;
  const rows = report.channels.map((row) => ({
    key: String(row.channel_id),
    name: row.name || `#${row.channel_id}`,
    to: row.channel_id === 0 ? undefined : logPath({ channel: row.channel_id, start: report.start }),
    colour: "blue" as const,
    part: most === 0 ? 0 : row.quota / most,
    cells: [formatCharge(row.quota, display), failedPart(row), formatMs(row.first_byte_ms) || "—"],
  }));
  return <RankTable title="渠道排行" heads={["渠道", "花费", "失败率", "首字"]} rows={rows} />;
}
