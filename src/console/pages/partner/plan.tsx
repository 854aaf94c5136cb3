// The partner plan: its rules for all visitors; link, code, friends and balance for signed-in users.
import { useQuery } from "@tanstack/react-query";
import { Input } from "antd";
import { useLocation } from "react-router";
import { query } from "#console/base/call.ts";
import { useUser } from "#console/base/session.ts";
import { useServerAddress } from "#console/base/status.ts";
import { CopyButton } from "#console/ui/copy-button.tsx";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { partnerApi } from "#contract/partner.ts";
import { Friends } from "./friends.tsx";
import { MyPayouts } from "./payouts.tsx";
import "./partner.css";

interface CopyLineProps {
  readonly id: string;
  readonly label: string;
  /** undefined = not known yet. */
  readonly text: string | undefined;
  readonly copyLabel: string;
}

/** A text to pass on: selectable as it stands, so copying never depends on the clipboard alone (requirements B8). */
function CopyLine({ id, label, text, copyLabel }: CopyLineProps) {
  if (text === undefined) {
    return (
      <div className="tg-partner-line">
        {label}
        <div>
          <span className="tg-bone" />
        </div>
      </div>
    );
  }
  return (
    <div className="tg-partner-line">
      <label htmlFor={id}>{label}</label>
      <div>
        <Input id={id} readOnly className="tg-code" value={text} onFocus={(event) => event.target.select()} />
        <CopyButton kind="default" text={text} label={copyLabel} />
      </div>
    </div>
  );
}

function MyPlan() {
  const server = useServerAddress();
  const info = useQuery({ ...query(partnerApi.info, {}), meta: { silent: true } });
  if (info.data === undefined && info.isError) {
    return <FormState error={info.error} onRetry={() => void info.refetch()} />;
  }
  const mine = info.data;
  const link = mine && `${server}/register?aff=${encodeURIComponent(mine.aff_code)}`;
  return (
    <div className="tg-partner">
      <section className="tg-card tg-section" aria-labelledby="tg-partner-mine">
        <h2 id="tg-partner-mine">我的邀请</h2>
        <p>把链接分享给好友；好友充值时填写你的礼品码，双方都有额外额度。</p>
        <CopyLine id="tg-invite-link" label="邀请链接" text={link} copyLabel="复制邀请链接" />
        <CopyLine id="tg-gift-code" label="礼品码" text={mine?.gift_code} copyLabel="复制礼品码" />
      </section>
      <section className="tg-card tg-section" aria-labelledby="tg-partner-balance">
        <h2 id="tg-partner-balance">邀请返现余额</h2>
        <MyPayouts />
      </section>
    </div>
  );
}

const RULES = [
  {
    title: "现金返现",
    text: "好友每次充值，你获得可提现的人民币奖励，金额为充值美元数 × 0.5 × 5%。",
    example: "好友兑换 $1000，你得到 25 元。",
  },
  {
    title: "赠送额度",
    text: "任何人充值时填写你的礼品码，双方各得该兑换码额度 5% 的额外额度，不要求是你邀请的好友。",
    example: "填写后兑换 $1000，双方各得 $50。",
  },
  {
    title: "可以叠加",
    text: "两项规则互相独立，同时满足时都会生效：5% 现金加 5% 额度，最高返利 10%。",
    example: "好友充值并填写你的礼品码，两项奖励一并到账。",
  },
] as const;

const NOTES = [
  "邀请关系在好友通过邀请链接注册时确定，之后不能更改；只有邀请关系而没有填写礼品码时，不会赠送额度。",
  "返现与赠送的明细记录在使用日志中，类型为“系统”。",
  "返现余额满 100 元可以提现，人工审核约需 24 小时，通过支付宝或 USDT 支付。",
  "额度有效期为 9 个月，赠送的额度相同。",
  "禁止自我邀请或套利，违规所得的奖励会被撤销。",
] as const;

function Rules() {
  return (
    <section aria-label="推广规则" className="tg-partner-rules">
      <ol>
        {RULES.map((rule) => (
          <li key={rule.title} className="tg-card tg-section">
            <h2>{rule.title}</h2>
            <p>{rule.text}</p>
            <p className="tg-partner-example">例：{rule.example}</p>
          </li>
        ))}
      </ol>
      <div className="tg-card tg-section">
        <h2>规则说明</h2>
        <ul>
          {NOTES.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      </div>
    </section>
  );
}

function SignInFirst() {
  const { pathname, search, hash } = useLocation();
  return (
    <section className="tg-card tg-section tg-partner-guest">
      <p className="tg-partner-invite">登录后可以查看你的邀请链接、礼品码、好友与返现余额。</p>
      <LinkButton to="/register">注册</LinkButton>
      <LinkButton to="/login" state={{ from: { pathname, search, hash } }} kind="primary">
        登录
      </LinkButton>
    </section>
  );
}

export function PartnerPlanPage() {
  const user = useUser();
  return (
    <Page title="推广计划" lead="邀请好友使用，获得现金返现与额外额度，最高返利 10%。">
      {user === undefined ? <SignInFirst /> : <MyPlan />}
      <Rules />
      {user === undefined ? null : <Friends />}
    </Page>
  );
}
