// What the test of a merchant account found, after it was saved or on demand.
import { Button } from "antd";
import { useCallback } from "react";
import { useLocation, useNavigate } from "react-router";
import { Callout } from "#console/ui/callout.tsx";
import { Section } from "#console/ui/section.tsx";
import { InstanceProbe } from "#contract/payment-admin.ts";
import "./payment.css";

/** The server could not be asked. */
export const UNKNOWN: InstanceProbe = { verdict: "unclear", problem: "" };

/** The form of an account that was just made, told what its test found. */
export function useToldAccount() {
  const navigate = useNavigate();
  const state: unknown = useLocation().state;
  const kept = typeof state === "object" ? state : null;
  const probe: unknown = kept !== null && "probe" in kept ? kept.probe : undefined;
  const toAccount = useCallback(
    (id: number, found: InstanceProbe | undefined) =>
      void navigate(`/payment/edit/${id}`, { replace: true, state: { ...kept, probe: found } }),
    [navigate, kept],
  );
  return { toAccount, told: InstanceProbe.safeParse(probe).data };
}

function wordsOf({ verdict, problem }: InstanceProbe): string {
  const why = problem === "" ? "" : `（${problem}）`;
  switch (verdict) {
    case "accepted":
      return "测试通过：平台已应答，商户号与密钥可用。";
    case "refused":
      return `已保存，但平台不接受该商户号或密钥${why}。`;
    case "unclear":
      return `已保存，但平台没有给出可用的应答${why}，请检查接口地址、平台公钥与网络。`;
    case "incomplete":
      return "已保存，但缺少密钥或密钥无法使用，没有测试。";
  }
}

export interface ProbeSectionProps {
  /** Undefined = it was not tested yet. */
  readonly found: InstanceProbe | undefined;
  readonly isTesting: boolean;
  readonly onTest: () => void;
}

export function ProbeSection({ found, isTesting, onTest }: ProbeSectionProps) {
  return (
    <Section
      title="测试"
      lead="用已保存的设置向平台查询一个不存在的订单，不产生任何交易。保存时自动测试一次。"
    >
      <div className="tg-payment-probe">
        {found === undefined ? null : (
          <Callout tone={found.verdict === "accepted" ? "info" : "warn"}>{wordsOf(found)}</Callout>
        )}
        <div>
          <Button loading={isTesting} onClick={onTest}>
            {found === undefined ? "测试" : "重新测试"}
          </Button>
        </div>
      </div>
    </Section>
  );
}
