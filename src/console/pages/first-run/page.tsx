// The first run in the browser (requirements I39): a password of one's own, a passkey where the address allows one, a channel, a token
// and a call that works. Every step after the first uses the ordinary endpoints, with the session that the first one opened.
import { Navigate, useNavigate, useSearchParams } from "react-router";
import { canUsePasskeys } from "#console/base/passkey.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { useStatus } from "#console/base/status.ts";
import { GuestFrame } from "#console/ui/guest-frame.tsx";
import { ChannelStep } from "./channel-step.tsx";
import { PasskeyStep } from "./passkey-step.tsx";
import { PasswordStep } from "./password-step.tsx";
import { TokenStep } from "./token-step.tsx";
import "./first-run.css";

const LABELS = { password: "密码", passkey: "通行密钥", channel: "渠道", token: "令牌与调用" } as const;
type Step = keyof typeof LABELS;

function isStep(text: string): text is Step {
  return text in LABELS;
}

function Progress({ steps, at }: { readonly steps: readonly Step[]; readonly at: Step }) {
  const index = steps.indexOf(at);
  return (
    <ol className="tg-first-steps" aria-label="步骤">
      {steps.map((step, place) => (
        <li
          key={step}
          className={place < index ? "tg-first-past" : undefined}
          aria-current={step === at ? "step" : undefined}
        >
          <span aria-hidden="true">{place < index ? "✓" : place + 1}</span>
          {LABELS[step]}
        </li>
      ))}
    </ol>
  );
}

export function FirstRunPage() {
  const [params] = useSearchParams();
  const navigate = useNavigate();
  const user = useUser();
  const status = useStatus();
  const asked = params.get("step") ?? "";
  const at: Step = isStep(asked) ? asked : "password";
  if (at !== "password" && !isRoot(user)) return <Navigate to="/login" replace />;
  const hasPasskeys = at === "passkey" || canUsePasskeys(status?.passkey_rp_id ?? "");
  const steps: readonly Step[] = hasPasskeys
    ? ["password", "passkey", "channel", "token"]
    : ["password", "channel", "token"];
  const go = (step: Step) => void navigate(`/first-run?step=${step}`, { replace: true });
  return (
    <GuestFrame title="首次设置">
      <div className="tg-first tg-card">
        <Progress steps={steps} at={at} />
        {at === "password" ? (
          <PasswordStep
            isOpen={status?.first_run !== false}
            onDone={(rpId) => go(canUsePasskeys(rpId) ? "passkey" : "channel")}
          />
        ) : null}
        {at === "passkey" ? <PasskeyStep onDone={() => go("channel")} /> : null}
        {at === "channel" ? <ChannelStep onDone={() => go("token")} /> : null}
        {at === "token" ? <TokenStep /> : null}
      </div>
    </GuestFrame>
  );
}
