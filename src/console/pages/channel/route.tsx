// The route explainer: for a token, a user or a group, a model and a format, what becomes of every channel and why (requirements C47).
import { useQuery } from "@tanstack/react-query";
import { Button, Form, Select } from "antd";
import { useSearchParams } from "react-router";
import { query } from "#console/base/call.ts";
import { formatCharge, formatCount, formatTime } from "#console/base/format.ts";
import { useMay } from "#console/base/session.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { NumberInput } from "#console/ui/number-input.tsx";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { CHANNEL_LIMIT_LABELS, CHANNEL_LIMITS } from "#contract/channel-limits.ts";
import {
  ROUTE_FORMATS,
  ROUTE_VERDICT_LABELS,
  type RouteChannel,
  type RouteExplanation,
  type RouteKey,
  routeApi,
} from "#contract/route.ts";
import { CHANNEL_STRATEGY_LABELS } from "#contract/strategy.ts";
import { Decision } from "./route-decision.tsx";
import "./list.css";

const FORMATS: Readonly<Record<(typeof ROUTE_FORMATS)[number], string>> = {
  chat: "对话（chat/completions）",
  messages: "Claude（messages）",
  responses: "Responses",
  generate: "Gemini（generateContent）",
  completions: "补全（completions）",
  embeddings: "向量（embeddings）",
  images: "绘图（images）",
};

interface Asked {
  readonly who: "token_id" | "user_id" | "group";
  readonly id: number | null;
  readonly group: string;
  readonly model: string;
  readonly format: string;
  /** Size of the request's body, for rules that go by it. */
  readonly kib: number;
}

/** What the address asks about; the log and other pages lead here by it. */
function askedIn(params: URLSearchParams): Asked {
  const who = params.has("token_id") ? "token_id" : params.has("user_id") ? "user_id" : "group";
  const id = who === "group" ? null : Number(params.get(who));
  const [group, model] = [params.get("group") ?? "default", params.get("model") ?? ""];
  return {
    who,
    id: id === 0 ? null : id,
    group,
    model,
    format: params.get("format") ?? "chat",
    kib: Number(params.get("kib") ?? 0),
  };
}

function paramsOf({ who, id, group, model, format, kib }: Asked): Record<string, string> {
  const subject = who === "group" ? { group: group.trim() } : { [who]: String(id ?? 0) };
  return { ...subject, model: model.trim(), format, ...(kib > 0 && { kib: String(kib) }) };
}

function AskForm({ asked, onAsk }: { readonly asked: Asked; readonly onAsk: (asked: Asked) => void }) {
  const [form] = Form.useForm<Asked>();
  const who = Form.useWatch("who", form) ?? asked.who;
  return (
    <Section title="问题" lead="以谁的身份、用什么接口调用哪个模型。">
      <Form<Asked> form={form} layout="vertical" initialValues={asked} onFinish={onAsk}>
        <div className="tg-form-row">
          <Form.Item name="who" label="身份">
            <Select
              options={[
                { value: "token_id", label: "令牌" },
                { value: "user_id", label: "用户" },
                { value: "group", label: "分组" },
              ]}
            />
          </Form.Item>
          {who === "group" ? (
            <TextField name="group" label="分组" maxLength={100} />
          ) : (
            <Form.Item
              name="id"
              label={who === "token_id" ? "令牌 ID" : "用户 ID"}
              rules={[{ required: true, message: "请填写 ID" }]}
            >
              <NumberInput min={1} precision={0} style={{ width: "100%" }} />
            </Form.Item>
          )}
        </div>
        <div className="tg-form-row">
          <TextField
            name="model"
            label="模型名称"
            rules={[{ required: true, whitespace: true, message: "请填写模型" }]}
            maxLength={200}
            placeholder="gpt-4o-mini"
          />
          <Form.Item name="format" label="接口">
            <Select options={ROUTE_FORMATS.map((format) => ({ value: format, label: FORMATS[format] }))} />
          </Form.Item>
          <Form.Item name="kib" label="请求体大小（KiB）">
            <NumberInput min={0} precision={0} style={{ width: "100%" }} />
          </Form.Item>
        </div>
        <Button type="primary" htmlType="submit">
          解释
        </Button>
      </Form>
    </Section>
  );
}

const RESTS = { "": "", circuit: "连续失败后暂停", proxy: "出站代理暂停中", keys: "所有密钥暂停中" } as const;

/** Why, in a sentence. */
function reasonOf({ verdict, limit, rests, until }: RouteChannel): string {
  const when = until === 0 ? "" : `，${formatTime(until)} 后再试`;
  if (verdict === "limited") return `${limit === "" ? "" : CHANNEL_LIMIT_LABELS[limit]}已满${when}`;
  if (verdict === "resting") return `${RESTS[rests]}${when}`;
  const words: Readonly<Partial<Record<typeof verdict, string>>> = {
    next: "参与选择",
    priority_lower: "优先级更高的渠道都不可用时才用",
    weight_zero: "同级有权重的渠道都失败时才用",
    format_other: "同级有与客户端格式相同的渠道，它要转换格式",
    dearer: "同级有更便宜的渠道",
    slower: "同级有更快的渠道",
    endpoint_absent: "这个类型的渠道没有此接口，或地址、密钥配置有误",
    keys_none: "所有密钥都已停用",
    disabled: "管理员已停用",
    auto_disabled: "出错后自动停用，测试通过或手动启用后恢复",
    group: "渠道的分组里没有它",
    model: "渠道的模型和重定向里没有它",
    rule: "按条件路由的规则排除了它",
  };
  return words[verdict] ?? "";
}

function toneOf({ verdict }: Pick<RouteChannel, "verdict">): "good" | "warn" | "bad" | "idle" {
  if (verdict === "next") return "good";
  if (verdict === "limited" || verdict === "resting") return "warn";
  return verdict === "auto_disabled" || verdict === "keys_none" ? "bad" : "idle";
}

function limitsText({ limits }: RouteChannel): string {
  const set = CHANNEL_LIMITS.filter((name) => limits[name] > 0);
  return set.map((name) => `${CHANNEL_LIMIT_LABELS[name]} ${formatCount(limits[name])}`).join("，");
}

const KEY_WORDS = {
  next: ["good", "可选"],
  limited: ["warn", "达到限额"],
  resting: ["warn", "暂停中"],
  disabled: ["idle", "已禁用"],
  auto_disabled: ["bad", "自动禁用"],
  model: ["idle", "没有此模型"],
} as const;

function Keys({ channel }: { readonly channel: RouteChannel }) {
  return (
    <Section title={`渠道 #${channel.id} ${channel.name} 的密钥（${formatCount(channel.keys_total)} 个）`}>
      <Sheet<RouteKey>
        label={`渠道 ${channel.id} 的密钥`}
        width={480}
        rowKey="id"
        rows={channel.keys}
        columns={[
          { title: "密钥", dataIndex: "name", render: (name: string, { id }) => name || `#${id}` },
          {
            title: "状态",
            dataIndex: "verdict",
            render: (verdict: RouteKey["verdict"]) => (
              <StatusTag tone={KEY_WORDS[verdict][0]} label={KEY_WORDS[verdict][1]} />
            ),
          },
          { title: "恢复", dataIndex: "until", render: (at: number) => (at === 0 ? "" : formatTime(at)) },
          { title: "进行中", dataIndex: "in_flight", align: "right", render: formatCount },
        ]}
      />
    </Section>
  );
}

function strategyText({ strategy, native_first, rule }: RouteExplanation): string {
  const label = `同优先级内${CHANNEL_STRATEGY_LABELS[strategy]}`;
  const native = native_first ? "，客户端自己的格式优先" : "";
  return label + native + (rule === "" ? "" : `，按规则“${rule}”`);
}

/** The channels of a group; `place` = which group of the token it is, from 0; undefined = there is one. */
function Channels({
  explained,
  place,
}: {
  readonly explained: RouteExplanation;
  readonly place: number | undefined;
}) {
  const display = useQuotaDisplay();
  const money = (quota: number) => formatCharge(quota, display);
  return (
    <Section
      title={place === undefined ? "各渠道" : `第 ${place + 1} 个分组：${explained.group}`}
      lead={`分组 ${explained.group}，模型 ${explained.model}，${strategyText(explained)}。可选的在前；暂停、限额与延迟是接到这次查询的节点此刻所知。`}
    >
      <Sheet<RouteChannel>
        label={place === undefined ? "渠道" : `分组 ${explained.group} 的渠道`}
        width={1080}
        rowKey="id"
        rows={explained.channels}
        columns={[
          { title: "渠道", dataIndex: "name", render: (name: string, { id }) => `#${id} ${name}` },
          {
            title: "结论",
            dataIndex: "verdict",
            render: (verdict: RouteChannel["verdict"], row) => (
              <StatusTag tone={toneOf(row)} label={ROUTE_VERDICT_LABELS[verdict]} />
            ),
          },
          { title: "原因", key: "reason", render: (_, row) => reasonOf(row) },
          {
            title: "几率",
            dataIndex: "odds",
            align: "right",
            render: (odds: number) => (odds === 0 ? "" : `${Math.round(odds * 1_000) / 10}%`),
          },
          { title: "优先级", dataIndex: "priority", align: "right" },
          { title: "权重", dataIndex: "weight", align: "right" },
          { title: "上游模型", dataIndex: "upstream_model" },
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
            render: (ms: number) => (ms === 0 ? "" : `${formatCount(ms)} ms`),
          },
          {
            title: "百万 Token 价格",
            dataIndex: "price",
            render: (price: RouteChannel["price"]) =>
              price === null ? "没有价格" : `${money(price.input)} / ${money(price.output)}`,
          },
          { title: "限额", key: "limits", render: (_, row) => limitsText(row) || "不限" },
        ]}
      />
    </Section>
  );
}

function Answer({ asked }: { readonly asked: Asked }) {
  const { who, id, group, model, format, kib } = asked;
  const subject = who === "group" ? { group } : { [who]: id ?? 0 };
  const found = useQuery(query(routeApi.explain, { query: { ...subject, model, format, kib } }));
  if (found.isError) return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  if (found.data === undefined) return null;
  const { data: first, further } = found.data;
  const groups = [first, ...further];
  return groups.map((explained, at) => (
    <Explained key={explained.group} explained={explained} place={further.length === 0 ? undefined : at} />
  ));
}

/** The channels of one group, and their keys. */
function Explained(props: { readonly explained: RouteExplanation; readonly place: number | undefined }) {
  const { refusal, channels } = props.explained;
  return (
    <>
      {refusal === "" ? null : <Callout tone="warn">{refusal}</Callout>}
      <Channels {...props} />
      {channels
        .filter(({ keys }) => keys.length > 0)
        .map((channel) => (
          <Keys key={channel.id} channel={channel} />
        ))}
    </>
  );
}

export function RouteExplainPage() {
  const [params, setParams] = useSearchParams();
  const asked = askedIn(params);
  const log = Number(params.get("log") ?? 0);
  const mayWrite = useMay("option.write");
  return (
    <Page
      title="路由解释"
      lead="请求会走哪个渠道、为什么；不走其他渠道又是为什么。判断与转发用的是同一段程序。"
      extra={mayWrite ? <LinkButton to="/channel/rules">路由规则</LinkButton> : undefined}
    >
      {log > 0 ? <Decision id={log} /> : null}
      <AskForm key={params.toString()} asked={asked} onAsk={(next) => setParams(paramsOf(next))} />
      {asked.model === "" ? null : <Answer asked={asked} />}
    </Page>
  );
}
