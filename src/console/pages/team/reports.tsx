// What a team's calls cost: by member and by model, and the calls one by one.
import { useQuery } from "@tanstack/react-query";
import { query } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { type FilterField, ListFilters } from "#console/ui/list-filters.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { Column } from "#console/ui/row-view.ts";
import { Section } from "#console/ui/section.tsx";
import { useAddress } from "#console/ui/table-state.ts";
import { QuotaText } from "#console/ui/value-text.tsx";
import type { AnswerOf } from "#contract/endpoint.ts";
import { LogType } from "#contract/log.ts";
import { type Team, teamApi } from "#contract/team.ts";

const DAYS = 30;

interface Share {
  readonly name: string;
  readonly quota: number;
  readonly requests: number;
}

function Shares({
  title,
  head,
  rows,
}: {
  readonly title: string;
  readonly head: string;
  readonly rows: readonly Share[];
}) {
  const all = rows.reduce((sum, { quota }) => sum + quota, 0);
  return (
    <Section title={title}>
      {rows.length === 0 ? (
        <p className="tg-muted">最近 {DAYS} 天没有调用。</p>
      ) : (
        <table className="tg-team-shares">
          <thead>
            <tr>
              <th scope="col">{head}</th>
              <th scope="col">消费</th>
              <th scope="col">占比</th>
              <th scope="col">次数</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, quota, requests }) => (
              <tr key={name}>
                <th scope="row">
                  <span className="tg-clip" title={name}>
                    {name}
                  </span>
                </th>
                <td>
                  <QuotaText quota={quota} />
                </td>
                <td className="tg-number">{all === 0 ? "—" : `${((quota / all) * 100).toFixed(1)}%`}</td>
                <td className="tg-number">{formatCount(requests)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

/** The days of a report along its models. */
function byModel(daily: AnswerOf<typeof teamApi.usage>["daily"]): readonly Share[] {
  const sums = new Map<string, Share>();
  for (const { model_name, quota, requests } of daily) {
    const name = model_name === "" ? "其他" : model_name;
    const known = sums.get(name);
    sums.set(name, { name, quota: quota + (known?.quota ?? 0), requests: requests + (known?.requests ?? 0) });
  }
  return [...sums.values()].sort((one, other) => other.quota - one.quota);
}

export function TeamCost({ team }: { readonly team: Team }) {
  const usage = useQuery(query(teamApi.usage, { params: { id: team.id }, query: { days: DAYS } }));
  const { members = [], projects = [], daily = [] } = usage.data ?? {};
  return (
    <div className="tg-team-costs" aria-busy={usage.isPending}>
      <Shares
        title={`按成员（近 ${DAYS} 天）`}
        head="成员"
        rows={members.map(({ username, user_id, quota, requests }) => ({
          name: username || `#${user_id}`,
          quota,
          requests,
        }))}
      />
      {projects.length === 0 ? null : (
        <Shares title={`按项目（近 ${DAYS} 天）`} head="项目" rows={projects} />
      )}
      <Shares title={`按模型（近 ${DAYS} 天）`} head="模型" rows={byModel(daily)} />
    </div>
  );
}

type Entry = AnswerOf<typeof teamApi.logs>["data"][number];

const columns: readonly Column<Entry>[] = [
  { key: "created_at", title: "时间", shows: "time", isFixed: true, width: 150 },
  { key: "member_name", title: "成员", shows: "text", none: "—", width: 110 },
  { key: "project_name", title: "项目", shows: "text", none: "—", width: 110 },
  { key: "token_name", title: "令牌", shows: "text", none: "—", width: 110 },
  { key: "model_name", title: "模型", shows: "text", none: "—", isInHead: true, width: 160 },
  {
    key: "quota",
    title: "消费",
    width: 100,
    isNumber: true,
    render: ({ quota, type }) => (type === LogType.consume ? <QuotaText quota={quota} digits={6} /> : "—"),
  },
  { key: "content", title: "详情", shows: "text", width: 280, isGrowing: true },
];

export function TeamLogs({ team }: { readonly team: Team }) {
  const [params, change] = useAddress();
  const project_id = Number(params.get("project")) || 0;
  const projects = useQuery(query(teamApi.projects, { params: { id: team.id } }));
  const options = (projects.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }));
  const field: FilterField = {
    ...{ kind: "choice", name: "project", label: "项目", chip: "项目", width: 160 },
    options: [{ value: "", label: "全部项目" }, ...options],
  };
  return (
    <ResourceTable<Entry>
      name="team-log"
      label="团队明细"
      filters={
        options.length === 0 ? null : (
          <ListFilters
            label="团队明细筛选"
            fields={[field]}
            values={{ project: project_id === 0 ? "" : String(project_id) }}
            onChange={(values) => change({ ...values, page: "" })}
          />
        )
      }
      load={({ p, size }) => query(teamApi.logs, { params: { id: team.id }, query: { p, size, project_id } })}
      columns={columns}
      cardTitle={(row) => row.model_name || row.content}
      cardFacts={["created_at", "member_name", "project_name", "token_name", "quota"]}
      empty={{
        text:
          project_id === 0
            ? "还没有记录。用团队的令牌调用接口后，每次消费都会记在这里。"
            : "没有符合筛选条件的记录。",
      }}
    />
  );
}
