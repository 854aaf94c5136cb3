// About this installation: what the operator wrote, else a few words about the product.
import { useQuery } from "@tanstack/react-query";
import { query } from "#console/base/call.ts";
import { addressIn } from "#console/base/markdown.ts";
import { useMay } from "#console/base/session.ts";
import { useStatus, useSystemName } from "#console/base/status.ts";
import { GuestFrame } from "#console/ui/guest-frame.tsx";
import { OperatorText } from "#console/ui/operator-text.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { statusApi } from "#contract/status.ts";
import "./about.css";

function DefaultAbout() {
  const name = useSystemName();
  const status = useStatus();
  const mayWrite = useMay("option.write");
  return (
    <article className="tg-card tg-about">
      <h1>关于 {name}</h1>
      <p>
        {name} 是大模型接口网关与密钥管理系统。它把多家模型服务商收拢到一个兼容 OpenAI
        的接口地址之后，负责令牌发放、渠道分流与重试、额度结算和使用日志。
      </p>
      <dl>
        <dt>版本</dt>
        <dd>{status?.version ?? __APP_VERSION__}</dd>
        <dt>接口</dt>
        <dd>兼容 OpenAI，详见首页的调用示例</dd>
      </dl>
      <div className="tg-about-links">
        <LinkButton to="/">调用示例</LinkButton>
        <LinkButton to="/terms">服务条款</LinkButton>
        {mayWrite ? (
          <LinkButton to="/setting?tab=other" kind="primary">
            编写关于页面
          </LinkButton>
        ) : null}
      </div>
    </article>
  );
}

export function AboutPage() {
  const about = useQuery({ ...query(statusApi.about, {}), staleTime: 60_000 });
  const text = (about.data ?? "").trim();
  const isFramed = addressIn(text) !== undefined;
  return (
    <GuestFrame title="关于">
      {about.isPending ? null : text === "" ? (
        <DefaultAbout />
      ) : (
        <div className={isFramed ? "tg-framed" : "tg-card tg-about"}>
          {isFramed ? <h1 className="tg-hidden">关于</h1> : null}
          <OperatorText title="关于" text={text} />
        </div>
      )}
    </GuestFrame>
  );
}
