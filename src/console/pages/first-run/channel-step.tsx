// The step that connects the first account at a provider, and tries it at once.
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { z } from "zod";
import { call, query, useCall } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { useModelsByType } from "#console/base/models.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { PlainButton } from "#console/ui/plain-button.tsx";
import { PlainField, PlainForm } from "#console/ui/plain-form.tsx";
import { channelApi } from "#contract/channel.ts";
import { providerOf, providers } from "#contract/providers.ts";
import { StepHead } from "./step-head.tsx";

interface Values {
  readonly [name: string]: string;
  readonly base_url: string;
  readonly key: string;
  readonly other: string;
  readonly models: string;
}

const EMPTY: Values = { base_url: "", key: "", other: "", models: "" };

/** Names separated by commas, blanks or lines. */
function modelsOf(text: string): string[] {
  return [...new Set(text.split(/[\s,，]+/).filter((name) => name !== ""))];
}

function schemaOf(type: number, isNew: boolean) {
  const provider = providerOf(type);
  const needed = (message: string, isNeeded: boolean) =>
    z
      .string()
      .trim()
      .min(isNeeded ? 1 : 0, message);
  return z.object({
    base_url: needed("请填写 Base URL", provider?.baseUrl === "").regex(
      /^$|^(https?|wss?):\/\/[^\s@]+$/,
      "须以 http:// 或 https:// 开头",
    ),
    key: needed("请填写密钥", isNew && provider?.keyOptional !== true),
    other: needed(`请填写${provider?.other?.label ?? ""}`, provider?.other?.required === true),
    models: z.string().refine((text) => modelsOf(text).length > 0, "请至少填写一个模型"),
  });
}

function draftOf(type: number, values: Values) {
  return {
    type,
    base_url: values.base_url.trim(),
    key: values.key.trim(),
    other: values.other.trim() || (providerOf(type)?.other?.fallback ?? ""),
    models: modelsOf(values.models),
  };
}

/** Makes the channel the first time and edits it from then on; each time it is tried. */
function useConnect(type: number) {
  const [id, setId] = useState<number>();
  const [model, setModel] = useState("");
  const test = useCall(channelApi.test, { silent: true });
  const save = useCall(channelApi.create, { silent: true });
  const [fault, setFault] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const run = async (values: Values) => {
    setFault(undefined);
    test.reset();
    setBusy(true);
    try {
      const draft = draftOf(type, values);
      const [first = ""] = draft.models;
      let made = id;
      if (made === undefined) {
        const name = providerOf(type)?.label ?? "";
        await save.mutateAsync({ body: { ...draft, name, group: ["default"] } });
        made = (await call(channelApi.list, { query: {} })).data[0]?.id;
        setId(made);
      } else await call(channelApi.update, { body: { id: made, ...draft } });
      if (made === undefined) return;
      setModel(first);
      await test.mutateAsync({ params: { id: made }, query: { model: first } });
    } catch (error) {
      setFault(error);
    } finally {
      setBusy(false);
    }
  };
  return { run, isBusy, fault, result: test.data, isNew: id === undefined, model };
}

function TypeField({ type, onType }: { readonly type: number; readonly onType: (type: number) => void }) {
  const id = useId();
  return (
    <div className="tg-plain-field">
      <label htmlFor={id}>类型</label>
      <div className="tg-plain-box">
        <select id={id} value={type} onChange={(event) => onType(Number(event.target.value))}>
          {providers
            .filter(({ kind }) => kind !== "knowledge")
            .map((provider) => (
              <option key={provider.type} value={provider.type}>
                {provider.label}
              </option>
            ))}
        </select>
      </div>
    </div>
  );
}

/** Asks the upstream for its models; what it says replaces what stands there. */
function AskModels({
  type,
  values,
  onModels,
}: {
  readonly type: number;
  readonly values: Pick<Values, "base_url" | "key" | "other">;
  readonly onModels: (text: string) => void;
}) {
  const ask = useCall(channelApi.upstreamModels, {
    onSuccess: (names) => {
      if (names.length === 0) toast.info("上游没有返回模型");
      else onModels(names.join(", "));
    },
  });
  const { models: _, ...source } = draftOf(type, { ...values, models: "" });
  return (
    <PlainButton isBusy={ask.isPending} onClick={() => ask.mutate({ body: source })}>
      从上游获取
    </PlainButton>
  );
}

export function ChannelStep({ onDone }: { readonly onDone: () => void }) {
  const [type, setType] = useState(1);
  const provider = providerOf(type);
  const related = useModelsByType()[String(type)] ?? [];
  const present = useQuery({ ...query(channelApi.list, { query: {} }), meta: { silent: true } });
  const connect = useConnect(type);
  const isDone = connect.result !== undefined && connect.fault === undefined;
  const count = present.data?.data.length ?? 0;
  return (
    <>
      <StepHead heading="接入第一个渠道">
        渠道是您在模型服务商的账户：选择类型，填写密钥，保存后立即用第一个模型测试。
      </StepHead>
      <TypeField type={type} onType={setType} />
      <PlainForm<Values>
        key={type}
        schema={schemaOf(type, connect.isNew)}
        initial={EMPTY}
        submit={{ text: connect.isNew ? "保存并测试" : "修改并重新测试", isBusy: connect.isBusy }}
        onSubmit={(values) => void connect.run(values)}
      >
        {(field) => (
          <>
            <PlainField
              {...field("base_url")}
              label={provider?.baseUrl === "" ? "Base URL" : "Base URL（可不填）"}
              hint={provider?.baseUrlHint ?? (provider?.baseUrl || "https://")}
              autoComplete="off"
            />
            <PlainField
              {...field("key")}
              label="密钥"
              hint={connect.isNew ? (provider?.keyHint ?? "") : "已保存，留空表示不变"}
              type="password"
              autoComplete="new-password"
            />
            {provider?.other === undefined ? null : (
              <PlainField
                {...field("other")}
                label={provider.other.label}
                hint={provider.other.fallback || provider.other.hint}
                autoComplete="off"
              />
            )}
            <PlainField
              {...field("models")}
              label="模型"
              hint={related.slice(0, 2).join(", ") || "模型名，用逗号分隔"}
              autoComplete="off"
              end={
                <AskModels
                  type={type}
                  values={{
                    base_url: field("base_url").value,
                    key: field("key").value,
                    other: field("other").value,
                  }}
                  onModels={field("models").onChange}
                />
              }
            />
          </>
        )}
      </PlainForm>
      {connect.fault === undefined ? null : <Callout tone="bad">{faultText(connect.fault)}</Callout>}
      {isDone ? (
        <div className="tg-first-good" role="status">
          <strong>
            测试成功：{connect.model}，用时 {connect.result?.time.toFixed(2)} 秒
          </strong>
          {connect.result?.message ? <p>{connect.result.message}</p> : null}
        </div>
      ) : null}
      {isDone || count > 0 || !connect.isNew ? (
        <PlainButton kind={isDone ? "primary" : "default"} isLarge onClick={onDone}>
          下一步
        </PlainButton>
      ) : (
        <PlainButton kind="text" onClick={onDone}>
          暂时跳过
        </PlainButton>
      )}
    </>
  );
}
