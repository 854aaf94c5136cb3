// The price of one model, edited in dollars, yuan or as ratios, with its tiers and its last day.
import { useQuery } from "@tanstack/react-query";
import { Form, Input } from "antd";
import { useSearchParams } from "react-router";
import { formQuery, useCall } from "#console/base/call.ts";
import { useStatus } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { required, rule } from "#console/ui/fields.ts";
import { useToList } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { catalogueApi } from "#contract/catalogue.ts";
import { ModelPriceChange, type ModelPriceRow, modelPriceApi } from "#contract/model-price.ts";
import { optionApi } from "#contract/option.ts";
import { priceListApi } from "#contract/price-list.ts";
import { PriceFields, type PriceValues, useKnownPrice } from "./price-fields.tsx";
import "./price.css";

const fields = ModelPriceChange.shape;

interface Values extends PriceValues {
  model: string;
  last_day: string;
  reason: string;
}

function EditForm({ row, isNew }: { readonly row: ModelPriceRow; readonly isNew: boolean }) {
  const toList = useToList("/price");
  const currency = useStatus()?.price_currency ?? "USD";
  const known = useKnownPrice(row, currency);
  const save = useCall(modelPriceApi.save, {
    invalidates: [
      modelPriceApi.list,
      modelPriceApi.find,
      priceListApi.versions,
      catalogueApi.list,
      optionApi.list,
    ],
    onSuccess: () => toast.success("价格已保存！"),
  });
  const initial: Values = { ...known.initial, model: row.model, last_day: row.last_day, reason: "" };
  const submit = async ({ model, last_day, reason, ...prices }: Values) => {
    const price = known.readOrTell(prices);
    const mark = isNew ? "" : row.mark;
    return save.mutateAsync({ body: { model, mark, reason, last_day, unit: known.scale.unit, ...price } });
  };
  return (
    <ResourceForm<Values>
      initial={initial}
      onSubmit={submit}
      onDone={toList}
      onCancel={toList}
      submitText="保存价格"
    >
      {() => (
        <>
          {isNew ? (
            <Section title="模型" lead="与调用时使用的名称一致。">
              <TextField
                name="model"
                label="模型名称"
                rules={[required, rule(fields.model)]}
                maxLength={200}
              />
            </Section>
          ) : null}
          <PriceFields row={row} known={known} />
          <Section title="其他">
            <TextField
              name="last_day"
              label="停用日期"
              rules={[rule(fields.last_day)]}
              placeholder="2026-12-31"
              extra="最后可用的一天。模型广场提前 90 天标出，过后不再列出；留空表示未知。"
            />
            <Form.Item
              name="reason"
              label="原因"
              extra="写入价格版本与审计，可留空。"
              rules={[rule(fields.reason)]}
            >
              <Input maxLength={200} autoComplete="off" />
            </Form.Item>
          </Section>
        </>
      )}
    </ResourceForm>
  );
}

function Loaded({ model }: { readonly model: string }) {
  const { data, error, refetch } = useQuery(formQuery(modelPriceApi.find, { query: { model } }));
  if (data === undefined) return <FormState error={error} onRetry={() => void refetch()} />;
  return <EditForm row={data} isNew={model === ""} />;
}

export function PriceEditPage() {
  const [params] = useSearchParams();
  const model = params.get("model") ?? "";
  return (
    <Page width="form" title={model === "" ? "添加价格" : `编辑 ${model} 的价格`}>
      <Loaded key={model} model={model} />
    </Page>
  );
}
