// The first page: what the operator wrote; else what this is, its base address, and a call that works when pasted.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { query } from "#console/base/call.ts";
import { addressIn } from "#console/base/markdown.ts";
import { curlSample, KEY_PLACEHOLDER, nodeSample, pythonSample } from "#console/base/samples.ts";
import { useUser } from "#console/base/session.ts";
import { useServerAddress, useSystemName } from "#console/base/status.ts";
import { CopyButton } from "#console/ui/copy-button.tsx";
import { GuestFrame } from "#console/ui/guest-frame.tsx";
import { OperatorText } from "#console/ui/operator-text.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { SiteNotice } from "#console/ui/site-notice.tsx";
import { statusApi } from "#contract/status.ts";
import "./home.css";

const SAMPLES = { curl: curlSample, Python: pythonSample, "Node.js": nodeSample } as const;
type SampleName = keyof typeof SAMPLES;
// Object.keys of a constant gives exactly its keys.
const NAMES = Object.keys(SAMPLES) as SampleName[];

const FACTS = [
  { title: "一个地址，所有渠道", text: "兼容 OpenAI 接口，按优先级与权重分流，失败自动换渠道重试。" },
  { title: "额度精确到点", text: "先预扣、后结算，断线与重试都不会重复扣费，每一笔都有账可查。" },
  { title: "令牌各管各的", text: "为每个应用单独发放令牌，限定额度、过期时间、模型范围与来源 IP。" },
] as const;

function Sample({ server }: { readonly server: string }) {
  const [name, setName] = useState<SampleName>("curl");
  const text = SAMPLES[name]({ server, key: KEY_PLACEHOLDER, model: "gpt-4o-mini" });
  return (
    <section className="tg-sample tg-card" aria-label="调用示例">
      <header>
        <fieldset className="tg-tabs" aria-label="示例语言">
          {NAMES.map((option) => (
            <button key={option} type="button" aria-pressed={option === name} onClick={() => setName(option)}>
              {option}
            </button>
          ))}
        </fieldset>
        <CopyButton text={text} label="复制示例代码" />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll area must be reachable by keyboard */}
      <pre tabIndex={0} className="tg-code">
        {text}
      </pre>
    </section>
  );
}

function DefaultHome() {
  const name = useSystemName();
  const server = useServerAddress();
  const user = useUser();
  return (
    <>
      <div className="tg-hero">
        <div className="tg-hero-words">
          <h1>
            <span className="tg-hero-clause">大模型接口，</span>
            <span className="tg-hero-clause">从这一道门进出</span>
          </h1>
          <p>
            {name}{" "}
            把众多模型服务商收拢到一个接口地址之后：统一密钥、统一计费、统一日志。把客户端的接口地址换成下面这个即可使用。
          </p>
          <div className="tg-address">
            <span>接口地址</span>
            <code className="tg-code">{server}/v1</code>
            <CopyButton text={`${server}/v1`} label="复制接口地址" />
          </div>
          <div className="tg-hero-buttons">
            <LinkButton to={user === undefined ? "/login" : "/token"} kind="primary" isLarge>
              {user === undefined ? "登录控制台" : "进入控制台"}
            </LinkButton>
          </div>
        </div>
        <Sample server={server} />
      </div>
      <ul className="tg-facts">
        {FACTS.map((fact) => (
          <li key={fact.title}>
            <h2>{fact.title}</h2>
            <p>{fact.text}</p>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The operator's page as far as it is known; undefined until the server has answered. */
function useHomePage(): string | undefined {
  const content = useQuery({ ...query(statusApi.homePage, {}), staleTime: 60_000, meta: { silent: true } });
  // A server that cannot tell must not leave the first page blank.
  return content.isError ? "" : content.data?.trim();
}

export function HomePage() {
  const text = useHomePage();
  const isFramed = text !== undefined && addressIn(text) !== undefined;
  return (
    <GuestFrame title="首页">
      {isFramed ? null : <SiteNotice />}
      {text === undefined ? <div className="tg-home-unknown" /> : null}
      {text === "" ? <DefaultHome /> : null}
      {text === undefined || text === "" ? null : (
        <div className={isFramed ? "tg-framed" : "tg-home-custom"}>
          {isFramed ? <h1 className="tg-hidden">首页</h1> : null}
          <OperatorText title="首页" text={text} />
        </div>
      )}
    </GuestFrame>
  );
}
