// What the partner plan is for the signed-in user: link, gift code, balance.
import { useQuery } from "@tanstack/react-query";
import { Input } from "antd";
import { query } from "#console/base/call.ts";
import { useServerAddress } from "#console/base/status.ts";
import { CopyButton } from "#console/ui/copy-button.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { partnerApi } from "#contract/partner.ts";

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

export function MyPlan() {
  const server = useServerAddress();
  const info = useQuery({ ...query(partnerApi.info, {}), meta: { silent: true } });
  if (info.data === undefined && info.isError) {
    return (
      <section className="tg-card tg-section">
        <ErrorState error={info.error} onRetry={() => void info.refetch()} />
      </section>
    );
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
        <div className="tg-partner-sum">
          {mine === undefined ? <span className="tg-bone" /> : `¥${mine.invite_balance || "0"}`}
        </div>
        <p className="tg-muted">
          余额满 100 元可以提现。请联系管理员并提供用户名与收款方式，人工审核约需 24 小时，通过支付宝或 USDT
          支付。
        </p>
      </section>
    </div>
  );
}
