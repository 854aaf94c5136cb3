// A draft of prices: what is chosen of it, approved by a super administrator with a reason, and published as a step of its own.
import { useQuery } from "@tanstack/react-query";
import { Button, Checkbox, Form, Input } from "antd";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";
import { formQuery, useCall } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { useMay } from "#console/base/session.ts";
import { useQuotaDisplay, useStatus } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { Page } from "#console/ui/page.tsx";
import { Section } from "#console/ui/section.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { QuotaText, TimeText } from "#console/ui/value-text.tsx";
import { catalogueApi } from "#contract/catalogue.ts";
import { modelPriceApi } from "#contract/model-price.ts";
import { optionApi } from "#contract/option.ts";
import { type PriceChoices, type PriceDraft, priceDraftApi } from "#contract/price-draft.ts";
import { priceListApi } from "#contract/price-list.ts";
import { DraftList } from "./draft-list.tsx";
import { STATES, warningText, weekEffect } from "./words.ts";
import "./price.css";

const CHANGED = [priceDraftApi.list, priceDraftApi.find];

function Head({ draft }: { readonly draft: PriceDraft }) {
  const { source, state, created_at, username, hash, listed, rows, decided_by, decided_at, reason, version } =
    draft;
  return (
    <Section
      title={
        <span className="tg-price-head">
          {source} <StatusTag {...STATES[state]} />
        </span>
      }
      lead={`价目表中有 ${formatCount(listed)} 个模型，其中 ${formatCount(rows.length)} 个与本站有关。`}
    >
      <p className="tg-price-facts">
        {username} 于 <TimeText seconds={created_at} /> 比较 · SHA-256{" "}
        <span className="tg-code" title={hash}>
          {hash.slice(0, 12)}
        </span>
      </p>
      {decided_by === "" ? null : (
        <p className="tg-price-facts">
          {state === "discarded" ? "放弃：" : "批准："}
          {decided_by} · <TimeText seconds={decided_at} />
          {reason === "" ? "" : ` · ${reason}`}
          {version === 0 ? "" : ` · 版本 ${version}`}
        </p>
      )}
    </Section>
  );
}

function Effect({ draft, choices }: { readonly draft: PriceDraft; readonly choices: PriceChoices }) {
  const picked = draft.rows.filter(({ model }) => Object.hasOwn(choices, model));
  const effect = weekEffect(picked);
  const { quotaPerUnit } = useQuotaDisplay();
  const isTiny = effect !== 0 && Math.abs(effect) * 100 < quotaPerUnit;
  const isEstimate = picked.some(({ is_estimate }) => is_estimate);
  return (
    <>
      <p>
        已选 {formatCount(picked.length)} 个模型。按最近 7 天的用量，账单会{effect < 0 ? "减少" : "增加"}{" "}
        <QuotaText quota={Math.abs(effect)} digits={isTiny ? 6 : 2} />。
      </p>
      {isEstimate ? (
        <p className="tg-muted">这是估算：调用太多，或有调用没有记入日志，只按其中一部分或按汇总推算。</p>
      ) : null}
    </>
  );
}

interface DecisionProps {
  readonly draft: PriceDraft;
  readonly choices: PriceChoices;
}

/** Of an open draft: a super administrator approves all, some or none of it; others keep what they chose. */
function Decision({ draft, choices }: DecisionProps) {
  const { id, revision, warning } = draft;
  const mayApprove = useMay("price.write");
  const mayDraft = useMay("price.draft");
  const save = useCall(priceDraftApi.choose, {
    invalidates: CHANGED,
    onSuccess: () => toast.success("选择已保存！"),
  });
  const approve = useCall(priceDraftApi.approve, {
    invalidates: CHANGED,
    onSuccess: ({ state }) =>
      toast.success(state === "approved" ? "已批准，价格要发布后才生效！" : "草稿已放弃！"),
  });
  const count = Object.keys(choices).length;
  const keep = (
    <Button
      loading={save.isPending}
      onClick={() => save.mutate({ params: { id }, body: { revision, choices } })}
    >
      保存选择
    </Button>
  );
  if (!mayApprove) return mayDraft ? keep : null;
  const decide = ({ reason, is_checked = false }: { reason: string; is_checked?: boolean }) =>
    approve.mutate({ params: { id }, body: { revision, choices, reason, is_checked } });
  return (
    <Form layout="vertical" onFinish={decide}>
      <Form.Item
        name="reason"
        label="原因"
        rules={[{ required: true, whitespace: true, message: "请填写原因" }]}
      >
        <Input maxLength={200} autoComplete="off" />
      </Form.Item>
      {warning === "" || count === 0 ? null : (
        <Form.Item
          name="is_checked"
          valuePropName="checked"
          rules={[
            {
              validator: (_rule, value) =>
                value === true ? Promise.resolve() : Promise.reject(new Error("请先整体核对这份草稿")),
            },
          ]}
        >
          <Checkbox>我已整体核对这份草稿的格式与单位</Checkbox>
        </Form.Item>
      )}
      <div className="tg-price-buttons">
        <Button type="primary" htmlType="submit" loading={approve.isPending}>
          {count === 0 ? "不批准，放弃草稿" : `批准所选的 ${formatCount(count)} 个`}
        </Button>
        {keep}
      </div>
    </Form>
  );
}

function Publish({ draft: { id, revision } }: { readonly draft: PriceDraft }) {
  const mayPublish = useMay("price.write");
  const publish = useCall(priceDraftApi.publish, {
    invalidates: [...CHANGED, priceListApi.versions, modelPriceApi.list, catalogueApi.list, optionApi.list],
    onSuccess: ({ id: version }) => toast.success(`价格已发布为版本 ${version}！`),
  });
  if (!mayPublish) return <p>等待超级管理员发布。</p>;
  return (
    <Button
      type="primary"
      loading={publish.isPending}
      onClick={() => publish.mutate({ params: { id }, body: { revision } })}
    >
      发布价格
    </Button>
  );
}

function Discard({ draft: { id, revision } }: { readonly draft: PriceDraft }) {
  const navigate = useNavigate();
  const discard = useCall(priceDraftApi.discard, {
    invalidates: CHANGED,
    onSuccess: () => {
      toast.success("草稿已放弃！");
      void navigate("/price/update");
    },
  });
  return (
    <ConfirmButton
      loading={discard.isPending}
      question="放弃这份草稿？价格保持不变。"
      confirmText="放弃"
      onConfirm={() => discard.mutate({ params: { id }, body: { revision } })}
    >
      放弃草稿
    </ConfirmButton>
  );
}

function Draft({ draft }: { readonly draft: PriceDraft }) {
  const [choices, setChoices] = useState<PriceChoices>(draft.choices);
  const mayDraft = useMay("price.draft");
  const currency = useStatus()?.price_currency ?? "USD";
  const { state, warning, rows } = draft;
  const isOpen = state === "open";
  return (
    <>
      <Head draft={draft} />
      <Section
        title={isOpen ? "选择要发布的价格" : "价格"}
        lead="除另有说明外，价格为每百万 token：输入 / 输出。"
      >
        {warning === "" || !isOpen ? null : (
          <div className="tg-price-warning">
            <Callout tone="warn">{warningText(draft)}</Callout>
          </div>
        )}
        <DraftList
          rows={rows}
          currency={currency}
          choices={choices}
          {...(isOpen && mayDraft ? { onChange: setChoices } : {})}
        />
        <Effect draft={draft} choices={choices} />
        {isOpen ? <Decision draft={draft} choices={choices} /> : null}
        {state === "approved" ? <Publish draft={draft} /> : null}
      </Section>
      {(isOpen || state === "approved") && mayDraft ? (
        <div className="tg-price-buttons">
          <Discard draft={draft} />
        </div>
      ) : null}
    </>
  );
}

export function PriceDraftPage() {
  const id = Number(useParams()["draft"]);
  const { data, error, refetch } = useQuery(formQuery(priceDraftApi.find, { params: { id } }));
  return (
    <Page title={`价格草稿 ${id}`} width="form">
      {data === undefined ? (
        <FormState error={error} onRetry={() => void refetch()} />
      ) : (
        <Draft key={data.revision} draft={data} />
      )}
    </Page>
  );
}
