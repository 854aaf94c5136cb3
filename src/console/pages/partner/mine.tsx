// What the partner plan is for the signed-in user: link, gift code, balance.
import { useQuery } from "@tanstack/react-query";
import { Input, Skeleton } from "antd";
import { query } from "#console/base/call.ts";
import { useServerAddress } from "#console/base/status.ts";
import { CopyButton } from "#console/ui/copy-button.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { partnerApi } from "#contract/partner.ts";

interface CopyLineProps {
  readonly id: string;
  readonly label: string;
  readonly text: string;
  readonly copyLabel: string;
}

/** A text to hand on: selectable as it stands, so copying never depends on the clipboard alone (spec §8). */
function CopyLine({ id, label, text, copyLabel }: CopyLineProps) {
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
  if (info.data === undefined) {
    return (
      <section className="tg-card tg-section">
        {info.isError ? (
          <ErrorState error={info.error} onRetry={() => void info.refetch()} />
        ) : (
          <Skeleton active paragraph={{ rows: 4 }} />
        )}
      </section>
    );
  }
  const { aff_code, gift_code, invite_balance } = info.data;
  const link = `${server}/register?aff=${encodeURIComponent(aff_code)}`;
  return (
    <div className="tg-partner">
      <section className="tg-card tg-section" aria-labelledby="tg-partner-mine">
        <h2 id="tg-partner-mine">我的邀请</h2>
        <p>把链接分享给好友；好友充值时填写您的赠送码，双方都有额外额度。</p>
        <CopyLine id="tg-invite-link" label="邀请链接" text={link} copyLabel="复制邀请链接" />
        <CopyLine id="tg-gift-code" label="赠送码" text={gift_code} copyLabel="复制赠送码" />
      </section>
      <section className="tg-card tg-section" aria-labelledby="tg-partner-balance">
        <h2 id="tg-partner-balance">邀请返现余额</h2>
        <div className="tg-partner-sum">¥{invite_balance === "" ? "0" : invite_balance}</div>
        <p className="tg-muted">
          余额满 100 元可以提现。请联系管理员并提供用户名与收款方式，人工审核约需 24 小时，通过支付宝或 USDT
          支付。
        </p>
      </section>
    </div>
  );
}
