// The receipt of one call: what was counted, at which ratios, what it cost and why.

import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { query } from "#console/base/call.ts";
import { formatCharge, formatCount, formatMs, formatTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { useMay } from "#console/base/session.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { CopyButton } from "#console/ui/copy-button.tsx";
import { type Fact, Facts } from "#console/ui/facts.tsx";
import { Page } from "#console/ui/page.tsx";
import { Section } from "#console/ui/section.tsx";
import { StatusTag, type Tone } from "#console/ui/status-tag.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { type Receipt, type ReceiptReason, receiptApi } from "#contract/receipt.ts";
import type { TokenKind } from "#contract/token-kinds.ts";
import "./log.css";

interface Words {
  readonly label: string;
  readonly tone: Tone;
  readonly text: string;
}

/** As docs/billing.md says it. */
const REASONS: Readonly<Record<ReceiptReason, Words>> = {
  complete: { label: "正常完成", tone: "good", text: "按上游返回的用量计费。" },
  estimated: { label: "估算", tone: "warn", text: "上游没有返回完整的用量，按本地计数计费。" },
  impossible: {
    label: "用量异常",
    tone: "warn",
    text: "上游返回的用量不可能出现，不予采信，按本地计数计费。",
  },
  disconnected: {
    label: "提前断开",
    tone: "warn",
    text: "客户端在回答结束前断开，只计已经收到的内容。",
  },
  ended: { label: "会话提前结束", tone: "warn", text: "实时会话提前结束，只计已经收到的内容。" },
  interrupted: {
    label: "服务中断",
    tone: "warn",
    text: "处理这次请求的进程中断，只计中断前最后一次记录的内容，其余额度已退回。",
  },
  failed: { label: "失败", tone: "bad", text: "请求没有得到回答，不收费。" },
  open: { label: "进行中", tone: "info", text: "请求还没有结束。结束后按实际用量结算，多预扣的退回。" },
  unlogged: { label: "已结算", tone: "idle", text: "这次请求的明细没有记录或已被清理，只有账本中的金额。" },
};

const KIND_LABELS: Readonly<Record<TokenKind, string>> = {
  cache_write: "缓存写入",
  cache_write_hour: "写入 1 小时",
  audio_input: "其中音频",
  image_input: "其中图片",
  reasoning: "其中推理",
  audio_output: "音频输出",
  image_output: "图片输出",
};

/** Parts of the prompt stand below it, those of the completion below that. */
function isOfPrompt(kind: TokenKind): boolean {
  return kind.startsWith("cache_write") || kind.endsWith("_input");
}

function countFacts({ prompt_tokens, cached_tokens, completion_tokens, token_kinds }: Receipt): Fact[] {
  const facts = (isWanted: boolean) =>
    token_kinds
      .filter(({ kind }) => isOfPrompt(kind) === isWanted)
      .map(({ kind, tokens }): Fact => [KIND_LABELS[kind], formatCount(tokens)]);
  return [
    ["提示", formatCount(prompt_tokens)],
    cached_tokens > 0 && ["其中缓存", formatCount(cached_tokens)],
    ...facts(true),
    ["补全", formatCount(completion_tokens)],
    ...facts(false),
  ];
}

/** Administrators come to what the version changed. */
function PriceVersion({ id }: { readonly id: number }) {
  const isOpen = useMay("price.read");
  return isOpen ? <Link to="/price/update">版本 {id}</Link> : <>版本 {id}</>;
}

function Sum({ receipt }: { readonly receipt: Receipt }) {
  const display = useQuotaDisplay();
  const amount = (quota: number) => `${formatCharge(quota, display)}（${formatCount(quota)} 点）`;
  const { quota, plan_quota, shortfall, reserved, ratios, formula, reason, price_version } = receipt;
  const isKnown = reason !== "unlogged" && reason !== "open" && reason !== "failed";
  return (
    <Section title="金额">
      <Facts
        labelWidth={wide(92, 110)}
        facts={[
          reserved > 0 && ["预扣", amount(reserved)],
          ["收费", <strong key="sum">{amount(quota)}</strong>],
          plan_quota > 0 && ["其中套餐", amount(plan_quota)],
          plan_quota > 0 && ["其中余额", amount(quota - plan_quota)],
          shortfall > 0 && ["少收", `${amount(shortfall)}，余额不足的部分`],
          ...(isKnown ? countFacts(receipt) : []),
          price_version > 0 && ["价格", <PriceVersion key="version" id={price_version} />],
          ...ratios.map(({ name, value }): Fact => [name, value]),
          formula !== "" && [
            reason === "failed" ? "返回的错误" : "计算",
            <span key="formula">{formula}</span>,
          ],
        ]}
      />
    </Section>
  );
}

export function ReceiptPage() {
  const { id = "" } = useParams();
  const { data, error, refetch } = useQuery({
    ...query(receiptApi.get, { params: { request_id: id } }),
    meta: { silent: true },
  });
  if (data === undefined)
    return (
      <Page title="账单小票" width="form">
        {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  const { label, tone, text } = REASONS[data.reason];
  return (
    <Page title="账单小票" width="form">
      <Callout tone="info">{text}</Callout>
      <Section title="请求">
        <Facts
          labelWidth={wide(92, 110)}
          facts={[
            ["状态", <StatusTag key="state" tone={tone} label={label} />],
            [
              "请求 ID",
              <span key="id" className="tg-log-id">
                <code className="tg-code">{data.request_id}</code>
                <CopyButton text={data.request_id} label="复制请求 ID" />
              </span>,
            ],
            ["时间", formatTime(data.created_at)],
            ["令牌", data.token_name || "无"],
            data.group !== "" && ["分组", data.group],
            [
              "模型",
              <code key="model" className="tg-code">
                {data.model_name}
              </code>,
            ],
            data.elapsed_time > 0 && ["用时", formatMs(data.elapsed_time)],
            data.first_byte_time > 0 && ["首字", formatMs(data.first_byte_time)],
          ]}
        />
      </Section>
      <Sum receipt={data} />
    </Page>
  );
}
