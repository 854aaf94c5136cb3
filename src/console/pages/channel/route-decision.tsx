// Why a call that was made went to its channel, or to none: what was kept with it in the log (requirements C47).
import { useQuery } from "@tanstack/react-query";
import { query } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { failureParts, OVERTAKEN } from "#console/ui/failure-words.ts";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { ROUTE_VERDICT_LABELS, type RouteDecision, routeApi } from "#contract/route.ts";
import { CHANNEL_STRATEGY_LABELS } from "#contract/strategy.ts";

type Group = RouteDecision["groups"][number];
type Candidate = Group["candidates"][number];

const REASONS: Readonly<Partial<Record<Candidate["verdict"], string>>> = {
  chosen: "请求发往这里",
  left: "也可能选中它",
  limited: "当时已达到限额",
  resting: "当时连续失败后暂停",
  priority_lower: "当时有优先级更高的渠道可用",
  weight_zero: "当时同级有权重的渠道可用",
  format_other: "当时同级有与客户端格式相同的渠道",
  dearer: "当时同级有更便宜的渠道",
  slower: "当时同级有更快的渠道",
  keys_none: "当时所有密钥都已停用",
  disabled: "当时被手动禁用",
  auto_disabled: "当时被自动禁用",
  group: "渠道的分组里没有它",
  rule: "按条件路由的规则排除了它",
};

function reasonOf(candidate: Candidate, { channel, key_id }: RouteDecision): string {
  const { id, verdict } = candidate;
  if (verdict === "tried")
    return failureParts(candidate)
      .filter((part) => part !== "")
      .join("：");
  if (verdict === "chosen" && id === channel && key_id > 0) return `请求发往这里，用密钥 #${key_id}`;
  return REASONS[verdict] ?? "";
}

/** Of several calls at once another one was first: it did not fail. */
function isOvertaken({ verdict, error }: Candidate): boolean {
  return verdict === "tried" && error === OVERTAKEN;
}

function toneOf(candidate: Candidate): "good" | "warn" | "bad" | "idle" {
  const { verdict } = candidate;
  if (verdict === "chosen") return "good";
  if (verdict === "tried") return isOvertaken(candidate) ? "idle" : "bad";
  return verdict === "limited" || verdict === "resting" ? "warn" : "idle";
}

function mannerOf({ strategy, native_first, sticky, more }: Group): string {
  return [
    `同优先级内${CHANNEL_STRATEGY_LABELS[strategy]}`,
    native_first ? "客户端自己的格式优先" : "",
    sticky ? "同一对话固定使用同一渠道" : "",
    more > 0 ? `另有 ${more} 个候选未列出` : "",
  ]
    .filter((part) => part !== "")
    .join("，");
}

function GroupTable({ group, decision }: { readonly group: Group; readonly decision: RouteDecision }) {
  if (group.candidates.length === 0)
    return <p className="tg-muted">分组 {group.group}：当时没有渠道提供这个模型。</p>;
  return (
    <>
      <p className="tg-muted">
        分组 {group.group}，{mannerOf(group)}
      </p>
      <Sheet<Candidate>
        label={`分组 ${group.group} 的候选渠道`}
        width={480}
        rowKey="id"
        rows={group.candidates}
        columns={[
          { title: "渠道", dataIndex: "name", render: (name: string, { id }) => `#${id} ${name}` },
          {
            title: "结论",
            dataIndex: "verdict",
            render: (verdict: Candidate["verdict"], row) => (
              <StatusTag
                tone={toneOf(row)}
                label={isOvertaken(row) ? "已中断" : ROUTE_VERDICT_LABELS[verdict]}
              />
            ),
          },
        ]}
        why={{ title: "原因", text: (row) => reasonOf(row, decision) }}
      />
    </>
  );
}

/** The decision of the call with this number in the log. */
export function Decision({ id }: { readonly id: number }) {
  const found = useQuery(query(routeApi.call, { params: { id } }));
  if (found.isError) return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  if (found.data === undefined) return null;
  const { model, created_at, request_id, groups } = found.data;
  return (
    <Section
      title="这次调用"
      lead={`${formatTime(created_at)} 调用 ${model}，请求 ${request_id}。下面是当时的判断，渠道现在可能已有变化。`}
    >
      {groups.length === 0 ? (
        <p className="tg-muted">这次调用没有留下路由判断。</p>
      ) : (
        groups.map((group) => <GroupTable key={group.group} group={group} decision={found.data} />)
      )}
    </Section>
  );
}
