// The first step: the super administrator's own password, the address of the server, and who may register. The key comes from the address that the
// terminal printed, behind `#`, which browsers send to no server.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { z } from "zod";
import { useCall } from "#console/base/call.ts";
import { useEnter } from "#console/base/login.ts";
import { freshStatus, useStatus } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { PlainForm } from "#console/ui/plain-form.tsx";
import { firstRunApi, type Registration } from "#contract/first-run.ts";
import type { Status } from "#contract/status.ts";
import { Password } from "#contract/user.ts";
import { RegistrationField } from "./registration-field.tsx";
import { StepHead } from "./step-head.tsx";

const Form = z
  .object({
    password: Password,
    repeated: z.string(),
    server_address: z
      .string()
      .trim()
      .regex(/^https?:\/\/[^/\s@]+\/*$/, "请填写 http:// 或 https:// 开头的地址，不带路径"),
  })
  .refine(({ password, repeated }) => !Password.safeParse(password).success || password === repeated, {
    path: ["repeated"],
    message: "两次输入的密码不一致",
  });

const secret = { type: "password", autoComplete: "new-password" } as const;
const FIELDS = [
  { name: "password", label: "新密码", hint: "8 到 128 个字符", ...secret },
  { name: "repeated", label: "再次输入密码", hint: "与上面的密码一致", ...secret },
  {
    name: "server_address",
    label: "服务器地址",
    hint: "https://api.example.com",
    autoComplete: "off",
  },
] as const;

/** As the server has it now. */
function registrationOf(status: Status | undefined): Registration {
  if (status?.register !== false) return "open";
  return status.register_invited ? "invited" : "closed";
}

function Closed() {
  return (
    <>
      <StepHead heading="首次设置已经完成">管理员密码已经设置过，一次性地址不再有效。</StepHead>
      <LinkButton to="/login" kind="primary" isLarge>
        前往登录
      </LinkButton>
    </>
  );
}

export interface PasswordStepProps {
  readonly isOpen: boolean;
  /** Whose site passkeys are for from now on; "" = there are none. */
  readonly onDone: (rpId: string) => void;
}

export function PasswordStep({ isOpen, onDone }: PasswordStepProps) {
  const [key] = useState(() => window.location.hash.slice(1));
  const [chosen, setChosen] = useState<Registration>();
  const status = useStatus();
  const registration = chosen ?? registrationOf(status);
  const client = useQueryClient();
  const enter = useEnter();
  const finish = useCall(firstRunApi.finish, {
    onSuccess: (user) => {
      if (!enter(user)) return;
      toast.success("密码已设置，您已登录为超级管理员");
      // Without its answer there is a step less.
      void freshStatus(client).then(
        ({ passkey_rp_id }) => onDone(passkey_rp_id),
        () => onDone(""),
      );
    },
  });
  if (!isOpen && !finish.isSuccess) return <Closed />;
  return (
    <>
      <StepHead heading="设置超级管理员">
        账户名为 root。密码设置成功后，这个一次性地址和初始密码立即失效。
      </StepHead>
      {key === "" ? (
        <Callout tone="warn">
          请打开服务器终端里打印的完整地址（“#”后面是一次性密钥）；重新启动服务器会再次打印。
        </Callout>
      ) : null}
      <PlainForm
        schema={Form}
        initial={{ password: "", repeated: "", server_address: window.location.origin }}
        fields={FIELDS}
        submit={{ text: "设置并登录", isBusy: finish.isPending, isOff: key === "" }}
        onSubmit={({ password, server_address }) =>
          finish.mutate({ body: { key, password, server_address, registration } })
        }
      >
        {() => (
          <>
            <p className="tg-muted tg-first-note">
              服务器地址是用户访问本站的地址，用于邮件链接、登录回调和通行密钥，可在设置里修改。
            </p>
            <RegistrationField value={registration} onChange={setChosen} />
          </>
        )}
      </PlainForm>
    </>
  );
}
