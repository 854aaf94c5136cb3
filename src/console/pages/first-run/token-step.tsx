// The last step: the first token, and a call with it as any client makes it.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { z } from "zod";
import { query, relay, useCall } from "#console/base/call.ts";
import { ApiFault, faultText } from "#console/base/faults.ts";
import { curlSample } from "#console/base/samples.ts";
import { useServerAddress } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { CopyButton, CopyField } from "#console/ui/copy-button.tsx";
import { LinkButton, PlainButton } from "#console/ui/plain-button.tsx";
import { PlainForm } from "#console/ui/plain-form.tsx";
import { statusApi } from "#contract/status.ts";
import { TokenDraft, tokenApi } from "#contract/token.ts";
import { StepHead } from "./step-head.tsx";

const Form = z.object({ name: TokenDraft.shape.name });
const FIELDS = [{ name: "name", label: "名称", autoComplete: "off" }] as const;

/** What is read of an answer; upstreams add much more. */
const Reply = z.looseObject({
  choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string().nullish() }) })).optional(),
  error: z.looseObject({ message: z.string().nullish() }).nullish(),
});

async function ask(key: string, model: string): Promise<string> {
  const body = { model, messages: [{ role: "user", content: "你好" }], stream: false };
  const { signal } = new AbortController();
  const response = await relay("/v1/chat/completions", { key, body, signal });
  const reply = Reply.safeParse(await response.json().catch(() => undefined)).data;
  const text = reply?.choices?.[0]?.message.content;
  if (!response.ok || text === undefined)
    throw new ApiFault("refused", reply?.error?.message || `HTTP ${response.status}`);
  return text ?? "";
}

function FirstCall({ apiKey }: { readonly apiKey: string }) {
  const id = useId();
  const server = useServerAddress();
  const models = useQuery(query(statusApi.availableModels, {}));
  const [chosen, setChosen] = useState<string>();
  const first = useMutation({ mutationFn: (model: string) => ask(apiKey, model), meta: { silent: true } });
  const names = models.data ?? [];
  const model = chosen ?? names[0] ?? "";
  const sample = curlSample({ server, key: apiKey, model });
  return (
    <>
      <CopyField label="密钥" text={apiKey} copyLabel="复制密钥" />
      {models.isSuccess && names.length === 0 ? (
        <Callout tone="warn">还没有可用的模型：请先在“渠道”里接入一个服务商。</Callout>
      ) : (
        <div className="tg-plain-field">
          <label htmlFor={id}>模型</label>
          <div className="tg-plain-box">
            <select id={id} value={model} onChange={(event) => setChosen(event.target.value)}>
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
            <PlainButton isBusy={first.isPending} disabled={model === ""} onClick={() => first.mutate(model)}>
              发送“你好”
            </PlainButton>
          </div>
        </div>
      )}
      {first.error === null ? null : <Callout tone="bad">{faultText(first.error)}</Callout>}
      {first.data === undefined ? null : (
        <div className="tg-first-good" role="status">
          <strong>调用成功</strong>
          <p>{first.data || "（空的回答）"}</p>
        </div>
      )}
      <div className="tg-first-sample">
        <pre className="tg-code">{sample}</pre>
        <CopyButton text={sample} label="复制命令" />
      </div>
      <LinkButton to="/dashboard" kind={first.isSuccess ? "primary" : "default"} isLarge>
        完成，进入控制台
      </LinkButton>
    </>
  );
}

export function TokenStep() {
  const create = useCall(tokenApi.create, { invalidates: [tokenApi.list] });
  const key = create.data?.key ?? "";
  return (
    <>
      <StepHead heading={key === "" ? "创建第一个令牌" : "用令牌调用"}>
        {key === ""
          ? "令牌是调用接口的密钥。第一个令牌不限额度，用超级管理员的余额支付。"
          : "任何兼容 OpenAI、Anthropic 或 Gemini 的客户端都可以使用这个密钥和服务器地址。"}
      </StepHead>
      {key === "" ? (
        <PlainForm
          schema={Form}
          initial={{ name: "第一个令牌" }}
          fields={FIELDS}
          submit={{ text: "创建令牌", isBusy: create.isPending }}
          onSubmit={({ name }) =>
            create.mutate({ body: { name, unlimited_quota: true, remain_quota: 0, expired_time: -1 } })
          }
        />
      ) : (
        <FirstCall apiKey={`sk-${key.replace(/^sk-/, "")}`} />
      )}
    </>
  );
}
