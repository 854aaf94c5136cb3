// The partner plan: its rules for all visitors; link, code, friends and balance for signed-in users.
import { useQuery } from "@tanstack/react-query";
import { Input } from "antd";
import { useLocation } from "react-router";
import { query } from "#console/base/call.ts";
import { useUser } from "#console/base/session.ts";
import { useServerAddress } from "#console/base/status.ts";
import { CopyButton } from "#console/ui/copy-button.tsx";
import { Page } from "#console/ui/page.tsx";
import { usePartnerTerms } from "#console/ui/partner-terms.ts";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { partnerApi } from "#contract/partner.ts";
import { Friends } from "./friends.tsx";
import { MyPayouts } from "./payouts.tsx";
import { leadOf, notesOf, rulesOf } from "./rules.ts";
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
  const { gift_percent: gift } = usePartnerTerms();
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
        <p>
          {gift > 0 ? "把链接分享给好友；好友充值时填写你的礼品码，双方都有额外额度。" : "把链接分享给好友。"}
        </p>
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

function Rules() {
  const terms = usePartnerTerms();
  return (
    <section aria-label="推广规则" className="tg-partner-rules">
      <ol>
        {rulesOf(terms).map((rule) => (
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
          {notesOf(terms).map((note) => (
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
    <Page title="推广计划" lead={leadOf(usePartnerTerms())}>
      {user === undefined ? <SignInFirst /> : <MyPlan />}
      <Rules />
      {user === undefined ? null : <Friends />}
    </Page>
  );
}
