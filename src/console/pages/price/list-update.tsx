// Prices from a published list: compare, choose, publish as one version, take it back.
import { Button, Form, Input, Select } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Page } from "#console/ui/page.tsx";
import { Section } from "#console/ui/section.tsx";
import { QuotaText } from "#console/ui/value-text.tsx";
import { optionApi } from "#contract/option.ts";
import { PRICE_FORMATS, type PriceDraft, type PriceFormat, priceListApi } from "#contract/price-list.ts";
import { DraftList } from "./draft-list.tsx";
import { Versions } from "./versions.tsx";
import { FORMATS, weekEffect } from "./words.ts";
import "./price.css";

interface Source {
  format: PriceFormat | "";
  address: string;
  text: string;
}

const NEW: Source = { format: "", address: "https://models.dev/api.json", text: "" };

/** Chosen at first: what nothing speaks against. */
const fineOf = ({ rows }: PriceDraft) =>
  new Set(rows.filter(({ verdict }) => verdict === "fine").map(({ model }) => model));

function SourceForm({ onDraft }: { readonly onDraft: (draft: PriceDraft, source: string) => void }) {
  const [form] = Form.useForm<Source>();
  const compare = useCall(priceListApi.draft);
  const start = (source: Source) =>
    compare.mutate(
      { body: source },
      { onSuccess: (draft) => onDraft(draft, source.address.trim() || draft.format) },
    );
  return (
    <Section
      title="价目表"
      lead="填写价目表的地址，或粘贴其内容。比较不会修改任何价格；只列出已有价格或渠道提供的模型，名称须完全一致。"
    >
      <Form<Source> form={form} layout="vertical" initialValues={NEW} onFinish={start}>
        <Form.Item name="address" label="地址" extra="由服务器读取，最大 20 MiB；留空则使用下面粘贴的内容。">
          <Input autoComplete="off" spellCheck={false} maxLength={500} />
        </Form.Item>
        <Form.Item name="format" label="格式">
          <Select
            options={[
              { value: "", label: "自动识别" },
              ...PRICE_FORMATS.map((value) => ({ value, label: FORMATS[value] })),
            ]}
          />
        </Form.Item>
        <Form.Item name="text" label="内容">
          <Input.TextArea rows={3} spellCheck={false} placeholder="JSON" />
        </Form.Item>
        <Button type="primary" htmlType="submit" loading={compare.isPending}>
          比较价格
        </Button>
      </Form>
    </Section>
  );
}

interface Compared {
  readonly draft: PriceDraft;
  readonly source: string;
}

function Draft({ draft, source, onDone }: Compared & { readonly onDone: () => void }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => fineOf(draft));
  const publish = useCall(priceListApi.publish, {
    invalidates: [priceListApi.versions, optionApi.list],
    onSuccess: ({ id }) => {
      toast.success(`价格已发布为版本 ${id}！`);
      onDone();
    },
  });
  const { rows, listed, base, warning } = draft;
  const picked = rows.filter(({ model }) => chosen.has(model));
  const effect = weekEffect(picked);
  const send = ({ reason }: { reason: string }) => {
    const fresh = picked.flatMap(({ model, fresh: price }) => (price === null ? [] : [{ model, ...price }]));
    publish.mutate({ body: { base, listed, source: source.slice(0, 200), reason, rows: fresh } });
  };
  return (
    <Section
      title="比较结果"
      lead={`价目表中有 ${formatCount(listed)} 个模型，其中 ${formatCount(rows.length)} 个与本站有关。价格为每百万 token：输入 / 输出。`}
    >
      {warning === "" ? null : <Callout tone="warn">{warning}</Callout>}
      <DraftList rows={rows} chosen={chosen} onChange={setChosen} />
      <Form layout="vertical" onFinish={send}>
        <p>
          已选 {formatCount(picked.length)} 个模型。按最近 7 天的用量，账单会{effect < 0 ? "减少" : "增加"}{" "}
          <QuotaText quota={Math.abs(effect)} />。
        </p>
        <Form.Item
          name="reason"
          label="原因"
          rules={[{ required: true, whitespace: true, message: "请填写原因" }]}
        >
          <Input maxLength={200} autoComplete="off" />
        </Form.Item>
        <Button type="primary" htmlType="submit" loading={publish.isPending} disabled={picked.length === 0}>
          发布所选价格
        </Button>
      </Form>
    </Section>
  );
}

export function PriceUpdatePage() {
  const [compared, setCompared] = useState<Compared>();
  return (
    <Page title="从价目表更新价格" width="form">
      {isRoot(useUser()) ? (
        <SourceForm onDraft={(draft, source) => setCompared({ draft, source })} />
      ) : (
        <Callout tone="info">只有超级管理员可以更新价格。</Callout>
      )}
      {compared === undefined ? null : (
        <Draft
          key={`${compared.draft.base} ${compared.source} ${compared.draft.rows.length}`}
          {...compared}
          onDone={() => setCompared(undefined)}
        />
      )}
      <Versions />
    </Page>
  );
}
