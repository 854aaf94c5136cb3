// Sets up a client for a token: what to write where, a link that opens it, and a trial. The key stands in the page only where it was just
// shown: the configuration that is seen has dots in its place, texts and links are made when they are clicked (requirements K17).
import { CopyOutlined, ExportOutlined, ThunderboltOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button, Form, Modal, Select, Space } from "antd";
import { useEffect, useRef, useState } from "react";
import { query, relay } from "#console/base/call.ts";
import { copyText } from "#console/base/clipboard.ts";
import { faultText } from "#console/base/faults.ts";
import { KEY_PLACEHOLDER } from "#console/base/samples.ts";
import { useServerAddress, useStatus } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { statusApi } from "#contract/status.ts";
import { CLIENTS, type Client, type ClientInput, trialOf } from "./clients.ts";
import { modelsFor } from "./values.ts";

/** A token whose key is here, or was shown once and is gone. */
export interface Keyed {
  readonly name: string;
  /** Without `sk-`; "" = it cannot be shown any more. */
  readonly key: string;
  /** The models that it may call, as its form has them; "" = all of its group. */
  readonly models: string;
}

const DOTS = "sk-••••••••";
const SAMPLE_MODEL = "gpt-4o-mini";

/** Opens an address without a trace in the page, and tells the site that is opened nothing of ours. */
function openAddress(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.rel = "noreferrer";
  if (address.startsWith("http")) link.target = "_blank";
  link.click();
}

/** What the server says of a call that failed, in any of the formats. */
async function refusalOf(response: Response): Promise<string> {
  const text = await response.text();
  const message = /"message"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  return message === undefined ? `HTTP ${response.status}` : String(JSON.parse(message));
}

type Outcome = { readonly tone: "info" | "bad"; readonly text: string };

/** Makes the smallest call in the client's format with this key. */
function useTrial() {
  const [isRunning, setRunning] = useState(false);
  const [outcome, setOutcome] = useState<Outcome>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const run = async (client: Client, key: string, model: string) => {
    const abort = new AbortController();
    running.current = abort;
    setRunning(true);
    setOutcome(undefined);
    const startMs = performance.now();
    try {
      const { path, body } = trialOf(client.format, model);
      const response = await relay(path, { key, body, signal: abort.signal });
      const took = ((performance.now() - startMs) / 1000).toFixed(1);
      if (response.ok) setOutcome({ tone: "info", text: `可用：模型 ${model} 用 ${took} 秒作了应答。` });
      else setOutcome({ tone: "bad", text: `不可用：${await refusalOf(response)}` });
    } catch (error) {
      if (!abort.signal.aborted) setOutcome({ tone: "bad", text: `不可用：${faultText(error)}` });
    } finally {
      setRunning(false);
    }
  };
  return { isRunning, outcome, run, forget: () => setOutcome(undefined) };
}

export function ClientDialog({ token, onClose }: { readonly token: Keyed; readonly onClose: () => void }) {
  const server = useServerAddress();
  const status = useStatus();
  const [name, setName] = useState(CLIENTS[0]?.name ?? "");
  const [chosen, setChosen] = useState("");
  const trial = useTrial();
  const open = useQuery({
    ...query(statusApi.availableModels, {}),
    staleTime: 60_000,
    meta: { silent: true },
  });
  const models = modelsFor(token.models, open.data ?? []);
  const model = chosen || models[0] || SAMPLE_MODEL;
  const client = CLIENTS.find((one) => one.name === name);
  if (client === undefined) return null;
  const isGone = token.key === "";
  const site = status?.system_name ?? "";
  const input = (key: string): ClientInput => ({
    server,
    key,
    model,
    site,
    chatLink: status?.chat_link ?? "",
  });
  const real = isGone ? KEY_PLACEHOLDER : `sk-${token.key}`;
  const isLinked = !isGone && client.link?.(input(DOTS)) !== undefined;
  const start = () => {
    const address = client.link?.(input(real));
    if (address !== undefined) openAddress(address);
  };
  return (
    <Modal
      open
      title={`客户端配置：${token.name}`}
      width={640}
      onCancel={onClose}
      footer={<Button onClick={onClose}>关闭</Button>}
    >
      {isGone ? (
        <Callout tone="warn">
          这个令牌的密钥只在创建或轮换时显示一次，现在无法读取：配置里是占位的文字，请换成您保存的密钥。没有保存时，请轮换密钥，并在显示新密钥的窗口里打开客户端配置。
        </Callout>
      ) : null}
      <Form layout="vertical" className="tg-client">
        <div className="tg-client-choice">
          <Form.Item label="客户端" htmlFor="tg-client-name">
            <Select
              id="tg-client-name"
              showSearch={{ optionFilterProp: "label" }}
              value={name}
              options={CLIENTS.map((one) => ({ value: one.name, label: one.name }))}
              onChange={(next) => {
                setName(next);
                trial.forget();
              }}
            />
          </Form.Item>
          <Form.Item label="模型" htmlFor="tg-client-model">
            <Select
              id="tg-client-model"
              showSearch
              value={model}
              options={models.map((value) => ({ value, label: value }))}
              onChange={(next) => {
                setChosen(next);
                trial.forget();
              }}
            />
          </Form.Item>
        </div>
      </Form>
      <p>{client.where}</p>
      <pre className="tg-client-text">{client.text(input(isGone ? KEY_PLACEHOLDER : DOTS))}</pre>
      <Space wrap>
        <Button
          type="primary"
          icon={<CopyOutlined aria-hidden="true" />}
          onClick={() => void copyText(client.text(input(real)))}
        >
          复制
        </Button>
        {isLinked ? (
          <Button icon={<ExportOutlined aria-hidden="true" />} onClick={start}>
            打开 {client.name}
          </Button>
        ) : null}
        {isGone ? null : (
          <Button
            icon={<ThunderboltOutlined aria-hidden="true" />}
            loading={trial.isRunning}
            title="用这个密钥按该客户端的格式发出一次很小的调用，按正常价格计费"
            onClick={() => void trial.run(client, real, model)}
          >
            检测
          </Button>
        )}
      </Space>
      <div role="status" className="tg-client-outcome">
        {trial.outcome === undefined ? null : (
          <Callout tone={trial.outcome.tone}>{trial.outcome.text}</Callout>
        )}
      </div>
    </Modal>
  );
}

/** Opens the dialog, where a key was just shown. */
export function ClientButton({ token }: { readonly token: Keyed }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>客户端配置</Button>
      {isOpen ? <ClientDialog token={token} onClose={() => setOpen(false)} /> : null}
    </>
  );
}
