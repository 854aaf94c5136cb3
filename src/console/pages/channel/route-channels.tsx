// What becomes of the channels of a group, as the route explainer tells it (requirements C47).
import { formatCharge, formatCount } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { ClippedText } from "#console/ui/cell.tsx";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { ROUTE_VERDICT_LABELS, type RouteChannel, type RouteExplanation } from "#contract/route.ts";
import { CHANNEL_STRATEGY_LABELS } from "#contract/strategy.ts";
import { RouteKeys } from "./route-keys.tsx";
import { channelReason, channelTone, limitsText, oddsText } from "./route-words.ts";

export interface ExplainedProps {
  readonly explained: RouteExplanation;
  /** The relay's endpoint that was asked about. */
  readonly format: string;
  /** Which group of the token it is, from 0; undefined = there is one. */
  readonly place: number | undefined;
}

function strategyText({ strategy, native_first, rule }: RouteExplanation): string {
  const label = `同优先级内${CHANNEL_STRATEGY_LABELS[strategy]}`;
  const native = native_first ? "，客户端自己的格式优先" : "";
  return label + native + (rule === "" ? "" : `，按规则“${rule}”`);
}

function Channels({ explained, place }: Omit<ExplainedProps, "format">) {
  const display = useQuotaDisplay();
  const money = (quota: number) => formatCharge(quota, display);
  return (
    <Section
      title={place === undefined ? "各渠道" : `第 ${place + 1} 个分组：${explained.group}`}
      lead={`分组 ${explained.group}，模型 ${explained.model}，${strategyText(explained)}。可选的在前；暂停与延迟是接到这次查询的节点此刻所知。`}
    >
      <Sheet<RouteChannel>
        label={place === undefined ? "渠道" : `分组 ${explained.group} 的渠道`}
        width={1080}
        rowKey="id"
        rows={explained.channels}
        why={{ title: "原因", width: 230, text: channelReason }}
        columns={[
          {
            title: "渠道",
            dataIndex: "name",
            className: "tg-route-line",
            render: (name: string, { id }) => <ClippedText text={`#${id} ${name}`} />,
          },
          {
            title: "结论",
            dataIndex: "verdict",
            render: (verdict: RouteChannel["verdict"], row) => (
              <StatusTag tone={channelTone(row)} label={ROUTE_VERDICT_LABELS[verdict]} />
            ),
          },
          { title: "几率", dataIndex: "odds", align: "right", className: "tg-route-line", render: oddsText },
          { title: "优先级", dataIndex: "priority", align: "right", className: "tg-route-line" },
          { title: "权重", dataIndex: "weight", align: "right", className: "tg-route-line" },
          { title: "上游模型", dataIndex: "upstream_model", className: "tg-route-line" },
          {
            title: "成本",
            dataIndex: "cost",
            align: "right",
            render: (cost: RouteChannel["cost"]) => (cost === null ? "未知" : money(cost)),
          },
          {
            title: "首字延迟",
            dataIndex: "latency_ms",
            align: "right",
            className: "tg-route-line",
            render: (ms: number) => (ms === 0 ? "" : `${formatCount(ms)} ms`),
          },
          {
            title: "百万 Token 价格",
            dataIndex: "price",
            className: "tg-route-line",
            render: (price: RouteChannel["price"]) =>
              price === null
                ? explained.by_token
                  ? "没有价格"
                  : "不按 Token"
                : `${money(price.input)} / ${money(price.output)}`,
          },
          { title: "限额", key: "limits", render: (_, { limits }) => limitsText(limits, money) || "不限" },
        ]}
      />
    </Section>
  );
}

/** The channels of one group, and the keys of those that have several. */
export function Explained(props: ExplainedProps) {
  const { format } = props;
  const { refusal, channels, model } = props.explained;
  return (
    <>
      {refusal === "" ? null : <Callout tone="warn">{refusal}</Callout>}
      <Channels {...props} />
      {channels
        .filter(({ keys }) => keys.length > 0)
        .map((channel) => (
          <RouteKeys key={channel.id} channel={channel} model={model} format={format} />
        ))}
    </>
  );
}
