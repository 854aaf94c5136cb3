// Registration: names, password twice, e-mail and code where the operator asks for them, and the human check.
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link, useLocation, useNavigate, useSearchParams } from "react-router";
import { z } from "zod";
import { query, useCall } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { formatTime } from "#console/base/format.ts";
import { useStatus, useSystemName } from "#console/base/status.ts";
import { readStored, writeStored } from "#console/base/storage.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { EmailCodeFields } from "#console/ui/email-code-fields.tsx";
import { GuestCard } from "#console/ui/guest-card.tsx";
import { type HumanCheck, HumanCheckBox, useHumanCheck } from "#console/ui/human-check.tsx";
import { OtherWays } from "#console/ui/other-ways.tsx";
import { PlainForm } from "#console/ui/plain-form.tsx";
import { authApi, RequiredEmail } from "#contract/auth.ts";
import { invitationApi } from "#contract/invitation.ts";
import { Username } from "#contract/name.ts";
import { Password } from "#contract/user.ts";

const EMPTY = { username: "", password: "", password2: "", email: "", verification_code: "" };
type Values = typeof EMPTY;

const secret = { type: "password", autoComplete: "new-password" } as const;
const FIELDS = [
  { name: "username", label: "用户名", hint: "最长 12 位", autoComplete: "username" },
  { name: "password", label: "密码", hint: "最短 8 位，最长 20 位", ...secret },
  { name: "password2", label: "再次输入密码", hint: "与上面的密码一致", ...secret },
] as const;

const Plain = z.object({
  username: Username,
  password: Password,
  password2: z.string(),
  email: z.string(),
  verification_code: z.string(),
});

/** Only asked once the first entry is long enough (requirements B5). */
function samePasswords({ password, password2 }: { password: string; password2: string }): boolean {
  return !Password.safeParse(password).success || password === password2;
}
const DIFFERENT = { path: ["password2"], message: "两次输入的密码不一致" };

const PlainForms = Plain.refine(samePasswords, DIFFERENT);
const VerifiedForms = Plain.extend({
  email: RequiredEmail,
  verification_code: z.string().trim().min(1, "请输入验证码"),
}).refine(samePasswords, DIFFERENT);

/** Keeps the affiliate code of the address for whichever login method is chosen later (requirements B2). */
function useAffCode(): void {
  const [params] = useSearchParams();
  const code = params.get("aff") ?? "";
  useEffect(() => {
    if (code !== "") writeStored("aff", code);
  }, [code]);
}

/** The invitation of the address, behind `#`, which no server logs; "" = none. */
function useInvitation() {
  const { hash } = useLocation();
  const code = hash.startsWith(MARK) ? hash.slice(MARK.length) : "";
  const found = useQuery({
    ...query(invitationApi.look, { body: { code } }),
    enabled: code !== "",
    retry: false,
    gcTime: 0,
    meta: { silent: true },
  });
  return { code, found };
}

const MARK = "#invite=";

function Invited({ code, found }: ReturnType<typeof useInvitation>) {
  if (code === "") return null;
  if (found.isError) return <Callout tone="bad">{faultText(found.error)}</Callout>;
  if (found.data === undefined) return null;
  const { inviter, expires_at, needs_email } = found.data;
  return (
    <Callout tone="info">
      {inviter} 邀请您注册，有效至 {formatTime(expires_at)}。
      {needs_email ? "请填写收到邀请的邮箱并验证。" : ""}
    </Callout>
  );
}

function useRegister(check: HumanCheck, invitation: string) {
  const navigate = useNavigate();
  const register = useCall(authApi.register, {
    onSuccess: () => {
      toast.success("注册成功！");
      void navigate("/login");
    },
  });
  const submit = (values: Values) => {
    const turnstile = check.take();
    if (turnstile === undefined) return;
    register.mutate({
      query: { turnstile },
      body: { ...values, aff_code: readStored("aff") ?? "", invitation },
    });
  };
  return { submit, isPending: register.isPending };
}

export function RegisterPage() {
  useAffCode();
  const name = useSystemName();
  const status = useStatus();
  const check = useHumanCheck();
  const invitation = useInvitation();
  const register = useRegister(check, invitation.code);
  const isInvited = invitation.code !== "" && status?.register_invited !== false;
  const isClosed = !isInvited && status?.register === false;
  const isVerified = status?.email_verification === true || invitation.found.data?.needs_email === true;
  return (
    <GuestCard
      title="注册"
      heading={`注册 ${name} 账户`}
      links={
        <span>
          已有账户？<Link to="/login">点击登录</Link>
        </span>
      }
    >
      {isClosed ? (
        <Callout tone="info">
          {status.register_invited ? "当前仅限受邀注册，请使用收到的邀请链接" : "管理员关闭了新用户注册"}
        </Callout>
      ) : (
        <Invited {...invitation} />
      )}
      <PlainForm<Values>
        schema={isVerified ? VerifiedForms : PlainForms}
        initial={EMPTY}
        fields={FIELDS}
        submit={{ text: "注册", isBusy: register.isPending, isOff: isClosed }}
        onSubmit={register.submit}
      >
        {(field) => (
          <>
            {isVerified ? (
              <EmailCodeFields email={field("email")} code={field("verification_code")} check={check} />
            ) : null}
            <HumanCheckBox check={check} />
          </>
        )}
      </PlainForm>
      {isClosed ? null : <OtherWays isForNew />}
    </GuestCard>
  );
}
